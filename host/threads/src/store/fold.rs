//! Folding an event into the projections: one way for live commands and for a rebuild, so that the
//! projections are never more than what the events say.
//!
//! Each index is a function from an entity to its key there, or to none. An entity that changes
//! moves from its old key to its new one; nothing else touches an index.

use domain::checkpoint::Checkpoint;
use domain::event::{Event, ItemText};
use domain::ids::{ProjectId, ThreadId};
use domain::item::{Item, ItemKind};
use domain::request::Request;
use domain::run::Run;
use domain::session::ProviderSession;
use domain::task::{ContextTransfer, Task};
use domain::thread::Thread;
use domain::worktree::{Worktree, WorktreeStatus};
use redb::{Key, ReadableTable};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StoreError;
use super::record::{Row, encode};
use super::tables::{Lazy, WriteTables};
use super::view::{all_of, row, transfer_word};

impl WriteTables<'_> {
    /// Folds the event with this number.
    pub(crate) fn fold(&mut self, seq: u64, event: &Event) -> Result<(), StoreError> {
        match event {
            Event::ProjectAdded(project) => {
                put(
                    &mut self.projects,
                    "projects",
                    seq,
                    project.id.as_str(),
                    project,
                )?;
            }
            Event::ThreadCreated(thread) | Event::ThreadUpdated(thread) => {
                self.fold_thread(seq, thread)?;
            }
            Event::RunCreated(run) | Event::RunUpdated(run) => self.fold_run(seq, run)?,
            Event::MessageUpdated(message) => {
                put(
                    &mut self.messages,
                    "messages",
                    seq,
                    message.id.as_str(),
                    message,
                )?;
            }
            Event::ItemUpdated(item) => self.fold_item(seq, item)?,
            Event::ItemTextAppended(text) => self.fold_text(text)?,
            Event::RequestUpdated(request) => self.fold_request(seq, request)?,
            Event::TaskUpdated(task) => self.fold_task(seq, task)?,
            Event::TransferCreated(transfer) | Event::TransferUpdated(transfer) => {
                self.fold_transfer(seq, transfer)?;
            }
            Event::WorktreeUpdated(worktree) => self.fold_worktree(seq, worktree)?,
            Event::CheckpointCaptured(checkpoint) => self.fold_checkpoint(seq, checkpoint)?,
            Event::SessionUpdated(session) => self.fold_session(seq, session)?,
        }
        Ok(())
    }

    fn fold_thread(&mut self, seq: u64, thread: &Thread) -> Result<(), StoreError> {
        let id = thread.id.as_str();
        let old: Option<Row<Thread>> = put(&mut self.threads, "threads", seq, id, thread)?;
        let key = |thread: &Thread, changed: u64| {
            thread
                .is_open()
                .then(|| (thread.updated_at.millis(), changed))
        };
        let was = old.and_then(|old| Some((key(&old.value, old.changed)?, old.value.project_id)));
        let is = key(thread, seq).map(|key| (key, thread.project_id.clone()));
        move_key(
            &mut self.threads_by_change,
            was.as_ref().map(|(key, _)| *key),
            is.as_ref().map(|(key, _)| *key),
            id,
        )?;
        move_key(
            &mut self.threads_by_project,
            was.as_ref().map(in_project),
            is.as_ref().map(in_project),
            id,
        )?;
        match (was, is) {
            (None, Some((_, project))) => self.count_threads(project.as_str(), 1),
            (Some((_, project)), None) => self.count_threads(project.as_str(), -1),
            // A thread never changes its Project.
            _ => Ok(()),
        }
    }

    fn count_threads(&mut self, project: &str, more: i64) -> Result<(), StoreError> {
        let table = self.project_threads.write()?;
        let open = table.get(project)?.map_or(0, |open| open.value());
        let open = open.saturating_add_signed(more);
        if open == 0 {
            table.remove(project)?;
        } else {
            table.insert(project, open)?;
        }
        Ok(())
    }

    fn fold_worktree(&mut self, seq: u64, worktree: &Worktree) -> Result<(), StoreError> {
        let id = worktree.id.as_str();
        let old: Option<Row<Worktree>> = put(&mut self.worktrees, "worktrees", seq, id, worktree)?;
        if old.is_none() {
            self.worktrees_by_project
                .write()?
                .insert((worktree.project_id.as_str(), seq), id)?;
        }
        let path = |worktree: &Worktree| {
            let stands = worktree.status != WorktreeStatus::Removed;
            stands.then(|| worktree.path.clone())
        };
        let was = old.as_ref().and_then(|old| path(&old.value));
        let is = path(worktree);
        move_key(
            &mut self.worktrees_by_path,
            was.as_deref(),
            is.as_deref(),
            id,
        )
    }

    fn fold_checkpoint(&mut self, seq: u64, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        let id = checkpoint.id.as_str();
        put(&mut self.checkpoints, "checkpoints", seq, id, checkpoint)?;
        let place = (checkpoint.thread_id.as_str(), checkpoint.run_ordinal);
        self.checkpoints_by_thread.write()?.insert(place, id)?;
        Ok(())
    }

    fn fold_run(&mut self, seq: u64, run: &Run) -> Result<(), StoreError> {
        let id = run.id.as_str();
        let old: Option<Row<Run>> = put(&mut self.runs, "runs", seq, id, run)?;
        let old = old.map(|old| old.value);
        move_key(
            &mut self.runs_by_thread,
            old.as_ref().map(place),
            Some(place(run)),
            id,
        )?;
        let (was_open, is_open) = (old.as_ref().and_then(open_place), open_place(run));
        move_key(&mut self.open_runs, was_open, is_open, id)?;
        match (was_open, is_open) {
            (None, Some(_)) => self.count_open_runs(&run.thread_id, 1),
            (Some(_), None) => self.count_open_runs(&run.thread_id, -1),
            _ => Ok(()),
        }
    }

    /// A thread is in `active_threads` exactly while it has open runs: the table's length is the
    /// number of active threads.
    fn count_open_runs(&mut self, thread: &ThreadId, more: i32) -> Result<(), StoreError> {
        let table = self.active_threads.write()?;
        let open = table.get(thread.as_str())?.map_or(0, |open| open.value());
        let open = open.saturating_add_signed(more);
        if open == 0 {
            table.remove(thread.as_str())?;
        } else {
            table.insert(thread.as_str(), open)?;
        }
        Ok(())
    }

    /// The row is stored without the text. The text an item carries takes the place of all pieces
    /// before it, so an item that closes is one piece again.
    fn fold_item(&mut self, seq: u64, item: &Item) -> Result<(), StoreError> {
        let id = item.id.as_str();
        let bare = Item {
            text: String::new(),
            ..item.clone()
        };
        let old: Option<Row<Item>> = put(&mut self.items, "items", seq, id, &bare)?;
        let old = old.map(|old| old.value);
        let had_text = old.is_some() && self.item_text_end(id)?.is_some();

        let pieces = self.item_text.write()?;
        if had_text {
            pieces.retain_in(all_of::<u64>(id), |_, _| false)?;
        }
        if !item.text.is_empty() {
            pieces.insert((id, 0), (item.updated_at.millis(), item.text.as_str()))?;
        }

        let old_place = old.as_ref().map(item_place);
        move_key(
            &mut self.items_by_thread,
            old_place,
            Some(item_place(item)),
            id,
        )?;
        let old_open = old.as_ref().and_then(open_item_place);
        move_key(&mut self.open_items, old_open, open_item_place(item), id)?;
        let old_said = old.as_ref().filter(|_| had_text).and_then(said_place);
        let said = Some(item)
            .filter(|item| !item.text.is_empty())
            .and_then(said_place);
        move_key(&mut self.assistant_items, old_said, said, id)?;
        if let Some(origin) = &item.origin {
            let key = (origin.session_id.as_str(), origin.driver_item_id.as_str());
            self.items_by_origin.write()?.insert(key, id)?;
        }
        Ok(())
    }

    /// Each piece is a row of its own: rewriting the whole text for each would cost the square of
    /// its length.
    fn fold_text(&mut self, text: &ItemText) -> Result<(), StoreError> {
        let id = text.item_id.as_str();
        if text.appended.is_empty() {
            return Ok(());
        }
        let end = self.item_text_end(id)?;
        if end.is_none() {
            let item: Row<Item> = row(self.items.read()?, "items", id)?
                .ok_or_else(|| StoreError::missing("items", &id))?;
            move_key(&mut self.assistant_items, None, said_place(&item.value), id)?;
        }
        let next = end.map_or(0, |end| end.saturating_add(1));
        let piece = (text.at.millis(), text.appended.as_str());
        self.item_text.write()?.insert((id, next), piece)?;
        Ok(())
    }

    /// Number of the newest piece of an item's text.
    fn item_text_end(&self, id: &str) -> Result<Option<u64>, StoreError> {
        let mut pieces = self.item_text.read()?.range(all_of::<u64>(id))?;
        let Some(newest) = pieces.next_back() else {
            return Ok(None);
        };
        Ok(Some(newest?.0.value().1))
    }

    fn fold_request(&mut self, seq: u64, request: &Request) -> Result<(), StoreError> {
        let id = request.id.as_str();
        let old: Option<Row<Request>> = put(&mut self.requests, "requests", seq, id, request)?;
        let since = old.as_ref().map_or(seq, |old| old.since);
        let old = old
            .as_ref()
            .and_then(|old| pending_place(&old.value, since));
        move_key(
            &mut self.pending_requests,
            old,
            pending_place(request, since),
            id,
        )
    }

    fn fold_task(&mut self, seq: u64, task: &Task) -> Result<(), StoreError> {
        let id = task.id.as_str();
        let old: Option<Row<Task>> = put(&mut self.tasks, "tasks", seq, id, task)?;
        if old.is_none() {
            self.tasks_by_parent
                .write()?
                .insert((task.parent_thread_id.as_str(), seq), id)?;
        }
        Ok(())
    }

    fn fold_transfer(&mut self, seq: u64, transfer: &ContextTransfer) -> Result<(), StoreError> {
        let id = transfer.id.as_str();
        put(&mut self.transfers, "transfers", seq, id, transfer)?;
        let pair = (
            transfer.source_thread_id.as_str(),
            transfer.target_thread_id.as_str(),
            transfer_word(transfer.kind),
        );
        self.transfers_by_pair.write()?.insert(pair, id)?;
        Ok(())
    }

    fn fold_session(&mut self, seq: u64, session: &ProviderSession) -> Result<(), StoreError> {
        let id = session.id.as_str();
        put(&mut self.sessions, "sessions", seq, id, session)?;
        let open = self.open_sessions.write()?;
        if session.ended.is_none() {
            open.insert(id, ())?;
        } else {
            open.remove(id)?;
        }
        Ok(())
    }
}

