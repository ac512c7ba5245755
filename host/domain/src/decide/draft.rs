//! The state as it will be: the store's view with this command's own changes over it.
//!
//! Rules read and write here; nothing reaches the store before the command is decided.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::effect::Effect;
use crate::event::Event;
use crate::ids::{ItemId, MessageId, RequestId, RunId, TaskId, ThreadId};
use crate::item::{Item, ItemHead, ItemKind, ItemOrigin, ItemPlace, ItemStatus};
use crate::message::Message;
use crate::request::Request;
use crate::run::{Run, RunStatus};
use crate::session::ProviderSession;
use crate::task::{ContextTransfer, Task};
use crate::thread::Thread;
use crate::time::Timestamp;
use crate::view::View;

use super::Moment;

/// The state as it will be.
pub(super) struct Draft<'v, V: View> {
    pub(super) view: &'v V,
    moment: Moment,
    threads: BTreeMap<ThreadId, (Thread, Standing)>,
    runs: BTreeMap<RunId, Run>,
    messages: BTreeMap<MessageId, Message>,
    items: BTreeMap<ItemId, Item>,
    requests: BTreeMap<RequestId, Request>,
    tasks: BTreeMap<TaskId, Task>,
    unsettled: BTreeSet<ThreadId>,
    unsettled_by_depth: BTreeSet<(Reverse<u32>, ThreadId)>,
    events: Vec<Event>,
    effects: Vec<Effect>,
}

/// Whether the store knows a thread already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    New,
    Known,
}

