//! Messages to a thread: start, queue or steer.

use crate::command::{Answer, SendMessage, SendMode, Sent};
use crate::effect::Effect;
use crate::error::{Denial, DenialCode};
use crate::ids::MessageId;
use crate::item::ItemKind;
use crate::limits::{ACTIVE_THREADS_MAX, PROMPT_UNITS_MAX};
use crate::message::{Message, Role};
use crate::provider::Steering;
use crate::run::{QueueState, Run, RunStatus};
use crate::text::utf16_len;
use crate::thread::Thread;
use crate::view::View;

use super::caller::may_change;
use super::create::queue_message;
use super::draft::Draft;
use super::{Ruled, refuse};

/// A prompt says something and keeps its bound.
pub(super) fn check_prompt(text: &str) -> Result<(), Denial> {
    let units = utf16_len(text);
    if text.trim().is_empty() {
        return Err(Denial::new(
            DenialCode::InvalidRequest,
            "The message is empty: say what to do.",
        ));
    }
    if units > PROMPT_UNITS_MAX {
        return Err(Denial::new(
            DenialCode::InvalidRequest,
            format!(
                "The message has {units} characters and may have {PROMPT_UNITS_MAX}: put long \
                 material into a file of the workspace and name the file."
            ),
        ));
    }
    Ok(())
}

/// One more thread of the host may begin to work.
pub(super) fn check_host_room<V: View>(
    draft: &Draft<'_, V>,
) -> Result<Result<(), Denial>, V::Fault> {
    if draft.view.active_thread_count()? >= ACTIVE_THREADS_MAX {
        refuse!(
            LimitExceeded,
            "The host runs {ACTIVE_THREADS_MAX} active threads, its limit: try again later."
        );
    }
    Ok(Ok(()))
}

pub(super) fn send_message<V: View>(draft: &mut Draft<'_, V>, send: &SendMessage) -> Ruled<V> {
    let thread = match draft.thread(&send.thread_id)? {
        Some(thread) if thread.deleted_at.is_none() => thread,
        Some(_) | None => refuse!(ThreadNotFound, "There is no thread {}.", send.thread_id),
    };
    if !thread.is_open() {
        refuse!(
            ThreadNotSendable,
            "The thread is archived: unarchive it first."
        );
    }
    if let Err(denial) = may_change(draft, &send.caller, &thread)? {
        return Ok(Err(denial));
    }
    if let Err(denial) = check_prompt(&send.text) {
        return Ok(Err(denial));
    }
    let open = draft.open_runs_of(&thread.id)?;
    if open.is_empty()
        && let Err(denial) = check_host_room(draft)?
    {
        return Ok(Err(denial));
    }
    let running = open
        .iter()
        .rfind(|run| run.status == RunStatus::Running && !run.is_stopping())
        .cloned();
    match (send.mode, running) {
        (SendMode::Auto | SendMode::Steer, Some(run)) if send.steering == Steering::Native => {
            Ok(Ok(steer(draft, thread, &run, send)))
        }
        (SendMode::Steer, _) => refuse!(
            ThreadNotSendable,
            "There is no running turn that takes text: send in mode auto or queue."
        ),
        (SendMode::Auto | SendMode::Queue, _) => {
            let ahead = open
                .iter()
                .any(|run| run.status.is_active() || run.queue == QueueState::Free);
            let queued =
                queue_message(draft, &thread.id, &send.text, send.provenance.clone(), None)?;
            let Some((message_id, run_id)) = queued else {
                refuse!(ThreadNotFound, "There is no thread {}.", send.thread_id)
            };
            let (status, delivery) = if ahead {
                (RunStatus::Queued, Sent::Queued)
            } else {
                (RunStatus::Starting, Sent::Started)
            };
            Ok(Ok(Answer::Sent {
                message_id,
                run_id,
                status,
                delivery,
            }))
        }
    }
}

fn steer<V: View>(
    draft: &mut Draft<'_, V>,
    thread: Thread,
    run: &Run,
    send: &SendMessage,
) -> Answer {
    let message = Message {
        id: MessageId::from_random(draft.next_bits()),
        thread_id: thread.id.clone(),
        run_id: Some(run.id.clone()),
        role: Role::User,
        text: send.text.clone(),
        provenance: send.provenance.clone(),
        wakes: None,
        created_at: draft.now(),
        asks: None,
    };
    let message_id = message.id.clone();
    show_message(draft, thread, &message);
    draft.put_message(message);
    draft.effect(Effect::Steer {
        thread_id: run.thread_id.clone(),
        run_id: run.id.clone(),
        message_id: message_id.clone(),
    });
    Answer::Sent {
        message_id,
        run_id: run.id.clone(),
        status: run.status,
        delivery: Sent::Steered,
    }
}

/// Puts a user-role message into the thread's timeline.
pub(super) fn show_message<V: View>(
    draft: &mut Draft<'_, V>,
    mut thread: Thread,
    message: &Message,
) {
    let mut item = draft.new_item(&mut thread, ItemKind::UserMessage);
    item.run_id.clone_from(&message.run_id);
    item.text.clone_from(&message.text);
    item.message_id = Some(message.id.clone());
    draft.put_item(item);
}
