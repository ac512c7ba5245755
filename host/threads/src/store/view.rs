//! The questions of the rules, answered from the tables of a transaction or of a snapshot.

use std::ops::RangeInclusive;

use domain::checkpoint::Checkpoint;
use domain::ids::{
    CheckpointId, ItemId, MessageId, ProjectId, ProviderSessionId, RequestId, RunId, TaskId,
    ThreadId, WorktreeId,
};
use domain::item::{Item, ItemOrigin, ItemPlace};
use domain::message::Message;
use domain::project::Project;
use domain::request::Request;
use domain::run::Run;
use domain::session::ProviderSession;
use domain::task::{ContextTransfer, Task, TransferKind};
use domain::thread::Thread;
use domain::time::Timestamp;
use domain::view::View;
use domain::worktree::Worktree;
use redb::{AccessGuard, ReadableTable, ReadableTableMetadata};
use serde::de::DeserializeOwned;

use super::StoreError;
use super::record::{Row, decode};
use super::tables::Tables;

/// The state of the journal as a set of tables shows it.
#[derive(Debug)]
pub struct State<T>(pub(crate) T);

type ById<'a> = AccessGuard<'a, &'static str>;

/// Every key of a second part, for one first part.
pub(crate) fn all_of<N: Bounded>(first: &str) -> RangeInclusive<(&str, N)> {
    (first, N::MIN)..=(first, N::MAX)
}

/// Numbers that end a key.
pub(crate) trait Bounded {
    const MIN: Self;
    const MAX: Self;
}

impl Bounded for u32 {
    const MIN: Self = u32::MIN;
    const MAX: Self = u32::MAX;
}

impl Bounded for u64 {
    const MIN: Self = u64::MIN;
    const MAX: Self = u64::MAX;
}

/// Word of a transfer's kind in keys.
pub(crate) const fn transfer_word(kind: TransferKind) -> &'static str {
    match kind {
        TransferKind::SubagentSpawn => "spawn",
        TransferKind::SubagentResult => "result",
        TransferKind::ProviderHandoff => "handoff",
        TransferKind::Fork => "fork",
    }
}

/// The row of an entity.
pub(crate) fn row<T: DeserializeOwned>(
    table: &impl ReadableTable<&'static str, &'static [u8]>,
    name: &'static str,
    id: &str,
) -> Result<Option<Row<T>>, StoreError> {
    table
        .get(id)?
        .map(|bytes| decode(name, bytes.value()))
        .transpose()
}

fn value<T: DeserializeOwned>(
    table: &impl ReadableTable<&'static str, &'static [u8]>,
    name: &'static str,
    id: &str,
) -> Result<Option<T>, StoreError> {
    Ok(row(table, name, id)?.map(|row| row.value))
}

/// The entity an index points at: it is there, or the store is damaged.
fn indexed<T: DeserializeOwned>(
    table: &impl ReadableTable<&'static str, &'static [u8]>,
    name: &'static str,
    id: &ById<'_>,
) -> Result<T, StoreError> {
    value(table, name, id.value())?.ok_or_else(|| StoreError::missing(name, &id.value()))
}

impl<T: Tables> State<T> {
    pub(crate) fn run_at(&self, id: &ById<'_>) -> Result<Run, StoreError> {
        indexed(self.0.runs()?, "runs", id)
    }

    pub(crate) fn item_at(&self, id: &ById<'_>) -> Result<Item, StoreError> {
        self.item_with_text(id.value())?
            .ok_or_else(|| StoreError::missing("items", &id.value()))
    }

    pub(crate) fn thread_at(&self, id: &ById<'_>) -> Result<Thread, StoreError> {
        indexed(self.0.threads()?, "threads", id)
    }

