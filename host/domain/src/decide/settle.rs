//! What follows from any change of a thread: the end of its task is published once, its wakes are offered,
//! and the next run of its queue starts.

use crate::effect::Effect;
use crate::ids::{RunId, TransferId};
use crate::item::ItemStatus;
use crate::limits::SUMMARY_UNITS_MAX;
use crate::message::{Message, Provenance, Wake};
use crate::run::{EndReason, QueueState, Run, RunPurpose, RunStatus};
use crate::task::{
    ContextTransfer, Delivery, DeliveryState, Task, TaskResult, TaskStatus, TransferKind,
    TransferStatus, WakePolicy, WorkState,
};
use crate::text::utf16_prefix;
use crate::thread::Thread;
use crate::view::View;

use super::create::queue_message;
use super::draft::Draft;
use super::progress::{final_run, work_state};
use super::send::show_message;

pub(super) fn settle<V: View>(
    draft: &mut Draft<'_, V>,
    thread_id: &crate::ids::ThreadId,
) -> Result<(), V::Fault> {
    let Some(thread) = draft.thread(thread_id)? else {
        return Ok(());
    };
    offer_wakes(draft, &thread)?;
    publish(draft, &thread)?;
    start_next(draft, thread_id)
}

// -------------------------------------------------------------------- publishing

/// Publishes the end of the task this thread is the child of. The stored result is the once-only latch.
fn publish<V: View>(draft: &mut Draft<'_, V>, child: &Thread) -> Result<(), V::Fault> {
    let Some(link) = &child.lineage.parent else {
        return Ok(());
    };
    let Some(mut task) = draft.task(&link.task_id)? else {
        return Ok(());
    };
    if task.result.is_some() {
        return Ok(());
    }
    let open = draft.open_runs_of(&child.id)?;
    if work_state(child, &open, &draft.tasks_of(&child.id)?) != WorkState::ResultAvailable {
        return Ok(());
    }
    let runs = draft.runs_of(&child.id)?;
    let Some(run) = final_run(&runs) else {
        return Ok(());
    };
    let summary = result_text(draft, run)?;
    let transfer = ContextTransfer {
        id: TransferId::from_random(draft.next_bits()),
        kind: TransferKind::SubagentResult,
        source_thread_id: child.id.clone(),
        target_thread_id: task.parent_thread_id.clone(),
        run_id: run.id.clone(),
        created_at: draft.now(),
        status: TransferStatus::Consumed,
        strategy: None,
        consumed_by_run_id: None,
        error: None,
    };
    task.result = Some(TaskResult {
        status: TaskStatus::from_run(run.status),
        summary,
        run_id: run.id.clone(),
        transfer_id: transfer.id.clone(),
        at: draft.now(),
    });
    if task.delivery.is_none() {
        task.delivery = Some(Delivery {
            state: DeliveryState::Pending,
            observed_by_run_id: None,
        });
    }
    draft.add_transfer(transfer);
    close_task_item(draft, &task)?;
    let parent = task.parent_thread_id.clone();
    draft.put_task(task);
    draft.settle_later(&parent);
    Ok(())
}

/// Text of a run for whoever asked for it.
fn result_text<V: View>(draft: &Draft<'_, V>, run: &Run) -> Result<String, V::Fault> {
    if let Some(EndReason::Failure(failure)) = &run.reason {
        return Ok(failure.message.clone());
    }
    if let Some(item) = draft.view.last_assistant_item_of(&run.id)? {
        // The item may have been closed by this very command, with its final text.
        let item = draft.item(&item.id)?.unwrap_or(item);
        return Ok(utf16_prefix(&item.text, SUMMARY_UNITS_MAX).to_owned());
    }
    Ok(match (&run.reason, run.status) {
        (Some(EndReason::HostRestarted), _) => {
            "The host restarted while this ran. Its conversation is kept: send a message to go on."
                .to_owned()
        }
        (_, RunStatus::Completed) => "The task ended without a text.".to_owned(),
        (_, status) => format!(
            "The task ended {} without a text.",
            TaskStatus::from_run(status).word()
        ),
    })
}

