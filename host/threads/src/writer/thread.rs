//! The writer's own thread: redb blocks, and nothing else may wait for that.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::command::Command;
use domain::effect::Effect;
use domain::error::Denial;
use domain::ids::ThreadId;
use redb::{CommitError, Database, Durability, WriteTransaction};
use tokio::sync::{mpsc, oneshot};

use super::{Answered, Entry, Health, Poison, Submitted, unavailable};
use crate::changes::Changes;
use crate::clock::{Clock, IdSource};
use crate::limits::{BATCH_BYTES_MAX, BATCH_COMMANDS_MAX};
use crate::store::{Batch, Content, Ends, Store, StoreError};

/// What the writer works with.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) entries: mpsc::Receiver<Entry>,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) changes: Changes,
    pub(crate) health: Health,
    /// Where committed effects go, each with its number in the outbox.
    pub(crate) effects: mpsc::Sender<(u64, Effect)>,
    /// Number of the newest effect that was handed over.
    pub(crate) handed_over: Arc<AtomicU64>,
}

/// The writer.
pub(crate) struct Writer {
    database: Arc<Database>,
    pub(super) parts: Parts,
    ends: Ends,
    forgotten: u64,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}

type Reply = oneshot::Sender<Result<Answered, Denial>>;

/// What a batch leaves to do once it is durable.
#[derive(Default)]
pub(super) struct Outgoing {
    answers: Vec<(Reply, Result<Answered, Denial>)>,
    pub(super) touched: BTreeSet<ThreadId>,
    pub(super) effects: Vec<(u64, Effect)>,
}

/// Whether the writer goes on after a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Batch,
    Stop,
}

impl Writer {
    pub(crate) fn new(database: Arc<Database>, parts: Parts, ends: Ends) -> Self {
        Self {
            database,
            parts,
            ends,
            forgotten: 0,
        }
    }

    /// The first transaction of a host: what the last one left in the outbox is forgotten, because
    /// no agent of it lives any more, and [`Command::Recover`] settles what that ended.
    pub(crate) fn recover(&mut self) -> Result<Result<(), Denial>, Poison> {
        let transaction = self.begin().map_err(|fault| Poison::by(&fault))?;
        let mut batch = Batch::new(&transaction, self.ends);
        let mut outgoing = Outgoing::default();
        batch
            .forget_effects(u64::MAX)
            .map_err(|fault| Poison::by(&fault))?;
        let recovered = self.decide(&mut batch, None, &Command::Recover, &mut outgoing);
        if let Err(denial) = recovered.map_err(|fault| Poison::by(&fault))? {
            return Ok(Err(denial));
        }
        let ends = batch.ends();
        drop(batch);
        transaction
            .commit()
            .map_err(|fault| commit_failed(&fault))?;
        self.publish(ends, outgoing);
        Ok(Ok(()))
    }

    /// Takes batches until it is told to stop or the store fails.
    pub(crate) fn run(mut self) {
        let _told = TellTheEnd {
            changes: self.parts.changes.clone(),
            health: self.parts.health.clone(),
        };
        while let Some(first) = self.parts.entries.blocking_recv() {
            let next = self.batch(first);
            if next == Next::Stop || self.parts.health.poisoned().is_some() {
                break;
            }
        }
        self.refuse_the_rest();
    }

    /// One transaction: `first`, and whatever else is in the queue, within the batch's bounds.
    fn batch(&mut self, first: Entry) -> Next {
        let mut outgoing = Outgoing::default();
        match self.write(first, &mut outgoing) {
            Ok((ends, next)) => {
                self.publish(ends, outgoing);
                next
            }
            Err(poison) => {
                // The reason must stand before anybody is told, so that all are told the same.
                self.parts.health.poison(poison);
                for (reply, _) in outgoing.answers {
                    drop(reply.send(Err(unavailable(&self.parts.health))));
                }
                if let Err(fault) = self.parts.store.read_on() {
                    tracing::error!(%fault, "only what is in memory can still be read");
                }
                Next::Stop
            }
        }
    }