    /// An item is its row and the pieces of its text; the newest piece may be newer than the row.
    fn item_with_text(&self, id: &str) -> Result<Option<Item>, StoreError> {
        let Some(mut item) = value::<Item>(self.0.items()?, "items", id)? else {
            return Ok(None);
        };
        for piece in self.0.item_text()?.range(all_of::<u64>(id))? {
            let (_, piece) = piece?;
            let (at, text) = piece.value();
            item.text.push_str(text);
            item.updated_at = item.updated_at.max(Timestamp::from_millis(at));
        }
        Ok(Some(item))
    }
}

impl<T: Tables> View for State<T> {
    type Fault = StoreError;

    fn projects(&self) -> Result<Vec<Project>, StoreError> {
        let mut projects = Vec::new();
        for entry in self.0.projects()?.iter()? {
            let row: Row<Project> = decode("projects", entry?.1.value())?;
            projects.push(row.value);
        }
        projects.sort_by(|a: &Project, b: &Project| a.name.cmp(&b.name));
        Ok(projects)
    }

    fn project(&self, id: &ProjectId) -> Result<Option<Project>, StoreError> {
        value(self.0.projects()?, "projects", id.as_str())
    }

    fn thread(&self, id: &ThreadId) -> Result<Option<Thread>, StoreError> {
        value(self.0.threads()?, "threads", id.as_str())
    }

    fn run(&self, id: &RunId) -> Result<Option<Run>, StoreError> {
        value(self.0.runs()?, "runs", id.as_str())
    }

    fn runs_of(&self, thread: &ThreadId) -> Result<Vec<Run>, StoreError> {
        let ids = self
            .0
            .runs_by_thread()?
            .range(all_of::<u32>(thread.as_str()))?;
        ids.map(|entry| self.run_at(&entry?.1)).collect()
    }

    fn open_runs_of(&self, thread: &ThreadId) -> Result<Vec<Run>, StoreError> {
        let ids = self.0.open_runs()?.range(all_of::<u32>(thread.as_str()))?;
        ids.map(|entry| self.run_at(&entry?.1)).collect()
    }

    fn open_runs(&self) -> Result<Vec<Run>, StoreError> {
        self.0
            .open_runs()?
            .iter()?
            .map(|entry| self.run_at(&entry?.1))
            .collect()
    }

    fn active_thread_count(&self) -> Result<u32, StoreError> {
        Ok(u32::try_from(self.0.active_threads()?.len()?).unwrap_or(u32::MAX))
    }

    fn message(&self, id: &MessageId) -> Result<Option<Message>, StoreError> {
        value(self.0.messages()?, "messages", id.as_str())
    }

    fn item(&self, id: &ItemId) -> Result<Option<Item>, StoreError> {
        self.item_with_text(id.as_str())
    }

    fn item_by_origin(&self, origin: &ItemOrigin) -> Result<Option<Item>, StoreError> {
        let key = (origin.session_id.as_str(), origin.driver_item_id.as_str());
        self.0
            .items_by_origin()?
            .get(key)?
            .map(|id| self.item_at(&id))
            .transpose()
    }

    fn item_place(&self, origin: &ItemOrigin) -> Result<Option<ItemPlace>, StoreError> {
        let key = (origin.session_id.as_str(), origin.driver_item_id.as_str());
        let Some(id) = self.0.items_by_origin()?.get(key)? else {
            return Ok(None);
        };
        // The row alone: its text stands in pieces elsewhere.
        let item: Option<Item> = value(self.0.items()?, "items", id.value())?;
        Ok(item.map(|item| item.place()))
    }

    fn open_items_of(&self, run: &RunId) -> Result<Vec<Item>, StoreError> {
        let ids = self.0.open_items()?.range(all_of::<u64>(run.as_str()))?;
        ids.map(|entry| self.item_at(&entry?.1)).collect()
    }

    fn last_assistant_item_of(&self, run: &RunId) -> Result<Option<Item>, StoreError> {
        let mut ids = self
            .0
            .assistant_items()?
            .range(all_of::<u64>(run.as_str()))?;
        ids.next_back()
            .map(|entry| self.item_at(&entry?.1))
            .transpose()
    }