fn in_project(place: &((u64, u64), ProjectId)) -> (&str, u64, u64) {
    let ((millis, seq), project) = place;
    (project.as_str(), *millis, *seq)
}

fn place(run: &Run) -> (&str, u32) {
    (run.thread_id.as_str(), run.ordinal)
}

fn open_place(run: &Run) -> Option<(&str, u32)> {
    (!run.status.is_terminal()).then(|| place(run))
}

fn item_place(item: &Item) -> (&str, u64) {
    (item.thread_id.as_str(), item.position)
}

fn open_item_place(item: &Item) -> Option<(&str, u64)> {
    let run = item.run_id.as_ref().filter(|_| !item.status.is_closed())?;
    Some((run.as_str(), item.position))
}

/// Where an item with text stands among what the assistant said in its run.
fn said_place(item: &Item) -> Option<(&str, u64)> {
    let run = item
        .run_id
        .as_ref()
        .filter(|_| item.kind == ItemKind::AssistantMessage)?;
    Some((run.as_str(), item.position))
}

fn pending_place(request: &Request, since: u64) -> Option<(&str, u64)> {
    request
        .is_pending()
        .then(|| (request.thread_id.as_str(), since))
}

/// Puts an entity in its row and answers the row it replaces.
fn put<T: Serialize + DeserializeOwned>(
    table: &mut Lazy<'_, &'static str, &'static [u8]>,
    name: &'static str,
    seq: u64,
    id: &str,
    value: &T,
) -> Result<Option<Row<T>>, StoreError> {
    let old: Option<Row<T>> = row(table.read()?, name, id)?;
    let since = old.as_ref().map_or(seq, |old| old.since);
    let bytes = encode(
        name,
        &Row {
            since,
            changed: seq,
            value,
        },
    )?;
    table.write()?.insert(id, bytes.as_slice())?;
    Ok(old)
}

/// Moves an entity's entry in an index from its old key to its new one.
fn move_key<'k, K>(
    index: &mut Lazy<'_, K, &'static str>,
    old: Option<K::SelfType<'k>>,
    new: Option<K::SelfType<'k>>,
    id: &str,
) -> Result<(), StoreError>
where
    K: Key + 'static,
    K::SelfType<'k>: PartialEq,
{
    if old == new {
        return Ok(());
    }
    if let Some(old) = old {
        index.write()?.remove(old)?;
    }
    if let Some(new) = new {
        index.write()?.insert(new, id)?;
    }
    Ok(())
}
