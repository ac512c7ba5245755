//! The single writer: every change goes through its queue, decided one after another, committed together.

mod answer;
mod health;
mod thread;

use domain::command::{Answer, Command};
use domain::error::{Denial, DenialCode};
use domain::ids::RequestKey;
use tokio::sync::{mpsc, oneshot};

pub use health::{Health, Poison};
pub(crate) use thread::{Parts, Writer};

use crate::limits::WRITER_QUEUE_MAX;

/// Binds a caller's key to what was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandKey {
    /// The key.
    pub request: RequestKey,
    /// Digest of the call: the same key with another digest is refused.
    pub digest: String,
}

/// What a command was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// Whether it is the answer of an earlier call with the same key.
    pub replay: Replay,
    /// Where the journal ended just after the command was stored.
    pub sequence: u64,
}

/// Whether a command was done now or before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Now.
    First,
    /// Before; this is the stored answer.
    Repeated,
}

/// One entry of the writer's queue.
#[derive(Debug)]
pub(crate) enum Entry {
    /// A command.
    Command(Box<Submitted>),
    /// End after what was queued before this.
    Stop,
}

/// A command in the queue.
#[derive(Debug)]
pub(crate) struct Submitted {
    pub(crate) key: Option<CommandKey>,
    pub(crate) command: Command,
    pub(crate) reply: oneshot::Sender<Result<Answered, Denial>>,
}

/// The way to the writer. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WriterHandle {
    queue: mpsc::Sender<Entry>,
    health: Health,
}

/// The answer to a command that is in the queue.
#[derive(Debug)]
pub(crate) struct Pending {
    reply: oneshot::Receiver<Result<Answered, Denial>>,
    health: Health,
}

impl WriterHandle {
    pub(crate) fn channel(health: Health) -> (Self, mpsc::Receiver<Entry>) {
        let (queue, entries) = mpsc::channel(WRITER_QUEUE_MAX);
        (Self { queue, health }, entries)
    }

    /// Has a command decided and stored, and answers when that is durable. Waits while the queue is
    /// full. Dropping the future does not withdraw a command that is in the queue.
    ///
    /// A command with a key is done once: the same key and digest gets the stored answer, another
    /// digest [`DenialCode::KeyConflict`]. A refusal that may pass is not stored.
    ///
    /// # Errors
    /// The refusal; [`DenialCode::StorageUnavailable`] once the journal takes no more writes. After
    /// that code the command may have been stored: only the same key tells, at the next start.
    pub async fn submit(
        &self,
        key: Option<CommandKey>,
        command: Command,
    ) -> Result<Answered, Denial> {
        self.enqueue(key, command).await?.answer().await
    }

    /// Puts a command into the queue: commands of one sender are decided in the order of these calls.
    pub(crate) async fn enqueue(
        &self,
        key: Option<CommandKey>,
        command: Command,
    ) -> Result<Pending, Denial> {
        let (reply, pending) = oneshot::channel();
        let entry = Entry::Command(Box::new(Submitted {
            key,
            command,
            reply,
        }));
        self.queue
            .send(entry)
            .await
            .map_err(|_| unavailable(&self.health))?;
        Ok(Pending {
            reply: pending,
            health: self.health.clone(),
        })
    }

    /// Ends the writer after what is queued.
    pub(crate) async fn stop(&self) {
        // A writer that is gone has stopped.
        drop(self.queue.send(Entry::Stop).await);
    }
}

impl Pending {
    /// The answer, once it is durable.
    pub(crate) async fn answer(self) -> Result<Answered, Denial> {
        self.reply
            .await
            .unwrap_or_else(|_| Err(unavailable(&self.health)))
    }
}

fn unavailable(health: &Health) -> Denial {
    let text = health.poisoned().map_or_else(
        || "the journal takes no more writes: the host is going down".to_owned(),
        |poison| format!("{poison}; try again when the host has restarted"),
    );
    Denial::new(DenialCode::StorageUnavailable, text)
}

#[cfg(test)]
mod tests;
