//! A host without agents: what tests say again and again, in short words.

mod reports;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use domain::authority::{AgentAuthority, Authority, Capability};
use domain::error::Denial;
use domain::ids::{ProviderInstanceId, RunId, TaskId, ThreadId};
use domain::modes::{InteractionMode, Modes, RuntimeMode};
use domain::provider::ProviderSnapshot;
use domain::run::{Run, RunPurpose, RunStatus};
use domain::task::{Delivery, Task};
use domain::time::Timestamp;
use domain::view::View;
use threads::clock::{SeededIds, SimulatedClock};
use threads::ports::Reports;
use threads::service::{
    DelegateRequest, Delegated, NewThread, ServiceSettings, TaskView, ThreadDefaults,
    ThreadManagementService,
};
use threads::store::{Reader, compare_with_events};
use threads::{Journal, Running};
use tokio_util::sync::CancellationToken;

use crate::support::fake_providers::{FakeProviders, instance, unusable};

pub(super) use words::*;

/// Longest a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// The instance that threads of tests run on.
pub(super) const OWN: &str = "alpha";

/// A host on a file of its own.
pub(super) struct Bench {
    file: PathBuf,
    /// Removed with the last bench on it.
    folder: Arc<tempfile::TempDir>,
    /// How many hosts this file has had.
    life: u32,
    pub(super) clock: SimulatedClock,
    pub(super) providers: Arc<FakeProviders>,
    pub(super) service: ThreadManagementService,
    reports: Reports,
    running: Running,
}

/// A thread and a run of it.
#[derive(Clone, Debug)]
pub(super) struct Talk {
    pub(super) thread: ThreadId,
    pub(super) run: RunId,
}

/// A delegated task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) task: TaskId,
    pub(super) thread: ThreadId,
    pub(super) run: RunId,
}

impl Child {
    pub(super) fn of(view: &TaskView) -> Self {
        Self {
            task: view.task_id.clone(),
            thread: view.child_thread_id.clone(),
            run: view.child_run_id.clone(),
        }
    }

    /// Its thread as a talk of its own.
    pub(super) fn talk(&self) -> Talk {
        Talk {
            thread: self.thread.clone(),
            run: self.run.clone(),
        }
    }
}

/// What the operator of the bench configured.
pub(super) fn settings() -> ServiceSettings {
    ServiceSettings {
        delegation_depth_max: 4,
        defaults: ThreadDefaults {
            provider: Some(ProviderInstanceId::new(OWN)),
            model: None,
            modes: Modes {
                runtime: RuntimeMode::AutoAcceptEdits,
                interaction: InteractionMode::Default,
            },
        },
    }
}

/// Two drivers, one of them with two usable instances and one that is not.
pub(super) fn instances() -> Vec<ProviderSnapshot> {
    vec![
        instance(OWN, "codex", &["m1", "m2"]),
        unusable(
            instance("broken", "codex", &[]),
            "It is not logged in: run `codex login`.",
        ),
        instance("second", "codex", &["m2"]),
        instance("beta", "claude", &[]),
    ]
}

impl Bench {
    pub(super) async fn new() -> Self {
        Self::seeded(1).await
    }

    /// Ids differ with the seed, and so does their order.
    pub(super) async fn seeded(seed: u64) -> Self {
        Self::configured(seed, settings()).await
    }

