//! Checkpoints: the files of a workspace as a run left them.

use serde::{Deserialize, Serialize};

use crate::ids::{CheckpointId, RunId, ThreadId};
use crate::time::Timestamp;

/// The files of a git workspace as a run left them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its id.
    pub id: CheckpointId,
    /// Its thread.
    pub thread_id: ThreadId,
    /// Run that left them.
    pub run_id: RunId,
    /// That run's ordinal.
    pub run_ordinal: u32,
    /// Git ref that keeps the commit.
    pub git_ref: String,
    /// Commit that holds the files.
    pub commit: String,
    /// Whether it can be gone back to.
    pub status: CheckpointStatus,
    /// What the run changed.
    pub files: Vec<CheckpointFile>,
    /// When it was captured.
    pub captured_at: Timestamp,
}

/// Whether a checkpoint can be gone back to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointStatus {
    /// It can.
    Ready,
    /// Its commit is gone.
    Missing,
    /// It could not be captured; why.
    Error(String),
    /// A rollback went behind it.
    Stale,
}

/// A file a run changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointFile {
    /// Path within the workspace.
    pub path: String,
    /// What became of it.
    pub change: FileChange,
    /// Lines added; `None`: not text.
    pub lines_added: Option<u32>,
    /// Lines removed; `None`: not text.
    pub lines_removed: Option<u32>,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// New.
    Added,
    /// Changed.
    Modified,
    /// Gone.
    Deleted,
    /// Under another name.
    Renamed,
}
