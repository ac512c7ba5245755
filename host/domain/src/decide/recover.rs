//! The host came up: every agent of its last life is gone.

use crate::command::Answer;
use crate::provider_event::SessionEnd;
use crate::request::RequestStatus;
use crate::run::{EndReason, RunStatus};
use crate::session::SessionEnded;
use crate::view::View;

use super::Ruled;
use super::draft::Draft;
use super::report::let_go;
use super::settle::end_run;

/// Ends what had an agent, then lets the queues go on: a parent is woken once for all its ended tasks,
/// and a prompt that was handed to an agent is never handed to another by itself.
pub(super) fn recover<V: View>(draft: &mut Draft<'_, V>) -> Ruled<V> {
    for mut session in draft.view.open_sessions()? {
        for thread_id in std::mem::take(&mut session.threads) {
            let_go(draft, &session.id, &thread_id)?;
        }
        session.ended = Some(SessionEnded {
            at: draft.now(),
            end: SessionEnd::Failed,
            reason: "the host restarted".to_owned(),
        });
        draft.put_session(session);
    }
    for mut request in draft.view.pending_requests()? {
        request.status = RequestStatus::Invalidated(
            "the host restarted and the agent that asked is gone".to_owned(),
        );
        request.resolved_at = Some(draft.now());
        draft.put_request(request);
    }
    for run in draft.view.open_runs()? {
        draft.settle_later(&run.thread_id);
        if run.status != RunStatus::Queued {
            // A stop that was under way when the host died has reached its aim.
            let reason = match run.reason.clone() {
                Some(EndReason::Stopped(words)) => EndReason::Stopped(words),
                _ => EndReason::HostRestarted,
            };
            end_run(draft, &run.id, RunStatus::Interrupted, Some(reason))?;
        }
    }
    Ok(Ok(Answer::Done))
}
