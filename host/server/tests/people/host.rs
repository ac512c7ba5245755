//! The real service and socket over a journal in a temporary folder, with an agent whose reports the test writes.

use std::sync::Arc;

use domain::ids::{DriverKind, ProviderInstanceId, ProviderSessionId, RunId, ThreadId};
use domain::modes::{InteractionMode, Modes, RuntimeMode};
use domain::provider::{ProviderSnapshot, Readiness, Steering};
use domain::provider_event::{ProviderEvent, ProviderReport};
use server::local::client::Client;
use server::local::peer::Kinship;
use server::local::wire::{AddProject, CreateThread};
use server::local::{LocalApi, socket};
use threads::clock::{RandomIds, SystemClock};
use threads::ports::{BoxFuture, ProviderPort, ProviderWork, Reports};
use threads::service::{ServiceSettings, ThreadDefaults, ThreadManagementService};
use threads::{Journal, Running};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub(crate) enum Everybody {
    People,
    Agents,
}

impl Kinship for Everybody {
    fn is_ours(&self, _pid: u32) -> bool {
        matches!(self, Self::Agents)
    }
}

/// An agent whose reports the test writes by hand.
#[derive(Debug)]
struct HandPort(mpsc::UnboundedSender<ProviderWork>);

impl ProviderPort for HandPort {
    fn snapshots(&self) -> Vec<ProviderSnapshot> {
        vec![ProviderSnapshot {
            instance_id: ProviderInstanceId::new("hand"),
            driver_kind: DriverKind::new("scripted"),
            display_name: None,
            models: Vec::new(),
            runtime_modes: RuntimeMode::ALL.to_vec(),
            interaction_modes: InteractionMode::ALL.to_vec(),
            steering: Steering::Native,
            mcp_wait_ms_max: None,
            version: Some("1".to_owned()),
            constraints: Vec::new(),
            readiness: Readiness::Ready,
        }]
    }

    fn reprobe<'a>(&'a self, _: &'a ProviderInstanceId) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn submit(&self, work: ProviderWork) {
        // The test may have seen enough.
        drop(self.0.send(work));
    }
}

pub(crate) struct Host {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) client: Client,
    reports: Reports,
    pub(crate) work: mpsc::UnboundedReceiver<ProviderWork>,
    pub(crate) stop: CancellationToken,
    pub(crate) listening: tokio::task::JoinHandle<std::io::Result<()>>,
    _journal: Running,
}

impl Host {
    pub(crate) async fn start(kinship: Everybody) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("journal.redb");
        let journal = Journal::open(&file, Arc::new(SystemClock), Arc::new(RandomIds)).unwrap();
        let reports = journal.reports();
        let (sender, work) = mpsc::unbounded_channel();
        let port = Arc::new(HandPort(sender));
        let journal = journal
            .start(Arc::clone(&port) as Arc<dyn ProviderPort>)
            .await
            .unwrap();
        let settings = ServiceSettings {
            delegation_depth_max: 4,
            defaults: ThreadDefaults {
                provider: None,
                model: None,
                modes: Modes {
                    runtime: RuntimeMode::ApprovalRequired,
                    interaction: InteractionMode::Default,
                },
            },
        };
        let service = ThreadManagementService::new(
            journal.writer(),
            journal.store(),
            journal.changes(),
            port,
            settings,
        );
        let stop = CancellationToken::new();
        let api = LocalApi {
            service,
            kinship: Arc::new(kinship),
            own_uid: rustix::process::geteuid().as_raw(),
            mcp_url: "http://127.0.0.1:1/mcp".to_owned(),
            closing: stop.clone(),
            stop: stop.clone(),
        };
        let listener = socket::bind(folder.path()).unwrap();
        let listening = tokio::spawn(server::local::listen(listener, api));
        let client = Client::new(folder.path());
        Self {
            folder,
            client,
            reports,
            work,
            stop,
            listening,
            _journal: journal,
        }
    }

    pub(crate) async fn report(&self, event: ProviderEvent) {
        let report = ProviderReport {
            session_id: ProviderSessionId::new("session-1"),
            instance_id: ProviderInstanceId::new("hand"),
            event,
        };
        self.reports.send(report).await.unwrap();
    }

    pub(crate) async fn add_project(&self) -> String {
        let root = self.folder.path().to_str().unwrap().to_owned();
        let added = self
            .client
            .add_project(&AddProject {
                name: Some("p".to_owned()),
                root,
            })
            .await;
        added.unwrap().id
    }

    pub(crate) async fn start_thread(&self, project: String) -> (ThreadId, RunId) {
        let request = CreateThread {
            project,
            provider: Some("hand".to_owned()),
            model: None,
            runtime_mode: None,
            interaction_mode: None,
            title: None,
            prompt: Some("do it".to_owned()),
        };
        let created = self.client.create_thread(&request).await.unwrap();
        (
            ThreadId::new(created.thread_id),
            RunId::new(created.run_id.unwrap()),
        )
    }
}
