//! The running server: everything wired together, in the order a crash demands, and taken down again.

mod command;
mod descriptors;
mod host;
mod instances;
pub mod limits;
mod lock;

use std::path::PathBuf;

use domain::ids::ProviderInstanceId;
use serde::Serialize;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::local::socket::SocketError;
use crate::mcp::McpSetupError;

pub(crate) use command::command;

/// Whether sessions are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// No.
    Off,
    /// What every driver is told and answers goes to a file in the data folder, with placeholders for secrets.
    On,
}

/// A server that takes calls.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// Where agents reach the tools.
    pub mcp_url: String,
    /// Where people reach the host.
    pub socket: PathBuf,
    /// The host's process.
    pub pid: u32,
}

/// Why a server could not start or had to end.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The data folder can't be used.
    #[error("the data folder {path}: {source}")]
    Folder {
        /// The folder.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Another server has it.
    #[error(
        "another server (process {pid}) works on {path}: stop it, or name another folder with --data-folder"
    )]
    FolderInUse {
        /// The folder.
        path: String,
        /// Its holder.
        pid: String,
    },
    /// The journal can't be opened.
    #[error(transparent)]
    Open(#[from] threads::OpenError),
    /// The journal can't be started.
    #[error(transparent)]
    Start(#[from] threads::journal::StartError),
    /// WebAssembly can't be run here.
    #[error(transparent)]
    Engine(#[from] drivers::engine::EngineError),
    /// The address can't be listened on.
    #[error(
        "can't listen on {address}: {source}; another one stands after --listen, or in [server] listen"
    )]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The local socket can't be made.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The endpoint's settings can't be served.
    #[error(transparent)]
    Mcp(#[from] McpSetupError),
    /// A secret of an instance can't be used.
    #[error("provider {provider}, secret {name}: {why}")]
    Secret {
        /// The instance.
        provider: ProviderInstanceId,
        /// The secret's name.
        name: String,
        /// Why; never tells any of it.
        why: String,
    },
    /// The system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The journal takes no writes any more.
    #[error("{0}")]
    Poisoned(String),
    /// A listener ended by itself.
    #[error("{0} ended by itself: {1}")]
    ListenerEnded(&'static str, String),
    /// Going down took too long, or a part did not end well.
    #[error("the server did not end well: {0}")]
    Untidy(String),
}

/// Runs a server until `shutdown` fires or the store fails. `ready` hears once calls are taken.
///
/// The caller is a child subreaper ([`drivers::process::become_subreaper`]) before anything is spawned.
///
/// # Errors
/// [`ServeError`]; all agents have ended nevertheless.
pub async fn run(
    config: Config,
    recording: Recording,
    shutdown: CancellationToken,
    ready: oneshot::Sender<Ready>,
) -> Result<(), ServeError> {
    let host = host::Host::start(config, recording).await?;
    let facts = host.ready();
    tracing::info!(mcp = %facts.mcp_url, socket = %facts.socket.display(), "ready");
    // A caller that does not ask is not told.
    drop(ready.send(facts));
    host.until(shutdown).await
}
