//! Which run of a thread starts next.

use std::slice::from_ref;

use crate::ids::RunId;
use crate::item::ItemKind;
use crate::provider_event::TurnOutcome;
use crate::run::{RunPurpose, RunStatus};

use super::world::{World, failed, started};

/// Ends runs as they start and answers their order.
fn order_of(world: &mut World, mut run: RunId) -> Vec<RunId> {
    let mut order = Vec::new();
    loop {
        world.start(&run);
        let next = started(&world.complete(&run).effects);
        order.push(run);
        match next.as_slice() {
            [] => return order,
            [next] => run = next.clone(),
            more => panic!("one end starts one run: {more:?}"),
        }
    }
}

#[test]
fn runs_start_in_the_order_of_their_messages() {
    let mut world = World::new();
    let talk = world.running();
    let (second, third) = (world.send(&talk.thread), world.send(&talk.thread));
    assert_eq!(world.run_at(&third).ordinal, 3);
    assert_eq!(
        order_of(&mut world, talk.run.clone()),
        [talk.run, second, third]
    );
}

#[test]
fn a_queue_goes_on_however_the_turn_before_it_ended() {
    for outcome in [
        TurnOutcome::Completed,
        TurnOutcome::Interrupted,
        failed("broken"),
    ] {
        for begun in [true, false] {
            let mut world = World::new();
            let talk = world.starting();
            if begun {
                world.start(&talk.run);
            }
            let next = world.send(&talk.thread);
            let decision = world.end(&talk.run, outcome.clone());
            assert_eq!(
                started(&decision.effects),
                [next],
                "{outcome:?}, begun: {begun}"
            );
        }
    }
}

#[test]
fn a_wake_starts_before_messages_that_came_earlier() {
    let mut world = World::new();
    let talk = world.running();
    let child = world.delegate(&talk.thread);
    let (second, third) = (world.send(&talk.thread), world.send(&talk.thread));
    world.finish(&child.run, "Found.");
    let wake = world.wakes(&talk.thread)[0].0.clone();
    assert_eq!(world.run_at(&wake).purpose, RunPurpose::Wake);
    assert_eq!(
        order_of(&mut world, talk.run.clone()),
        [talk.run, wake, second, third]
    );
}

#[test]
fn held_runs_do_not_start_and_what_is_sent_after_the_stop_runs_before_them() {
    let mut world = World::new();
    let talk = world.running();
    let (first_held, second_held) = (world.send(&talk.thread), world.send(&talk.thread));
    world.stop(&talk.thread);
    let while_stopping = world.send(&talk.thread);
    let decision = world.end(&talk.run, TurnOutcome::Interrupted);
    assert_eq!(started(&decision.effects), from_ref(&while_stopping));
    let after = world.send(&talk.thread);
    assert_eq!(
        order_of(&mut world, while_stopping.clone()),
        [while_stopping, after]
    );
    assert_eq!(world.held(&talk.thread), [first_held, second_held]);
}

#[test]
fn a_message_is_shown_when_its_run_starts_not_when_it_is_queued() {
    let mut world = World::new();
    let talk = world.running();
    world.send(&talk.thread);
    assert_eq!(world.items(&talk.thread, ItemKind::UserMessage).len(), 1);
    world.complete(&talk.run);
    let shown = world.items(&talk.thread, ItemKind::UserMessage);
    assert_eq!(shown.len(), 2);
    assert!(shown[0].position < shown[1].position);
}

#[test]
fn two_threads_do_not_wait_for_each_other() {
    let mut world = World::new();
    let (one, two) = (world.running(), world.running());
    assert_eq!(world.status(&one.run), RunStatus::Running);
    assert_eq!(world.status(&two.run), RunStatus::Running);
}
