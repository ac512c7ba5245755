//! One host from its start to its end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use drivers::catalogue::{DriverCatalogue, DriverSource};
use drivers::engine::DriverEngine;
use drivers::pool::{PoolConfig, PoolPorts, SessionPool};
use drivers::process::{HostMarker, ProcessTable, sweep};
use threads::clock::{Clock, RandomIds, SystemClock};
use threads::ports::{CredentialPort, ProviderPort};
use threads::service::ThreadManagementService;
use threads::{Journal, Running};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::limits::{PEOPLE_GRACE, SHUTDOWN_TIME_MAX};
use super::lock::FolderLock;
use super::{Ready, Recording, ServeError, descriptors, instances};
use crate::config::Config;
use crate::credentials::{CredentialRegistry, CredentialSettings, EnvironmentId};
use crate::local::peer::Kinship;
use crate::local::{self, LocalApi, socket};
use crate::mcp::{self, McpEndpoint, McpSettings};
use crate::plugins;

/// The journal's file in the data folder.
const JOURNAL_FILE: &str = "journal.redb";
/// Folder of the sessions' files.
const SESSIONS_FOLDER: &str = "sessions";
/// Folder of recordings.
const RECORDINGS_FOLDER: &str = "recordings";

/// A host that takes calls.
#[derive(Debug)]
pub(super) struct Host {
    ready: Ready,
    /// Fires first: no more calls.
    closing: CancellationToken,
    /// Fires when the agents have ended: feeds end.
    stop: CancellationToken,
    mcp: JoinHandle<std::io::Result<()>>,
    people: JoinHandle<std::io::Result<()>>,
    pool: SessionPool,
    credentials: Arc<CredentialRegistry>,
    journal: Running,
    // Dropped last: the folder is free when nothing of this host works on it any more.
    _lock: FolderLock,
}

impl Kinship for ProcessTable {
    fn is_ours(&self, pid: u32) -> bool {
        Self::is_ours(self, pid)
    }
}

impl Host {
    /// Starts everything. Calls are taken when this returns, and not before the last host's agents have ended and its
    /// runs are settled.
    pub(super) async fn start(config: Config, recording: Recording) -> Result<Self, ServeError> {
        let folder = config.data_folder.clone();
        let lock = FolderLock::take(&folder)?;
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        let open_files = descriptors::raise();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let journal = open_journal(&folder, Arc::clone(&clock)).await?;
        let marker = end_strays(&folder, &journal).await?;
        clear_sessions(&folder).await;

        // The address is taken before agents are told of it, and served when there is something to serve.
        let address = config.listen;
        let listen_failed = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen_failed)?;
        let mcp_url = mcp::endpoint_url(listener.local_addr().map_err(listen_failed)?);
        let socket_listener = socket::bind(&folder)?;

        let credentials = credentials(&config, &journal, &mcp_url, clock);
        let processes = ProcessTable::start(marker);
        let pool = start_pool(&config, recording, &journal, &processes, &credentials)?;
        let journal = journal.start(Arc::new(pool.clone())).await?;
        let service = service(&config, &journal, &pool);

        let (closing, stop) = (CancellationToken::new(), CancellationToken::new());
        let settings = mcp_settings(&config, open_files);
        let endpoint = McpEndpoint::new(
            &settings,
            Arc::clone(&credentials),
            service.clone(),
            stop.clone(),
        )?;
        let mcp = tokio::spawn(mcp::listen(listener, endpoint.router(), closing.clone()));
        let api = LocalApi {
            service,
            kinship: Arc::new(processes),
            own_uid: rustix::process::geteuid().as_raw(),
            mcp_url: mcp_url.clone(),
            closing: closing.clone(),
            stop: stop.clone(),
        };
        let people = tokio::spawn(local::listen(socket_listener, api));
        let ready = Ready {
            mcp_url,
            socket: socket::socket_path(&folder),
            pid: std::process::id(),
        };
        Ok(Self {
            ready,
            closing,
            stop,
            mcp,
            people,
            pool,
            credentials,
            journal,
            _lock: lock,
        })
    }

    pub(super) fn ready(&self) -> Ready {
        self.ready.clone()
    }

    /// Works until `shutdown` fires, the store fails or a listener ends; then ends everything.
    pub(super) async fn until(mut self, shutdown: CancellationToken) -> Result<(), ServeError> {
        let health = self.journal.health();
        let cause = tokio::select! {
            () = shutdown.cancelled() => Ok(()),
            poison = health.wait_poisoned() => Err(ServeError::Poisoned(poison.to_string())),
            ended = &mut self.mcp => Err(ServeError::ListenerEnded("the MCP endpoint", told(ended))),
            ended = &mut self.people => Err(ServeError::ListenerEnded("the local socket", told(ended))),
        };
        if let Err(error) = &cause {
            tracing::error!(%error, "going down");
        } else {
            tracing::info!("going down");
        }
        let ended = tokio::time::timeout(SHUTDOWN_TIME_MAX, self.end()).await;
        cause?;
        ended.unwrap_or_else(|_| {
            Err(ServeError::Untidy(format!(
                "it took more than {} s",
                SHUTDOWN_TIME_MAX.as_secs()
            )))
        })
    }

    /// No more calls, then no more agents, then no more journal: what an agent still reports is stored, and told to
    /// people who follow.
    async fn end(self) -> Result<(), ServeError> {
        let Self {
            closing,
            stop,
            mcp,
            people,
            pool,
            credentials,
            journal,
            ..
        } = self;
        closing.cancel();
        // Agents end because the host does: the next start settles their runs as after a crash.
        journal.leave_agents().await;
        tokio::join!(listener_over(mcp), pool.shutdown());
        credentials.revoke_all();
        drop(pool);
        let stopped = journal.stop().await;
        stop.cancel();
        let abort = people.abort_handle();
        if tokio::time::timeout(PEOPLE_GRACE, listener_over(people))
            .await
            .is_err()
        {
            tracing::info!("people who don't read what they follow are cut");
            abort.abort();
        }
        stopped.map_err(|error| ServeError::Untidy(error.to_string()))
    }
}

