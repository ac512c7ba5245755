//! Cancelling a task: who may, what it meets, what it stops.

use std::slice::from_ref;

use crate::command::{CancelOutcome, CancelTask, Command};
use crate::error::DenialCode::*;
use crate::ids::TaskId;
use crate::limits::REASON_UNITS_MAX;
use crate::modes::{InteractionMode, Modes, RuntimeMode};
use crate::provider_event::TurnOutcome;
use crate::run::{EndReason, RunStatus};
use crate::task::{DeliveryState, TaskStatus};

use super::world::{BROADEST, World, failed, interrupted};

#[test]
fn a_task_of_another_thread_is_not_there() {
    let mut world = World::new();
    let (parent, other) = (world.running(), world.running());
    let child = world.delegate(&parent.thread);
    let grandchild = world.delegate(&child.thread);
    for (caller, task) in [
        (&other.thread, &child.task),
        (&child.thread, &child.task),
        (&parent.thread, &grandchild.task),
        (&parent.thread, &TaskId::new("task-x")),
    ] {
        let theirs = world.denial(world.cancel_command(caller, task));
        assert_eq!(theirs.code, TaskNotFound);
        assert_eq!(
            theirs.message,
            format!("This thread delegated no task {task}."),
            "no hint"
        );
    }
    assert!(interrupted(&world.effects).is_empty());
}

#[test]
fn a_reason_keeps_its_bound() {
    for (units, taken) in [
        (REASON_UNITS_MAX - 1, true),
        (REASON_UNITS_MAX, true),
        (REASON_UNITS_MAX + 1, false),
    ] {
        let mut world = World::new();
        let parent = world.running();
        let child = world.delegate(&parent.thread);
        let cancel = Command::CancelTask(CancelTask {
            parent_thread_id: parent.thread,
            task_id: child.task,
            reason: Some("r".repeat(units)),
        });
        let code = world.try_run(&cancel).err().map(|denial| denial.code);
        assert_eq!(code, (!taken).then_some(InvalidRequest), "{units}");
    }
}

#[test]
fn a_running_task_is_asked_to_stop_and_ends_when_its_provider_says_so() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.start(&child.run);
    assert_eq!(
        world.cancel(&parent.thread, &child),
        CancelOutcome::Requested
    );
    assert_eq!(interrupted(&world.effects), from_ref(&child.run));
    assert_eq!(
        (world.status(&child.run), world.ended(&child)),
        (RunStatus::Running, None)
    );
    let why = EndReason::Stopped("cancelled by its parent".to_owned());
    assert_eq!(world.run_at(&child.run).reason, Some(why));

    world.end(&child.run, TurnOutcome::Interrupted);
    assert_eq!(world.ended(&child), Some(TaskStatus::Interrupted));
    assert_eq!(
        world.status(&parent.run),
        RunStatus::Running,
        "the parent goes on"
    );
}

#[test]
fn an_ended_task_answers_how_it_ended() {
    for (outcome, status) in [
        (TurnOutcome::Completed, TaskStatus::Completed),
        (TurnOutcome::Interrupted, TaskStatus::Interrupted),
        (failed("broken"), TaskStatus::Failed),
    ] {
        let mut world = World::new();
        let parent = world.running();
        let child = world.delegate_and_wait(&parent.thread);
        world.end(&child.run, outcome);
        let result = world.task(&child).result.clone();
        assert_eq!(
            world.cancel(&parent.thread, &child),
            CancelOutcome::Ended(status)
        );
        assert_eq!(world.delivery(&child), Some(DeliveryState::Disposed));
        assert_eq!(world.task(&child).result, result, "a result stays readable");
        assert!(interrupted(&world.effects).is_empty());
    }
}

#[test]
fn a_read_result_stays_read() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.finish(&child.run, "Found.");
    world.acknowledge(&child);
    world.cancel(&parent.thread, &child);
    assert_eq!(world.delivery(&child), Some(DeliveryState::Acknowledged));
}

#[test]
fn an_ended_task_whose_child_works_again_is_stopped_too() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.finish(&child.run, "Found.");
    let more = world.send(&child.thread);
    let outcome = world.cancel(&parent.thread, &child);
    assert_eq!(outcome, CancelOutcome::Ended(TaskStatus::Completed));
    assert_eq!(interrupted(&world.effects), [more]);
}

#[test]
fn a_task_that_waits_for_its_children_can_be_cancelled() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    let grandchild = world.delegate(&child.thread);
    world.complete(&child.run);
    assert_eq!(
        world.cancel(&parent.thread, &child),
        CancelOutcome::Requested
    );
    assert_eq!(interrupted(&world.effects), from_ref(&grandchild.run));
    world.end(&grandchild.run, TurnOutcome::Interrupted);
    assert_eq!(
        world.ended(&child),
        Some(TaskStatus::Completed),
        "its own turn had completed"
    );
    assert_eq!(world.delivery(&child), Some(DeliveryState::Disposed));
    assert!(world.wakes(&child.thread).is_empty() && world.wakes(&parent.thread).is_empty());
}

#[test]
fn a_task_with_nothing_to_stop_is_left_as_it_is() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    // No command leads here: the run is gone and the end was not published.
    world.view.runs.get_mut(&child.run).expect("run").status = RunStatus::Cancelled;
    let task = world.task(&child).clone();
    let cancel = world.cancel_command(&parent.thread, &child.task);
    assert_eq!(world.deny(cancel), TaskNotCancellable);
    assert_eq!(*world.task(&child), task, "nothing is disposed of");
}

#[test]
fn a_broader_thread_anywhere_below_refuses_before_anything_stops() {
    let careful = Modes {
        runtime: RuntimeMode::AutoAcceptEdits,
        interaction: InteractionMode::Plan,
    };
    let broader = Modes {
        interaction: InteractionMode::Plan,
        ..BROADEST
    };
    let working = Modes {
        interaction: InteractionMode::Default,
        ..careful
    };
    for (modes, code) in [
        (broader, RuntimeModeEscalationDenied),
        (working, InteractionModeEscalationDenied),
        (BROADEST, RuntimeModeEscalationDenied),
    ] {
        for level in 0..3 {
            let mut world = World::new();
            let parent = world.starting_in(careful);
            let child = world.delegate(&parent.thread);
            let grandchild = world.delegate(&child.thread);
            let last = world.delegate(&grandchild.thread);
            // A person widened it after it was made; a test of the state may not hold against that.
            let widened = [&child, &grandchild, &last][level];
            world
                .view
                .threads
                .get_mut(&widened.thread)
                .expect("thread")
                .modes = modes;
            let command = world.cancel_command(&parent.thread, &child.task);
            let Ok(ruled) = crate::decide::decide(
                &world.view,
                &command,
                crate::decide::Moment::new(crate::time::Timestamp::from_millis(1), 1),
            );
            assert_eq!(ruled.expect_err("refused").code, code, "level {level}");
        }
    }
}

#[test]
fn cancelling_twice_is_asking_twice() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    assert_eq!(
        world.cancel(&parent.thread, &child),
        CancelOutcome::Requested
    );
    assert_eq!(
        world.cancel(&parent.thread, &child),
        CancelOutcome::Requested
    );
    world.end(&child.run, TurnOutcome::Interrupted);
    let outcome = world.cancel(&parent.thread, &child);
    assert_eq!(outcome, CancelOutcome::Ended(TaskStatus::Interrupted));
}
