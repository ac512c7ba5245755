//! A parent thread on the real service and journal, with an agent whose reports the test writes.

use std::net::SocketAddr;
use std::sync::Arc;

use domain::authority::{Authority, Capability, HumanEntry};
use domain::event::Event;
use domain::ids::{DriverKind, ProviderInstanceId, ProviderSessionId, RunId, ThreadId};
use domain::item::{ItemHead, ItemKind, ItemStatus};
use domain::modes::{InteractionMode, Modes, RuntimeMode};
use domain::provider::{ProviderSnapshot, Readiness, Steering};
use domain::provider_event::{ProviderEvent, ProviderItem, ProviderReport, TurnOutcome};
use domain::task::WakePolicy;
use serde_json::Value;
use threads::clock::{RandomIds, SystemClock};
use threads::ports::{
    BoxFuture, CredentialPort as _, CredentialRequest, ProviderPort, ProviderWork, Reports,
};
use threads::service::{NewThread, ServiceSettings, ThreadDefaults, ThreadManagementService};
use threads::{Journal, Running};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::wire::{Form, Raw, session};
use crate::credentials::{CredentialRegistry, CredentialSettings, EnvironmentId};
use crate::mcp::limits::{CREDENTIAL_IDLE_DEFAULT, CREDENTIAL_LIFE_DEFAULT, SERVER_NAME_DEFAULT};
use crate::mcp::{McpEndpoint, McpSettings, endpoint_url, listen};

/// Passes on what the service wants of the agent.
#[derive(Debug)]
struct HandPort {
    work: mpsc::UnboundedSender<ProviderWork>,
    wait_ms_max: Option<u64>,
}

impl ProviderPort for HandPort {
    fn snapshots(&self) -> Vec<ProviderSnapshot> {
        vec![ProviderSnapshot {
            instance_id: ProviderInstanceId::new("hand"),
            driver_kind: DriverKind::new("scripted"),
            display_name: Some("By hand".to_owned()),
            models: Vec::new(),
            runtime_modes: RuntimeMode::ALL.to_vec(),
            interaction_modes: InteractionMode::ALL.to_vec(),
            steering: Steering::Native,
            mcp_wait_ms_max: self.wait_ms_max,
            version: None,
            constraints: Vec::new(),
            readiness: Readiness::Ready,
        }]
    }

    fn reprobe<'a>(&'a self, _: &'a ProviderInstanceId) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn submit(&self, work: ProviderWork) {
        // A test may have seen enough.
        drop(self.work.send(work));
    }
}

/// A parent thread in the middle of a turn, and its way to the tools.
pub(super) struct Parent {
    pub(super) address: SocketAddr,
    pub(super) thread: ThreadId,
    pub(super) run: RunId,
    token: String,
    session: String,
    reports: Reports,
    work: mpsc::UnboundedReceiver<ProviderWork>,
    service: ThreadManagementService,
    _journal: Running,
    _folder: tempfile::TempDir,
}