    fn request(&self, id: &RequestId) -> Result<Option<Request>, StoreError> {
        value(self.0.requests()?, "requests", id.as_str())
    }

    fn pending_requests_of(&self, thread: &ThreadId) -> Result<Vec<Request>, StoreError> {
        let table = self.0.requests()?;
        let ids = self
            .0
            .pending_requests()?
            .range(all_of::<u64>(thread.as_str()))?;
        ids.map(|entry| indexed(table, "requests", &entry?.1))
            .collect()
    }

    fn pending_requests(&self) -> Result<Vec<Request>, StoreError> {
        let table = self.0.requests()?;
        let mut pending: Vec<(u64, Request)> = Vec::new();
        for entry in self.0.pending_requests()?.iter()? {
            let (key, id) = entry?;
            pending.push((key.value().1, indexed(table, "requests", &id)?));
        }
        pending.sort_by_key(|(since, _)| *since);
        Ok(pending.into_iter().map(|(_, request)| request).collect())
    }

    fn task(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        value(self.0.tasks()?, "tasks", id.as_str())
    }

    fn tasks_of(&self, parent: &ThreadId) -> Result<Vec<Task>, StoreError> {
        let table = self.0.tasks()?;
        let ids = self
            .0
            .tasks_by_parent()?
            .range(all_of::<u64>(parent.as_str()))?;
        ids.map(|entry| indexed(table, "tasks", &entry?.1))
            .collect()
    }

    fn transfer(
        &self,
        source: &ThreadId,
        target: &ThreadId,
        kind: TransferKind,
    ) -> Result<Option<ContextTransfer>, StoreError> {
        let table = self.0.transfers()?;
        let key = (source.as_str(), target.as_str(), transfer_word(kind));
        let id = self.0.transfers_by_pair()?.get(key)?;
        id.map(|id| indexed(table, "transfers", &id)).transpose()
    }

    fn worktree(&self, id: &WorktreeId) -> Result<Option<Worktree>, StoreError> {
        value(self.0.worktrees()?, "worktrees", id.as_str())
    }

    fn worktrees_of(&self, project: &ProjectId) -> Result<Vec<Worktree>, StoreError> {
        let table = self.0.worktrees()?;
        let ids = self
            .0
            .worktrees_by_project()?
            .range(all_of::<u64>(project.as_str()))?;
        ids.map(|entry| indexed(table, "worktrees", &entry?.1))
            .collect()
    }

    fn worktree_at(&self, path: &str) -> Result<Option<Worktree>, StoreError> {
        let table = self.0.worktrees()?;
        let id = self.0.worktrees_by_path()?.get(path)?;
        id.map(|id| indexed(table, "worktrees", &id)).transpose()
    }

    fn checkpoint(&self, id: &CheckpointId) -> Result<Option<Checkpoint>, StoreError> {
        value(self.0.checkpoints()?, "checkpoints", id.as_str())
    }

    fn checkpoints_of(&self, thread: &ThreadId) -> Result<Vec<Checkpoint>, StoreError> {
        let table = self.0.checkpoints()?;
        let ids = self
            .0
            .checkpoints_by_thread()?
            .range(all_of::<u32>(thread.as_str()))?;
        ids.map(|entry| indexed(table, "checkpoints", &entry?.1))
            .collect()
    }

    fn session(&self, id: &ProviderSessionId) -> Result<Option<ProviderSession>, StoreError> {
        value(self.0.sessions()?, "sessions", id.as_str())
    }

    fn open_sessions(&self) -> Result<Vec<ProviderSession>, StoreError> {
        let table = self.0.sessions()?;
        let mut open = Vec::new();
        for entry in self.0.open_sessions()?.iter()? {
            let (id, _) = entry?;
            open.push(indexed(table, "sessions", &id)?);
        }
        Ok(open)
    }
}
