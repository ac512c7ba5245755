//! What the parent has seen of its tasks: acknowledging, and asking to be woken.

use crate::command::Answer;
use crate::ids::{TaskId, ThreadId};
use crate::run::{EndReason, RunStatus};
use crate::task::{Delivery, DeliveryState, WakePolicy};
use crate::view::View;

use super::draft::Draft;
use super::settle::{end_run, queued_wake, write_wake};
use super::{Ruled, refuse};

pub(super) fn wake_always<V: View>(draft: &mut Draft<'_, V>, task_id: &TaskId) -> Ruled<V> {
    let Some(mut task) = draft.task(task_id)? else {
        refuse!(TaskNotFound, "There is no task {task_id}.")
    };
    if task.wake == WakePolicy::Always {
        return Ok(Ok(Answer::Done));
    }
    task.wake = WakePolicy::Always;
    draft.settle_later(&task.parent_thread_id);
    draft.put_task(task);
    Ok(Ok(Answer::Done))
}

pub(super) fn acknowledge<V: View>(draft: &mut Draft<'_, V>, task_id: &TaskId) -> Ruled<V> {
    let Some(mut task) = draft.task(task_id)? else {
        refuse!(TaskNotFound, "There is no task {task_id}.")
    };
    let state = task.delivery.as_ref().map(|delivery| delivery.state);
    if task.result.is_none()
        || matches!(
            state,
            Some(DeliveryState::Acknowledged | DeliveryState::Disposed)
        )
    {
        return Ok(Ok(Answer::Done));
    }
    let reader = draft
        .active_run_of(&task.parent_thread_id)?
        .map(|run| run.id);
    task.delivery = Some(Delivery {
        state: DeliveryState::Acknowledged,
        observed_by_run_id: reader,
    });
    let parent = task.parent_thread_id.clone();
    draft.put_task(task);
    if state == Some(DeliveryState::Claimed) {
        drop_from_wake(draft, &parent, task_id)?;
    }
    draft.settle_later(&parent);
    Ok(Ok(Answer::Done))
}

/// Takes a task out of the parent's queued wake; an empty wake is withdrawn.
pub(super) fn drop_from_wake<V: View>(
    draft: &mut Draft<'_, V>,
    parent: &ThreadId,
    task_id: &TaskId,
) -> Result<(), V::Fault> {
    let Some(thread) = draft.thread(parent)? else {
        return Ok(());
    };
    let Some((run, Some(message))) = queued_wake(draft, &thread)? else {
        return Ok(());
    };
    let mut left = message
        .wakes
        .clone()
        .map(|wake| wake.task_ids)
        .unwrap_or_default();
    if !left.contains(task_id) {
        return Ok(());
    }
    left.retain(|id| id != task_id);
    if left.is_empty() {
        end_run(
            draft,
            &run.id,
            RunStatus::Cancelled,
            Some(EndReason::Withdrawn),
        )
    } else {
        write_wake(draft, message, left)
    }
}
