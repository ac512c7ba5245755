//! The configuration as the rest of the server reads it. Every value is checked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use domain::authority::Capability;
use domain::ids::{DriverKind, ProviderInstanceId};
use domain::modes::Modes;

use super::secrets::SecretSource;

/// What the operator configured, with the defaults filled in.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it was read from; `None`: no file, everything is a default.
    pub file: Option<PathBuf>,
    /// Remarks that stop nothing, for `weft config check` and the log.
    pub warnings: Vec<String>,
    /// Folder of everything Weft stores. Absolute.
    pub data_folder: PathBuf,
    /// Address of the MCP endpoint.
    pub listen: SocketAddr,
    /// The MCP endpoint.
    pub mcp: McpConfig,
    /// Lifetimes of provider-session credentials.
    pub credentials: CredentialConfig,
    /// Defaults of new threads.
    pub defaults: DefaultsConfig,
    /// Deepest delegation, threads below the top.
    pub delegation_depth_max: u32,
    /// Where drivers are and what holds for them.
    pub drivers: DriversConfig,
    /// Provider instances; `None`: none configured, the built-in set holds.
    pub providers: Option<Vec<ProviderConfig>>,
}

/// The MCP endpoint.
#[derive(Clone, Debug)]
pub struct McpConfig {
    /// Server key agents see.
    pub server_name: String,
    /// Toolkits served. Empty: agents get no tools.
    pub toolkits: Vec<Capability>,
    /// Values of `Host` taken besides the address listened on.
    pub allowed_hosts: Vec<String>,
    /// Values of `Origin` taken.
    pub allowed_origins: Vec<String>,
    /// Seconds between keep-alive bytes of a wait.
    pub keep_alive_s: u64,
}

/// Lifetimes of provider-session credentials.
#[derive(Clone, Copy, Debug)]
pub struct CredentialConfig {
    /// Hours without use.
    pub idle_hours: u64,
    /// Days until it is replaced.
    pub life_days: u64,
}

/// Defaults of new threads.
#[derive(Clone, Debug)]
pub struct DefaultsConfig {
    /// Provider instance; `None`: a new thread must name one.
    pub provider: Option<ProviderInstanceId>,
    /// Model; `None`: the instance's own default.
    pub model: Option<String>,
    /// Modes.
    pub modes: Modes,
}

/// Where drivers are and what holds for them.
#[derive(Clone, Debug, Default)]
pub struct DriversConfig {
    /// Folder with `KIND.wasm` files; `None`: beside the program.
    pub folder: Option<PathBuf>,
    /// Minutes until an idle thread is let go; `None`: the driver runtime's own.
    pub idle_minutes: Option<u64>,
    /// What the operator said about single drivers.
    pub kinds: BTreeMap<DriverKind, DriverConfig>,
}

/// What holds for one driver.
#[derive(Clone, Debug)]
pub struct DriverConfig {
    /// Whether it is loaded.
    pub enablement: Enablement,
    /// Its file; `None`: `KIND.wasm` in the folder.
    pub component: Option<PathBuf>,
    /// SHA-256 its file must have, lower-case hexadecimal.
    pub sha256: Option<String>,
    /// Bounds for all of its instances.
    pub limits: LimitsConfig,
}

impl Default for DriverConfig {
    fn default() -> Self {
        Self {
            enablement: Enablement::Enabled,
            component: None,
            sha256: None,
            limits: LimitsConfig::default(),
        }
    }
}

/// Whether something configured is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enablement {
    /// In use.
    Enabled,
    /// Left alone.
    Disabled,
}

/// One configured use of a driver.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    /// Its name.
    pub id: ProviderInstanceId,
    /// Its driver.
    pub driver: DriverKind,
    /// Whether it is in use.
    pub enablement: Enablement,
    /// For people.
    pub display_name: Option<String>,
    /// Program and first words of the agent's command line. Never empty.
    pub command: Vec<String>,
    /// Variables set for the agent.
    pub env: BTreeMap<String, String>,
    /// Names of variables passed on from the host's environment.
    pub env_from_host: Vec<String>,
    /// Where its secrets are.
    pub secrets: BTreeMap<String, SecretSource>,
    /// Models offered, preferred first; empty: what the provider publishes.
    pub models: Vec<String>,
    /// Threads one session may hold; `None`: the driver's default.
    pub threads_per_session: Option<u32>,
    /// Driver settings, a JSON object.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// What the driver may ask for.
    pub grants: GrantsConfig,
    /// Bounds; each wins over the driver's.
    pub limits: LimitsConfig,
}

/// What a driver may ask for on behalf of one instance.
#[derive(Clone, Debug, Default)]
pub struct GrantsConfig {
    /// Names of command lines; `None`: all the driver declares.
    pub spawn: Option<Vec<String>>,
    /// Names of variables; `None`: all the driver declares.
    pub environment: Option<Vec<String>>,
    /// Logical program to its command, besides `agent`.
    pub programs: BTreeMap<String, Vec<String>>,
}

/// Bounds the operator changes; `None`: the driver runtime's own default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Linear memory of one driver instance, bytes.
    pub memory_bytes_max: Option<u64>,
    /// Longest single call, milliseconds.
    pub call_ms_max: Option<u64>,
    /// Longest line, bytes.
    pub line_bytes_max: Option<u64>,
    /// Longest single text, bytes.
    pub text_bytes_max: Option<u64>,
    /// All files of a session, bytes.
    pub file_bytes_max: Option<u64>,
    /// Actions of one call.
    pub actions_max: Option<u64>,
    /// Processes of one session.
    pub processes_max: Option<u64>,
}

impl LimitsConfig {
    /// These bounds, and where one is absent, those of `wider`.
    #[must_use]
    pub const fn or(self, wider: Self) -> Self {
        const fn pick(own: Option<u64>, wider: Option<u64>) -> Option<u64> {
            if own.is_some() { own } else { wider }
        }
        Self {
            memory_bytes_max: pick(self.memory_bytes_max, wider.memory_bytes_max),
            call_ms_max: pick(self.call_ms_max, wider.call_ms_max),
            line_bytes_max: pick(self.line_bytes_max, wider.line_bytes_max),
            text_bytes_max: pick(self.text_bytes_max, wider.text_bytes_max),
            file_bytes_max: pick(self.file_bytes_max, wider.file_bytes_max),
            actions_max: pick(self.actions_max, wider.actions_max),
            processes_max: pick(self.processes_max, wider.processes_max),
        }
    }
}

impl Config {
    /// What holds for a driver, said or not.
    #[must_use]
    pub fn driver(&self, kind: &DriverKind) -> DriverConfig {
        self.drivers.kinds.get(kind).cloned().unwrap_or_default()
    }
}