    pub(super) async fn configured(seed: u64, settings: ServiceSettings) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let file = folder.path().join("journal.redb");
        let bench = Self::open(file, folder, 1, seed, settings).await;
        let root = bench.folder.path().display().to_string();
        let added = bench.service.add_project(&PERSON, "weft".to_owned(), root);
        added.await.unwrap();
        bench
    }

    async fn open(
        file: PathBuf,
        folder: Arc<tempfile::TempDir>,
        life: u32,
        seed: u64,
        settings: ServiceSettings,
    ) -> Self {
        let clock = SimulatedClock::at(Timestamp::from_millis(1_800_000_000_000));
        // A host never makes the ids of the host before it.
        let ids = SeededIds::new(seed << 8 | u64::from(life));
        let journal = Journal::open(&file, Arc::new(clock.clone()), Arc::new(ids)).unwrap();
        let reports = journal.reports();
        let providers = FakeProviders::of(instances());
        let running = journal.start(providers.clone()).await.unwrap();
        let service = ThreadManagementService::new(
            running.writer(),
            running.store(),
            running.changes(),
            providers.clone(),
            settings,
        );
        Self {
            file,
            folder,
            life,
            clock,
            providers,
            service,
            reports,
            running,
        }
    }

    // ------------------------------------------------------------ killing

    /// The file as a host killed now would leave it.
    pub(super) fn killed_now(&self, name: &str) -> Left {
        let file = self.folder.path().join(name);
        std::fs::copy(&self.file, &file).unwrap();
        Left {
            file,
            folder: Arc::clone(&self.folder),
            life: self.life,
        }
    }

    /// Ends the host as one that goes down.
    pub(super) async fn stop(self) {
        drop(self.reports);
        self.running.stop().await.unwrap();
    }

    /// Ends the host as one that goes down, and starts the next one on its file.
    pub(super) async fn restarted(self) -> Self {
        let left = Left {
            file: self.file.clone(),
            folder: Arc::clone(&self.folder),
            life: self.life,
        };
        self.stop().await;
        left.opened().await
    }

    // ------------------------------------------------------------ reading

    pub(super) fn reader(&self) -> Reader {
        self.running.store().reader().unwrap()
    }

    pub(super) fn run(&self, id: &RunId) -> Run {
        self.reader().run(id).unwrap().unwrap()
    }

    pub(super) fn task(&self, id: &TaskId) -> Task {
        self.reader().task(id).unwrap().unwrap()
    }

    pub(super) fn delivery(&self, id: &TaskId) -> Delivery {
        self.task(id).delivery.unwrap()
    }

    /// Number of facts stored so far.
    pub(super) fn stored(&self) -> u64 {
        self.reader().sequence().unwrap()
    }

    /// The wakes of a thread that tell a task and were not withdrawn.
    pub(super) fn wakes_of(&self, thread: &ThreadId, task: &TaskId) -> Vec<Run> {
        let reader = self.reader();
        let tells = |run: &Run| {
            let message = reader.message(&run.message_id).unwrap().unwrap();
            message
                .wakes
                .is_some_and(|wake| wake.task_ids.contains(task))
        };
        let runs = reader.runs_of(thread).unwrap().into_iter();
        runs.filter(|run| run.purpose == RunPurpose::Wake)
            .filter(|run| run.status != RunStatus::Cancelled && tells(run))
            .collect()
    }

    /// Waits until the stored state is so.
    pub(super) async fn until(&self, what: &str, is_so: impl Fn(&Reader) -> bool) {
        let mut feed = self.running.changes().feed();
        let found = async {
            loop {
                let reader = self.reader();
                if is_so(&reader) {
                    return;
                }
                feed.past(reader.sequence().unwrap()).await.unwrap();
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, found).await;
        in_time.unwrap_or_else(|_| panic!("never came: {what}"));
    }

    pub(super) async fn until_run(&self, run: &RunId, status: RunStatus) {
        let what = format!("{run} {status:?}");
        self.until(&what, |reader| {
            reader.run(run).unwrap().unwrap().status == status
        })
        .await;
    }

    /// What must hold whenever nothing is under way: the projections are what the events say.
    pub(super) fn check(&self) {
        let differences = compare_with_events(&self.reader()).unwrap();
        assert!(differences.is_empty(), "{differences:?}");
    }

    // ------------------------------------------------------------ people and agents

    /// A thread with a first run that the provider works on.
    pub(super) async fn working(&self, prompt: &str) -> Talk {
        let talk = self.create(NewThread {
            prompt: Some(prompt.to_owned()),
            ..new_thread()
        });
        let talk = talk.await;
        self.turn_starts(&talk).await;
        talk
    }

    /// A thread with a first run that is handed to the provider.
    pub(super) async fn create(&self, request: NewThread) -> Talk {
        let created = self.service.create_thread(&PERSON, request).await.unwrap();
        Talk {
            thread: created.thread_id,
            run: created.run_id.unwrap(),
        }
    }

    /// The agent of a thread.
    pub(super) fn agent(&self, thread: &ThreadId) -> Authority {
        let reader = self.reader();
        let thread = reader.thread(thread).unwrap().unwrap();
        Authority::Agent(AgentAuthority {
            session_id: self.session(&thread.id),
            thread_id: thread.id,
            instance_id: thread.provider_instance_id,
            capabilities: vec![Capability::Orchestration],
        })
    }

    pub(super) async fn try_delegate(
        &self,
        parent: &Talk,
        request: DelegateRequest,
    ) -> Result<Delegated, Denial> {
        let caller = self.agent(&parent.thread);
        self.service
            .delegate(&caller, request, CancellationToken::new())
            .await
    }

    /// Delegates without waiting.
    pub(super) async fn delegate(&self, parent: &Talk, task: &str) -> Child {
        let delegated = self.try_delegate(parent, asking(task)).await.unwrap();
        Child::of(&delegated.task)
    }

    /// Delegates without waiting; the provider works on the child.
    pub(super) async fn delegate_working(&self, parent: &Talk, task: &str) -> Child {
        let child = self.delegate(parent, task).await;
        self.turn_starts(&child.talk()).await;
        child
    }

    pub(super) async fn status(&self, parent: &ThreadId, task: &TaskId) -> TaskView {
        let caller = self.agent(parent);
        self.service.task_status(&caller, task).await.unwrap()
    }
}

/// What a killed host left.
pub(super) struct Left {
    file: PathBuf,
    folder: Arc<tempfile::TempDir>,
    life: u32,
}

impl Left {
    /// The next host on it.
    pub(super) async fn opened(self) -> Bench {
        Bench::open(self.file, self.folder, self.life + 1, 1, settings()).await
    }

    /// Another file with the same in it.
    pub(super) fn copy(&self, name: &str) -> Self {
        let file = self.folder.path().join(name);
        std::fs::copy(&self.file, &file).unwrap();
        Self {
            file,
            folder: Arc::clone(&self.folder),
            life: self.life,
        }
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }
}
