//! A delegated task as its parent reads it.

use domain::task::{TaskStatus, WorkState};
use schemars::JsonSchema;
use serde::Serialize;
use threads::service::{Pending, TaskView, WaitEnd};

/// The answer of every tool that tells of a task.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskOutput {
    task_id: String,
    child_thread_id: String,
    /// The child's first run.
    child_run_id: Option<String>,
    /// Equal to taskId.
    child_node_id: String,
    status: TaskStatusWord,
    work_state: WorkStateWord,
    /// A later run of the child is queued or running.
    has_pending_child_runs: bool,
    provider_instance_id: String,
    model: Option<String>,
    /// The result, or why there is none, once the task has ended.
    summary: Option<String>,
    result_context_transfer_id: Option<String>,
    latest_terminal_run_id: Option<String>,
    latest_terminal_status: Option<EndWord>,
    latest_terminal_summary: Option<String>,
    latest_terminal_result_context_transfer_id: Option<String>,
    /// The child asks something and stands still until it is answered.
    has_pending_question: bool,
    /// The wait ended, not the work.
    wait_timed_out: bool,
}

impl TaskOutput {
    pub(super) fn new(task: TaskView, wait: WaitEnd) -> Self {
        let latest = task.latest_terminal;
        let latest_status = latest.as_ref().map(|run| TaskStatus::from_run(run.status));
        let (latest_run_id, latest_summary, latest_transfer_id) = match latest {
            Some(run) => (Some(run.run_id), run.summary, run.transfer_id),
            None => (None, None, None),
        };
        Self {
            child_node_id: task.task_id.to_string(),
            task_id: task.task_id.to_string(),
            child_thread_id: task.child_thread_id.to_string(),
            child_run_id: Some(task.child_run_id.to_string()),
            status: task.status.into(),
            work_state: task.work_state.into(),
            has_pending_child_runs: task.pending_child_runs == Pending::Something,
            provider_instance_id: task.provider_instance_id.to_string(),
            model: task.model,
            summary: task.summary,
            result_context_transfer_id: task.result_transfer_id.map(|id| id.to_string()),
            latest_terminal_run_id: latest_run_id.map(|id| id.to_string()),
            latest_terminal_status: latest_status.and_then(EndWord::of),
            latest_terminal_summary: latest_summary,
            latest_terminal_result_context_transfer_id: latest_transfer_id.map(|id| id.to_string()),
            has_pending_question: task.pending_question == Pending::Something,
            wait_timed_out: wait == WaitEnd::TimedOut,
        }
    }
}

// Status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TaskStatusWord {
    Queued,
    Running,
    Waiting,
    Completed,
    Failed,
    Cancelled,
    Interrupted,
}

impl From<TaskStatus> for TaskStatusWord {
    fn from(status: TaskStatus) -> Self {
        match status {
            TaskStatus::Queued => Self::Queued,
            TaskStatus::Running => Self::Running,
            TaskStatus::Waiting => Self::Waiting,
            TaskStatus::Completed => Self::Completed,
            TaskStatus::Failed => Self::Failed,
            TaskStatus::Cancelled => Self::Cancelled,
            TaskStatus::Interrupted => Self::Interrupted,
        }
    }
}

// Status of something that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EndWord {
    Completed,
    Failed,
    Cancelled,
    Interrupted,
}

impl EndWord {
    /// The word, where the task has ended.
    const fn of(status: TaskStatus) -> Option<Self> {
        match status {
            TaskStatus::Completed => Some(Self::Completed),
            TaskStatus::Failed => Some(Self::Failed),
            TaskStatus::Cancelled => Some(Self::Cancelled),
            TaskStatus::Interrupted => Some(Self::Interrupted),
            TaskStatus::Queued | TaskStatus::Running | TaskStatus::Waiting => None,
        }
    }
}

/// What the child is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WorkStateWord {
    Working,
    WaitingForChildren,
    ResultAvailable,
}

impl From<WorkState> for WorkStateWord {
    fn from(state: WorkState) -> Self {
        match state {
            WorkState::Working => Self::Working,
            WorkState::WaitingForChildren => Self::WaitingForChildren,
            WorkState::ResultAvailable => Self::ResultAvailable,
        }
    }
}
