//! Threads.

use serde::{Deserialize, Serialize};

use crate::ids::{
    CheckpointId, ProjectId, ProviderInstanceId, ProviderSessionId, RunId, TaskId, ThreadId,
    WorktreeId,
};
use crate::message::Provenance;
use crate::modes::Modes;
use crate::provider::ModelSelection;
use crate::time::Timestamp;

/// The durable, provider-neutral conversation the host owns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its id.
    pub id: ThreadId,
    /// Project it works in.
    pub project_id: ProjectId,
    /// For people.
    pub title: String,
    /// Who made it and how.
    pub provenance: Provenance,
    /// Provider instance that runs it.
    pub provider_instance_id: ProviderInstanceId,
    /// Model and options.
    pub model: ModelSelection,
    /// Ceiling for whatever it starts or messages.
    pub modes: Modes,
    /// Absolute path of the folder its agent works in.
    pub workspace_path: String,
    /// Where it came from.
    pub lineage: Lineage,
    /// The provider's conversation, once it is known.
    pub native: Option<NativeThread>,
    /// Session that holds it now.
    pub session_id: Option<ProviderSessionId>,
    /// Descriptions of work at the provider that outlives its turns.
    pub background: Vec<String>,
    /// Ordinal of the newest run; 0: none yet.
    pub run_ordinal_last: u32,
    /// Position of the newest item; 0: none yet.
    pub item_position_last: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was archived.
    pub archived_at: Option<Timestamp>,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
    /// Branch its worktree was made for; `None`: the checkout as it is.
    pub branch: Option<String>,
    /// Worktree it works in; `None`: its Project's root.
    pub worktree_id: Option<WorktreeId>,
    /// Where its history was copied from.
    pub forked_from: Option<ForkPoint>,
    /// Checkpoint its provider is being taken back to; `None`: no rollback is under way.
    pub rolling_back_to: Option<CheckpointId>,
    /// What people and agents keep on it.
    pub upkeep: Upkeep,
}

/// Where a fork was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPoint {
    /// Thread whose history was copied.
    pub thread_id: ThreadId,
    /// Last run of it that is part of the copy.
    pub run_id: RunId,
}

/// Marks that change neither what a thread does nor what it may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upkeep {
    /// Somebody said whether it is done with.
    pub settlement: Option<Settlement>,
    /// Out of sight for a while.
    pub snooze: Option<Snooze>,
    /// Pull request that holds its work.
    pub pull_request: Option<PullRequest>,
    /// A title is being made.
    pub title_request: Option<TitleRequest>,
}

/// Somebody's word on whether a thread is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settlement {
    /// The word.
    pub state: Settled,
    /// When it was said.
    pub at: Timestamp,
}

/// Whether a thread is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// Done with.
    Settled,
    /// Not done with, whatever its runs say.
    Active,
}

/// A thread out of sight for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snooze {
    /// When it is back.
    pub until: Timestamp,
    /// When it was put away: what happened after wakes it early.
    pub since: Timestamp,
}

/// A pull request on a code host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    /// Project of the thread when the link was made.
    pub project_id: ProjectId,
    /// `owner/name`.
    pub repository: String,
    /// From 1.
    pub number: u64,
    /// Its page.
    pub url: String,
}

/// A title being made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TitleRequest {
    /// Tells a late answer to an earlier request from the one that is awaited.
    pub request_id: String,
    /// When it was asked for.
    pub started_at: Timestamp,
}

/// Parent thread, run and task that created a thread. Not a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The creating thread; `None`: a top-level thread.
    pub parent: Option<ParentLink>,
    /// Top of the tree; a top-level thread is its own root.
    pub root_thread_id: ThreadId,
    /// 0 for a top-level thread, one more for each delegation.
    pub depth: u32,
}

/// What created a child thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentLink {
    /// Parent thread.
    pub thread_id: ThreadId,
    /// Run of the parent that delegated.
    pub run_id: RunId,
    /// The delegated task.
    pub task_id: TaskId,
}

/// A provider's conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeThread {
    /// The provider's name for it.
    pub id: String,
    /// Whether it survives its process.
    pub resume: crate::provider_event::Resume,
}

impl Thread {
    /// Neither archived nor deleted.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.archived_at.is_none() && self.deleted_at.is_none()
    }
}