impl Parent {
    pub(super) async fn start(wait_ms_max: Option<u64>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Arc::new(SystemClock);
        let file = folder.path().join("journal.redb");
        let journal = Journal::open(&file, clock.clone(), Arc::new(RandomIds)).expect("a journal");
        let reports = journal.reports();
        let (sender, work) = mpsc::unbounded_channel();
        let port: Arc<dyn ProviderPort> = Arc::new(HandPort {
            work: sender,
            wait_ms_max,
        });
        let journal = journal.start(Arc::clone(&port)).await.expect("it starts");
        let modes = Modes {
            runtime: RuntimeMode::FullAccess,
            interaction: InteractionMode::Default,
        };
        let settings = ServiceSettings {
            delegation_depth_max: 4,
            defaults: ThreadDefaults {
                provider: None,
                model: None,
                modes,
            },
        };
        let (writer, store, changes) = (journal.writer(), journal.store(), journal.changes());
        let service = ThreadManagementService::new(writer, store, changes, port, settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let credentials = Arc::new(CredentialRegistry::new(
            CredentialSettings {
                environment_id: EnvironmentId::new("environment-1"),
                server_name: SERVER_NAME_DEFAULT.to_owned(),
                url: endpoint_url(address),
                capabilities: vec![Capability::Orchestration],
                idle: CREDENTIAL_IDLE_DEFAULT,
                life: CREDENTIAL_LIFE_DEFAULT,
            },
            clock,
        ));
        let stop = CancellationToken::new();
        let registry = Arc::clone(&credentials);
        let endpoint = McpEndpoint::new(
            &McpSettings::default(),
            credentials,
            service.clone(),
            stop.clone(),
        )
        .expect("good settings");
        tokio::spawn(listen(listener, endpoint.router(), stop));
        let thread = first_thread(&service, folder.path()).await;
        let request = CredentialRequest {
            thread_id: thread.clone(),
            instance_id: ProviderInstanceId::new("hand"),
            session_id: ProviderSessionId::new("session-1"),
        };
        let token = registry
            .mint(&request)
            .expect("tools are on")
            .token
            .expose()
            .to_owned();
        let session = session(address, &token).await;
        let mut parent = Self {
            address,
            thread,
            run: RunId::new("none"),
            token,
            session,
            reports,
            work,
            service,
            _journal: journal,
            _folder: folder,
        };
        let (thread, run, _) = parent.turn_begins().await;
        assert_eq!(thread, parent.thread);
        parent.run = run;
        parent
    }

    /// Takes up the next turn as an agent would.
    pub(super) async fn turn_begins(&mut self) -> (ThreadId, RunId, String) {
        let work = self.work.recv().await.expect("the service asks");
        let ProviderWork::StartTurn {
            thread,
            run_id,
            text,
        } = work
        else {
            panic!("{work:?}")
        };
        let thread_id = thread.thread_id;
        self.report(ProviderEvent::ThreadAttached {
            thread_id: thread_id.clone(),
        })
        .await;
        let started = ProviderEvent::TurnStarted {
            run_id: run_id.clone(),
            native_turn_id: None,
        };
        self.report(started).await;
        (thread_id, run_id, text)
    }

    /// Says something and ends the turn.
    pub(super) async fn turn_ends(&self, thread_id: &ThreadId, run_id: &RunId, text: &str) {
        self.report(ProviderEvent::Item(ProviderItem {
            driver_item_id: format!("item-{run_id}"),
            thread_id: thread_id.clone(),
            run_id: Some(run_id.clone()),
            parent_driver_item_id: None,
            kind: ItemKind::AssistantMessage,
            status: ItemStatus::Completed,
            title: None,
            text: Some(text.to_owned()),
            head: ItemHead::default(),
            body_json: "{}".to_owned(),
        }))
        .await;
        let (run_id, outcome) = (run_id.clone(), TurnOutcome::Completed);
        self.report(ProviderEvent::TurnEnded {
            run_id,
            outcome,
            native_point: None,
        })
        .await;
    }

    async fn report(&self, event: ProviderEvent) {
        let report = ProviderReport {
            session_id: ProviderSessionId::new("session-1"),
            instance_id: ProviderInstanceId::new("hand"),
            event,
        };
        self.reports
            .send(report)
            .await
            .expect("the journal listens");
    }

    /// Waits until the end of a task is to wake the parent.
    pub(super) async fn wake_is_owed(&self) {
        let person = Authority::Human(HumanEntry::CommandLine);
        let mut after = 0;
        loop {
            let feed = self.service.feed(&person, after, 100).await.expect("facts");
            let owed = feed.events.iter().any(|(_, event)| match event {
                Event::TaskUpdated(task) => task.wake == WakePolicy::Always,
                _ => false,
            });
            if owed {
                return;
            }
            after = feed.sequence;
        }
    }

    pub(super) fn request(&self, form: Form, tool: &str, arguments: Value) -> Raw {
        Raw::call(form, &self.token, &self.session, tool, arguments)
    }

    /// The structured content of a call.
    pub(super) async fn call(&self, form: Form, tool: &str, arguments: Value) -> Value {
        let reply = self.request(form, tool, arguments).send(self.address).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.message()["result"]["structuredContent"].clone()
    }
}

async fn first_thread(service: &ThreadManagementService, root: &std::path::Path) -> ThreadId {
    let person = Authority::Human(HumanEntry::CommandLine);
    let root = root.to_str().expect("text").to_owned();
    let project = service
        .add_project(&person, "p".to_owned(), root)
        .await
        .expect("a project");
    let request = NewThread {
        project: project.to_string(),
        provider: Some(ProviderInstanceId::new("hand")),
        model: None,
        runtime_mode: None,
        interaction_mode: None,
        title: None,
        prompt: Some("delegate".to_owned()),
    };
    service
        .create_thread(&person, request)
        .await
        .expect("a thread")
        .thread_id
}
