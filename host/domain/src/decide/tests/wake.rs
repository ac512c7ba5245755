//! How a parent learns of the end of its tasks: by reading, or by one wake.

use std::slice::from_ref;

use crate::command::Command;
use crate::error::DenialCode::TaskNotFound;
use crate::ids::TaskId;
use crate::message::{CreatedBy, CreationSource};
use crate::provider_event::TurnOutcome;
use crate::run::{EndReason, RunStatus};
use crate::task::DeliveryState::{Acknowledged, Claimed, Delivered, Pending};

use super::world::{Child, World, failed, started};

fn wake_always(child: &Child) -> Command {
    Command::WakeAlways {
        task_id: child.task.clone(),
    }
}

#[test]
fn an_async_task_wakes_a_parent_that_is_over_at_once() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.complete(&parent.run);
    let decision = world.finish(&child.run, "The canary sings.");
    let (wake, tasks) = world.wakes(&parent.thread)[0].clone();
    assert_eq!(tasks, from_ref(&child.task));
    assert_eq!(started(&decision.effects), from_ref(&wake));
    assert_eq!(world.delivery(&child), Some(Claimed));
    world.start(&wake);
    assert_eq!(world.delivery(&child), Some(Delivered));
    assert_eq!(world.told[&child.task].len(), 1);
}

#[test]
fn a_wake_names_its_tasks_and_never_carries_a_result() {
    let mut world = World::new();
    let parent = world.running();
    let (one, two) = (
        world.delegate(&parent.thread),
        world.delegate(&parent.thread),
    );
    world.finish(&one.run, "The canary sings.");
    world.end(&two.run, failed("The canary is mute."));
    let wake = world.wakes(&parent.thread)[0].0.clone();
    let message = world.message_of(&wake);
    assert!(!message.text.contains("canary"), "{}", message.text);
    assert!(
        message.text.contains(&format!("{}: completed", one.task)),
        "{}",
        message.text
    );
    assert!(
        message.text.contains(&format!("{}: failed", two.task)),
        "{}",
        message.text
    );
    assert!(message.text.contains("task_status"), "{}", message.text);
    assert_eq!(message.provenance.created_by, CreatedBy::Agent);
    assert_eq!(message.provenance.creation_source, CreationSource::Server);
}

#[test]
fn an_async_task_that_ends_while_the_parent_works_waits_behind_it() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    let decision = world.finish(&child.run, "Found.");
    assert!(
        started(&decision.effects).is_empty(),
        "a turn is never interrupted for a wake"
    );
    let wake = world.wakes(&parent.thread)[0].0.clone();
    assert_eq!(world.status(&wake), RunStatus::Queued);
    assert_eq!(started(&world.complete(&parent.run).effects), [wake]);
}

#[test]
fn a_waiting_caller_is_not_woken_while_its_run_lives() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate_and_wait(&parent.thread);
    world.finish(&child.run, "Found.");
    assert_eq!(world.delivery(&child), Some(Pending));
    assert!(world.wakes(&parent.thread).is_empty());
}

#[test]
fn a_waiting_caller_that_read_the_result_is_never_woken() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate_and_wait(&parent.thread);
    world.finish(&child.run, "Found.");
    world.acknowledge(&child);
    world.complete(&parent.run);
    assert_eq!(world.delivery(&child), Some(Acknowledged));
    let read_by = world
        .task(&child)
        .delivery
        .clone()
        .expect("read")
        .observed_by_run_id;
    assert_eq!(read_by, Some(parent.run));
    assert!(world.wakes(&parent.thread).is_empty());
}

#[test]
fn a_waiting_caller_whose_run_ends_unread_is_woken_by_that_end() {
    for outcome in [
        TurnOutcome::Completed,
        TurnOutcome::Interrupted,
        failed("broken"),
    ] {
        let mut world = World::new();
        let parent = world.running();
        let child = world.delegate_and_wait(&parent.thread);
        world.finish(&child.run, "Found.");
        let decision = world.end(&parent.run, outcome.clone());
        let (wake, tasks) = world.wakes(&parent.thread)[0].clone();
        assert_eq!(
            (started(&decision.effects), tasks),
            (vec![wake], vec![child.task]),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_waiting_caller_whose_run_ended_first_is_woken_by_the_tasks_end() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate_and_wait(&parent.thread);
    world.complete(&parent.run);
    world.finish(&child.run, "Found.");
    assert_eq!(world.delivery(&child), Some(Claimed));
}

#[test]
fn another_run_of_the_parent_does_not_stand_for_the_caller() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate_and_wait(&parent.thread);
    let other = world.send(&parent.thread);
    world.complete(&parent.run);
    assert_eq!(world.status(&other), RunStatus::Starting);
    world.finish(&child.run, "Found.");
    assert_eq!(world.delivery(&child), Some(Claimed), "the caller is gone");
}

// -------------------------------------------------------------------- asking to be woken

#[test]
fn a_caller_that_gave_up_waiting_is_woken_before_or_after_the_end() {
    for end_first in [true, false] {
        let mut world = World::new();
        let parent = world.running();
        let child = world.delegate_and_wait(&parent.thread);
        if end_first {
            world.finish(&child.run, "Found.");
            world.run(wake_always(&child));
        } else {
            world.run(wake_always(&child));
            world.finish(&child.run, "Found.");
        }
        assert_eq!(
            world.delivery(&child),
            Some(Claimed),
            "end first: {end_first}"
        );
        assert_eq!(world.wakes(&parent.thread).len(), 1);
        assert!(
            world.run(wake_always(&child)).events.is_empty(),
            "asked twice"
        );
    }
}

#[test]
fn asking_to_be_woken_after_reading_wakes_nobody() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate_and_wait(&parent.thread);
    world.finish(&child.run, "Found.");
    world.acknowledge(&child);
    world.run(wake_always(&child));
    world.complete(&parent.run);
    assert!(world.wakes(&parent.thread).is_empty());
}

