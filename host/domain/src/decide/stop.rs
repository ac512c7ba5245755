//! Cancelling a task and stopping a thread: depth first through everything it delegated.

use crate::command::{Answer, CancelOutcome, CancelTask};
use crate::effect::Effect;
use crate::ids::ThreadId;
use crate::limits::{DELEGATION_DEPTH_MAX, REASON_UNITS_MAX};
use crate::request::RequestStatus;
use crate::run::{EndReason, QueueState, RunPurpose, RunStatus};
use crate::task::{Delivery, DeliveryState, Task};
use crate::text::utf16_len;
use crate::view::View;

use super::caller::within;
use super::draft::Draft;
use super::progress::work_state;
use super::settle::end_run;
use super::{Ruled, refuse};
use crate::task::WorkState;

pub(super) fn cancel_task<V: View>(draft: &mut Draft<'_, V>, cancel: &CancelTask) -> Ruled<V> {
    let task = match draft.task(&cancel.task_id)? {
        Some(task) if task.parent_thread_id == cancel.parent_thread_id => task,
        Some(_) | None => {
            refuse!(
                TaskNotFound,
                "This thread delegated no task {}.",
                cancel.task_id
            )
        }
    };
    if cancel
        .reason
        .as_ref()
        .is_some_and(|reason| utf16_len(reason) > REASON_UNITS_MAX)
    {
        refuse!(
            InvalidRequest,
            "A reason has at most {REASON_UNITS_MAX} characters."
        );
    }
    let Some(parent) = draft.thread(&cancel.parent_thread_id)? else {
        refuse!(
            TaskNotFound,
            "This thread delegated no task {}.",
            cancel.task_id
        )
    };
    for thread_id in subtree(draft, &task)? {
        let Some(thread) = draft.thread(&thread_id)? else {
            continue;
        };
        if let Err(denial) = within(parent.modes, thread.modes, thread_id.as_str()) {
            return Ok(Err(denial));
        }
    }
    let reason = cancel
        .reason
        .clone()
        .unwrap_or_else(|| "cancelled by its parent".to_owned());
    if let Some(result) = &task.result {
        let outcome = CancelOutcome::Ended(result.status);
        stop_tree(draft, &task.child_thread_id, &reason, 0)?;
        dispose(draft, task)?;
        return Ok(Ok(Answer::Cancelled { outcome }));
    }
    let child_open = draft.open_runs_of(&task.child_thread_id)?;
    let waits = match draft.thread(&task.child_thread_id)? {
        Some(child) => {
            work_state(&child, &child_open, &draft.tasks_of(&child.id)?)
                != WorkState::ResultAvailable
        }
        None => false,
    };
    if !waits {
        refuse!(
            TaskNotCancellable,
            "The task has no active run to stop: read it again with task_status."
        );
    }
    dispose(draft, task.clone())?;
    stop_tree(draft, &task.child_thread_id, &reason, 0)?;
    Ok(Ok(Answer::Cancelled {
        outcome: CancelOutcome::Requested,
    }))
}

pub(super) fn stop_thread<V: View>(
    draft: &mut Draft<'_, V>,
    thread_id: &ThreadId,
    reason: &str,
) -> Ruled<V> {
    match draft.thread(thread_id)? {
        Some(thread) if thread.deleted_at.is_none() => {}
        Some(_) | None => refuse!(ThreadNotFound, "There is no thread {thread_id}."),
    }
    if utf16_len(reason) > REASON_UNITS_MAX {
        refuse!(
            InvalidRequest,
            "A reason has at most {REASON_UNITS_MAX} characters."
        );
    }
    let runs = stop_tree(draft, thread_id, reason, 0)?;
    Ok(Ok(Answer::Stopped { runs }))
}

