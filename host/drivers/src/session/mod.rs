//! Provider sessions: one task each, which alone owns the guest, its processes and its timers.

mod actions;
mod actor;
mod body;
mod probe;
mod recording;
mod timers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use domain::ids::{ProviderSessionId, ThreadId};
use domain::provider_event::{Failure, SessionEnd};
use threads::ports::{CredentialPort, ProviderWork, Reports};
use tokio::sync::mpsc;

use crate::bindings::v0_1::types as wit;
use crate::component::LoadedDriver;
use crate::grants::Gate;
use crate::ledger::Activity;
use crate::limits::SessionLimits;
use crate::manifest::ThreadsHeld;
use crate::process::ProcessTable;
use crate::secrets::NamedSecret;

pub(crate) use actor::start;
pub(crate) use probe::probe;

/// What a session is started with.
#[derive(Clone)]
pub(crate) struct SessionParts {
    pub(crate) id: ProviderSessionId,
    pub(crate) driver: LoadedDriver,
    pub(crate) gate: Arc<Gate>,
    pub(crate) secrets: Vec<NamedSecret>,
    pub(crate) settings_json: String,
    pub(crate) limits: SessionLimits,
    /// Working folder of its processes; `None`: the session folder.
    pub(crate) workspace: Option<PathBuf>,
    /// Private folder of this session; made at its start, removed at its end.
    pub(crate) folder: PathBuf,
    pub(crate) recordings: Option<PathBuf>,
    pub(crate) processes: ProcessTable,
}

/// What a session talks to while it lives.
#[derive(Clone)]
pub(crate) struct SessionPorts {
    pub(crate) credentials: Arc<dyn CredentialPort>,
    pub(crate) reports: Reports,
    pub(crate) news: mpsc::UnboundedSender<News>,
}

/// What a session tells its pool.
#[derive(Debug)]
pub(crate) enum News {
    /// The provider as the session now knows it.
    Learned {
        session: ProviderSessionId,
        snapshot: Box<wit::Snapshot>,
    },
    /// A turn completed: whatever was wrong with the provider is over.
    TurnWorked { session: ProviderSessionId },
    /// It is over, its processes with it.
    Over {
        session: ProviderSessionId,
        end: SessionEnd,
        reason: String,
        /// Work it never gave to its driver.
        undone: Vec<ProviderWork>,
    },
}

/// What a pool asks of a session.
#[derive(Debug)]
pub(crate) enum Order {
    /// Do this for a thread.
    Work(ProviderWork),
    /// End in good order.
    Close(&'static str),
}

/// A session as its pool sees it.
#[derive(Clone, Debug)]
pub(crate) struct SessionHandle {
    orders: mpsc::UnboundedSender<Order>,
    status: SharedStatus,
}

/// The session takes no more orders; they come back.
#[derive(Debug)]
pub(crate) struct Closed(pub(crate) Box<Order>);

impl SessionHandle {
    pub(crate) fn send(&self, order: Order) -> Result<(), Closed> {
        self.orders
            .send(order)
            .map_err(|refused| Closed(Box::new(refused.0)))
    }

    pub(crate) fn status(&self) -> Status {
        self.status.read()
    }
}

/// How busy a session is, for those who only look.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub(crate) held: ThreadsHeld,
    pub(crate) threads: BTreeMap<ThreadId, Activity>,
}

/// Written by the session after each step, read by the pool.
#[derive(Clone, Debug)]
struct SharedStatus(Arc<Mutex<Status>>);

impl SharedStatus {
    fn new(held: ThreadsHeld) -> Self {
        Self(Arc::new(Mutex::new(Status {
            held,
            threads: BTreeMap::new(),
        })))
    }

    fn read(&self) -> Status {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn write(&self, status: Status) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }
}

/// Why a session ends.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// Something failed.
    Failed(Failure),
    /// It was asked to, or has nothing left to do.
    Stopped(String),
}
