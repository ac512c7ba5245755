//! A pool with one instance of the hostile guest, and what it reports.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::ids::{DriverKind, MessageId, ProviderInstanceId, ProviderSessionId, RunId, ThreadId};
use domain::modes::{InteractionMode, Modes, RuntimeMode};
use domain::provider::{ModelSelection, ProviderSnapshot};
use domain::provider_event::{Failure, ProviderEvent, ProviderReport, TurnOutcome};
use drivers::catalogue::{DriverCatalogue, DriverSource};
use drivers::engine::DriverEngine;
use drivers::pool::{Enabled, InstanceConfig, PoolConfig, PoolPorts, SessionPool};
use drivers::process::{HostMarker, ProcessTable, become_subreaper};
use threads::ports::{
    Conversation, CredentialPort, CredentialRequest, MintedCredential, OfferedTool, ProviderPort,
    ProviderWork, Reports, Secret, ThreadOpening, ToolAccess,
};
use tokio::sync::mpsc;

/// Longest a test waits for one thing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The token every credential carries; it must turn up nowhere.
pub(crate) const CANARY: &str = "canary-token-0123456789abcdef";

/// Credentials as the server would mint them.
#[derive(Debug, Default)]
pub(crate) struct TestCredentials {
    pub(crate) minted: Mutex<Vec<(ThreadId, ProviderSessionId)>>,
    pub(crate) revoked: Mutex<Vec<(ThreadId, ProviderSessionId)>>,
    pub(crate) overdue: Mutex<BTreeSet<ThreadId>>,
}

impl CredentialPort for TestCredentials {
    fn mint(&self, request: &CredentialRequest) -> Option<MintedCredential> {
        self.overdue.lock().unwrap().remove(&request.thread_id);
        let pair = (request.thread_id.clone(), request.session_id.clone());
        self.minted.lock().unwrap().push(pair);
        Some(MintedCredential {
            server_name: "t3-code".to_owned(),
            url: "http://127.0.0.1:1/mcp".to_owned(),
            protocol_version: "2025-06-18".to_owned(),
            token: Secret::new(CANARY),
            tools: vec![OfferedTool {
                name: "look".to_owned(),
                access: ToolAccess::ReadOnly,
            }],
            instructions: "shared instructions".to_owned(),
        })
    }

    fn turn_started(&self, _: &ThreadId, _: &ProviderSessionId) {}

    fn turn_over(&self, _: &ThreadId, _: &ProviderSessionId) {}

    fn is_overdue(&self, thread: &ThreadId, _: &ProviderSessionId) -> bool {
        self.overdue.lock().unwrap().contains(thread)
    }

    fn revoke(&self, thread: &ThreadId, session: &ProviderSessionId) {
        self.revoked
            .lock()
            .unwrap()
            .push((thread.clone(), session.clone()));
    }
}

/// A pool and its surroundings.
pub(crate) struct Desk {
    pub(crate) pool: SessionPool,
    pub(crate) credentials: Arc<TestCredentials>,
    pub(crate) data: tempfile::TempDir,
    reports: mpsc::Receiver<ProviderReport>,
    pub(crate) seen: Vec<ProviderReport>,
}

