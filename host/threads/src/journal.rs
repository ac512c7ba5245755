//! The journal as the process holds it: opened, started, stopped.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::JoinHandle;
use std::time::Duration;

use domain::effect::Effect;
use domain::error::Denial;
use domain::provider_event::ProviderReport;
use domain::session::ProviderSession;
use tokio::sync::{mpsc, oneshot};
use tokio::task;

use crate::changes::Changes;
use crate::clock::{Clock, IdSource};
use crate::dispatch::Dispatcher;
use crate::limits::{EFFECT_QUEUE_MAX, REPORT_QUEUE_MAX, STOP_MS_MAX};
use crate::ports::{ProviderPort, Reports};
use crate::recovery::{self, OpenError};
use crate::store::Store;
use crate::writer::{Health, Parts, Poison, Writer, WriterHandle};
use crate::{ingest, store::StoreError};

/// The handles of a journal. Cheap to clone.
#[derive(Clone, Debug)]
struct Handles {
    writer: WriterHandle,
    store: Store,
    changes: Changes,
    health: Health,
}

/// A journal that is open and readable, and takes commands into its queue; nothing is written until
/// [`Journal::start`].
///
/// The order at the start of a host: open, end the processes of [`Journal::left_behind`], make the
/// provider pool with [`Journal::reports`], start, then listen.
#[derive(Debug)]
pub struct Journal {
    handles: Handles,
    store_id: String,
    left_behind: Vec<ProviderSession>,
    reports: Reports,
    incoming: mpsc::Receiver<ProviderReport>,
    effects: mpsc::Receiver<(u64, Effect)>,
    handed_over: Arc<AtomicU64>,
    writer: Writer,
}

/// Why a journal did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its first commit failed.
    #[error(transparent)]
    Poisoned(#[from] Poison),
    /// The rules refused to recover.
    #[error("the state left by the last host can't be settled: {0}")]
    Refused(Denial),
    /// The operating system gave no thread.
    #[error("no thread for the journal's writer: {0}")]
    Thread(#[from] std::io::Error),
    /// The writer ended before it answered.
    #[error("the journal's writer ended before it was ready")]
    WriterGone,
}

/// Why a journal did not stop as it should. Everything answered is stored nevertheless.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// Somebody could still report.
    #[error("some provider sessions could still report after {STOP_MS_MAX} ms")]
    ReportsOpen,
    /// A part of the journal ended by a fault of its own.
    #[error("a part of the journal ended by a fault of its own")]
    Panicked,
    /// The file was not closed.
    #[error("the journal's file was not closed: {0}")]
    Close(StoreError),
}

