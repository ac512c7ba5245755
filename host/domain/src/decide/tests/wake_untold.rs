//! Wakes that do not arrive: failed, cancelled, stopped, or owed to nobody.

use std::slice::from_ref;

use crate::command::{Answer, CancelOutcome, Command};
use crate::provider_event::TurnOutcome;
use crate::run::RunStatus;
use crate::task::DeliveryState::{Claimed, Delivered, Disposed};
use crate::task::TaskStatus;
use crate::time::Timestamp;

use super::world::{World, failed, started};

#[test]
fn a_wake_whose_run_fails_is_not_tried_for_ever() {
    for begun in [true, false] {
        for outcome in [failed("no credit"), TurnOutcome::Interrupted] {
            let mut world = World::new();
            let parent = world.running();
            let child = world.delegate(&parent.thread);
            world.complete(&parent.run);
            world.finish(&child.run, "Found.");
            let wake = world.wakes(&parent.thread)[0].0.clone();
            if begun {
                world.start(&wake);
            }
            let decision = world.end(&wake, outcome.clone());
            assert!(
                started(&decision.effects).is_empty(),
                "begun {begun}, {outcome:?}"
            );
            assert_eq!(
                world.wakes(&parent.thread).len(),
                1,
                "begun {begun}, {outcome:?}"
            );
            assert_eq!(
                world.delivery(&child),
                Some(Delivered),
                "begun {begun}, {outcome:?}"
            );
        }
    }
}

#[test]
fn a_wake_that_ends_without_having_been_told_as_started_was_delivered() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.complete(&parent.run);
    world.finish(&child.run, "Found.");
    let wake = world.wakes(&parent.thread)[0].0.clone();
    world.complete(&wake);
    assert_eq!(world.delivery(&child), Some(Delivered));
    assert_eq!(world.told[&child.task].len(), 1);
}

#[test]
fn a_cancelled_task_wakes_nobody() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    assert_eq!(
        world.cancel(&parent.thread, &child),
        CancelOutcome::Requested
    );
    assert_eq!(world.delivery(&child), Some(Disposed));
    world.end(&child.run, TurnOutcome::Interrupted);
    assert_eq!(
        world.ended(&child),
        Some(TaskStatus::Interrupted),
        "readable all the same"
    );
    assert_eq!(world.delivery(&child), Some(Disposed));
    assert!(world.wakes(&parent.thread).is_empty());
    assert!(world.acknowledge(&child).events.is_empty());
}

#[test]
fn cancelling_an_ended_task_takes_it_out_of_the_queued_wake() {
    let mut world = World::new();
    let parent = world.running();
    let (one, two) = (
        world.delegate(&parent.thread),
        world.delegate(&parent.thread),
    );
    world.finish(&one.run, "One.");
    world.finish(&two.run, "Two.");
    assert_eq!(
        world.cancel(&parent.thread, &one),
        CancelOutcome::Ended(TaskStatus::Completed)
    );
    let (wake, tasks) = world.wakes(&parent.thread)[0].clone();
    assert_eq!(tasks, from_ref(&two.task));
    world.cancel(&parent.thread, &two);
    assert_eq!(world.status(&wake), RunStatus::Cancelled);
    assert_eq!(
        (world.delivery(&one), world.delivery(&two)),
        (Some(Disposed), Some(Disposed))
    );
}

#[test]
fn a_stop_disposes_of_every_wake_owed() {
    let mut world = World::new();
    let parent = world.running();
    let (ended, waited, running) = (
        world.delegate(&parent.thread),
        world.delegate_and_wait(&parent.thread),
        world.delegate(&parent.thread),
    );
    world.finish(&ended.run, "Ended.");
    world.finish(&waited.run, "Waited.");
    let wake = world.wakes(&parent.thread)[0].0.clone();
    world.stop(&parent.thread);
    assert_eq!(world.status(&wake), RunStatus::Cancelled);
    world.end(&parent.run, TurnOutcome::Interrupted);
    world.end(&running.run, TurnOutcome::Interrupted);
    for child in [&ended, &waited, &running] {
        assert_eq!(world.delivery(child), Some(Disposed));
    }
    assert!(
        world.open_runs(&parent.thread).is_empty(),
        "nothing wakes a stopped thread"
    );
}

#[test]
fn a_stop_of_a_wake_in_flight_gives_nothing_back() {
    let mut world = World::new();
    let parent = world.running();
    let (one, two) = (
        world.delegate(&parent.thread),
        world.delegate(&parent.thread),
    );
    world.complete(&parent.run);
    world.finish(&one.run, "One.");
    let wake = world.wakes(&parent.thread)[0].0.clone();
    world.finish(&two.run, "Two.");
    world.stop(&parent.thread);
    world.end(&wake, TurnOutcome::Interrupted);
    assert_eq!(
        (world.delivery(&one), world.delivery(&two)),
        (Some(Disposed), Some(Disposed))
    );
    assert!(world.open_runs(&parent.thread).is_empty());
}

#[test]
fn an_archived_parent_is_told_nothing() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.complete(&parent.run);
    let thread = world.view.threads.get_mut(&parent.thread).expect("thread");
    thread.archived_at = Some(Timestamp::from_millis(1));
    world.finish(&child.run, "Found.");
    assert_eq!(world.ended(&child), Some(TaskStatus::Completed));
    assert_eq!(world.delivery(&child), Some(Disposed));
    assert!(world.wakes(&parent.thread).is_empty());
}

#[test]
fn a_stopped_parent_is_woken_by_work_it_delegates_later() {
    let mut world = World::new();
    let parent = world.running();
    world.stop(&parent.thread);
    world.end(&parent.run, TurnOutcome::Interrupted);
    let send = world.message_to(&parent.thread, "Again.", crate::command::SendMode::Auto);
    let Answer::Sent { run_id, .. } = world.run(Command::SendMessage(send)).answer else {
        panic!("not sent")
    };
    world.start(&run_id);
    let child = world.delegate(&parent.thread);
    world.complete(&run_id);
    world.finish(&child.run, "Found.");
    assert_eq!(world.delivery(&child), Some(Claimed));
}
