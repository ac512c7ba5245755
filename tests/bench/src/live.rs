//! A whole host in this process: journal, drivers, agents, service and endpoint, wired as the server wires them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use domain::authority::{Authority, HumanEntry};
use domain::ids::{DriverKind, ProjectId, ProviderInstanceId, RunId, ThreadId};
use domain::provider::Readiness;
use domain::run::RunStatus;
use domain::view::View as _;
use drivers::catalogue::{DriverCatalogue, DriverSource};
use drivers::engine::DriverEngine;
use drivers::grants::Grants;
use drivers::limits::SessionLimits;
use drivers::pool::{Enabled, InstanceConfig, PoolConfig, PoolPorts, SessionPool};
use drivers::process::{HostMarker, ProcessTable};
use drivers::secrets::NamedSecret;
use server::credentials::CredentialRegistry;
use threads::clock::{RandomIds, SystemClock};
use threads::ports::{ProviderPort as _, Secret};
use threads::service::{NewThread, ThreadManagementService};
use threads::{Journal, Running};
use tokio::net::TcpListener;

use crate::http::{Endpoint, registry, service_settings};
use crate::journal::INSTANCE;

/// Longest time anything of an agent may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The person who starts threads.
const PERSON: Authority = Authority::Human(HumanEntry::CommandLine);

/// What stands behind the one instance.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    /// Program and leading arguments.
    pub(crate) command: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) threads_per_session: u32,
}

/// A running host.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) folder: PathBuf,
    pub(crate) running: Running,
    pub(crate) registry: Arc<CredentialRegistry>,
    pub(crate) service: ThreadManagementService,
    pub(crate) endpoint: Endpoint,
    pool: SessionPool,
}

impl Live {
    /// Starts a host in an empty folder and waits until its instance is usable.
    pub(crate) async fn start(folder: &Path, drivers: &Path, agent: Agent) -> anyhow::Result<Self> {
        let folder = folder.canonicalize()?;
        let journal = Journal::open(
            &folder.join("journal.redb"),
            Arc::new(SystemClock),
            Arc::new(RandomIds),
        )?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let registry = registry(&listener)?;
        let engine = DriverEngine::start(None)?;
        let source = DriverSource::File {
            path: drivers.join("codex.wasm"),
            digest: None,
        };
        let ports = PoolPorts {
            catalogue: DriverCatalogue::start(&engine, vec![source]),
            processes: ProcessTable::start(HostMarker::load_or_create(&folder)?),
            credentials: registry.clone(),
            reports: journal.reports(),
        };
        let threads_per_session = agent.threads_per_session;
        let config = PoolConfig {
            instances: vec![instance(agent)?],
            sessions_folder: folder.join("sessions"),
            idle_time: drivers::limits::IDLE_TIME_DEFAULT,
            recordings_folder: None,
        };
        let pool = SessionPool::start(config, ports);
        let running = journal.start(Arc::new(pool.clone())).await?;
        let service = ThreadManagementService::new(
            running.writer(),
            running.store(),
            running.changes(),
            Arc::new(pool.clone()),
            service_settings(),
        );
        let endpoint = Endpoint::start(listener, Arc::clone(&registry), service.clone())?;
        let live = Self {
            folder,
            running,
            registry,
            service,
            endpoint,
            pool,
        };
        live.until_usable()
            .await
            .with_context(|| format!("{threads_per_session} threads a session"))?;
        let root = live.folder.join("project");
        std::fs::create_dir_all(&root)?;
        live.service
            .add_project(&PERSON, "bench".to_owned(), root.display().to_string())
            .await?;
        Ok(live)
    }

    async fn until_usable(&self) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let snapshots = self.pool.snapshots();
            let snapshot = snapshots.first().context("an instance")?;
            match snapshot.readiness {
                Readiness::Ready => return Ok(()),
                Readiness::Unusable => bail!("{}", snapshot.constraints.join(" ")),
                Readiness::Starting if tokio::time::Instant::now() > deadline => {
                    bail!("it never came up")
                }
                Readiness::Starting => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// The one Project.
    pub(crate) fn project(&self) -> anyhow::Result<ProjectId> {
        let projects = self.running.store().reader()?.projects()?;
        Ok(projects.into_iter().next().context("a Project")?.id)
    }

    /// Starts a thread with a first prompt.
    pub(crate) async fn thread(&self, prompt: &str) -> anyhow::Result<(ThreadId, RunId)> {
        let request = NewThread {
            project: "bench".to_owned(),
            provider: None,
            model: None,
            runtime_mode: None,
            interaction_mode: None,
            title: None,
            prompt: Some(prompt.to_owned()),
        };
        let created = self.service.create_thread(&PERSON, request).await?;
        Ok((created.thread_id, created.run_id.context("a run")?))
    }

    /// Waits until a run has a status; another end is an error.
    pub(crate) async fn until(&self, run: &RunId, status: RunStatus) -> anyhow::Result<()> {
        let mut feed = self.running.changes().feed();
        let reached = async {
            loop {
                let (sequence, now) = {
                    let reader = self.running.store().reader()?;
                    (reader.sequence()?, reader.run(run)?.context("the run")?)
                };
                if now.status == status {
                    return Ok(());
                }
                if now.status.is_terminal() {
                    bail!("a run ended otherwise: {now:?}");
                }
                feed.past(sequence).await?;
            }
        };
        tokio::time::timeout(PATIENCE, reached)
            .await
            .context("a run takes too long")?
    }

    /// Ends everything.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        let Self {
            running,
            service,
            endpoint,
            pool,
            ..
        } = self;
        endpoint.stop().await?;
        drop(service);
        pool.shutdown().await;
        drop(pool);
        running.stop().await?;
        Ok(())
    }
}

fn instance(agent: Agent) -> anyhow::Result<InstanceConfig> {
    let secrets = agent.secrets.into_iter();
    let secrets = secrets.map(|(name, value)| NamedSecret::new(&name, Secret::new(value)));
    Ok(InstanceConfig {
        id: ProviderInstanceId::new(INSTANCE),
        kind: DriverKind::new("codex"),
        display_name: None,
        enabled: Enabled::Yes,
        command: agent.command,
        install_hint: None,
        environment_from_host: BTreeSet::new(),
        environment: agent.environment,
        secrets: secrets.collect::<Result<_, _>>()?,
        models: Vec::new(),
        settings_json: "{}".to_owned(),
        threads_per_session: Some(agent.threads_per_session),
        grants: Grants::default(),
        limits: SessionLimits::default(),
    })
}
