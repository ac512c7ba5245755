//! The orchestration tools over the real service and journal, with an agent whose reports the test writes.

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
use serde_json::{Value, json};
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
struct Parent {
    address: SocketAddr,
    thread: ThreadId,
    run: RunId,
    token: String,
    session: String,
    reports: Reports,
    work: mpsc::UnboundedReceiver<ProviderWork>,
    service: ThreadManagementService,
    _journal: Running,
    _folder: tempfile::TempDir,
}

impl Parent {
    async fn start(wait_ms_max: Option<u64>) -> Self {
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
    async fn turn_begins(&mut self) -> (ThreadId, RunId, String) {
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
    async fn turn_ends(&self, thread_id: &ThreadId, run_id: &RunId, text: &str) {
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
    async fn wake_is_owed(&self) {
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

    fn request(&self, form: Form, tool: &str, arguments: Value) -> Raw {
        Raw::call(form, &self.token, &self.session, tool, arguments)
    }

    /// The structured content of a call.
    async fn call(&self, form: Form, tool: &str, arguments: Value) -> Value {
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

#[tokio::test]
async fn the_capabilities_of_a_real_host() {
    let parent = Parent::start(None).await;
    for form in Form::BOTH {
        let told = parent
            .call(form, "orchestrator_capabilities", json!({}))
            .await;
        assert_eq!(told["parentThreadId"], parent.thread.as_str());
        assert_eq!(told["inheritedProviderInstanceId"], "hand");
        assert_eq!(told["inheritedModel"], Value::Null);
        assert_eq!(told["runtimeMode"], "full-access");
        assert_eq!(told["interactionMode"], "default");
        assert_eq!(told["providers"][0]["providerInstanceId"], "hand");
        assert_eq!(told["providers"][0]["canRunChildTask"], true);
        assert_eq!(told["features"]["appOwnedSubagents"], true);
        assert_eq!(told["features"]["maxBatchThreads"], 20);
    }
}

#[tokio::test]
async fn an_async_task_is_started_read_repeated_and_cancelled() {
    for form in Form::BOTH {
        let mut parent = Parent::start(None).await;
        let arguments = json!({ "task": "look", "role": "review", "clientRequestId": "round-1" });
        let begun = parent.call(form, "delegate_task", arguments.clone()).await;
        let (child, run, prompt) = parent.turn_begins().await;
        assert!(
            prompt.ends_with("\n\nlook") && prompt.len() > "\n\nlook".len(),
            "{prompt:?}"
        );
        assert_eq!(begun["childThreadId"], child.as_str());
        assert_eq!(begun["childRunId"], run.as_str());
        assert_eq!(begun["childNodeId"], begun["taskId"]);
        assert_eq!(begun["clientRequestId"], "round-1");
        assert_eq!(begun["workState"], "working");
        assert_eq!(
            (&begun["summary"], &begun["waitTimedOut"]),
            (&Value::Null, &json!(false))
        );

        let again = parent.call(form, "delegate_task", arguments).await;
        assert_eq!(
            again["taskId"], begun["taskId"],
            "the same call finds the same task"
        );
        let other = json!({ "task": "look again", "clientRequestId": "round-1" });
        let other = parent.call(form, "delegate_task", other).await;
        assert_eq!(
            other["code"], "invalid_request",
            "the same key with another call"
        );

        parent.turn_ends(&child, &run, "found nothing").await;
        let task = json!({ "taskId": begun["taskId"] });
        let ended = loop {
            let told = parent.call(form, "task_status", task.clone()).await;
            if told["status"] == "completed" {
                break told;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(ended["summary"], "found nothing");
        assert_eq!(ended["workState"], "result_available");
        assert_eq!(ended["latestTerminalStatus"], "completed");
        assert_eq!(ended.get("clientRequestId"), None);

        let cancelled = parent.call(form, "task_cancel", task).await;
        assert_eq!(cancelled["status"], "completed", "it had ended");
        assert!(cancelled["clientRequestId"].is_string(), "a key was made");
        let unknown = parent
            .call(form, "task_status", json!({ "taskId": "task-0" }))
            .await;
        assert_eq!(
            (&unknown["code"], &unknown["retryable"]),
            (&json!("task_not_found"), &json!(false))
        );
    }
}

#[tokio::test]
async fn a_waiting_parent_gets_the_answer_itself() {
    for form in Form::BOTH {
        let mut parent = Parent::start(None).await;
        let wait = parent.request(
            form,
            "delegate_task",
            json!({ "task": "look", "mode": "wait" }),
        );
        let address = parent.address;
        let answer = tokio::spawn(async move { wait.send(address).await.message() });
        let (child, run, _) = parent.turn_begins().await;
        parent.turn_ends(&child, &run, "found it").await;
        let answer = answer.await.expect("no panic")["result"]["structuredContent"].clone();
        assert_eq!(
            (&answer["status"], &answer["summary"]),
            (&json!("completed"), &json!("found it"))
        );
        assert_eq!(answer["waitTimedOut"], false);
    }
}

#[tokio::test]
async fn a_wait_ends_at_what_the_client_bears_and_the_work_goes_on() {
    let mut parent = Parent::start(Some(50)).await;
    let wait = json!({ "task": "look", "mode": "wait", "timeoutMs": 3_600_000 });
    let answer = parent.call(Form::Session, "delegate_task", wait).await;
    assert_eq!(answer["waitTimedOut"], true);
    assert_eq!(answer["workState"], "working");
    let (child, run, _) = parent.turn_begins().await;
    assert_eq!(answer["childThreadId"], child.as_str());
    parent.turn_ends(&child, &run, "found it").await;
    parent
        .turn_ends(&parent.thread, &parent.run, "waiting")
        .await;
    let (woken, _, text) = parent.turn_begins().await;
    assert_eq!(woken, parent.thread);
    assert!(
        text.contains(answer["taskId"].as_str().expect("an id")),
        "{text}"
    );
}

#[tokio::test]
async fn a_parent_whose_connection_broke_is_woken_instead() {
    for form in Form::BOTH {
        let mut parent = Parent::start(None).await;
        let wait = parent.request(
            form,
            "delegate_task",
            json!({ "task": "look", "mode": "wait" }),
        );
        let address = parent.address;
        let call = tokio::spawn(async move { wait.open(address).await.whole().await });
        let (child, run, _) = parent.turn_begins().await;
        call.abort();
        assert!(call.await.is_err(), "the connection is dropped");
        parent.wake_is_owed().await;
        parent.turn_ends(&parent.thread, &parent.run, "gone").await;
        parent.turn_ends(&child, &run, "found it").await;
        let (woken, _, _) = parent.turn_begins().await;
        assert_eq!(woken, parent.thread, "{form:?}");
    }
}