    fn write(&mut self, first: Entry, outgoing: &mut Outgoing) -> Result<(Ends, Next), Poison> {
        let transaction = self.begin().map_err(|fault| Poison::by(&fault))?;
        let mut batch = Batch::new(&transaction, self.ends);
        let next = self
            .fill(&mut batch, first, outgoing)
            .map_err(|fault| Poison::by(&fault))?;
        let (ends, content) = (batch.ends(), batch.content());
        if content == Content::Nothing {
            drop(batch);
            transaction
                .abort()
                .map_err(|fault| Poison::by(&fault.into()))?;
            return Ok((ends, next));
        }
        let handed_over = self.parts.handed_over.load(Ordering::Acquire);
        if handed_over > self.forgotten {
            batch
                .forget_effects(handed_over)
                .map_err(|fault| Poison::by(&fault))?;
        }
        drop(batch);
        transaction
            .commit()
            .map_err(|fault| commit_failed(&fault))?;
        self.forgotten = handed_over;
        Ok((ends, next))
    }

    fn begin(&self) -> Result<WriteTransaction, StoreError> {
        if let Some(poison) = self.parts.health.poisoned() {
            return Err(StoreError::Poisoned(poison.to_string()));
        }
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        Ok(transaction)
    }

    fn fill(
        &mut self,
        batch: &mut Batch<'_>,
        first: Entry,
        outgoing: &mut Outgoing,
    ) -> Result<Next, StoreError> {
        let mut entry = first;
        loop {
            let Entry::Command(submitted) = entry else {
                return Ok(Next::Stop);
            };
            self.take(batch, *submitted, outgoing)?;
            if outgoing.answers.len() >= BATCH_COMMANDS_MAX || batch.bytes() >= BATCH_BYTES_MAX {
                return Ok(Next::Batch);
            }
            // An end of the queue is seen by the next wait on it.
            let Ok(next) = self.parts.entries.try_recv() else {
                return Ok(Next::Batch);
            };
            entry = next;
        }
    }

    fn take(
        &self,
        batch: &mut Batch<'_>,
        submitted: Submitted,
        outgoing: &mut Outgoing,
    ) -> Result<(), StoreError> {
        let Submitted {
            key,
            command,
            reply,
        } = submitted;
        let answer = self.answer(batch, key.as_ref(), &command, outgoing);
        let (answer, fault) = match answer {
            Ok(answer) => (answer, Ok(())),
            Err(fault) => (Err(unavailable(&self.parts.health)), Err(fault)),
        };
        outgoing.answers.push((reply, answer));
        fault
    }

    /// Tells everybody what is durable now: the callers, the watchers, the dispatcher.
    fn publish(&mut self, ends: Ends, outgoing: Outgoing) {
        for (reply, answer) in outgoing.answers {
            // A caller that went away does not change what is stored.
            drop(reply.send(answer));
        }
        if ends.sequence > self.ends.sequence {
            self.parts.changes.publish(ends.sequence, &outgoing.touched);
        }
        for effect in outgoing.effects {
            if self.parts.effects.blocking_send(effect).is_err() {
                // A run that is never started would hang for ever. The next start settles it.
                self.parts
                    .health
                    .poison(Poison::Broken("effects are not handed over".to_owned()));
            }
        }
        self.ends = ends;
    }

    fn refuse_the_rest(&mut self) {
        self.parts.entries.close();
        while let Some(entry) = self.parts.entries.blocking_recv() {
            if let Entry::Command(submitted) = entry {
                drop(submitted.reply.send(Err(unavailable(&self.parts.health))));
            }
        }
    }
}

fn commit_failed(fault: &CommitError) -> Poison {
    match fault {
        // redb rolled it back.
        CommitError::TransactionPoisoned => Poison::Storage(fault.to_string()),
        _ => Poison::CommitUnknown(fault.to_string()),
    }
}

/// Ends every wait when the writer ends, also by a panic: it must not look merely busy.
struct TellTheEnd {
    changes: Changes,
    health: Health,
}

impl Drop for TellTheEnd {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.health.poison(Poison::Broken(
                "the writer ended by a fault of its own".to_owned(),
            ));
        }
        self.changes.end();
    }
}
