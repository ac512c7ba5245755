//! Twelve children that end in six waves: each end is told exactly once, however the parent stands.

use std::collections::BTreeSet;

use crate::task::DeliveryState;

use super::world::{Child, World};

/// How the parent stands when a wave comes.
#[derive(Clone, Copy, Debug)]
enum Parent {
    /// Its first turn goes on through all waves.
    Works,
    /// Nothing of it goes on.
    Rests,
    /// It works on the wake before.
    WorksOnTheWake,
    /// The wake before was handed over and not accepted yet.
    IsHandedTheWake,
    /// It rests in every other wave and keeps the wake before in the rest.
    Alternates,
}

fn between_waves(world: &mut World, parent: &Child, wave: usize, stands: Parent) {
    let end_one = |world: &mut World| {
        let active = world.active(&parent.thread);
        active.map(|run| world.finish(&run.id, "Noted.")).is_some()
    };
    match stands {
        Parent::Works => {}
        Parent::Rests => while end_one(world) {},
        Parent::IsHandedTheWake => drop(end_one(world)),
        Parent::WorksOnTheWake => {
            end_one(world);
            if let Some(wake) = world.active(&parent.thread) {
                world.start(&wake.id);
            }
        }
        Parent::Alternates => while wave.is_multiple_of(2) && end_one(world) {},
    }
}

/// Number of wakes the provider got.
fn twelve_ends_in_six_waves(seed: u128, stands: Parent) -> usize {
    let mut world = World::seeded(seed);
    let top = world.running();
    // A parent that is a child itself: its own end must wait for all of it.
    let parent = world.delegate(&top.thread);
    let children: Vec<Child> = (0..12).map(|_| world.delegate(&parent.thread)).collect();
    for (wave, pair) in children.chunks(2).enumerate() {
        between_waves(&mut world, &parent, wave, stands);
        for child in pair {
            assert_eq!(
                world.ended(&parent),
                None,
                "{stands:?}: ended before its children"
            );
            world.finish(&child.run, "Found.");
        }
    }
    world.run_dry();
    let mut wakes = BTreeSet::new();
    for child in children.iter().chain([&parent]) {
        assert_eq!(
            world.delivery(child),
            Some(DeliveryState::Delivered),
            "{stands:?}"
        );
        assert_eq!(world.told[&child.task].len(), 1, "{stands:?}: told once");
        wakes.extend(world.told[&child.task].iter().cloned());
    }
    assert!(world.open_runs(&parent.thread).is_empty());
    wakes.len() - 1
}

#[test]
fn each_of_twelve_ends_is_told_exactly_once() {
    for seed in 0..10 {
        for (stands, wakes) in [
            (Parent::Works, 1),
            // The first end of a wave starts a wake, the second waits for the next one.
            (Parent::Rests, 12),
            (Parent::WorksOnTheWake, 7),
            (Parent::IsHandedTheWake, 7),
            (Parent::Alternates, 6),
        ] {
            assert_eq!(twelve_ends_in_six_waves(seed, stands), wakes, "{stands:?}");
        }
    }
}
