//! What a child is doing, from its runs, its own tasks and its background work.

use crate::decide::{final_run, work_state};
use crate::run::{QueueState, Run, RunStatus};
use crate::task::WorkState::{self, ResultAvailable, WaitingForChildren, Working};
use crate::task::{Delivery, DeliveryState, Task};
use crate::thread::Thread;

use super::world::World;

/// A child thread, a run of it and an ended task it delegated.
fn pieces() -> (Thread, Run, Task) {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.finish(&child.run, "Found.");
    let run = world.run_at(&child.run).clone();
    (
        world.thread(&child.thread).clone(),
        run,
        world.task(&child).clone(),
    )
}

#[test]
fn a_run_that_goes_on_by_itself_is_work() {
    let (thread, run, _) = pieces();
    let with = |status, queue| Run {
        status,
        queue,
        ..run.clone()
    };
    for (runs, state) in [
        (vec![], ResultAvailable),
        (vec![with(RunStatus::Starting, QueueState::Free)], Working),
        (vec![with(RunStatus::Running, QueueState::Free)], Working),
        (vec![with(RunStatus::Waiting, QueueState::Free)], Working),
        (vec![with(RunStatus::Queued, QueueState::Free)], Working),
        (
            vec![with(RunStatus::Queued, QueueState::Held)],
            ResultAvailable,
        ),
        (
            vec![
                with(RunStatus::Running, QueueState::Free),
                with(RunStatus::Queued, QueueState::Held),
            ],
            Working,
        ),
    ] {
        assert_eq!(work_state(&thread, &runs, &[]), state, "{runs:?}");
    }
}

#[test]
fn a_task_of_its_own_counts_until_it_ended_and_was_told() {
    use DeliveryState::{Acknowledged, Claimed, Delivered, Disposed, Pending};
    let (thread, _, task) = pieces();
    let rows: [(bool, Option<DeliveryState>, WorkState); 7] = [
        (false, None, WaitingForChildren),
        // Nobody will be told, and it still works.
        (false, Some(Disposed), WaitingForChildren),
        (true, Some(Pending), WaitingForChildren),
        (true, Some(Claimed), WaitingForChildren),
        (true, Some(Delivered), ResultAvailable),
        (true, Some(Acknowledged), ResultAvailable),
        (true, Some(Disposed), ResultAvailable),
    ];
    for (ended, delivery, state) in rows {
        let mut task = task.clone();
        task.delivery = delivery.map(|state| Delivery {
            state,
            observed_by_run_id: None,
        });
        if !ended {
            task.result = None;
        }
        assert_eq!(
            work_state(&thread, &[], &[task]),
            state,
            "ended {ended}, {delivery:?}"
        );
    }
}

#[test]
fn background_work_counts_and_a_run_comes_first() {
    let (mut thread, run, _) = pieces();
    thread.background = vec!["watch".to_owned()];
    assert_eq!(work_state(&thread, &[], &[]), WaitingForChildren);
    let running = Run {
        status: RunStatus::Running,
        ..run
    };
    assert_eq!(work_state(&thread, &[running], &[]), Working);
}

#[test]
fn a_result_comes_from_the_newest_run_that_did_something() {
    let (_, run, _) = pieces();
    let began = run.started_at;
    let at = |ordinal, status, started_at| Run {
        ordinal,
        status,
        started_at,
        ..run.clone()
    };
    use RunStatus::{Cancelled, Completed, Failed, Interrupted, RolledBack, Running};
    for (name, runs, expected) in [
        ("none", vec![], None),
        ("first, never started", vec![at(1, Failed, None)], Some(1)),
        (
            "newest",
            vec![at(1, Completed, began), at(2, Interrupted, began)],
            Some(2),
        ),
        (
            "later, never started",
            vec![at(1, Completed, began), at(2, Cancelled, None)],
            Some(1),
        ),
        (
            "undone",
            vec![at(1, Completed, began), at(2, RolledBack, began)],
            Some(1),
        ),
        (
            "still open",
            vec![at(1, Completed, began), at(2, Running, began)],
            Some(1),
        ),
        ("only open", vec![at(1, Running, began)], None),
    ] {
        assert_eq!(final_run(&runs).map(|run| run.ordinal), expected, "{name}");
    }
}
