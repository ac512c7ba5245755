//! Looking at the small host, and letting it come to rest.

use crate::ids::{RequestId, RunId, TaskId, ThreadId};
use crate::item::{Item, ItemKind};
use crate::message::Message;
use crate::request::Request;
use crate::run::{QueueState, Run, RunPurpose, RunStatus};
use crate::task::{DeliveryState, Task, TaskStatus};
use crate::thread::Thread;
use crate::view::View;

use super::map_view::MapView;
use super::world::{Child, World};

impl World {
    pub(super) fn thread(&self, id: &ThreadId) -> &Thread {
        &self.view.threads[id]
    }

    pub(super) fn run_at(&self, id: &RunId) -> &Run {
        &self.view.runs[id]
    }

    pub(super) fn status(&self, id: &RunId) -> RunStatus {
        self.view.runs[id].status
    }

    pub(super) fn task(&self, child: &Child) -> &Task {
        &self.view.tasks[&child.task]
    }

    pub(super) fn ended(&self, child: &Child) -> Option<TaskStatus> {
        self.task(child).result.as_ref().map(|result| result.status)
    }

    pub(super) fn summary(&self, child: &Child) -> Option<&str> {
        self.task(child)
            .result
            .as_ref()
            .map(|result| result.summary.as_str())
    }

    pub(super) fn delivery(&self, child: &Child) -> Option<DeliveryState> {
        self.task(child)
            .delivery
            .as_ref()
            .map(|delivery| delivery.state)
    }

    pub(super) fn request(&self, id: &RequestId) -> &Request {
        &self.view.requests[id]
    }

    pub(super) fn message_of(&self, run: &RunId) -> &Message {
        &self.view.messages[&self.view.runs[run].message_id]
    }

    pub(super) fn open_runs(&self, thread: &ThreadId) -> Vec<Run> {
        let Ok(runs) = self.view.open_runs_of(thread);
        runs
    }

    pub(super) fn active(&self, thread: &ThreadId) -> Option<Run> {
        self.open_runs(thread)
            .into_iter()
            .find(|run| run.status.is_active())
    }

    /// Runs that wait for a person.
    pub(super) fn held(&self, thread: &ThreadId) -> Vec<RunId> {
        let open = self.open_runs(thread).into_iter();
        open.filter(|run| run.queue == QueueState::Held)
            .map(|run| run.id)
            .collect()
    }

    /// Every wake of a thread: its run and the tasks it names, oldest first.
    pub(super) fn wakes(&self, thread: &ThreadId) -> Vec<(RunId, Vec<TaskId>)> {
        let Ok(runs) = self.view.runs_of(thread);
        let wakes = runs
            .into_iter()
            .filter(|run| run.purpose == RunPurpose::Wake);
        wakes
            .map(|run| {
                let wake = self
                    .message_of(&run.id)
                    .wakes
                    .clone()
                    .expect("a wake names its tasks");
                (run.id, wake.task_ids)
            })
            .collect()
    }

    pub(super) fn items(&self, thread: &ThreadId, kind: ItemKind) -> Vec<Item> {
        let of = |item: &&Item| item.thread_id == *thread && item.kind == kind;
        let mut items: Vec<Item> = self.view.items.values().filter(of).cloned().collect();
        items.sort_by_key(|item| item.position);
        items
    }

    /// The store as the journal alone rebuilds it.
    pub(super) fn replayed(&self) -> MapView {
        let mut view = MapView::default();
        view.other_active_threads = self.view.other_active_threads;
        self.journal.iter().for_each(|event| view.apply(event));
        view
    }

    /// Lets every agent end its turn well until nothing goes on any more.
    pub(super) fn run_dry(&mut self) {
        for _ in 0..1_000 {
            let busy: Vec<ThreadId> = self
                .view
                .threads
                .values()
                .filter(|t| !t.background.is_empty())
                .map(|t| t.id.clone())
                .collect();
            for thread in busy {
                self.background(&thread, &[]);
            }
            let active = self
                .view
                .runs
                .values()
                .find(|run| run.status.is_active())
                .cloned();
            let Some(run) = active else { return };
            self.start(&run.id);
            self.complete(&run.id);
        }
        panic!("the host never comes to rest");
    }
}