fn close_task_item<V: View>(draft: &mut Draft<'_, V>, task: &Task) -> Result<(), V::Fault> {
    let Some(result) = &task.result else {
        return Ok(());
    };
    for mut item in draft.view.open_items_of(&task.parent_run_id)? {
        if item.head.name.as_deref() == Some(task.id.as_str()) {
            item.status = match result.status {
                TaskStatus::Completed => ItemStatus::Completed,
                TaskStatus::Failed => ItemStatus::Failed,
                TaskStatus::Cancelled => ItemStatus::Cancelled,
                TaskStatus::Interrupted
                | TaskStatus::Queued
                | TaskStatus::Running
                | TaskStatus::Waiting => ItemStatus::Interrupted,
            };
            item.text.clone_from(&result.summary);
            draft.put_item(item);
        }
    }
    Ok(())
}

// -------------------------------------------------------------------- wakes

/// Puts every ended, untold task of the thread into one queued wake.
fn offer_wakes<V: View>(draft: &mut Draft<'_, V>, parent: &Thread) -> Result<(), V::Fault> {
    let mut due = Vec::new();
    for task in draft.tasks_of(&parent.id)? {
        let pending = task
            .delivery
            .as_ref()
            .is_some_and(|d| d.state == DeliveryState::Pending);
        if pending && task.result.is_some() && is_due(draft, &task)? {
            due.push(task);
        }
    }
    if due.is_empty() {
        return Ok(());
    }
    let state = if parent.is_open() {
        DeliveryState::Claimed
    } else {
        DeliveryState::Disposed
    };
    let ids: Vec<_> = due.iter().map(|task| task.id.clone()).collect();
    for mut task in due {
        task.delivery = Some(Delivery {
            state,
            observed_by_run_id: None,
        });
        draft.put_task(task);
    }
    if state == DeliveryState::Disposed {
        return Ok(());
    }
    if let Some(mut message) = queued_wake(draft, parent)?.and_then(|(_, message)| message) {
        let mut told = message
            .wakes
            .take()
            .map(|wake| wake.task_ids)
            .unwrap_or_default();
        told.extend(ids);
        write_wake(draft, message, told)
    } else {
        let text = wake_text(draft, &ids)?;
        let wake = Wake { task_ids: ids };
        queue_message(draft, &parent.id, &text, Provenance::host(), Some(wake))?;
        Ok(())
    }
}

/// A waiting caller is told by its own answer: while its run lives, only `always` wakes.
fn is_due<V: View>(draft: &Draft<'_, V>, task: &Task) -> Result<bool, V::Fault> {
    Ok(match task.wake {
        WakePolicy::Always => true,
        WakePolicy::SettledOnly => !draft
            .run(&task.parent_run_id)?
            .is_some_and(|run| run.status.is_live()),
    })
}

/// The thread's wake that has not been handed to the provider.
pub(super) fn queued_wake<V: View>(
    draft: &Draft<'_, V>,
    parent: &Thread,
) -> Result<Option<(Run, Option<Message>)>, V::Fault> {
    let wake = draft
        .open_runs_of(&parent.id)?
        .into_iter()
        .find(|run| run.purpose == RunPurpose::Wake && run.status == RunStatus::Queued);
    match wake {
        Some(run) => {
            let message = draft.message(&run.message_id)?;
            Ok(Some((run, message)))
        }
        None => Ok(None),
    }
}

/// Rewrites a queued wake for these tasks.
pub(super) fn write_wake<V: View>(
    draft: &mut Draft<'_, V>,
    mut message: Message,
    task_ids: Vec<crate::ids::TaskId>,
) -> Result<(), V::Fault> {
    message.text = wake_text(draft, &task_ids)?;
    message.wakes = Some(Wake { task_ids });
    draft.put_message(message);
    Ok(())
}

/// Which tasks ended and how to read them; never what they said.
fn wake_text<V: View>(
    draft: &Draft<'_, V>,
    task_ids: &[crate::ids::TaskId],
) -> Result<String, V::Fault> {
    let mut text = String::from("Work you delegated has ended:\n");
    for id in task_ids {
        let task = draft.task(id)?;
        let word = task
            .and_then(|task| task.result)
            .map_or("ended", |result| result.status.word());
        text.push_str(&format!("- {id}: {word}\n"));
    }
    text.push_str("Call task_status with each id named here to read its result.");
    Ok(text)
}

// -------------------------------------------------------------------- the queue

