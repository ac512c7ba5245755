//! Stored facts. Each carries the whole entity, so applying one is putting it in its place.

use serde::{Deserialize, Serialize};

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
            Self::ThreadCreated(thread) | Self::ThreadUpdated(thread) => Some(&thread.id),
            Self::RunCreated(run) | Self::RunUpdated(run) => Some(&run.thread_id),
            Self::MessageUpdated(message) => Some(&message.thread_id),
            Self::ItemUpdated(item) => Some(&item.thread_id),
            Self::ItemTextAppended(text) => Some(&text.thread_id),
            Self::RequestUpdated(request) => Some(&request.thread_id),
            Self::TaskUpdated(task) => Some(&task.parent_thread_id),
            Self::TransferCreated(transfer) => Some(&transfer.target_thread_id),
        }
    }
}