/// Waits for a listener. One that ended before has told its end already.
async fn listener_over(listener: JoinHandle<std::io::Result<()>>) {
    if !listener.is_finished() {
        // How it ended matters no more: the host goes down.
        let _ = listener.await;
    }
}

/// How a listener's task ended, for the log.
fn told(ended: Result<std::io::Result<()>, tokio::task::JoinError>) -> String {
    match ended {
        Ok(Ok(())) => "nobody asked it to".to_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    }
}

async fn open_journal(folder: &Path, clock: Arc<dyn Clock>) -> Result<Journal, ServeError> {
    let path = folder.join(JOURNAL_FILE);
    let opening =
        tokio::task::spawn_blocking(move || Journal::open(&path, clock, Arc::new(RandomIds)));
    match opening.await {
        Ok(opened) => Ok(opened?),
        Err(error) => Err(ServeError::Untidy(error.to_string())),
    }
}

/// Ends what the last host left running, by pid and start time, before its runs are settled.
async fn end_strays(folder: &Path, journal: &Journal) -> Result<HostMarker, ServeError> {
    let failed = |source| ServeError::Folder {
        path: folder.display().to_string(),
        source,
    };
    let marker = HostMarker::load_or_create(folder).map_err(failed)?;
    let records: Vec<_> = journal
        .left_behind()
        .iter()
        .flat_map(|session| session.processes.clone())
        .collect();
    let report = sweep(&records, &marker).await;
    if !records.is_empty() || !report.ended.is_empty() || !report.remaining.is_empty() {
        tracing::info!(
            recorded = records.len(),
            ?report,
            "looked for the last host's agents"
        );
    }
    Ok(marker)
}

/// A host that was killed leaves its sessions' private folders. Their processes have ended, so nobody needs them.
async fn clear_sessions(folder: &Path) {
    let sessions = folder.join(SESSIONS_FOLDER);
    match tokio::fs::remove_dir_all(&sessions).await {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => {
            tracing::warn!(path = %sessions.display(), %error, "old sessions' files stay behind");
        }
    }
}

fn credentials(
    config: &Config,
    journal: &Journal,
    mcp_url: &str,
    clock: Arc<dyn Clock>,
) -> Arc<CredentialRegistry> {
    const HOUR: u64 = 3_600;
    let settings = CredentialSettings {
        environment_id: EnvironmentId::new(journal.store_id().to_owned()),
        server_name: config.mcp.server_name.clone(),
        url: mcp_url.to_owned(),
        capabilities: instances::capabilities(config),
        idle: Duration::from_secs(config.credentials.idle_hours.saturating_mul(HOUR)),
        life: Duration::from_secs(config.credentials.life_days.saturating_mul(24 * HOUR)),
    };
    Arc::new(CredentialRegistry::new(settings, clock))
}

fn start_pool(
    config: &Config,
    recording: Recording,
    journal: &Journal,
    processes: &ProcessTable,
    credentials: &Arc<CredentialRegistry>,
) -> Result<SessionPool, ServeError> {
    let folder = &config.data_folder;
    let engine = DriverEngine::start(Some(&plugins::cache_folder(folder)))?;
    let catalogue = DriverCatalogue::start(&engine, drivers_in_use(config));
    let pool_config = PoolConfig {
        instances: instances::instances(config)?,
        sessions_folder: folder.join(SESSIONS_FOLDER),
        idle_time: instances::idle_time(config),
        recordings_folder: match recording {
            Recording::Off => None,
            Recording::On => Some(folder.join(RECORDINGS_FOLDER)),
        },
    };
    let ports = PoolPorts {
        catalogue,
        processes: processes.clone(),
        credentials: Arc::clone(credentials) as Arc<dyn CredentialPort>,
        reports: journal.reports(),
    };
    Ok(SessionPool::start(pool_config, ports))
}

fn drivers_in_use(config: &Config) -> Vec<DriverSource> {
    let sources = plugins::sources(config);
    if sources.is_empty() {
        tracing::warn!(
            folder = %plugins::folder(config).display(),
            "there are no drivers: build them with `cargo xtask build`, or name their folder in [drivers]"
        );
    }
    sources
}

fn service(config: &Config, journal: &Running, pool: &SessionPool) -> ThreadManagementService {
    ThreadManagementService::new(
        journal.writer(),
        journal.store(),
        journal.changes(),
        Arc::new(pool.clone()) as Arc<dyn ProviderPort>,
        instances::service_settings(config),
    )
}

fn mcp_settings(config: &Config, open_files: u64) -> McpSettings {
    let mut settings = McpSettings {
        // Agents send no origin; a browser that does is let in by name alone.
        allowed_origins: config.mcp.allowed_origins.clone(),
        keep_alive: Duration::from_secs(config.mcp.keep_alive_s),
        parked_waits_max: descriptors::parked_waits_max(open_files),
        ..McpSettings::default()
    };
    settings
        .allowed_hosts
        .extend(config.mcp.allowed_hosts.iter().cloned());
    settings
}
