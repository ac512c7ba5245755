//! What the operator says about provider instances.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use domain::ids::{DriverKind, ProviderInstanceId};

use crate::grants::Grants;
use crate::limits::SessionLimits;
use crate::secrets::NamedSecret;

/// Configuration of the pool.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// Provider instances, in the operator's order.
    pub instances: Vec<InstanceConfig>,
    /// Folder for the private folders of sessions.
    pub sessions_folder: PathBuf,
    /// Time without work after which a thread is let go.
    pub idle_time: Duration,
    /// Folder for recordings of sessions; `None`: nothing is recorded.
    pub recordings_folder: Option<PathBuf>,
}

/// One configured use of a driver.
#[derive(Clone, Debug)]
pub struct InstanceConfig {
    /// The operator's name for it.
    pub id: ProviderInstanceId,
    /// Driver it uses.
    pub kind: DriverKind,
    /// For people; `None`: the driver's name.
    pub display_name: Option<String>,
    /// Whether it may be used.
    pub enabled: Enabled,
    /// Program and leading arguments of `agent`: a name on PATH or an absolute path.
    pub command: Vec<String>,
    /// Sentence shown when the program is missing.
    pub install_hint: Option<String>,
    /// Names of variables passed on from the host's own environment.
    pub environment_from_host: BTreeSet<String>,
    /// Variables set for its processes.
    pub environment: BTreeMap<String, String>,
    /// Secrets granted to it.
    pub secrets: Vec<NamedSecret>,
    /// Models offered, the first is preferred; empty: what the provider publishes.
    pub models: Vec<String>,
    /// Settings for the driver, a JSON object.
    pub settings_json: String,
    /// Threads one session may hold, where the driver can hold several; `None`: the driver's default.
    pub threads_per_session: Option<u32>,
    /// What the driver may start and set.
    pub grants: Grants,
    /// Bounds of its sessions.
    pub limits: SessionLimits,
}

/// Whether an instance may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enabled {
    /// It may.
    Yes,
    /// The operator switched it off.
    No,
}
