//! Requests to change something, and what is answered.

use serde::{Deserialize, Serialize};

use crate::error::Denial;
use crate::ids::{MessageId, ProjectId, ProviderInstanceId, RequestId, RunId, TaskId, ThreadId};
use crate::message::Provenance;
use crate::modes::{InteractionMode, Modes, RuntimeMode};
use crate::provider::{ModelSelection, Steering};
use crate::provider_event::ProviderReport;
use crate::request::Reply;
use crate::run::RunStatus;
use crate::task::WakePolicy;

/// A request to change something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Register a Project.
    AddProject(AddProject),
    /// Make a top-level thread.
    CreateThread(CreateThread),
    /// Send a message to a thread.
    SendMessage(SendMessage),
    /// Make a child thread for a delegated task.
    Delegate(Delegate),
    /// Wake the parent whenever this task ends: its waiting caller is gone.
    WakeAlways {
        /// The task.
        task_id: TaskId,
    },
    /// The parent has read a task's result.
    AcknowledgeTask {
        /// The task.
        task_id: TaskId,
    },
    /// Stop a task and everything it delegated.
    CancelTask(CancelTask),
    /// Stop a thread: its active run, its queue and everything it delegated.
    StopThread {
        /// The thread.
        thread_id: ThreadId,
        /// For people.
        reason: String,
    },
    /// Let the held runs of a thread's queue go on.
    ResumeQueue {
        /// The thread.
        thread_id: ThreadId,
    },
    /// Answer a request.
    Respond {
        /// The request.
        request_id: RequestId,
        /// The answer.
        reply: Reply,
        /// Who answers: approvals are for people alone.
        answered_by: AnsweredBy,
    },
    /// A provider session reports.
    Report(ProviderReport),
    /// The host came up: whatever had an agent has none now.
    Recover,
}

/// Who asks for a change. People may do what the rules allow; an agent is also held to its own thread's life and modes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A person.
    Person,
    /// An agent inside a provider session.
    Agent(AgentCaller),
}

/// An agent, as its credential names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCaller {
    /// Its thread.
    pub thread_id: ThreadId,
    /// Its provider instance: must own the active run of that thread.
    pub instance_id: ProviderInstanceId,
}

/// Register a Project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddProject {
    /// For people; unique.
    pub name: String,
    /// Absolute, canonical path of its folder; unique.
    pub root: String,
}

/// Make a top-level thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateThread {
    /// Project it works in.
    pub project_id: ProjectId,
    /// For people; `None`: from the prompt.
    pub title: Option<String>,
    /// Provider instance that runs it.
    pub provider_instance_id: ProviderInstanceId,
    /// Model and options.
    pub model: ModelSelection,
    /// Ceiling.
    pub modes: Modes,
    /// Who makes it and how.
    pub provenance: Provenance,
    /// First prompt; `None`: an idle thread.
    pub prompt: Option<String>,
}

/// Send a message to a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendMessage {
    /// The thread.
    pub thread_id: ThreadId,
    /// The text.
    pub text: String,
    /// Who sends it and how.
    pub provenance: Provenance,
    /// What to do when a run is active.
    pub mode: SendMode,
    /// How the thread's provider takes text in a running turn.
    pub steering: Steering,
    /// Who sends it.
    pub caller: Caller,
}

/// What to do with a message when a run is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// Steer where possible, else start or queue.
    Auto,
    /// Queue behind the active run.
    Queue,
    /// Steer or refuse.
    Steer,
}

/// Make a child thread for a delegated task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegate {
    /// Thread that delegates.
    pub parent_thread_id: ThreadId,
    /// The caller's provider instance: must own the parent's active run.
    pub caller_instance_id: ProviderInstanceId,
    /// What to do: the child's whole prompt but for the role.
    pub task: String,
    /// For people; `None`: from the prompt.
    pub title: Option<String>,
    /// Named to the child in one sentence; `None` or general: not named.
    pub role: Option<Role>,
    /// Where the child runs, or why there is no such place: the refusal of a caller that may delegate.
    pub target: Result<ResolvedTarget, Denial>,
    /// `None`: inherit.
    pub runtime_mode: Option<RuntimeMode>,
    /// `None`: inherit.
    pub interaction_mode: Option<InteractionMode>,
    /// When the parent is woken.
    pub wake: WakePolicy,
    /// Deepest delegation allowed by the operator.
    pub depth_max: u32,
}

/// Role of a delegated agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Writes code.
    Implementation,
    /// Finds out.
    Research,
    /// Reviews.
    Review,
    /// Designs.
    Design,
    /// Tests.
    Test,
    /// Anything.
    General,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 6] = [
        Self::Implementation,
        Self::Research,
        Self::Review,
        Self::Design,
        Self::Test,
        Self::General,
    ];

    /// The word of the contract.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Implementation => "implementation",
            Self::Research => "research",
            Self::Review => "review",
            Self::Design => "design",
            Self::Test => "test",
            Self::General => "general",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }
}

/// A provider instance and model that can run a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedTarget {
    /// The instance.
    pub instance_id: ProviderInstanceId,
    /// Model and options.
    pub model: ModelSelection,
    /// Runtime modes it offers, most careful first.
    pub runtime_modes: Vec<RuntimeMode>,
    /// Interaction modes it offers.
    pub interaction_modes: Vec<InteractionMode>,
}

/// Stop a task and everything it delegated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelTask {
    /// Thread that delegated it.
    pub parent_thread_id: ThreadId,
    /// The task.
    pub task_id: TaskId,
    /// For people.
    pub reason: Option<String>,
}

/// Who answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnsweredBy {
    /// A person.
    Person,
    /// An agent.
    Agent,
}

/// What a command is answered with. Stored in its receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A Project stands.
    Project {
        /// The Project.
        project_id: ProjectId,
    },
    /// A thread stands.
    Thread {
        /// The thread.
        thread_id: ThreadId,
        /// Its first run.
        run_id: Option<RunId>,
    },
    /// A message is stored.
    Sent {
        /// The message.
        message_id: MessageId,
        /// The run it started or joined.
        run_id: RunId,
        /// Status of that run.
        status: RunStatus,
        /// What became of the message.
        delivery: Sent,
    },
    /// A delegated task stands.
    Delegated {
        /// The task.
        task_id: TaskId,
        /// Its child thread.
        child_thread_id: ThreadId,
        /// The child's first run.
        child_run_id: RunId,
    },
    /// A cancel was taken.
    Cancelled {
        /// What it met.
        outcome: CancelOutcome,
    },
    /// A stop was taken: how many runs it met.
    Stopped {
        /// Runs that were active or queued.
        runs: u32,
    },
    /// A queue goes on: how many of its runs were held.
    Resumed {
        /// Runs that were held.
        runs: u32,
    },
    /// Nothing to tell.
    Done,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    /// A run starts with it.
    Started,
    /// It waits behind another run.
    Queued,
    /// It joins the running turn.
    Steered,
}

/// What a cancel met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelOutcome {
    /// Work was going on and is being stopped.
    Requested,
    /// The task had ended with this status.
    Ended(crate::task::TaskStatus),
}