impl Journal {
    /// Opens the file at `path`, makes it if there is none, and migrates it after a backup. Blocks.
    ///
    /// # Errors
    /// [`OpenError`], for the operator.
    pub fn open(
        path: &Path,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Result<Self, OpenError> {
        let opened = recovery::open(path, ids.as_ref())?;
        Ok(Self::assemble(opened, clock, ids))
    }

    pub(crate) fn assemble(
        opened: recovery::Opened,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Self {
        let recovery::Opened {
            database,
            store_id,
            ends,
            left_behind,
            source,
        } = opened;
        let health = Health::new();
        let changes = Changes::new(ends.sequence);
        let (writer, entries) = WriterHandle::channel(health.clone());
        let (reports, incoming) = Reports::channel(REPORT_QUEUE_MAX);
        let (committed, effects) = mpsc::channel(EFFECT_QUEUE_MAX);
        let handed_over = Arc::new(AtomicU64::new(ends.effect));
        let database = Arc::new(database);
        let store = Store::new(Arc::clone(&database), source);
        let parts = Parts {
            entries,
            store: store.clone(),
            clock,
            ids,
            changes: changes.clone(),
            health: health.clone(),
            effects: committed,
            handed_over: Arc::clone(&handed_over),
        };
        Self {
            handles: Handles {
                writer,
                store,
                changes,
                health,
            },
            store_id,
            left_behind,
            reports,
            incoming,
            effects,
            handed_over,
            writer: Writer::new(database, parts, ends),
        }
    }

    /// Random text made with the store; the same for its whole life.
    #[must_use]
    pub fn store_id(&self) -> &str {
        &self.store_id
    }

    /// Sessions the last host did not see the end of. Their processes must be ended before
    /// [`Journal::start`] settles the sessions: a host killed in between finds them here again.
    #[must_use]
    pub fn left_behind(&self) -> &[ProviderSession] {
        &self.left_behind
    }

    /// Where provider sessions report to. The journal stops taking reports when every clone is gone.
    #[must_use]
    pub fn reports(&self) -> Reports {
        self.reports.clone()
    }

    /// The way to the writer. Commands wait in its queue until [`Journal::start`].
    #[must_use]
    pub fn writer(&self) -> WriterHandle {
        self.handles.writer.clone()
    }

    /// Where snapshots are taken from.
    #[must_use]
    pub fn store(&self) -> Store {
        self.handles.store.clone()
    }

    /// Where changes are subscribed to.
    #[must_use]
    pub fn changes(&self) -> Changes {
        self.handles.changes.clone()
    }

    /// Whether the journal can still be written.
    #[must_use]
    pub fn health(&self) -> Health {
        self.handles.health.clone()
    }

    /// Settles what the last host left, durably, then starts to write, to take reports and to hand
    /// effects to `port`. Nothing is handed over before what the last host left is settled.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then.
    pub async fn start(self, port: Arc<dyn ProviderPort>) -> Result<Running, StartError> {
        let Self {
            handles,
            incoming,
            effects,
            handed_over,
            mut writer,
            reports,
            ..
        } = self;
        // Clones of it end the taking of reports when they are gone; this one must not keep it up.
        drop(reports);
        let (settled, settling) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                let recovered = writer.recover();
                let goes_on = matches!(recovered, Ok(Ok(())));
                drop(settled.send(recovered));
                if goes_on {
                    writer.run();
                }
            })?;
        // Before the answer is waited for: settling may bring more effects than their queue holds.
        // They come after the commit, so nothing is handed over unsettled.
        let dispatcher = Dispatcher {
            store: handles.store.clone(),
            port,
            changes: handles.changes.clone(),
            health: handles.health.clone(),
            effects,
            handed_over,
        };
        let dispatch = task::spawn(dispatcher.run());
        match settling.await.map_err(|_| StartError::WriterGone)? {
            Ok(Ok(())) => {}
            Ok(Err(denial)) => return Err(StartError::Refused(denial)),
            Err(poison) => {
                handles.health.poison(poison.clone());
                return Err(poison.into());
            }
        }
        let leaving = ingest::Leaving::default();
        let reading = ingest::run(incoming, handles.writer.clone(), leaving.clone());
        let ingest = task::spawn(reading);
        Ok(Running {
            handles,
            leaving,
            ingest,
            dispatch,
            thread,
        })
    }
}

/// A journal at work.
#[derive(Debug)]
pub struct Running {
    handles: Handles,
    leaving: ingest::Leaving,
    ingest: task::JoinHandle<()>,
    dispatch: task::JoinHandle<()>,
    thread: JoinHandle<()>,
}

impl Running {
    /// The way to the writer.
    #[must_use]
    pub fn writer(&self) -> WriterHandle {
        self.handles.writer.clone()
    }

    /// Where snapshots are taken from.
    #[must_use]
    pub fn store(&self) -> Store {
        self.handles.store.clone()
    }

    /// Where changes are subscribed to.
    #[must_use]
    pub fn changes(&self) -> Changes {
        self.handles.changes.clone()
    }

    /// Whether the journal can still be written.
    #[must_use]
    pub fn health(&self) -> Health {
        self.handles.health.clone()
    }

    /// Takes no more reports than those given until it returns. Call it before the agents are ended: what their end would
    /// report is no end of theirs but the host's, and the next start settles it as it settles a crash.
    pub async fn leave_agents(&self) {
        self.leaving.leave().await;
    }

    /// Stores the reports still under way and the commands queued before this, then closes the file.
    /// Call it when the provider pool is gone: reports end when nobody can send one.
    ///
    /// # Errors
    /// [`StopError`]; the file is closed as far as it could be.
    pub async fn stop(self) -> Result<(), StopError> {
        let Self {
            handles,
            leaving: _,
            mut ingest,
            dispatch,
            thread,
        } = self;
        let grace = Duration::from_millis(STOP_MS_MAX);
        let reports = match tokio::time::timeout(grace, &mut ingest).await {
            Ok(ended) => ended.map_err(|_| StopError::Panicked),
            Err(_) => {
                ingest.abort();
                Err(StopError::ReportsOpen)
            }
        };
        handles.writer.stop().await;
        let store = handles.store.clone();
        let closed = task::spawn_blocking(move || {
            let joined = thread.join().map_err(|_| StopError::Panicked);
            joined.and(store.close().map_err(StopError::Close))
        });
        let closed = closed.await.unwrap_or(Err(StopError::Panicked));
        let dispatched = dispatch.await.map_err(|_| StopError::Panicked);
        reports.and(closed).and(dispatched)
    }
}

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
