//! The session pool: which session holds which thread, when sessions start and end, and what is known of each provider.

mod budget;
mod config;
mod dispatch;
mod instance;
mod settings;
mod snapshot;
mod task;

use std::sync::{Arc, PoisonError, RwLock};

use domain::ids::ProviderInstanceId;
use domain::provider::ProviderSnapshot;
use threads::ports::{BoxFuture, CredentialPort, ProviderPort, ProviderWork, Reports};
use tokio::sync::{mpsc, oneshot};

use crate::catalogue::DriverCatalogue;
use crate::process::ProcessTable;

pub use config::{Enabled, InstanceConfig, PoolConfig};

/// What the pool needs from the rest of the host.
#[derive(Clone, Debug)]
pub struct PoolPorts {
    /// The drivers.
    pub catalogue: DriverCatalogue,
    /// The host's processes.
    pub processes: ProcessTable,
    /// Credentials for the host's tools.
    pub credentials: Arc<dyn CredentialPort>,
    /// Where sessions report to.
    pub reports: Reports,
}

/// The provider sessions of the host. Clones share them.
#[derive(Clone, Debug)]
pub struct SessionPool {
    asks: mpsc::UnboundedSender<Ask>,
    board: Board,
}

/// What the pool's task is asked.
#[derive(Debug)]
enum Ask {
    Work(ProviderWork),
    Reprobe(ProviderInstanceId, oneshot::Sender<()>),
    Shutdown(oneshot::Sender<()>),
}

/// Snapshots for those who only look.
#[derive(Clone, Debug, Default)]
struct Board(Arc<RwLock<Vec<ProviderSnapshot>>>);

impl Board {
    fn read(&self) -> Vec<ProviderSnapshot> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn write(&self, snapshots: Vec<ProviderSnapshot>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = snapshots;
    }
}

impl SessionPool {
    /// Starts the pool: it waits for drivers and probes every enabled instance in the background. Needs a tokio runtime.
    #[must_use]
    pub fn start(config: PoolConfig, ports: PoolPorts) -> Self {
        let (asks, inbox) = mpsc::unbounded_channel();
        let board = Board::default();
        let task = task::PoolTask::new(config, ports, board.clone());
        tokio::spawn(task.run(inbox));
        Self { asks, board }
    }

    /// Closes every session and waits until the processes are gone, for at most
    /// [`crate::limits::SHUTDOWN_TIME_MAX`]. Work handed in afterwards is dropped.
    pub async fn shutdown(&self) {
        let (done, over) = oneshot::channel();
        if self.asks.send(Ask::Shutdown(done)).is_ok() {
            // A pool that is gone has nothing left to end.
            let _ = over.await;
        }
    }
}

impl ProviderPort for SessionPool {
    fn snapshots(&self) -> Vec<ProviderSnapshot> {
        self.board.read()
    }

    fn reprobe<'a>(&'a self, instance: &'a ProviderInstanceId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let (done, over) = oneshot::channel();
            if self.asks.send(Ask::Reprobe(instance.clone(), done)).is_ok() {
                // Dropped for an instance that does not exist.
                let _ = over.await;
            }
        })
    }

    fn submit(&self, work: ProviderWork) {
        if let Err(refused) = self.asks.send(Ask::Work(work)) {
            tracing::warn!(work = ?refused.0, "the host goes down; work is left to the next start");
        }
    }
}
