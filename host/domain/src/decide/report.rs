//! What provider sessions report becomes facts. A report about something that is over changes nothing:
//! agents speak late.

use crate::command::Answer;
use crate::ids::{MessageId, ProviderSessionId, RunId, ThreadId};
use crate::item::ItemKind;
use crate::provider_event::{Failure, ProviderEvent, ProviderReport, SessionEnd, TurnOutcome};
use crate::request::{Request, RequestStatus};
use crate::run::{EndReason, QueueState, RunPurpose, RunStatus};
use crate::session::{ProcessRecord, ProviderSession, SessionEnded};
use crate::task::DeliveryState;
use crate::thread::NativeThread;
use crate::view::View;

use super::Ruled;
use super::create::queue_run;
use super::draft::Draft;
use super::items::{append_text, put_provider_item};
use super::settle::{end_run, mark_claimed};

pub(super) fn report<V: View>(draft: &mut Draft<'_, V>, report: &ProviderReport) -> Ruled<V> {
    match &report.event {
        ProviderEvent::ThreadAttached { thread_id } => attached(draft, report, thread_id)?,
        ProviderEvent::ProcessStarted { pid, start_ticks } => {
            let mut session = session_of(draft, report)?;
            session.processes.push(ProcessRecord {
                pid: *pid,
                start_ticks: *start_ticks,
            });
            draft.put_session(session);
        }
        ProviderEvent::ProcessEnded { pid } => {
            let mut session = session_of(draft, report)?;
            session.processes.retain(|process| process.pid != *pid);
            draft.put_session(session);
        }
        ProviderEvent::ThreadReady {
            thread_id,
            native_thread_id,
            resume,
            ..
        } => {
            if let Some(mut thread) = draft.thread(thread_id)? {
                thread.native = Some(NativeThread {
                    id: native_thread_id.clone(),
                    resume: *resume,
                });
                draft.put_thread(thread);
            }
        }
        ProviderEvent::TurnStarted {
            run_id,
            native_turn_id,
        } => {
            turn_started(draft, run_id, native_turn_id.clone())?;
        }
        ProviderEvent::TurnEnded {
            run_id,
            outcome,
            native_point,
        } => {
            turn_ended(draft, run_id, outcome, native_point.clone())?;
        }
        ProviderEvent::SteerEnded {
            run_id,
            message_id,
            refusal,
        } => {
            if let Some(failure) = refusal {
                steer_refused(draft, run_id, message_id, failure)?;
            }
        }
        ProviderEvent::Item(item) => put_provider_item(draft, report, item)?,
        ProviderEvent::Text {
            thread_id,
            driver_item_id,
            appended,
        } => {
            append_text(draft, report, thread_id, driver_item_id, appended)?;
        }
        ProviderEvent::RequestOpened { .. } => open_request(draft, report)?,
        ProviderEvent::RequestClosed { request_id, reason } => {
            if let Some(mut request) = draft.request(request_id)?
                && request.is_pending()
            {
                request.status = RequestStatus::Invalidated(reason.clone());
                request.resolved_at = Some(draft.now());
                draft.put_request(request);
            }
        }
        ProviderEvent::Usage { run_id, usage } => {
            if let Some(mut run) = draft.run(run_id)? {
                run.usage = *usage;
                draft.put_run(run);
            }
        }
        ProviderEvent::Background { thread_id, tasks } => {
            if let Some(mut thread) = draft.thread(thread_id)? {
                thread.background.clone_from(tasks);
                draft.put_thread(thread);
                draft.settle_later(thread_id);
            }
        }
        ProviderEvent::ThreadDetached { thread_id, .. } => detached(draft, report, thread_id)?,
        ProviderEvent::SessionEnded { reason, end } => {
            session_ended(draft, report, reason, *end)?;
        }
    }
    Ok(Ok(Answer::Done))
}

// -------------------------------------------------------------------- sessions

