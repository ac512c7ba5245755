//! A host for tests: a journal on a real file or on a faulty disk, with a port that only records.

pub(crate) mod disk;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use domain::command::{
    AddProject, Answer, Command, CreateThread, Delegate, ResolvedTarget, SendMessage, SendMode,
};
use domain::error::Denial;
use domain::ids::{
    ProjectId, ProviderInstanceId, ProviderSessionId, RequestId, RequestKey, RunId, ThreadId,
};
use domain::message::Provenance;
use domain::modes::{InteractionMode, Modes, RuntimeMode};
use domain::provider::{ModelSelection, ProviderSnapshot, Steering};
use domain::provider_event::{Blocking, ProviderEvent, ProviderReport, TurnOutcome};
use domain::request::{Approval, Choice, Prompt};
use domain::task::WakePolicy;
use domain::time::Timestamp;
use tokio::sync::watch;

use crate::clock::{SeededIds, SimulatedClock};
use crate::journal::StopError;
use crate::ports::{BoxFuture, ProviderPort, ProviderWork, Reports};
use crate::recovery::examine;
use crate::store::{OpenSource, Reader, StoreError};
use crate::writer::{Answered, CommandKey};
use crate::{Journal, Running};

/// Keeps the work it is given.
#[derive(Debug, Default)]
pub(crate) struct RecordingPort {
    work: Mutex<Vec<ProviderWork>>,
    count: watch::Sender<usize>,
}

impl ProviderPort for RecordingPort {
    fn snapshots(&self) -> Vec<ProviderSnapshot> {
        Vec::new()
    }

    fn reprobe<'a>(&'a self, _: &'a ProviderInstanceId) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn submit(&self, work: ProviderWork) {
        let mut held = self.work.lock().unwrap();
        held.push(work);
        self.count.send_replace(held.len());
    }
}

impl RecordingPort {
    /// Waits until this much work has come, and answers all of it.
    pub(crate) async fn work(&self, count: usize) -> Vec<ProviderWork> {
        self.count
            .subscribe()
            .wait_for(|have| *have >= count)
            .await
            .unwrap();
        self.so_far()
    }

    pub(crate) fn so_far(&self) -> Vec<ProviderWork> {
        self.work.lock().unwrap().clone()
    }
}

/// A running journal.
pub(crate) struct Host {
    pub(crate) clock: SimulatedClock,
    pub(crate) port: Arc<RecordingPort>,
    pub(crate) reports: Reports,
    pub(crate) running: Running,
}

/// A folder that is removed with it, and the journal's file in it.
pub(crate) struct Folder {
    pub(crate) folder: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("journal.redb")
    }

    /// What a host killed now would leave: a copy of the file while it is open.
    pub(crate) fn killed_now(&self, name: &str) -> PathBuf {
        let copy = self.folder.path().join(name);
        std::fs::copy(self.file(), &copy).unwrap();
        copy
    }
}

pub(crate) const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);

pub(crate) fn open(path: &Path, seed: u64) -> (Journal, SimulatedClock) {
    let clock = SimulatedClock::at(START);
    let ids = Arc::new(SeededIds::new(seed));
    (
        Journal::open(path, Arc::new(clock.clone()), ids).unwrap(),
        clock,
    )
}

/// A journal on a disk of tests.
pub(crate) fn on_disk(
    disk: &disk::Disk,
    seed: u64,
) -> Result<(Journal, SimulatedClock), StoreError> {
    assemble(disk, &redb::Builder::new(), seed)
}

/// The same, with an engine that keeps nothing in memory.
pub(crate) fn uncached(
    disk: &disk::Disk,
    seed: u64,
) -> Result<(Journal, SimulatedClock), StoreError> {
    let mut builder = redb::Builder::new();
    builder.set_cache_size(0);
    assemble(disk, &builder, seed)
}

fn assemble(
    disk: &disk::Disk,
    builder: &redb::Builder,
    seed: u64,
) -> Result<(Journal, SimulatedClock), StoreError> {
    let database = builder
        .create_with_backend(disk.clone())
        .map_err(redb::Error::from)?;
    migrations::migrate(&database).unwrap();
    let clock = SimulatedClock::at(START);
    let ids = Arc::new(SeededIds::new(seed));
    let source = disk.clone();
    let source: OpenSource = Box::new(move || Ok(Box::new(source.clone())));
    let opened = examine(database, source, ids.as_ref())?;
    Ok((
        Journal::assemble(opened, Arc::new(clock.clone()), ids),
        clock,
    ))
}

impl Host {
    pub(crate) async fn start(path: &Path, seed: u64) -> Self {
        let (journal, clock) = open(path, seed);
        Self::of(journal, clock).await
    }

    pub(crate) async fn of(journal: Journal, clock: SimulatedClock) -> Self {
        let port = Arc::new(RecordingPort::default());
        let reports = journal.reports();
        let running = journal.start(port.clone()).await.unwrap();
        Self {
            clock,
            port,
            reports,
            running,
        }
    }

