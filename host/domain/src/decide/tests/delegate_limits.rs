//! How deep and how wide a thread may delegate.

use crate::command::{Command, Delegate};
use crate::error::DenialCode::{InvalidRequest, LimitExceeded};
use crate::ids::ThreadId;
use crate::limits::{ACTIVE_CHILDREN_MAX, ACTIVE_THREADS_MAX, DELEGATION_DEPTH_MAX};
use crate::task::WakePolicy;

use super::world::World;

fn wanted(world: &World, parent: &ThreadId, depth_max: u32) -> Delegate {
    Delegate {
        depth_max,
        ..world.wanted(parent, WakePolicy::Always)
    }
}

#[test]
fn delegation_goes_as_deep_as_the_operator_allows_and_never_deeper_than_a_stop_reaches() {
    for (depth_max, deepest) in [
        (0, 0),
        (1, 1),
        (4, 4),
        (8, 8),
        (9, DELEGATION_DEPTH_MAX),
        (99, DELEGATION_DEPTH_MAX),
    ] {
        let mut world = World::new();
        let mut thread = world.running().thread;
        for depth in 1..=deepest {
            let wanted = wanted(&world, &thread, depth_max);
            let child = world.delegated(wanted);
            assert_eq!(world.thread(&child.thread).lineage.depth, depth);
            thread = child.thread;
        }
        let denial = world.denial(Command::Delegate(wanted(&world, &thread, depth_max)));
        assert_eq!(denial.code, InvalidRequest);
        assert!(!denial.code.is_retryable());
        let limit = format!(
            "limited to {deepest} and this child would be at {}",
            deepest + 1
        );
        assert!(denial.message.contains(&limit), "{denial}");
    }
}

#[test]
fn a_thread_has_at_most_20_children_that_have_not_ended() {
    let mut world = World::new();
    let parent = world.running();
    let mut children = Vec::new();
    for _ in 0..ACTIVE_CHILDREN_MAX {
        children.push(world.delegate(&parent.thread));
    }
    let denial = world.denial(Command::Delegate(wanted(&world, &parent.thread, 4)));
    assert_eq!(denial.code, LimitExceeded);
    assert!(denial.code.is_retryable(), "an end makes room");
    assert_eq!(
        denial.code.word(),
        "invalid_request",
        "the word of the contract"
    );

    world.complete(&children[7].run);
    world.delegate(&parent.thread);
    assert_eq!(
        world.deny(Command::Delegate(wanted(&world, &parent.thread, 4))),
        LimitExceeded
    );
}

#[test]
fn a_cancelled_child_makes_room_when_it_has_ended() {
    let mut world = World::new();
    let parent = world.running();
    let first = world.delegate(&parent.thread);
    for _ in 1..ACTIVE_CHILDREN_MAX {
        world.delegate(&parent.thread);
    }
    world.cancel(&parent.thread, &first);
    assert_eq!(
        world.deny(Command::Delegate(wanted(&world, &parent.thread, 4))),
        LimitExceeded
    );
    world.complete(&first.run);
    world.delegate(&parent.thread);
}

#[test]
fn children_of_one_thread_take_no_room_from_another() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    for _ in 1..ACTIVE_CHILDREN_MAX {
        world.delegate(&parent.thread);
    }
    world.delegate(&child.thread);
}

#[test]
fn the_host_runs_a_bounded_number_of_threads() {
    // The parent is active itself, and the child will be.
    for (others, taken) in [
        (ACTIVE_THREADS_MAX - 3, true),
        (ACTIVE_THREADS_MAX - 2, true),
        (ACTIVE_THREADS_MAX - 1, false),
        (ACTIVE_THREADS_MAX, false),
    ] {
        let mut world = World::new();
        let parent = world.running();
        world.view.other_active_threads = others;
        let command = Command::Delegate(wanted(&world, &parent.thread, 4));
        let code = world.try_run(&command).err().map(|denial| denial.code);
        assert_eq!(code, (!taken).then_some(LimitExceeded), "{others} others");
    }
}

#[test]
fn people_start_no_more_threads_than_the_host_runs() {
    for (others, taken) in [
        (ACTIVE_THREADS_MAX - 1, true),
        (ACTIVE_THREADS_MAX, false),
        (ACTIVE_THREADS_MAX + 1, false),
    ] {
        let code = |command: &dyn Fn(&World, &ThreadId) -> Command| {
            let mut world = World::new();
            let idle = world.idle_thread();
            world.view.other_active_threads = others;
            let command = command(&world, &idle);
            world.try_run(&command).err().map(|denial| denial.code)
        };
        let refusal = (!taken).then_some(LimitExceeded);
        let create =
            |prompt| move |world: &World, _: &ThreadId| Command::CreateThread(world.create(prompt));
        assert_eq!(code(&create(Some("go"))), refusal, "{others} others");
        assert_eq!(code(&create(None)), None, "an idle thread runs nothing");
        let send = |world: &World, idle: &ThreadId| {
            Command::SendMessage(world.message_to(idle, "go", crate::command::SendMode::Auto))
        };
        assert_eq!(code(&send), refusal, "{others} others");
    }
}
