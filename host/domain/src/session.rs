//! Provider sessions as the journal knows them.

use serde::{Deserialize, Serialize};

use crate::ids::{ProviderInstanceId, ProviderSessionId, ThreadId};
use crate::provider_event::SessionEnd;
use crate::time::Timestamp;

/// One connection to an agent process, live or past.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderSession {
    /// Its id.
    pub id: ProviderSessionId,
    /// Its instance.
    pub instance_id: ProviderInstanceId,
    /// Threads it holds.
    pub threads: Vec<ThreadId>,
    /// Processes known to run for it.
    pub processes: Vec<ProcessRecord>,
    /// When it was first heard of.
    pub created_at: Timestamp,
    /// How and when it ended; `None`: it lives, or died with the host.
    pub ended: Option<SessionEnded>,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// When.
    pub at: Timestamp,
    /// Well or not.
    pub end: SessionEnd,
    /// Why, for people.
    pub reason: String,
}

/// A process, told apart from later ones with the same pid by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Operating system's process id.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
}
