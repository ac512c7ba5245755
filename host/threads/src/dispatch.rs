//! Hands committed effects to the providers, in order.
//!
//! Effects come in memory from the writer, after the commit that holds them in the outbox: an answer to
//! a question may be a secret, which is in no row. An effect that was handed over is never done again:
//! if the host dies, so does the agent it was for, and the next start settles its run. So its row goes
//! away with whatever the writer commits next, and handing over costs no commit of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::effect::Effect;
use domain::ids::{MessageId, RunId, ThreadId};
use domain::message::Message;
use domain::run::Run;
use domain::thread::Thread;
use domain::view::View;
use tokio::sync::mpsc;

use crate::changes::Changes;
use crate::limits::EFFECTS_AT_ONCE_MAX;
use crate::ports::{Conversation, ProviderPort, ProviderWork, ThreadOpening};
use crate::store::{Reader, Store, StoreError};
use crate::writer::{Health, Poison};

/// What the dispatcher works with.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    pub(crate) store: Store,
    pub(crate) port: Arc<dyn ProviderPort>,
    pub(crate) changes: Changes,
    pub(crate) health: Health,
    /// Committed effects, each with its number in the outbox.
    pub(crate) effects: mpsc::Receiver<(u64, Effect)>,
    /// Number of the newest effect that was handed over.
    pub(crate) handed_over: Arc<AtomicU64>,
}

impl Dispatcher {
    /// Hands over effects until the writer ends.
    pub(crate) async fn run(mut self) {
        let mut committed = Vec::new();
        while self
            .effects
            .recv_many(&mut committed, EFFECTS_AT_ONCE_MAX)
            .await
            > 0
        {
            if let Err(fault) = self.hand_over(committed.drain(..)) {
                // A run that is never started would hang for ever, and so would whoever waits for
                // it. The next start settles it.
                tracing::error!(%fault, "an effect can't be done");
                self.health.poison(Poison::by(&fault));
                self.changes.end();
                return;
            }
        }
    }

    /// The snapshot is taken after the effects came, so it shows what they speak of.
    fn hand_over(&self, effects: impl Iterator<Item = (u64, Effect)>) -> Result<(), StoreError> {
        let snapshot = self.store.reader()?;
        for (number, effect) in effects {
            self.port.submit(work_for(&snapshot, effect)?);
            self.handed_over.store(number, Ordering::Release);
        }
        Ok(())
    }
}

/// What the provider needs to know to do an effect.
fn work_for(snapshot: &Reader, effect: Effect) -> Result<ProviderWork, StoreError> {
    Ok(match effect {
        Effect::StartTurn { thread_id, run_id } => {
            let thread = thread(snapshot, &thread_id)?;
            let run = run(snapshot, &run_id)?;
            let text = message(snapshot, &run.message_id)?.text;
            let thread = opening(snapshot, thread, run)?;
            ProviderWork::StartTurn {
                thread,
                run_id,
                text,
            }
        }
        Effect::Steer {
            thread_id,
            run_id,
            message_id,
        } => {
            let text = message(snapshot, &message_id)?.text;
            ProviderWork::Steer {
                thread_id,
                run_id,
                message_id,
                text,
            }
        }
        Effect::Interrupt {
            thread_id,
            run_id,
            reason,
        } => ProviderWork::Interrupt {
            thread_id,
            run_id,
            reason,
        },
        Effect::Respond {
            thread_id,
            request_id,
            reply,
        } => ProviderWork::Answer {
            thread_id,
            request_id,
            reply,
        },
    })
}

/// The run says which instance and model; everything else is the thread's.
fn opening(snapshot: &Reader, thread: Thread, run: Run) -> Result<ThreadOpening, StoreError> {
    Ok(ThreadOpening {
        conversation: conversation(snapshot, &thread, &run)?,
        thread_id: thread.id,
        instance_id: run.provider_instance_id,
        native: thread.native,
        workspace_path: thread.workspace_path,
        model: run.model,
        modes: thread.modes,
    })
}

/// A conversation has begun when the provider knows it and has accepted a turn of an earlier run.
fn conversation(snapshot: &Reader, thread: &Thread, run: &Run) -> Result<Conversation, StoreError> {
    let begun = thread.native.is_some() && snapshot.had_turn_before(&thread.id, run.ordinal)?;
    Ok(if begun {
        Conversation::Begun
    } else {
        Conversation::New
    })
}

fn thread(snapshot: &Reader, id: &ThreadId) -> Result<Thread, StoreError> {
    snapshot
        .thread(id)?
        .ok_or_else(|| StoreError::missing("threads", id))
}

fn run(snapshot: &Reader, id: &RunId) -> Result<Run, StoreError> {
    snapshot
        .run(id)?
        .ok_or_else(|| StoreError::missing("runs", id))
}

fn message(snapshot: &Reader, id: &MessageId) -> Result<Message, StoreError> {
    snapshot
        .message(id)?
        .ok_or_else(|| StoreError::missing("messages", id))
}

#[cfg(test)]
mod tests;
