//! Runs: durable units of requested work, and the only ways their status may move.

use serde::{Deserialize, Serialize};

use crate::ids::{CheckpointId, MessageId, ProviderInstanceId, RunId, ThreadId, WorktreeId};
use crate::provider::ModelSelection;
use crate::provider_event::{Failure, Usage};
use crate::time::Timestamp;

/// One durable unit of requested work on a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Its thread.
    pub thread_id: ThreadId,
    /// 1, 2, 3... within the thread, never reused.
    pub ordinal: u32,
    /// Status.
    pub status: RunStatus,
    /// What started it.
    pub purpose: RunPurpose,
    /// Whether a queued run may start by itself.
    pub queue: QueueState,
    /// Provider instance.
    pub provider_instance_id: ProviderInstanceId,
    /// Model and options.
    pub model: ModelSelection,
    /// Message that asked for it.
    pub message_id: MessageId,
    /// The provider's name for the turn.
    pub native_turn_id: Option<String>,
    /// The provider's name for the place after it.
    pub native_point: Option<String>,
    /// Why it ended as it did, for `failed` and `interrupted`.
    pub reason: Option<EndReason>,
    /// Tokens.
    pub usage: Usage,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When the provider accepted it.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// Its handings-over to a provider, in order. Empty: none yet, or stored by schema 1.
    pub attempts: Vec<RunAttempt>,
    /// Message that starts the next attempt once the present one has ended.
    pub restart: Option<MessageId>,
    /// Files of the workspace as it left them.
    pub checkpoint_id: Option<CheckpointId>,
    /// Worktree that must stand before it starts; `None`: nothing to wait for.
    pub awaits_worktree_id: Option<WorktreeId>,
}

/// One handing-over of a run to a provider. Only the newest may end the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAttempt {
    /// 1, 2, 3... within the run.
    pub ordinal: u32,
    /// Why it was begun.
    pub reason: AttemptReason,
    /// Status.
    pub status: AttemptStatus,
    /// When it was handed over.
    pub started_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
}

/// Why an attempt was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptReason {
    /// The run's first.
    Initial,
    /// A message restarted the turn.
    SteeringRestart,
}

/// Status of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStatus {
    /// Handed over.
    Pending,
    /// The provider works on it.
    Running,
    /// Done.
    Completed,
    /// Stopped.
    Interrupted,
    /// Failed.
    Failed,
    /// Withdrawn.
    Cancelled,
    /// Another attempt took its place.
    Superseded,
}

/// What started a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPurpose {
    /// A message of a person or an agent.
    Work,
    /// The host tells that delegated tasks ended.
    Wake,
    /// The host tells that a child asks something.
    ChildQuestion,
}

/// Whether a queued run may start by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueState {
    /// It starts when its turn comes.
    Free,
    /// It waits until a person resumes it.
    Held,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The provider or its process failed.
    Failure(Failure),
    /// Somebody stopped it; their words.
    Stopped(String),
    /// The host restarted while it ran.
    HostRestarted,
    /// It was withdrawn before it started.
    Withdrawn,
}

/// Status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Its workspace is being made.
    Preparing,
    /// Behind another run.
    Queued,
    /// Handed to the provider.
    Starting,
    /// The provider works on it.
    Running,
    /// Draining and checkpointing.
    Waiting,
    /// Done.
    Completed,
    /// Stopped.
    Interrupted,
    /// Failed.
    Failed,
    /// Withdrawn.
    Cancelled,
    /// Undone.
    RolledBack,
}

impl Run {
    /// Somebody stopped it and its provider has not ended it yet.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        !self.status.is_terminal() && matches!(self.reason, Some(EndReason::Stopped(_)))
    }
}

impl RunStatus {
    /// Every status.
    pub const ALL: [Self; 10] = [
        Self::Preparing,
        Self::Queued,
        Self::Starting,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Interrupted,
        Self::Failed,
        Self::Cancelled,
        Self::RolledBack,
    ];

    /// Ended for good.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Interrupted | Self::RolledBack
        )
    }

    /// Blocks the runs behind it.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(
            self,
            Self::Preparing | Self::Starting | Self::Running | Self::Waiting
        )
    }

    /// Its agent is not over yet: a run in `waiting` only drains.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Preparing | Self::Starting | Self::Running)
    }

    /// Whether a run may move from this status to `to`. Anything else is a fault.
    ///
    /// ```
    /// use domain::run::RunStatus::{Completed, Queued, Running, Starting};
    ///
    /// assert!(Queued.may_become(Starting) && Starting.may_become(Running));
    /// assert!(!Queued.may_become(Running), "it is handed over first");
    /// assert!(!Completed.may_become(Running), "an end is for good");
    /// ```
    #[must_use]
    pub const fn may_become(self, to: Self) -> bool {
        match self {
            Self::Preparing => {
                matches!(
                    to,
                    Self::Starting | Self::Failed | Self::Interrupted | Self::Cancelled
                )
            }
            Self::Queued => matches!(to, Self::Starting | Self::Cancelled | Self::Failed),
            Self::Starting => matches!(
                to,
                Self::Running | Self::Interrupted | Self::Failed | Self::Cancelled
            ),
            // Without a checkpoint to capture there is nothing to wait for.
            Self::Running => matches!(
                to,
                Self::Waiting
                    | Self::Completed
                    | Self::Interrupted
                    | Self::Failed
                    | Self::Cancelled
            ),
            Self::Waiting => matches!(
                to,
                Self::Completed | Self::Interrupted | Self::Failed | Self::Cancelled
            ),
            Self::Completed => matches!(to, Self::RolledBack),
            Self::Failed => matches!(to, Self::Preparing),
            Self::Interrupted | Self::Cancelled | Self::RolledBack => false,
        }
    }
}
