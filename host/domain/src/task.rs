//! Delegated tasks and the delivery of their results to the parent.

use serde::{Deserialize, Serialize};

use crate::ids::{ProviderInstanceId, RunId, TaskId, ThreadId, TransferId};
use crate::run::RunStatus;
use crate::time::Timestamp;

/// A child thread plus its first run, created through `delegate_task`. Lives on the parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its id; on the wire also the parent's node id.
    pub id: TaskId,
    /// Thread that delegated.
    pub parent_thread_id: ThreadId,
    /// Run that delegated.
    pub parent_run_id: RunId,
    /// Child thread.
    pub child_thread_id: ThreadId,
    /// The child's first run.
    pub child_run_id: RunId,
    /// Provider instance of the child.
    pub provider_instance_id: ProviderInstanceId,
    /// Model of the child.
    pub model: Option<String>,
    /// What was asked.
    pub prompt: String,
    /// When the parent is woken.
    pub wake: WakePolicy,
    /// How far the telling of the end has come; `None`: not ended.
    pub delivery: Option<Delivery>,
    /// Published result; `None`: not published.
    pub result: Option<TaskResult>,
    /// When it was asked for.
    pub created_at: Timestamp,
}

/// When a parent is woken by the end of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakePolicy {
    /// Always.
    Always,
    /// Only if the run that delegated is over: a waiting caller gets the answer itself.
    SettledOnly,
}

/// How far the telling of a task's end has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// State.
    pub state: DeliveryState,
    /// Run of the parent that read the result.
    pub observed_by_run_id: Option<RunId>,
}

/// State of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// Ended, waits for a later wake.
    Pending,
    /// Part of a wake that has not reached the provider.
    Claimed,
    /// A wake that tells it reached the provider.
    Delivered,
    /// The parent read the result.
    Acknowledged,
    /// Nobody will be told.
    Disposed,
}

/// The published end of a task. Published once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskResult {
    /// Status the task ended with.
    pub status: TaskStatus,
    /// Text for the parent.
    pub summary: String,
    /// Run the text comes from.
    pub run_id: RunId,
    /// The transfer that carries it.
    pub transfer_id: TransferId,
    /// When it was published.
    pub at: Timestamp,
}

/// Status of a delegated task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Its run is behind another.
    Queued,
    /// Its child works.
    Running,
    /// Its child waits for its own children.
    Waiting,
    /// Done.
    Completed,
    /// Failed.
    Failed,
    /// Withdrawn or cancelled.
    Cancelled,
    /// Stopped.
    Interrupted,
}

impl TaskStatus {
    /// What a run's status says about its task.
    #[must_use]
    pub const fn from_run(status: RunStatus) -> Self {
        match status {
            RunStatus::Preparing | RunStatus::Starting | RunStatus::Running => Self::Running,
            RunStatus::Queued => Self::Queued,
            RunStatus::Waiting => Self::Waiting,
            RunStatus::Completed => Self::Completed,
            RunStatus::Interrupted => Self::Interrupted,
            RunStatus::Failed => Self::Failed,
            RunStatus::Cancelled | RunStatus::RolledBack => Self::Cancelled,
        }
    }

    /// The word of every contract.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }

    /// Ended for good.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Interrupted
        )
    }
}

/// What a child is doing, as its parent sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkState {
    /// A run of it is active or queued.
    Working,
    /// Its own delegated tasks or background work go on.
    WaitingForChildren,
    /// Nothing goes on.
    ResultAvailable,
}

/// A stored hand-over of text between threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextTransfer {
    /// Its id.
    pub id: TransferId,
    /// Kind.
    pub kind: TransferKind,
    /// From.
    pub source_thread_id: ThreadId,
    /// To.
    pub target_thread_id: ThreadId,
    /// Run it went into, for a spawn, or came from, for a result.
    pub run_id: RunId,
    /// When.
    pub created_at: Timestamp,
    /// How far it has come.
    pub status: TransferStatus,
    /// How the context travels; `None`: no context travels, or it is not decided.
    pub strategy: Option<TransferStrategy>,
    /// Run whose prompt carried the context.
    pub consumed_by_run_id: Option<RunId>,
    /// Why it failed.
    pub error: Option<String>,
}

/// How far a transfer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferStatus {
    /// Waits for the target's next run.
    Pending,
    /// Done.
    Consumed,
    /// Given up.
    Failed,
    /// A later transfer took its place.
    Superseded,
}

/// How context travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferStrategy {
    /// The provider copies its own conversation.
    NativeFork,
    /// The earlier texts stand before the next prompt.
    PortableContext,
}

/// Kind of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferKind {
    /// A prompt to a new child.
    SubagentSpawn,
    /// A result to the parent.
    SubagentResult,
    /// The thread's own history to another provider.
    ProviderHandoff,
    /// Another thread's history to its fork.
    Fork,
}
