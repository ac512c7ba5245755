//! What the service is asked and what it answers. No wire names here: the server owns those.

use domain::command::{CancelOutcome, Role, Sent};
use domain::ids::{MessageId, ProviderInstanceId, RequestId, RunId, TaskId, ThreadId, TransferId};
use domain::modes::{InteractionMode, Modes, RuntimeMode};
use domain::project::Project;
use domain::provider::{ModelOption, ProviderSnapshot};
use domain::request::Request;
use domain::run::{Run, RunStatus};
use domain::task::{Task, TaskStatus, WorkState};
use domain::thread::Thread;

/// The caller's key for one call and a digest of what was called, so that a retry is told from another call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallKey {
    /// The caller's word; `None`: the service makes a random one.
    pub key: Option<String>,
    /// Digest of the tool's name and its normalised arguments.
    pub digest: String,
}

/// What a caller may do and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The calling thread; `None` for a person.
    pub thread: Option<Thread>,
    /// Every configured instance, usable or not.
    pub providers: Vec<ProviderSnapshot>,
}

/// A delegation as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegateRequest {
    /// What to do.
    pub task: String,
    /// Where; every field `None`: as the parent.
    pub target: TargetRequest,
    /// For people.
    pub title: Option<String>,
    /// Role.
    pub role: Option<Role>,
    /// `None`: inherit.
    pub runtime_mode: Option<RuntimeMode>,
    /// `None`: inherit.
    pub interaction_mode: Option<InteractionMode>,
    /// Whether the caller waits.
    pub wait: WaitMode,
    /// Key and digest.
    pub call: CallKey,
}

/// Whether a delegating caller waits for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMode {
    /// Answer at once; the end wakes the parent.
    Async,
    /// Wait at most this many milliseconds.
    WaitMs(u64),
}

/// Where a child is to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetRequest {
    /// Exactly this instance.
    pub instance_id: Option<ProviderInstanceId>,
    /// Any instance of this driver.
    pub driver_kind: Option<domain::ids::DriverKind>,
    /// Exactly this model.
    pub model: Option<String>,
    /// These options; `None`: inherit where instance and model are the parent's.
    pub options: Option<Vec<ModelOption>>,
}

/// A delegated task as its parent sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskView {
    /// The task.
    pub task_id: TaskId,
    /// Its child thread.
    pub child_thread_id: ThreadId,
    /// The child's first run.
    pub child_run_id: RunId,
    /// Status.
    pub status: TaskStatus,
    /// What the child is doing.
    pub work_state: WorkState,
    /// A later run of the child is not terminal.
    pub pending_child_runs: Pending,
    /// Provider instance of the child.
    pub provider_instance_id: ProviderInstanceId,
    /// Model of the child.
    pub model: Option<String>,
    /// Result text, once there is one.
    pub summary: Option<String>,
    /// Transfer that carries the result.
    pub result_transfer_id: Option<TransferId>,
    /// The newest terminal run of the child.
    pub latest_terminal: Option<TerminalRun>,
    /// A question of the child blocks it.
    pub pending_question: Pending,
}

/// Whether something of the kind is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// None.
    Nothing,
    /// At least one.
    Something,
}

/// A terminal run of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalRun {
    /// The run.
    pub run_id: RunId,
    /// Its status.
    pub status: RunStatus,
    /// Its result text.
    pub summary: Option<String>,
    /// The transfer that carries it, if it was published.
    pub transfer_id: Option<TransferId>,
}

/// A delegation's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegated {
    /// The task.
    pub task: TaskView,
    /// How the wait ended.
    pub wait: WaitEnd,
    /// Key used, also a generated one.
    pub request_key: String,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// There was none, or what was waited for happened.
    Met,
    /// Its time ran out. The work goes on.
    TimedOut,
}

/// A cancel's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// The task.
    pub task_id: TaskId,
    /// What the cancel met.
    pub outcome: CancelOutcome,
    /// Key used.
    pub request_key: String,
}

/// A thread as it is asked for by a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewThread {
    /// Project: id, name, or absolute path of its root.
    pub project: String,
    /// Provider instance; `None`: the configured default.
    pub provider: Option<ProviderInstanceId>,
    /// Model; `None`: the configured default where the provider is the default one, else the provider's own.
    pub model: Option<String>,
    /// `None`: the configured default.
    pub runtime_mode: Option<RuntimeMode>,
    /// `None`: the configured default.
    pub interaction_mode: Option<InteractionMode>,
    /// For people; `None`: from the prompt.
    pub title: Option<String>,
    /// First prompt; `None`: an idle thread.
    pub prompt: Option<String>,
}

/// The operator's defaults for new threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadDefaults {
    /// Provider instance; `None`: a create must name one.
    pub provider: Option<ProviderInstanceId>,
    /// Model of that provider; without a provider, of whichever is named.
    pub model: Option<String>,
    /// Modes.
    pub modes: Modes,
}

/// A message's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// The message.
    pub message_id: MessageId,
    /// The run it started or joined.
    pub run_id: RunId,
    /// Status of that run.
    pub status: RunStatus,
    /// What became of the message.
    pub delivery: Sent,
}

/// A thread made by a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedThread {
    /// The thread.
    pub thread_id: ThreadId,
    /// Its first run.
    pub run_id: Option<RunId>,
}

/// One row of a list of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRow {
    /// The thread.
    pub thread: Thread,
    /// Its Project.
    pub project: Project,
    /// Its newest run, withdrawn wakes left out.
    pub latest_run: Option<Run>,
    /// Its pending requests.
    pub pending_requests: Vec<RequestId>,
    /// What it is doing.
    pub state: ObservedState,
}

/// The public status of a thread, derived from facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedState {
    /// A run is being handed to the provider.
    Starting,
    /// A run goes on.
    Running,
    /// A person must decide.
    WaitingForApproval,
    /// A question must be answered.
    WaitingForInput,
    /// No run yet.
    Idle,
    /// The newest run is done.
    Completed,
    /// The newest run failed.
    Failed,
    /// The newest run was stopped.
    Stopped,
}

impl ObservedState {
    /// The word of every contract.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::WaitingForApproval => "waiting_for_approval",
            Self::WaitingForInput => "waiting_for_input",
            Self::Idle => "idle",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// Everything about one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadDetail {
    /// Its row.
    pub row: ThreadRow,
    /// Its runs by ordinal.
    pub runs: Vec<Run>,
    /// A page of its timeline.
    pub items: Vec<domain::item::Item>,
    /// Its pending requests.
    pub requests: Vec<Request>,
    /// Tasks it delegated.
    pub tasks: Vec<Task>,
    /// Place in the journal this was read at: a follower starts here.
    pub sequence: u64,
}

/// Facts of the journal after a place, for a follower.
#[derive(Clone, Debug)]
pub struct Feed {
    /// Facts in order.
    pub events: Vec<(u64, domain::event::Event)>,
    /// Where the next read starts.
    pub sequence: u64,
}
