//! What the rules may ask of the store. One method for each question a rule asks.

use crate::checkpoint::Checkpoint;
use crate::ids::{
    CheckpointId, ItemId, MessageId, ProjectId, ProviderSessionId, RequestId, RunId, TaskId,
    ThreadId, WorktreeId,
};
use crate::item::{Item, ItemOrigin, ItemPlace};
use crate::message::Message;
use crate::project::Project;
use crate::request::Request;
use crate::run::Run;
use crate::session::ProviderSession;
use crate::task::{ContextTransfer, Task};
use crate::thread::Thread;
use crate::worktree::Worktree;

/// The state a command is decided against. `Fault` is the store's own failure; no rule looks into it.
pub trait View {
    /// The store's own failure.
    type Fault;

    /// Every Project, by name.
    fn projects(&self) -> Result<Vec<Project>, Self::Fault>;
    /// A Project.
    fn project(&self, id: &ProjectId) -> Result<Option<Project>, Self::Fault>;
    /// A thread, deleted ones too.
    fn thread(&self, id: &ThreadId) -> Result<Option<Thread>, Self::Fault>;
    /// A run.
    fn run(&self, id: &RunId) -> Result<Option<Run>, Self::Fault>;
    /// Runs of a thread by ordinal.
    fn runs_of(&self, thread: &ThreadId) -> Result<Vec<Run>, Self::Fault>;
    /// Runs of a thread that are not terminal, by ordinal. An index: O(open runs).
    fn open_runs_of(&self, thread: &ThreadId) -> Result<Vec<Run>, Self::Fault>;
    /// Every run that is not terminal, any thread. An index: O(open runs).
    fn open_runs(&self) -> Result<Vec<Run>, Self::Fault>;
    /// Number of threads with a run that is not terminal. O(1) or O(open runs).
    fn active_thread_count(&self) -> Result<u32, Self::Fault>;
    /// A message.
    fn message(&self, id: &MessageId) -> Result<Option<Message>, Self::Fault>;
    /// An item by id.
    fn item(&self, id: &ItemId) -> Result<Option<Item>, Self::Fault>;
    /// An item by the session's and driver's word for it.
    fn item_by_origin(&self, origin: &ItemOrigin) -> Result<Option<Item>, Self::Fault>;
    /// Where the item stands that the session speaks of. Reads no text: O(1) however long the item is.
    fn item_place(&self, origin: &ItemOrigin) -> Result<Option<ItemPlace>, Self::Fault>;
    /// Items of a run that are not closed. An index: O(open items).
    fn open_items_of(&self, run: &RunId) -> Result<Vec<Item>, Self::Fault>;
    /// The newest non-empty assistant message item of a run.
    fn last_assistant_item_of(&self, run: &RunId) -> Result<Option<Item>, Self::Fault>;
    /// A request.
    fn request(&self, id: &RequestId) -> Result<Option<Request>, Self::Fault>;
    /// Pending requests of a thread, oldest first.
    fn pending_requests_of(&self, thread: &ThreadId) -> Result<Vec<Request>, Self::Fault>;
    /// Every pending request.
    fn pending_requests(&self) -> Result<Vec<Request>, Self::Fault>;
    /// A delegated task.
    fn task(&self, id: &TaskId) -> Result<Option<Task>, Self::Fault>;
    /// Tasks a thread delegated, oldest first.
    fn tasks_of(&self, parent: &ThreadId) -> Result<Vec<Task>, Self::Fault>;
    /// The spawn or result transfer between two threads, if there is one.
    fn transfer(
        &self,
        source: &ThreadId,
        target: &ThreadId,
        kind: crate::task::TransferKind,
    ) -> Result<Option<ContextTransfer>, Self::Fault>;
    /// A worktree.
    fn worktree(&self, id: &WorktreeId) -> Result<Option<Worktree>, Self::Fault>;
    /// Worktrees of a Project, the first known first, removed ones too.
    fn worktrees_of(&self, project: &ProjectId) -> Result<Vec<Worktree>, Self::Fault>;
    /// The worktree that stands, or is to stand, at an absolute path.
    fn worktree_at(&self, path: &str) -> Result<Option<Worktree>, Self::Fault>;

    /// A checkpoint.
    fn checkpoint(&self, id: &CheckpointId) -> Result<Option<Checkpoint>, Self::Fault>;
    /// Checkpoints of a thread by the ordinal of their run.
    fn checkpoints_of(&self, thread: &ThreadId) -> Result<Vec<Checkpoint>, Self::Fault>;

    /// A provider session.
    fn session(&self, id: &ProviderSessionId) -> Result<Option<ProviderSession>, Self::Fault>;
    /// Sessions not ended.
    fn open_sessions(&self) -> Result<Vec<ProviderSession>, Self::Fault>;
}
