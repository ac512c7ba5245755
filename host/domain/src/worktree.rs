//! Worktrees: known checkouts of a Project, addressed by id.

use serde::{Deserialize, Serialize};

use crate::ids::{ProjectId, ThreadId, WorktreeId};
use crate::time::Timestamp;

/// A known checkout of a Project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// Its id.
    pub id: WorktreeId,
    /// Its Project.
    pub project_id: ProjectId,
    /// Absolute path; unique among worktrees that stand.
    pub path: String,
    /// Branch asked for; `None`: detached at the base.
    pub branch: Option<String>,
    /// Ref it was to begin at.
    pub base_ref: Option<String>,
    /// Commit that ref was.
    pub base_commit: Option<String>,
    /// Who made it.
    pub origin: WorktreeOrigin,
    /// How far it has come.
    pub status: WorktreeStatus,
    /// Thread it was made for.
    pub made_for_thread_id: Option<ThreadId>,
    /// When it was first heard of.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Who made a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeOrigin {
    /// The host, for a thread.
    Host,
    /// Somebody else; git lists it.
    Found,
}

/// How far a worktree has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeStatus {
    /// Being made.
    Preparing,
    /// It stands.
    Ready,
    /// It could not be made; why.
    Failed(String),
    /// It is no longer there.
    Removed,
}