/// Lets a stopped thread's queue go on. What it delegated stays stopped.
pub(super) fn resume_queue<V: View>(draft: &mut Draft<'_, V>, thread_id: &ThreadId) -> Ruled<V> {
    let thread = match draft.thread(thread_id)? {
        Some(thread) if thread.deleted_at.is_none() => thread,
        Some(_) | None => refuse!(ThreadNotFound, "There is no thread {thread_id}."),
    };
    if !thread.is_open() {
        refuse!(
            ThreadNotSendable,
            "The thread is archived: unarchive it first."
        );
    }
    let mut runs = 0;
    for mut run in draft.open_runs_of(thread_id)? {
        if run.queue == QueueState::Held {
            runs += 1;
            run.queue = QueueState::Free;
            draft.put_run(run);
        }
    }
    draft.settle_later(thread_id);
    Ok(Ok(Answer::Resumed { runs }))
}

/// Every thread at and below a task's child.
fn subtree<V: View>(draft: &Draft<'_, V>, task: &Task) -> Result<Vec<ThreadId>, V::Fault> {
    let mut found = vec![task.child_thread_id.clone()];
    let mut next = 0;
    while let Some(thread_id) = found.get(next).cloned() {
        found.extend(
            draft
                .tasks_of(&thread_id)?
                .into_iter()
                .map(|task| task.child_thread_id),
        );
        next += 1;
    }
    Ok(found)
}

/// Stops a thread and everything it delegated; answers how many runs were met. `depth` bounds the descent.
fn stop_tree<V: View>(
    draft: &mut Draft<'_, V>,
    thread_id: &ThreadId,
    reason: &str,
    depth: u32,
) -> Result<u32, V::Fault> {
    let mut met = 0;
    for mut run in draft.open_runs_of(thread_id)? {
        met += 1;
        match (run.status, run.purpose) {
            (RunStatus::Queued, RunPurpose::Wake) => {
                end_run(
                    draft,
                    &run.id,
                    RunStatus::Cancelled,
                    Some(EndReason::Withdrawn),
                )?;
            }
            (RunStatus::Queued, RunPurpose::Work) => {
                run.queue = QueueState::Held;
                draft.put_run(run);
            }
            // The provider's own end of the turn makes it terminal: until then it may still be writing.
            _ => {
                run.reason = Some(EndReason::Stopped(reason.to_owned()));
                draft.effect(Effect::Interrupt {
                    thread_id: thread_id.clone(),
                    run_id: run.id.clone(),
                    reason: reason.to_owned(),
                });
                draft.put_run(run);
            }
        }
    }
    // An agent that is let go on with something now would do it after the stop.
    for mut request in draft.still_pending(draft.view.pending_requests_of(thread_id)?) {
        request.status = RequestStatus::Invalidated("the thread was stopped".to_owned());
        request.resolved_at = Some(draft.now());
        draft.put_request(request);
    }
    // Ended tasks too: a message may have started their child again.
    for task in draft.tasks_of(thread_id)? {
        let child = task.child_thread_id.clone();
        dispose(draft, task)?;
        if depth < DELEGATION_DEPTH_MAX {
            met += stop_tree(draft, &child, reason, depth + 1)?;
        }
    }
    draft.settle_later(thread_id);
    Ok(met)
}

/// Nobody will be told of the task's end. A read result stays read.
fn dispose<V: View>(draft: &mut Draft<'_, V>, mut task: Task) -> Result<(), V::Fault> {
    let told = task.delivery.as_ref().is_some_and(|d| {
        matches!(
            d.state,
            DeliveryState::Acknowledged | DeliveryState::Delivered | DeliveryState::Disposed
        )
    });
    if told {
        return Ok(());
    }
    let claimed = task
        .delivery
        .as_ref()
        .is_some_and(|d| d.state == DeliveryState::Claimed);
    let (parent, id) = (task.parent_thread_id.clone(), task.id.clone());
    task.delivery = Some(Delivery {
        state: DeliveryState::Disposed,
        observed_by_run_id: None,
    });
    draft.put_task(task);
    if claimed {
        super::wake::drop_from_wake(draft, &parent, &id)?;
    }
    Ok(())
}