fn session_of<V: View>(
    draft: &Draft<'_, V>,
    report: &ProviderReport,
) -> Result<ProviderSession, V::Fault> {
    Ok(draft
        .view
        .session(&report.session_id)?
        .unwrap_or_else(|| ProviderSession {
            id: report.session_id.clone(),
            instance_id: report.instance_id.clone(),
            threads: Vec::new(),
            processes: Vec::new(),
            created_at: draft.now(),
            ended: None,
        }))
}

fn attached<V: View>(
    draft: &mut Draft<'_, V>,
    report: &ProviderReport,
    thread_id: &ThreadId,
) -> Result<(), V::Fault> {
    let mut session = session_of(draft, report)?;
    if !session.threads.contains(thread_id) {
        session.threads.push(thread_id.clone());
        draft.put_session(session);
    }
    if let Some(mut thread) = draft.thread(thread_id)? {
        thread.session_id = Some(report.session_id.clone());
        draft.put_thread(thread);
    }
    Ok(())
}

fn detached<V: View>(
    draft: &mut Draft<'_, V>,
    report: &ProviderReport,
    thread_id: &ThreadId,
) -> Result<(), V::Fault> {
    let mut session = session_of(draft, report)?;
    if session.threads.contains(thread_id) {
        session.threads.retain(|held| held != thread_id);
        draft.put_session(session);
    }
    let_go(draft, &report.session_id, thread_id)
}

/// What a session did for a thread beyond its turns ends when the session lets go of it.
pub(super) fn let_go<V: View>(
    draft: &mut Draft<'_, V>,
    session_id: &ProviderSessionId,
    thread_id: &ThreadId,
) -> Result<(), V::Fault> {
    if let Some(mut thread) = draft.thread(thread_id)?
        && thread.session_id.as_ref() == Some(session_id)
    {
        thread.session_id = None;
        thread.background.clear();
        draft.put_thread(thread);
        draft.settle_later(thread_id);
    }
    Ok(())
}

fn session_ended<V: View>(
    draft: &mut Draft<'_, V>,
    report: &ProviderReport,
    reason: &str,
    end: SessionEnd,
) -> Result<(), V::Fault> {
    let mut session = session_of(draft, report)?;
    for thread_id in std::mem::take(&mut session.threads) {
        let_go(draft, &report.session_id, &thread_id)?;
    }
    session.processes.clear();
    session.ended = Some(SessionEnded {
        at: draft.now(),
        end,
        reason: reason.to_owned(),
    });
    draft.put_session(session);
    for mut request in draft.still_pending(draft.view.pending_requests()?) {
        if request.session_id == report.session_id {
            request.status = RequestStatus::Invalidated("the agent that asked is gone".to_owned());
            request.resolved_at = Some(draft.now());
            draft.put_request(request);
        }
    }
    Ok(())
}

// -------------------------------------------------------------------- turns

fn turn_started<V: View>(
    draft: &mut Draft<'_, V>,
    run_id: &RunId,
    native_turn_id: Option<String>,
) -> Result<(), V::Fault> {
    let Some(mut run) = draft.run(run_id)? else {
        return Ok(());
    };
    if run.status != RunStatus::Starting {
        return Ok(());
    }
    run.started_at = Some(draft.now());
    run.native_turn_id = native_turn_id;
    let (purpose, message_id) = (run.purpose, run.message_id.clone());
    draft.move_run(run, RunStatus::Running);
    if purpose == RunPurpose::Wake
        && let Some(message) = draft.message(&message_id)?
    {
        for id in message.wakes.iter().flat_map(|wake| &wake.task_ids) {
            mark_claimed(draft, id, DeliveryState::Delivered)?;
        }
    }
    Ok(())
}