    pub(crate) async fn submit(&self, command: Command) -> Result<Answered, Denial> {
        self.running.writer().submit(None, command).await
    }

    pub(crate) async fn keyed(
        &self,
        key: CommandKey,
        command: Command,
    ) -> Result<Answered, Denial> {
        self.running.writer().submit(Some(key), command).await
    }

    pub(crate) fn reader(&self) -> Reader {
        self.running.store().reader().unwrap()
    }

    /// A Project and a thread in it; with a prompt the thread's first run starts.
    pub(crate) async fn thread(
        &self,
        name: &str,
        prompt: Option<&str>,
    ) -> (ThreadId, Option<RunId>) {
        let project = self.project(name).await;
        let answered = self.submit(create(&project, prompt)).await.unwrap();
        let Answer::Thread { thread_id, run_id } = answered.answer else {
            panic!("a thread was asked for: {answered:?}")
        };
        (thread_id, run_id)
    }

    pub(crate) async fn project(&self, name: &str) -> ProjectId {
        let answered = self.submit(add(name)).await.unwrap();
        let Answer::Project { project_id } = answered.answer else {
            panic!("a Project was asked for: {answered:?}")
        };
        project_id
    }

    /// Ends it as a host does that goes down.
    pub(crate) async fn stop(self) {
        self.try_stop().await.unwrap();
    }

    pub(crate) async fn try_stop(self) -> Result<(), StopError> {
        drop(self.reports);
        self.running.stop().await
    }
}

pub(crate) fn key(key: &str, digest: &str) -> CommandKey {
    CommandKey {
        request: RequestKey {
            namespace: "session-1".to_owned(),
            key: key.to_owned(),
        },
        digest: digest.to_owned(),
    }
}

pub(crate) fn add(name: &str) -> Command {
    Command::AddProject(AddProject {
        name: name.to_owned(),
        root: format!("/src/{name}"),
    })
}

pub(crate) fn create(project: &ProjectId, prompt: Option<&str>) -> Command {
    Command::CreateThread(CreateThread {
        project_id: project.clone(),
        title: None,
        provider_instance_id: ProviderInstanceId::new("codex"),
        model: ModelSelection::default(),
        modes: Modes {
            runtime: RuntimeMode::ApprovalRequired,
            interaction: InteractionMode::Default,
        },
        provenance: Provenance::person_at_command_line(),
        prompt: prompt.map(str::to_owned),
    })
}

pub(crate) fn send(thread: &ThreadId, text: &str) -> Command {
    Command::SendMessage(SendMessage {
        thread_id: thread.clone(),
        text: text.to_owned(),
        provenance: Provenance::person_at_command_line(),
        mode: SendMode::Auto,
        steering: Steering::Native,
        caller: domain::command::Caller::Person,
    })
}

pub(crate) fn delegate(parent: &ThreadId, task: &str) -> Command {
    Command::Delegate(Delegate {
        parent_thread_id: parent.clone(),
        caller_instance_id: ProviderInstanceId::new("codex"),
        task: task.to_owned(),
        title: None,
        role: None,
        target: Ok(ResolvedTarget {
            instance_id: ProviderInstanceId::new("codex"),
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

pub(crate) fn report(session: &str, event: ProviderEvent) -> ProviderReport {
    ProviderReport {
        session_id: ProviderSessionId::new(session),
        instance_id: ProviderInstanceId::new("codex"),
        event,
    }
}

pub(crate) fn text(session: &str, thread: &ThreadId, item: &str, appended: &str) -> ProviderReport {
    report(
        session,
        ProviderEvent::Text {
            thread_id: thread.clone(),
            driver_item_id: item.to_owned(),
            appended: appended.to_owned(),
        },
    )
}

pub(crate) fn attached(session: &str, thread: &ThreadId) -> ProviderReport {
    report(
        session,
        ProviderEvent::ThreadAttached {
            thread_id: thread.clone(),
        },
    )
}

pub(crate) fn turn_started(session: &str, run: &RunId) -> ProviderReport {
    let event = ProviderEvent::TurnStarted {
        run_id: run.clone(),
        native_turn_id: None,
    };
    report(session, event)
}

pub(crate) fn turn_completed(session: &str, run: &RunId) -> ProviderReport {
    let event = ProviderEvent::TurnEnded {
        run_id: run.clone(),
        outcome: TurnOutcome::Completed,
        native_point: None,
    };
    report(session, event)
}

pub(crate) fn approval(session: &str, thread: &ThreadId, run: &RunId, id: &str) -> ProviderReport {
    let approval = Approval {
        kind: "command".to_owned(),
        title: "ls".to_owned(),
        reason: None,
        choices: vec![Choice::Accept, Choice::Decline],
        options: Vec::new(),
    };
    let event = ProviderEvent::RequestOpened {
        request_id: RequestId::new(id),
        thread_id: thread.clone(),
        run_id: Some(run.clone()),
        blocking: Blocking::Blocking,
        prompt: Prompt::Approval(approval),
        detail_json: "{}".to_owned(),
    };
    report(session, event)
}
