//! A real journal without agents: what is asked of them is forgotten.

use std::path::Path;
use std::sync::Arc;

use domain::command::{AddProject, Answer, Command, CreateThread, Delegate, ResolvedTarget};
use domain::ids::{
    DriverKind, ProjectId, ProviderInstanceId, ProviderSessionId, RequestKey, RunId, ThreadId,
};
use domain::message::Provenance;
use domain::modes::{InteractionMode, Modes, RuntimeMode};
use domain::provider::{ModelSelection, ProviderSnapshot, Readiness, Steering};
use domain::provider_event::{ProviderEvent, ProviderReport, Resume};
use domain::task::WakePolicy;
use domain::time::Timestamp;
use threads::clock::{Clock, RandomIds, SimulatedClock};
use threads::ports::{BoxFuture, ProviderPort, ProviderWork, Reports};
use threads::writer::CommandKey;
use threads::{Journal, Running};

/// The one instance of these hosts.
pub(crate) const INSTANCE: &str = "codex";

/// Providers that take everything and do nothing.
#[derive(Debug)]
pub(crate) struct Nobody;

impl ProviderPort for Nobody {
    fn snapshots(&self) -> Vec<ProviderSnapshot> {
        vec![ProviderSnapshot {
            instance_id: ProviderInstanceId::new(INSTANCE),
            driver_kind: DriverKind::new("codex"),
            display_name: None,
            models: Vec::new(),
            runtime_modes: RuntimeMode::ALL.to_vec(),
            interaction_modes: InteractionMode::ALL.to_vec(),
            steering: Steering::Native,
            mcp_wait_ms_max: None,
            version: None,
            constraints: Vec::new(),
            readiness: Readiness::Ready,
        }]
    }

    fn reprobe<'a>(&'a self, _: &'a ProviderInstanceId) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn submit(&self, _: ProviderWork) {}
}

/// An open journal with one Project.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) running: Running,
    reports: Reports,
    pub(crate) project: ProjectId,
}

impl Host {
    /// Opens a journal. The clock stands still, so that equal commands write equal bytes.
    pub(crate) async fn open(file: &Path) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::at(Timestamp::from_millis(
            1_800_000_000_000,
        )));
        let journal = Journal::open(file, clock, Arc::new(RandomIds))?;
        let reports = journal.reports();
        let running = journal.start(Arc::new(Nobody)).await?;
        let add = Command::AddProject(AddProject {
            name: "bench".to_owned(),
            root: "/bench".to_owned(),
        });
        let answered = running.writer().submit(None, add).await?;
        let Answer::Project { project_id } = answered.answer else {
            anyhow::bail!("no Project was made: {answered:?}");
        };
        Ok(Self {
            running,
            reports,
            project: project_id,
        })
    }

    /// A thread with a run its agent works on.
    pub(crate) async fn working_thread(&self) -> anyhow::Result<(ThreadId, RunId)> {
        let command = create(&self.project, Some("Work."));
        let answered = self.running.writer().submit(None, command).await?;
        let Answer::Thread {
            thread_id,
            run_id: Some(run_id),
        } = answered.answer
        else {
            anyhow::bail!("no run was started: {answered:?}");
        };
        let session = session_of(&thread_id);
        for event in [
            ProviderEvent::ThreadAttached {
                thread_id: thread_id.clone(),
            },
            ProviderEvent::ThreadReady {
                thread_id: thread_id.clone(),
                native_thread_id: format!("native-{thread_id}"),
                resume: Resume::Possible,
                model: None,
            },
            ProviderEvent::TurnStarted {
                run_id: run_id.clone(),
                native_turn_id: None,
            },
        ] {
            let command = Command::Report(report(&session, event));
            self.running.writer().submit(None, command).await?;
        }
        Ok((thread_id, run_id))
    }

    /// Ends it in good order.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        drop(self.reports);
        self.running.stop().await?;
        Ok(())
    }
}

/// The provider session of a thread.
pub(crate) fn session_of(thread: &ThreadId) -> ProviderSessionId {
    ProviderSessionId::new(format!("session-{thread}"))
}

/// A report of a session.
pub(crate) fn report(session: &ProviderSessionId, event: ProviderEvent) -> ProviderReport {
    ProviderReport {
        session_id: session.clone(),
        instance_id: ProviderInstanceId::new(INSTANCE),
        event,
    }
}

/// Makes a thread.
pub(crate) fn create(project: &ProjectId, prompt: Option<&str>) -> Command {
    Command::CreateThread(CreateThread {
        project_id: project.clone(),
        title: Some("A thread of the benchmark".to_owned()),
        provider_instance_id: ProviderInstanceId::new(INSTANCE),
        model: ModelSelection::default(),
        modes: Modes {
            runtime: RuntimeMode::AutoAcceptEdits,
            interaction: InteractionMode::Default,
        },
        provenance: Provenance::person_at_command_line(),
        prompt: prompt.map(str::to_owned),
    })
}

/// Delegates a task of some hundred bytes.
pub(crate) fn delegate(parent: &ThreadId) -> Command {
    Command::Delegate(Delegate {
        parent_thread_id: parent.clone(),
        caller_instance_id: ProviderInstanceId::new(INSTANCE),
        task: "Read the module and tell what it does. ".repeat(8),
        title: Some("A task of the benchmark".to_owned()),
        role: None,
        target: Ok(ResolvedTarget {
            instance_id: ProviderInstanceId::new(INSTANCE),
            model: ModelSelection::default(),
            runtime_modes: RuntimeMode::ALL.to_vec(),
            interaction_modes: InteractionMode::ALL.to_vec(),
        }),
        runtime_mode: None,
        interaction_mode: None,
        wake: WakePolicy::Always,
        depth_max: 4,
    })
}

/// A key as calls over MCP have one.
pub(crate) fn key(number: u64) -> CommandKey {
    CommandKey {
        request: RequestKey {
            namespace: "session-00000000000000000000000000000000".to_owned(),
            key: format!("{number:032x}"),
        },
        digest: format!("{number:064x}"),
    }
}