/// An instance that runs `/bin/bash` as its agent and does `act`.
pub(crate) fn instance(act: &str) -> InstanceConfig {
    InstanceConfig {
        id: ProviderInstanceId::new("one"),
        kind: DriverKind::new("hostile"),
        display_name: None,
        enabled: Enabled::Yes,
        command: vec!["/bin/bash".to_owned()],
        install_hint: None,
        environment_from_host: BTreeSet::new(),
        environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        secrets: Vec::new(),
        models: Vec::new(),
        settings_json: format!(r#"{{"act":"{act}"}}"#),
        threads_per_session: None,
        grants: Default::default(),
        limits: Default::default(),
    }
}

impl Desk {
    pub(crate) fn with(act: &str) -> Self {
        Self::of(vec![instance(act)], Duration::from_secs(1_800))
    }

    pub(crate) fn of(instances: Vec<InstanceConfig>, idle_time: Duration) -> Self {
        let bytes = crate::guest::component();
        let source = DriverSource::Embedded {
            name: "hostile".to_owned(),
            bytes: Cow::Owned(bytes),
        };
        Self::build(instances, idle_time, vec![source])
    }

    pub(crate) fn build(
        instances: Vec<InstanceConfig>,
        idle_time: Duration,
        sources: Vec<DriverSource>,
    ) -> Self {
        become_subreaper().unwrap();
        let data = tempfile::tempdir().unwrap();
        let marker = HostMarker::load_or_create(data.path()).unwrap();
        let cache = crate::guest::build_folder().join("cache");
        let engine = DriverEngine::start(Some(&cache)).unwrap();
        let credentials = Arc::new(TestCredentials::default());
        let (sender, reports) = Reports::channel(64);
        let pool = SessionPool::start(
            PoolConfig {
                instances,
                sessions_folder: data.path().join("sessions"),
                idle_time,
                recordings_folder: Some(data.path().join("recordings")),
            },
            PoolPorts {
                catalogue: DriverCatalogue::start(&engine, sources),
                processes: ProcessTable::start(marker),
                credentials: credentials.clone(),
                reports: sender,
            },
        );
        Self {
            pool,
            credentials,
            data,
            reports,
            seen: Vec::new(),
        }
    }

    pub(crate) fn start(&self, thread: &str, run: &str, text: &str) {
        self.start_as(
            opening(thread, "one", self.data.path().to_str().unwrap()),
            run,
            text,
        );
    }

    pub(crate) fn start_as(&self, thread: ThreadOpening, run: &str, text: &str) {
        self.pool.submit(ProviderWork::StartTurn {
            thread,
            run_id: RunId::new(run),
            text: text.to_owned(),
        });
    }

    pub(crate) fn steer(&self, thread: &str, run: &str, text: &str) {
        self.pool.submit(ProviderWork::Steer {
            thread_id: ThreadId::new(thread),
            run_id: RunId::new(run),
            message_id: MessageId::new(format!("message-{text}")),
            text: text.to_owned(),
        });
    }

    pub(crate) fn interrupt(&self, thread: &str, run: &str) {
        self.pool.submit(ProviderWork::Interrupt {
            thread_id: ThreadId::new(thread),
            run_id: RunId::new(run),
            reason: "a test says so".to_owned(),
        });
    }

    pub(crate) fn release(&self, thread: &str) {
        self.pool.submit(ProviderWork::Release {
            thread_id: ThreadId::new(thread),
            reason: "archived".to_owned(),
        });
    }

    pub(crate) async fn next(&mut self) -> ProviderReport {
        let report = tokio::time::timeout(PATIENCE, self.reports.recv())
            .await
            .unwrap_or_else(|_| panic!("nothing more was reported after {:#?}", self.seen))
            .expect("the pool lives");
        self.seen.push(report.clone());
        report
    }

    /// Reads reports until one fits, and returns what it was made to.
    pub(crate) async fn until<T>(&mut self, fits: impl Fn(&ProviderEvent) -> Option<T>) -> T {
        loop {
            if let Some(found) = fits(&self.next().await.event) {
                return found;
            }
        }
    }

    /// Reads reports until a run is over.
    pub(crate) async fn ended(&mut self, run: &str) -> TurnOutcome {
        self.until(|event| match event {
            ProviderEvent::TurnEnded {
                run_id, outcome, ..
            } if run_id.as_str() == run => Some(outcome.clone()),
            _ => None,
        })
        .await
    }

    /// Reads reports until a run failed.
    pub(crate) async fn failed(&mut self, run: &str) -> Failure {
        match self.ended(run).await {
            TurnOutcome::Failed(failure) => failure,
            other => panic!("{run} ended as {other:?}"),
        }
    }

    pub(crate) async fn session_over(&mut self) -> String {
        self.until(|event| match event {
            ProviderEvent::SessionEnded { reason, .. } => Some(reason.clone()),
            _ => None,
        })
        .await
    }

    /// Texts of all items so far.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.seen
            .iter()
            .filter_map(|report| match &report.event {
                ProviderEvent::Item(item) => item.text.clone(),
                _ => None,
            })
            .collect()
    }

    /// Sessions that attached threads so far, in order.
    pub(crate) fn sessions(&self) -> Vec<ProviderSessionId> {
        let mut sessions = Vec::new();
        for report in &self.seen {
            let attached = matches!(report.event, ProviderEvent::ThreadAttached { .. });
            if attached && !sessions.contains(&report.session_id) {
                sessions.push(report.session_id.clone());
            }
        }
        sessions
    }

    /// How often each run of `seen` ended.
    pub(crate) fn ends_of(&self, run: &str) -> usize {
        self.seen
            .iter()
            .filter(|report| {
                matches!(&report.event, ProviderEvent::TurnEnded { run_id, .. } if run_id.as_str() == run)
            })
            .count()
    }

    pub(crate) fn snapshot(&self) -> ProviderSnapshot {
        self.pool.snapshots().remove(0)
    }

    /// The snapshot once the instance is known.
    pub(crate) async fn settled(&self) -> ProviderSnapshot {
        let id = self.snapshot().instance_id;
        tokio::time::timeout(PATIENCE, self.pool.reprobe(&id))
            .await
            .expect("the instance settles");
        self.snapshot()
    }
}

pub(crate) fn opening(thread: &str, instance: &str, workspace: &str) -> ThreadOpening {
    ThreadOpening {
        thread_id: ThreadId::new(thread),
        instance_id: ProviderInstanceId::new(instance),
        native: None,
        workspace_path: workspace.to_owned(),
        model: ModelSelection::default(),
        modes: Modes {
            runtime: RuntimeMode::FullAccess,
            interaction: InteractionMode::Default,
        },
        conversation: Conversation::New,
    }
}