#[test]
fn an_unknown_task_is_refused() {
    let task_id = TaskId::new("task-x");
    let mut world = World::new();
    assert_eq!(
        world.deny(Command::WakeAlways {
            task_id: task_id.clone()
        }),
        TaskNotFound
    );
    assert_eq!(
        world.deny(Command::AcknowledgeTask { task_id }),
        TaskNotFound
    );
}

// -------------------------------------------------------------------- batches

#[test]
fn ends_join_the_wake_that_has_not_been_handed_over() {
    let mut world = World::new();
    let parent = world.running();
    let children = [(); 3].map(|()| world.delegate(&parent.thread));
    for child in &children {
        world.finish(&child.run, "Found.");
    }
    let wakes = world.wakes(&parent.thread);
    assert_eq!(wakes.len(), 1);
    assert_eq!(wakes[0].1, children.clone().map(|child| child.task));
    let text = &world.message_of(&wakes[0].0).text;
    assert!(
        children
            .iter()
            .all(|child| text.contains(child.task.as_str())),
        "{text}"
    );
}

#[test]
fn a_wake_in_flight_is_not_joined() {
    for accepted in [false, true] {
        let mut world = World::new();
        let parent = world.running();
        let (one, two, three) = (
            world.delegate(&parent.thread),
            world.delegate(&parent.thread),
            world.delegate(&parent.thread),
        );
        world.finish(&one.run, "One.");
        world.complete(&parent.run);
        let first = world.wakes(&parent.thread)[0].0.clone();
        if accepted {
            world.start(&first);
        }
        world.finish(&two.run, "Two.");
        world.finish(&three.run, "Three.");
        let wakes = world.wakes(&parent.thread);
        let told: Vec<_> = wakes.iter().map(|(_, tasks)| tasks.clone()).collect();
        assert_eq!(
            told,
            [vec![one.task], vec![two.task, three.task]],
            "accepted: {accepted}"
        );
        assert_eq!(
            started(&world.complete(&first).effects),
            [wakes[1].0.clone()]
        );
    }
}

// -------------------------------------------------------------------- reading

#[test]
fn reading_takes_a_task_out_of_the_queued_wake_and_withdraws_an_empty_one() {
    let mut world = World::new();
    let parent = world.running();
    let (one, two) = (
        world.delegate(&parent.thread),
        world.delegate(&parent.thread),
    );
    world.finish(&one.run, "One.");
    world.finish(&two.run, "Two.");
    world.acknowledge(&one);
    let (wake, tasks) = world.wakes(&parent.thread)[0].clone();
    assert_eq!(tasks, from_ref(&two.task));
    assert!(!world.message_of(&wake).text.contains(one.task.as_str()));
    assert_eq!(world.status(&wake), RunStatus::Queued);

    world.acknowledge(&two);
    let run = world.run_at(&wake);
    assert_eq!(
        (run.status, &run.reason),
        (RunStatus::Cancelled, &Some(EndReason::Withdrawn))
    );
    assert!(started(&world.complete(&parent.run).effects).is_empty());
    assert_eq!(
        (world.delivery(&one), world.delivery(&two)),
        (Some(Acknowledged), Some(Acknowledged))
    );
}

#[test]
fn a_wake_can_be_queued_again_after_one_was_withdrawn() {
    let mut world = World::new();
    let parent = world.running();
    let (one, two) = (
        world.delegate(&parent.thread),
        world.delegate(&parent.thread),
    );
    world.finish(&one.run, "One.");
    world.acknowledge(&one);
    world.finish(&two.run, "Two.");
    let told: Vec<_> = world
        .wakes(&parent.thread)
        .into_iter()
        .map(|(run, _)| world.status(&run))
        .collect();
    assert_eq!(told, [RunStatus::Cancelled, RunStatus::Queued]);
}

#[test]
fn reading_is_counted_once_and_only_after_the_end() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    assert!(
        world.acknowledge(&child).events.is_empty(),
        "nothing to read yet"
    );
    world.finish(&child.run, "Found.");
    world.acknowledge(&child);
    assert!(world.acknowledge(&child).events.is_empty(), "read already");
}

#[test]
fn a_wake_in_flight_whose_task_was_read_meanwhile_leaves_it_read() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.complete(&parent.run);
    world.finish(&child.run, "Found.");
    let wake = world.wakes(&parent.thread)[0].0.clone();
    world.acknowledge(&child);
    world.start(&wake);
    assert_eq!(world.delivery(&child), Some(Acknowledged));
}

#[test]
fn reading_after_the_wake_is_noted() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.complete(&parent.run);
    world.finish(&child.run, "Found.");
    let wake = world.wakes(&parent.thread)[0].0.clone();
    world.start(&wake);
    world.acknowledge(&child);
    assert_eq!(world.delivery(&child), Some(Acknowledged));
    let read_by = world
        .task(&child)
        .delivery
        .clone()
        .expect("read")
        .observed_by_run_id;
    assert_eq!(read_by, Some(wake));
}