impl<'v, V: View> Draft<'v, V> {
    pub(super) fn new(view: &'v V, moment: Moment) -> Self {
        Self {
            view,
            moment,
            threads: BTreeMap::new(),
            runs: BTreeMap::new(),
            messages: BTreeMap::new(),
            items: BTreeMap::new(),
            requests: BTreeMap::new(),
            tasks: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            unsettled_by_depth: BTreeSet::new(),
            events: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// Facts in order: threads first, each once and in its last state, then the rest as it came.
    pub(super) fn into_parts(self) -> (Vec<Event>, Vec<Effect>) {
        let mut events: Vec<Event> = self
            .threads
            .into_values()
            .map(|(thread, standing)| match standing {
                Standing::New => Event::ThreadCreated(thread),
                Standing::Known => Event::ThreadUpdated(thread),
            })
            .collect();
        events.extend(self.events);
        (events, self.effects)
    }

    pub(super) const fn now(&self) -> Timestamp {
        self.moment.now
    }

    pub(super) const fn next_bits(&mut self) -> u128 {
        self.moment.next_bits()
    }

    // ---------------------------------------------------------------- threads

    pub(super) fn thread(&self, id: &ThreadId) -> Result<Option<Thread>, V::Fault> {
        match self.threads.get(id) {
            Some((thread, _)) => Ok(Some(thread.clone())),
            None => self.view.thread(id),
        }
    }

    pub(super) fn add_thread(&mut self, thread: Thread) {
        self.threads
            .insert(thread.id.clone(), (thread, Standing::New));
    }

    pub(super) fn put_thread(&mut self, mut thread: Thread) {
        thread.updated_at = self.now();
        let standing = self
            .threads
            .get(&thread.id)
            .map_or(Standing::Known, |(_, known)| *known);
        self.threads.insert(thread.id.clone(), (thread, standing));
    }

    /// Has the thread's queue, task and wakes looked after once the command's own changes stand.
    pub(super) fn settle_later(&mut self, id: &ThreadId) {
        self.unsettled.insert(id.clone());
    }

    /// The deepest thread to look after. Ends travel upwards: a parent's turn comes after all its children,
    /// so that one command wakes it once.
    pub(super) fn next_unsettled(&mut self) -> Result<Option<ThreadId>, V::Fault> {
        while let Some(id) = self.unsettled.pop_first() {
            if let Some(thread) = self.thread(&id)? {
                self.unsettled_by_depth
                    .insert((Reverse(thread.lineage.depth), id));
            }
        }
        Ok(self.unsettled_by_depth.pop_first().map(|(_, id)| id))
    }

    // ---------------------------------------------------------------- runs

    pub(super) fn run(&self, id: &RunId) -> Result<Option<Run>, V::Fault> {
        match self.runs.get(id) {
            Some(run) => Ok(Some(run.clone())),
            None => self.view.run(id),
        }
    }

    pub(super) fn add_run(&mut self, run: Run) {
        self.events.push(Event::RunCreated(run.clone()));
        self.runs.insert(run.id.clone(), run);
    }

    pub(super) fn put_run(&mut self, run: Run) {
        self.events.push(Event::RunUpdated(run.clone()));
        self.runs.insert(run.id.clone(), run);
    }

    /// Moves a run to another status. A move the table does not allow is a fault of these rules: the run
    /// keeps its status and the caller learns that nothing moved.
    pub(super) fn move_run(&mut self, mut run: Run, to: RunStatus) -> Option<Run> {
        if !run.status.may_become(to) {
            return None;
        }
        run.status = to;
        if to.is_terminal() {
            run.completed_at = Some(self.now());
        }
        self.put_run(run.clone());
        Some(run)
    }

    /// Runs of a thread that are not terminal, by ordinal.
    pub(super) fn open_runs_of(&self, thread: &ThreadId) -> Result<Vec<Run>, V::Fault> {
        let mut runs: BTreeMap<u32, Run> = self
            .view
            .open_runs_of(thread)?
            .into_iter()
            .map(|run| (run.ordinal, run))
            .collect();
        for run in self.runs.values().filter(|run| run.thread_id == *thread) {
            runs.insert(run.ordinal, run.clone());
        }
        Ok(runs
            .into_values()
            .filter(|run| !run.status.is_terminal())
            .collect())
    }

    /// Every run of a thread, by ordinal.
    pub(super) fn runs_of(&self, thread: &ThreadId) -> Result<Vec<Run>, V::Fault> {
        let mut runs: BTreeMap<u32, Run> = self
            .view
            .runs_of(thread)?
            .into_iter()
            .map(|run| (run.ordinal, run))
            .collect();
        for run in self.runs.values().filter(|run| run.thread_id == *thread) {
            runs.insert(run.ordinal, run.clone());
        }
        Ok(runs.into_values().collect())
    }

    /// The run that blocks the thread's queue.
    pub(super) fn active_run_of(&self, thread: &ThreadId) -> Result<Option<Run>, V::Fault> {
        Ok(self
            .open_runs_of(thread)?
            .into_iter()
            .rfind(|run| run.status.is_active()))
    }

    // ---------------------------------------------------------------- messages and items

    pub(super) fn message(&self, id: &MessageId) -> Result<Option<Message>, V::Fault> {
        match self.messages.get(id) {
            Some(message) => Ok(Some(message.clone())),
            None => self.view.message(id),
        }
    }

    pub(super) fn put_message(&mut self, message: Message) {
        self.events.push(Event::MessageUpdated(message.clone()));
        self.messages.insert(message.id.clone(), message);
    }

    pub(super) fn item(&self, id: &ItemId) -> Result<Option<Item>, V::Fault> {
        match self.items.get(id) {
            Some(item) => Ok(Some(item.clone())),
            None => self.view.item(id),
        }
    }

    pub(super) fn item_by_origin(&self, origin: &ItemOrigin) -> Result<Option<Item>, V::Fault> {
        let own = self
            .items
            .values()
            .find(|item| item.origin.as_ref() == Some(origin));
        match own {
            Some(item) => Ok(Some(item.clone())),
            None => self.view.item_by_origin(origin),
        }
    }

    pub(super) fn item_place(&self, origin: &ItemOrigin) -> Result<Option<ItemPlace>, V::Fault> {
        let own = self
            .items
            .values()
            .find(|item| item.origin.as_ref() == Some(origin));
        match own {
            Some(item) => Ok(Some(item.place())),
            None => self.view.item_place(origin),
        }
    }

    pub(super) fn put_item(&mut self, mut item: Item) {
        item.updated_at = self.now();
        self.events.push(Event::ItemUpdated(item.clone()));
        self.items.insert(item.id.clone(), item);
    }

    /// A new item at the end of the thread's timeline, not stored yet.
    pub(super) fn new_item(&mut self, thread: &mut Thread, kind: ItemKind) -> Item {
        let now = self.now();
        thread.item_position_last += 1;
        let item = Item {
            id: ItemId::from_random(self.next_bits()),
            thread_id: thread.id.clone(),
            run_id: None,
            position: thread.item_position_last,
            origin: None,
            parent_item_id: None,
            kind,
            status: ItemStatus::Completed,
            title: None,
            text: String::new(),
            message_id: None,
            head: ItemHead::default(),
            body_json: "{}".to_owned(),
            created_at: now,
            updated_at: now,
        };
        self.put_thread(thread.clone());
        item
    }

    // ---------------------------------------------------------------- requests, tasks, the rest

    pub(super) fn request(&self, id: &RequestId) -> Result<Option<Request>, V::Fault> {
        match self.requests.get(id) {
            Some(request) => Ok(Some(request.clone())),
            None => self.view.request(id),
        }
    }

    pub(super) fn put_request(&mut self, request: Request) {
        self.events.push(Event::RequestUpdated(request.clone()));
        self.requests.insert(request.id.clone(), request);
    }

    /// Those of `stored` that are still pending after this command's own changes.
    pub(super) fn still_pending(&self, stored: Vec<Request>) -> Vec<Request> {
        stored
            .into_iter()
            .filter(|request| {
                self.requests
                    .get(&request.id)
                    .unwrap_or(request)
                    .is_pending()
            })
            .collect()
    }

    pub(super) fn task(&self, id: &TaskId) -> Result<Option<Task>, V::Fault> {
        match self.tasks.get(id) {
            Some(task) => Ok(Some(task.clone())),
            None => self.view.task(id),
        }
    }

    pub(super) fn put_task(&mut self, task: Task) {
        self.events.push(Event::TaskUpdated(task.clone()));
        self.tasks.insert(task.id.clone(), task);
    }

    /// Tasks a thread delegated, oldest first.
    pub(super) fn tasks_of(&self, parent: &ThreadId) -> Result<Vec<Task>, V::Fault> {
        let mut tasks = self.view.tasks_of(parent)?;
        for task in &mut tasks {
            if let Some(own) = self.tasks.get(&task.id) {
                *task = own.clone();
            }
        }
        let known: BTreeSet<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
        let new = self
            .tasks
            .values()
            .filter(|task| task.parent_thread_id == *parent);
        tasks.extend(new.filter(|task| !known.contains(&task.id)).cloned());
        Ok(tasks)
    }

    pub(super) fn add_transfer(&mut self, transfer: ContextTransfer) {
        self.events.push(Event::TransferCreated(transfer));
    }

    pub(super) fn put_session(&mut self, session: ProviderSession) {
        self.events.push(Event::SessionUpdated(session));
    }

    pub(super) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}
