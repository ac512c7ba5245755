//! A store in memory: maps, and the order in which things were first stored.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use crate::checkpoint::Checkpoint;
use crate::event::Event;
use crate::ids::{
    CheckpointId, ItemId, MessageId, ProjectId, ProviderSessionId, RequestId, RunId, TaskId,
    ThreadId, TransferId, WorktreeId,
};
use crate::item::{Item, ItemKind, ItemOrigin, ItemPlace};
use crate::message::Message;
use crate::project::Project;
use crate::request::Request;
use crate::run::Run;
use crate::session::ProviderSession;
use crate::task::{ContextTransfer, Task, TransferKind};
use crate::thread::Thread;
use crate::view::View;
use crate::worktree::{Worktree, WorktreeStatus};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MapView {
    pub(super) projects: BTreeMap<ProjectId, Project>,
    pub(super) threads: BTreeMap<ThreadId, Thread>,
    pub(super) runs: BTreeMap<RunId, Run>,
    pub(super) messages: BTreeMap<MessageId, Message>,
    pub(super) items: BTreeMap<ItemId, Item>,
    pub(super) requests: BTreeMap<RequestId, Request>,
    pub(super) tasks: BTreeMap<TaskId, Task>,
    pub(super) transfers: BTreeMap<TransferId, ContextTransfer>,
    pub(super) sessions: BTreeMap<ProviderSessionId, ProviderSession>,
    pub(super) worktrees: BTreeMap<WorktreeId, Worktree>,
    pub(super) checkpoints: BTreeMap<CheckpointId, Checkpoint>,
    /// Active threads of the host that no test looks at.
    pub(super) other_active_threads: u32,
    request_order: Vec<RequestId>,
    task_order: Vec<TaskId>,
}

impl MapView {
    pub(super) fn apply(&mut self, event: &Event) {
        match event.clone() {
            Event::ProjectAdded(it) => drop(self.projects.insert(it.id.clone(), it)),
            Event::ThreadCreated(it) => {
                let old = self.threads.insert(it.id.clone(), it);
                assert!(old.is_none(), "created twice: {old:?}");
            }
            Event::ThreadUpdated(it) => {
                let old = self.threads.insert(it.id.clone(), it);
                assert!(old.is_some(), "updated before it was created: {event:?}");
            }
            Event::RunCreated(it) => {
                let old = self.runs.insert(it.id.clone(), it);
                assert!(old.is_none(), "created twice: {old:?}");
            }
            Event::RunUpdated(it) => {
                let old = self.runs.insert(it.id.clone(), it);
                assert!(old.is_some(), "updated before it was created: {event:?}");
            }
            Event::MessageUpdated(it) => drop(self.messages.insert(it.id.clone(), it)),
            Event::ItemUpdated(it) => drop(self.items.insert(it.id.clone(), it)),
            Event::ItemTextAppended(text) => {
                let item = self
                    .items
                    .get_mut(&text.item_id)
                    .expect("text of a known item");
                item.text.push_str(&text.appended);
                item.updated_at = text.at;
            }
            Event::RequestUpdated(it) => {
                if !self.requests.contains_key(&it.id) {
                    self.request_order.push(it.id.clone());
                }
                self.requests.insert(it.id.clone(), it);
            }
            Event::TaskUpdated(it) => {
                if !self.tasks.contains_key(&it.id) {
                    self.task_order.push(it.id.clone());
                }
                self.tasks.insert(it.id.clone(), it);
            }
            Event::WorktreeUpdated(it) => drop(self.worktrees.insert(it.id.clone(), it)),
            Event::CheckpointCaptured(it) => {
                drop(self.checkpoints.insert(it.id.clone(), it));
            }
            Event::TransferUpdated(it) => {
                let old = self.transfers.insert(it.id.clone(), it);
                assert!(old.is_some(), "updated before it was created: {event:?}");
            }
            Event::TransferCreated(it) => {
                let old = self.transfers.insert(it.id.clone(), it);
                assert!(old.is_none(), "created twice: {old:?}");
            }
            Event::SessionUpdated(it) => drop(self.sessions.insert(it.id.clone(), it)),
        }
    }

    fn runs_where(&self, wanted: impl Fn(&Run) -> bool) -> Vec<Run> {
        let mut runs: Vec<Run> = self
            .runs
            .values()
            .filter(|run| wanted(run))
            .cloned()
            .collect();
        runs.sort_by_key(|run| run.ordinal);
        runs
    }

    fn requests_where(&self, wanted: impl Fn(&Request) -> bool) -> Vec<Request> {
        let all = self.request_order.iter().map(|id| &self.requests[id]);
        all.filter(|request| request.is_pending() && wanted(request))
            .cloned()
            .collect()
    }
}

impl View for MapView {
    type Fault = Infallible;

