//! Threads.

use serde::{Deserialize, Serialize};

use crate::ids::{ProjectId, ProviderInstanceId, ProviderSessionId, RunId, TaskId, ThreadId};
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