fn turn_ended<V: View>(
    draft: &mut Draft<'_, V>,
    run_id: &RunId,
    outcome: &TurnOutcome,
    native_point: Option<String>,
) -> Result<(), V::Fault> {
    let Some(mut run) = draft.run(run_id)? else {
        return Ok(());
    };
    if !run.status.is_active() {
        return Ok(());
    }
    let stopped = match &run.reason {
        Some(EndReason::Stopped(words)) => Some(words.clone()),
        _ => None,
    };
    if native_point.is_some() {
        run.native_point = native_point;
        draft.put_run(run.clone());
    }
    let (status, reason) = match (outcome, stopped) {
        (TurnOutcome::Completed, _) => (RunStatus::Completed, None),
        (TurnOutcome::Interrupted, words) => (
            RunStatus::Interrupted,
            Some(EndReason::Stopped(
                words.unwrap_or_else(|| "stopped at the provider".to_owned()),
            )),
        ),
        // A stop may break what it stops: it is a stop all the same.
        (TurnOutcome::Failed(_), Some(words)) => {
            (RunStatus::Interrupted, Some(EndReason::Stopped(words)))
        }
        (TurnOutcome::Failed(failure), None) => {
            (RunStatus::Failed, Some(EndReason::Failure(failure.clone())))
        }
    };
    // A turn can end without ever having been reported as started: its run was being handed over.
    if run.status == RunStatus::Starting && status == RunStatus::Completed {
        run.started_at = Some(draft.now());
        draft.move_run(run, RunStatus::Running);
    }
    end_run(draft, run_id, status, reason)
}

/// A message that could not join the running turn becomes a run of its own, once: it then belongs to that run.
fn steer_refused<V: View>(
    draft: &mut Draft<'_, V>,
    steered: &RunId,
    message_id: &MessageId,
    failure: &Failure,
) -> Result<(), V::Fault> {
    let Some(message) = draft
        .message(message_id)?
        .filter(|message| message.run_id.as_ref() == Some(steered))
    else {
        return Ok(());
    };
    if let Some(mut thread) = draft.thread(&message.thread_id)? {
        let mut notice = draft.new_item(&mut thread, ItemKind::Notice);
        notice.run_id.clone_from(&message.run_id);
        notice.text = format!(
            "The message could not join the running turn and was queued: {}",
            failure.message
        );
        draft.put_item(notice);
    }
    // It was sent before the stop of that turn: like the rest of the queue it waits for a person.
    let stopped = draft
        .run(steered)?
        .is_some_and(|run| matches!(run.reason, Some(EndReason::Stopped(_))));
    if let Some((_, run_id)) = queue_run(draft, message)?
        && stopped
        && let Some(mut run) = draft.run(&run_id)?
    {
        run.queue = QueueState::Held;
        draft.put_run(run);
    }
    Ok(())
}

// -------------------------------------------------------------------- requests

fn open_request<V: View>(
    draft: &mut Draft<'_, V>,
    report: &ProviderReport,
) -> Result<(), V::Fault> {
    let ProviderEvent::RequestOpened {
        request_id,
        thread_id,
        run_id,
        blocking,
        prompt,
        detail_json,
    } = &report.event
    else {
        return Ok(());
    };
    // An answered request must not open again because somebody speaks of it twice.
    if draft.request(request_id)?.is_some() || draft.thread(thread_id)?.is_none() {
        return Ok(());
    }
    let run_over = match run_id {
        Some(id) => draft.run(id)?.is_none_or(|run| run.status.is_terminal()),
        None => false,
    };
    let now = draft.now();
    draft.put_request(Request {
        id: request_id.clone(),
        thread_id: thread_id.clone(),
        run_id: run_id.clone(),
        session_id: report.session_id.clone(),
        blocking: *blocking,
        prompt: prompt.clone(),
        detail_json: detail_json.clone(),
        status: if run_over {
            RequestStatus::Invalidated("the turn was over when it was asked".to_owned())
        } else {
            RequestStatus::Pending
        },
        created_at: now,
        resolved_at: run_over.then_some(now),
    });
    Ok(())
}
