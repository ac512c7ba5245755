//! Stored facts. Each carries the whole entity, so applying one is putting it in its place.

use serde::{Deserialize, Serialize};

use crate::checkpoint::Checkpoint;
use crate::ids::{ItemId, ThreadId};
use crate::item::Item;
use crate::message::Message;
use crate::project::Project;
use crate::request::Request;
use crate::run::Run;
use crate::session::ProviderSession;
use crate::task::{ContextTransfer, Task};
use crate::thread::Thread;
use crate::time::Timestamp;
use crate::worktree::Worktree;

/// A stored fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "payload")]
pub enum Event {
    /// A Project was registered.
    #[serde(rename = "project.added")]
    ProjectAdded(Project),
    /// A thread was made.
    #[serde(rename = "thread.created")]
    ThreadCreated(Thread),
    /// A thread changed.
    #[serde(rename = "thread.updated")]
    ThreadUpdated(Thread),
    /// A run was made.
    #[serde(rename = "run.created")]
    RunCreated(Run),
    /// A run changed.
    #[serde(rename = "run.updated")]
    RunUpdated(Run),
    /// A message was stored or changed.
    #[serde(rename = "message.updated")]
    MessageUpdated(Message),
    /// An item opened or changed.
    #[serde(rename = "turn-item.updated")]
    ItemUpdated(Item),
    /// Text was appended to an item.
    #[serde(rename = "turn-item.text-appended")]
    ItemTextAppended(ItemText),
    /// A request opened or ended.
    #[serde(rename = "runtime-request.updated")]
    RequestUpdated(Request),
    /// A delegated task was made or changed.
    #[serde(rename = "subagent.updated")]
    TaskUpdated(Task),
    /// Text was handed over between threads.
    #[serde(rename = "context-transfer.created")]
    TransferCreated(ContextTransfer),
    /// A transfer came further.
    #[serde(rename = "context-transfer.updated")]
    TransferUpdated(ContextTransfer),
    /// A worktree was first heard of, or changed.
    #[serde(rename = "worktree.updated")]
    WorktreeUpdated(Worktree),
    /// A checkpoint was captured, or can no longer be gone back to.
    #[serde(rename = "checkpoint.captured")]
    CheckpointCaptured(Checkpoint),
    /// A provider session was first heard of, or changed.
    #[serde(rename = "provider-session.updated")]
    SessionUpdated(ProviderSession),
}

/// Text appended to an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemText {
    /// The item.
    pub item_id: ItemId,
    /// Its thread.
    pub thread_id: ThreadId,
    /// Its place in the thread.
    pub position: u64,
    /// What to append.
    pub appended: String,
    /// When.
    pub at: Timestamp,
}

impl Event {
    /// The thread whose watchers want to know. `None`: no thread's.
    #[must_use]
    pub fn thread_id(&self) -> Option<&ThreadId> {
        match self {
            Self::ProjectAdded(_) | Self::SessionUpdated(_) => None,
            Self::WorktreeUpdated(worktree) => worktree.made_for_thread_id.as_ref(),
            Self::CheckpointCaptured(checkpoint) => Some(&checkpoint.thread_id),
            Self::ThreadCreated(thread) | Self::ThreadUpdated(thread) => Some(&thread.id),
            Self::RunCreated(run) | Self::RunUpdated(run) => Some(&run.thread_id),
            Self::MessageUpdated(message) => Some(&message.thread_id),
            Self::ItemUpdated(item) => Some(&item.thread_id),
            Self::ItemTextAppended(text) => Some(&text.thread_id),
            Self::RequestUpdated(request) => Some(&request.thread_id),
            Self::TaskUpdated(task) => Some(&task.parent_thread_id),
            Self::TransferCreated(transfer) | Self::TransferUpdated(transfer) => {
                Some(&transfer.target_thread_id)
            }
        }
    }
}