/// Starts the next run of the thread's queue if nothing is before it: wakes first, then by ordinal.
fn start_next<V: View>(
    draft: &mut Draft<'_, V>,
    thread_id: &crate::ids::ThreadId,
) -> Result<(), V::Fault> {
    let Some(thread) = draft.thread(thread_id)? else {
        return Ok(());
    };
    let open = draft.open_runs_of(thread_id)?;
    if !thread.is_open() || open.iter().any(|run| run.status.is_active()) {
        return Ok(());
    }
    let free = || open.iter().filter(|run| run.queue == QueueState::Free);
    let wake = free().find(|run| run.purpose == RunPurpose::Wake);
    let Some(next) = wake.or_else(|| free().next()).cloned() else {
        return Ok(());
    };
    let Some(message) = draft.message(&next.message_id)? else {
        return Ok(());
    };
    if let Some(run) = draft.move_run(next, RunStatus::Starting) {
        show_message(draft, thread, &message);
        draft.effect(Effect::StartTurn {
            thread_id: run.thread_id,
            run_id: run.id,
        });
    }
    Ok(())
}

// -------------------------------------------------------------------- the end of a run

/// Ends a run and everything that hangs on it. The thread is settled afterwards.
pub(super) fn end_run<V: View>(
    draft: &mut Draft<'_, V>,
    run_id: &RunId,
    status: RunStatus,
    reason: Option<EndReason>,
) -> Result<(), V::Fault> {
    let Some(mut run) = draft.run(run_id)? else {
        return Ok(());
    };
    if run.status.is_terminal() {
        return Ok(());
    }
    run.reason = reason;
    let Some(run) = draft.move_run(run, status) else {
        return Ok(());
    };
    close_items(draft, &run)?;
    if run.purpose == RunPurpose::Wake {
        return_wake(draft, &run)?;
    }
    draft.settle_later(&run.thread_id);
    Ok(())
}

/// A wake that never reached its provider gives its tasks back; a withdrawn one is told nowhere.
fn return_wake<V: View>(draft: &mut Draft<'_, V>, run: &Run) -> Result<(), V::Fault> {
    let Some(message) = draft.message(&run.message_id)? else {
        return Ok(());
    };
    // The host died between the commit and the provider's word: nobody knows that it was told.
    let cut_off = run.reason == Some(EndReason::HostRestarted) && run.started_at.is_none();
    let state = if run.status == RunStatus::Cancelled || cut_off {
        DeliveryState::Pending
    } else {
        // The provider was tried and failed: telling again at once would try for ever.
        DeliveryState::Delivered
    };
    for id in message.wakes.iter().flat_map(|wake| &wake.task_ids) {
        mark_claimed(draft, id, state)?;
    }
    Ok(())
}

/// Moves a claimed delivery on.
pub(super) fn mark_claimed<V: View>(
    draft: &mut Draft<'_, V>,
    id: &crate::ids::TaskId,
    state: DeliveryState,
) -> Result<(), V::Fault> {
    if let Some(mut task) = draft.task(id)?
        && task
            .delivery
            .as_ref()
            .is_some_and(|d| d.state == DeliveryState::Claimed)
    {
        task.delivery = Some(Delivery {
            state,
            observed_by_run_id: None,
        });
        draft.put_task(task);
    }
    Ok(())
}

/// What an item that was left open becomes when its turn ends so.
pub(super) const fn closed_with(turn: RunStatus) -> ItemStatus {
    match turn {
        RunStatus::Completed => ItemStatus::Completed,
        RunStatus::Failed => ItemStatus::Failed,
        _ => ItemStatus::Interrupted,
    }
}

/// Providers leave items open when a turn is cut: the host closes them with the turn's outcome.
fn close_items<V: View>(draft: &mut Draft<'_, V>, run: &Run) -> Result<(), V::Fault> {
    let status = closed_with(run.status);
    for item in draft.view.open_items_of(&run.id)? {
        let mut item = draft.item(&item.id)?.unwrap_or(item);
        // A delegated task goes on after the turn that started it.
        if item.kind != crate::item::ItemKind::Subagent && !item.status.is_closed() {
            item.status = status;
            draft.put_item(item);
        }
    }
    for mut request in draft.still_pending(draft.view.pending_requests_of(&run.thread_id)?) {
        if request.run_id.as_ref() == Some(&run.id) {
            request.status =
                crate::request::RequestStatus::Invalidated("the turn ended".to_owned());
            request.resolved_at = Some(draft.now());
            draft.put_request(request);
        }
    }
    Ok(())
}