    fn projects(&self) -> Result<Vec<Project>, Infallible> {
        Ok(self.projects.values().cloned().collect())
    }
    fn project(&self, id: &ProjectId) -> Result<Option<Project>, Infallible> {
        Ok(self.projects.get(id).cloned())
    }
    fn thread(&self, id: &ThreadId) -> Result<Option<Thread>, Infallible> {
        Ok(self.threads.get(id).cloned())
    }
    fn run(&self, id: &RunId) -> Result<Option<Run>, Infallible> {
        Ok(self.runs.get(id).cloned())
    }
    fn runs_of(&self, thread: &ThreadId) -> Result<Vec<Run>, Infallible> {
        Ok(self.runs_where(|run| run.thread_id == *thread))
    }
    fn open_runs_of(&self, thread: &ThreadId) -> Result<Vec<Run>, Infallible> {
        Ok(self.runs_where(|run| run.thread_id == *thread && !run.status.is_terminal()))
    }
    fn open_runs(&self) -> Result<Vec<Run>, Infallible> {
        Ok(self.runs_where(|run| !run.status.is_terminal()))
    }
    fn active_thread_count(&self) -> Result<u32, Infallible> {
        let open = self.runs_where(|run| !run.status.is_terminal());
        let threads: BTreeSet<&ThreadId> = open.iter().map(|run| &run.thread_id).collect();
        Ok(self.other_active_threads + u32::try_from(threads.len()).expect("few threads"))
    }
    fn message(&self, id: &MessageId) -> Result<Option<Message>, Infallible> {
        Ok(self.messages.get(id).cloned())
    }
    fn item(&self, id: &ItemId) -> Result<Option<Item>, Infallible> {
        Ok(self.items.get(id).cloned())
    }
    fn item_by_origin(&self, origin: &ItemOrigin) -> Result<Option<Item>, Infallible> {
        Ok(self
            .items
            .values()
            .find(|item| item.origin.as_ref() == Some(origin))
            .cloned())
    }
    fn item_place(&self, origin: &ItemOrigin) -> Result<Option<ItemPlace>, Infallible> {
        Ok(self.item_by_origin(origin)?.map(|item| item.place()))
    }
    fn open_items_of(&self, run: &RunId) -> Result<Vec<Item>, Infallible> {
        let open = |item: &&Item| item.run_id.as_ref() == Some(run) && !item.status.is_closed();
        let mut items: Vec<Item> = self.items.values().filter(open).cloned().collect();
        items.sort_by_key(|item| item.position);
        Ok(items)
    }
    fn last_assistant_item_of(&self, run: &RunId) -> Result<Option<Item>, Infallible> {
        let said = |item: &&Item| {
            item.run_id.as_ref() == Some(run)
                && item.kind == ItemKind::AssistantMessage
                && !item.text.is_empty()
        };
        Ok(self
            .items
            .values()
            .filter(said)
            .max_by_key(|item| item.position)
            .cloned())
    }
    fn request(&self, id: &RequestId) -> Result<Option<Request>, Infallible> {
        Ok(self.requests.get(id).cloned())
    }
    fn pending_requests_of(&self, thread: &ThreadId) -> Result<Vec<Request>, Infallible> {
        Ok(self.requests_where(|request| request.thread_id == *thread))
    }
    fn pending_requests(&self) -> Result<Vec<Request>, Infallible> {
        Ok(self.requests_where(|_| true))
    }
    fn task(&self, id: &TaskId) -> Result<Option<Task>, Infallible> {
        Ok(self.tasks.get(id).cloned())
    }
    fn tasks_of(&self, parent: &ThreadId) -> Result<Vec<Task>, Infallible> {
        let all = self.task_order.iter().map(|id| &self.tasks[id]);
        Ok(all
            .filter(|task| task.parent_thread_id == *parent)
            .cloned()
            .collect())
    }
    fn transfer(
        &self,
        source: &ThreadId,
        target: &ThreadId,
        kind: TransferKind,
    ) -> Result<Option<ContextTransfer>, Infallible> {
        let wanted = |it: &&ContextTransfer| {
            it.source_thread_id == *source && it.target_thread_id == *target && it.kind == kind
        };
        Ok(self.transfers.values().find(wanted).cloned())
    }
    fn worktree(&self, id: &WorktreeId) -> Result<Option<Worktree>, Infallible> {
        Ok(self.worktrees.get(id).cloned())
    }
    fn worktrees_of(&self, project: &ProjectId) -> Result<Vec<Worktree>, Infallible> {
        let mut found: Vec<Worktree> = self
            .worktrees
            .values()
            .filter(|it| it.project_id == *project)
            .cloned()
            .collect();
        found.sort_by_key(|it| it.created_at);
        Ok(found)
    }
    fn worktree_at(&self, path: &str) -> Result<Option<Worktree>, Infallible> {
        let stands = |it: &&Worktree| it.path == path && it.status != WorktreeStatus::Removed;
        Ok(self.worktrees.values().find(stands).cloned())
    }
    fn checkpoint(&self, id: &CheckpointId) -> Result<Option<Checkpoint>, Infallible> {
        Ok(self.checkpoints.get(id).cloned())
    }
    fn checkpoints_of(&self, thread: &ThreadId) -> Result<Vec<Checkpoint>, Infallible> {
        let mut found: Vec<Checkpoint> = self
            .checkpoints
            .values()
            .filter(|it| it.thread_id == *thread)
            .cloned()
            .collect();
        found.sort_by_key(|it| it.run_ordinal);
        Ok(found)
    }
    fn session(&self, id: &ProviderSessionId) -> Result<Option<ProviderSession>, Infallible> {
        Ok(self.sessions.get(id).cloned())
    }
    fn open_sessions(&self) -> Result<Vec<ProviderSession>, Infallible> {
        Ok(self
            .sessions
            .values()
            .filter(|session| session.ended.is_none())
            .cloned()
            .collect())
    }
}
