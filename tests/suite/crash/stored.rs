//! What a killed or ended host left in its journal, read from a copy, apart from any host.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use domain::event::Event;
use domain::ids::{MessageId, RunId, TaskId, ThreadId};
use domain::message::{Message, Role};
use domain::run::Run;
use domain::task::Task;
use domain::thread::Thread;
use threads::Journal;
use threads::clock::{RandomIds, SystemClock};
use threads::store::{Reader, compare_with_events};

use super::ledger::{Asked, Entries};

/// The stored entities, each in its last state.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// Number of the newest event read.
    sequence: u64,
    pub(super) threads: BTreeMap<ThreadId, Thread>,
    pub(super) runs: BTreeMap<RunId, Run>,
    messages: BTreeMap<MessageId, Message>,
    tasks: BTreeMap<TaskId, Task>,
}

impl Stored {
    /// Copies the journal of a host that is not running, checks that it is whole, and reads what is new in it. The
    /// first time everything is new: then what the host keeps ready is held against all events.
    pub(super) fn read_on(&mut self, data_folder: &Path) {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("journal.redb");
        std::fs::copy(data_folder.join("journal.redb"), &copy).unwrap();
        let mut database = redb::Database::open(&copy).unwrap();
        assert!(database.check_integrity().unwrap(), "the file is damaged");
        drop(database);
        let journal = Journal::open(&copy, Arc::new(SystemClock), Arc::new(RandomIds)).unwrap();
        let snapshot = journal.store().reader().unwrap();
        if self.sequence == 0 {
            let differences = compare_with_events(&snapshot).unwrap();
            assert!(differences.is_empty(), "{differences:?}");
        }
        assert!(
            snapshot.sequence().unwrap() >= self.sequence,
            "events are lost"
        );
        self.fold(&snapshot);
    }

    fn fold(&mut self, snapshot: &Reader) {
        loop {
            let page = snapshot.events_after(self.sequence, 1_000).unwrap();
            let Some((last, _)) = page.last() else {
                return;
            };
            self.sequence = *last;
            for (_, event) in page {
                self.take(event);
            }
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::ThreadCreated(thread) => {
                let before = self.threads.insert(thread.id.clone(), thread);
                assert!(before.is_none(), "{before:?} is made twice");
            }
            Event::ThreadUpdated(thread) => drop(self.threads.insert(thread.id.clone(), thread)),
            Event::RunCreated(run) => {
                let before = self.runs.insert(run.id.clone(), run);
                assert!(before.is_none(), "{before:?} is made twice");
            }
            Event::RunUpdated(run) => drop(self.runs.insert(run.id.clone(), run)),
            Event::MessageUpdated(message) => {
                drop(self.messages.insert(message.id.clone(), message));
            }
            Event::TaskUpdated(task) => drop(self.tasks.insert(task.id.clone(), task)),
            Event::ProjectAdded(_)
            | Event::ItemUpdated(_)
            | Event::ItemTextAppended(_)
            | Event::RequestUpdated(_)
            | Event::TransferCreated(_)
            | Event::TransferUpdated(_)
            | Event::WorktreeUpdated(_)
            | Event::CheckpointCaptured(_)
            | Event::SessionUpdated(_) => {}
        }
    }

    /// Holds what was answered against what is stored.
    pub(super) fn check(&self, entries: &Entries) {
        let all = entries.threads.values().chain(entries.messages.values());
        for answered in all
            .chain(entries.tasks.values())
            .filter_map(|asked| asked.answered.as_ref())
        {
            let run = answered.run.clone().map(RunId::new);
            assert!(
                run.is_none_or(|run| self.runs.contains_key(&run)),
                "{answered:?} has lost its run"
            );
        }
        self.check_threads(entries);
        self.check_messages(entries);
        self.check_tasks(entries);
        self.check_runs();
        self.check_wakes();
    }

    fn check_threads(&self, entries: &Entries) {
        let mut found = grouped(self.threads.values(), |thread| {
            (thread.lineage.parent.is_none()).then(|| thread.title.clone())
        });
        for (title, asked) in &entries.threads {
            let threads = found.remove(title).unwrap_or_default();
            let ids: Vec<&str> = threads.iter().map(|thread| thread.id.as_str()).collect();
            check_one("thread", title, asked, &ids);
        }
        assert!(found.is_empty(), "nobody asked for {:?}", found.keys());
    }

    fn check_messages(&self, entries: &Entries) {
        let found = grouped(self.messages.values(), |message| {
            (message.role == Role::User).then(|| message.text.clone())
        });
        for (text, asked) in &entries.messages {
            let messages = found.get(text).map(Vec::as_slice).unwrap_or_default();
            let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
            check_one("message", text, asked, &ids);
            for message in messages {
                assert_eq!(message.thread_id.as_str(), asked.thread, "{text}");
            }
        }
    }

    fn check_tasks(&self, entries: &Entries) {
        let title = |task: &Task| {
            self.threads
                .get(&task.child_thread_id)
                .map(|child| child.title.clone())
        };
        let mut found = grouped(self.tasks.values(), title);
        for (key, asked) in &entries.tasks {
            let tasks = found.remove(key).unwrap_or_default();
            let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
            check_one("task", key, asked, &ids);
            for task in tasks {
                assert_eq!(task.parent_thread_id.as_str(), asked.thread, "{key}");
                let runs = self.runs_of(&task.child_thread_id);
                assert_eq!(runs, [&task.child_run_id], "{key}: the child ran again");
            }
        }
        assert!(found.is_empty(), "nobody asked for {:?}", found.keys());
        let children = self
            .threads
            .values()
            .filter(|thread| thread.lineage.parent.is_some());
        assert_eq!(
            children.count(),
            self.tasks.len(),
            "a child is nobody's task"
        );
    }

    /// Each run stands at a place of its own, with a message of its own.
    fn check_runs(&self) {
        let mut places = BTreeSet::new();
        let mut askers = BTreeSet::new();
        for run in self.runs.values() {
            assert!(
                self.threads.contains_key(&run.thread_id),
                "{run:?} has no thread"
            );
            assert!(
                places.insert((&run.thread_id, run.ordinal)),
                "{run:?} stands in another's place"
            );
            assert!(
                askers.insert(&run.message_id),
                "{run:?} is the second of its message"
            );
            assert!(
                self.messages.contains_key(&run.message_id),
                "{run:?} has lost its message"
            );
        }
    }

    /// No agent was told twice of the end of a task.
    fn check_wakes(&self) {
        let mut told = BTreeSet::new();
        for message in self.messages.values() {
            let run = message.run_id.as_ref().and_then(|id| self.runs.get(id));
            let heard = run.is_some_and(|run| run.started_at.is_some());
            for task in message
                .wakes
                .iter()
                .flat_map(|wake| &wake.task_ids)
                .filter(|_| heard)
            {
                assert!(told.insert(task), "{task} was told twice");
            }
        }
    }

    /// Runs of a thread in their order.
    fn runs_of(&self, thread: &ThreadId) -> Vec<&RunId> {
        let mut runs: Vec<&Run> = self
            .runs
            .values()
            .filter(|run| run.thread_id == *thread)
            .collect();
        runs.sort_by_key(|run| run.ordinal);
        runs.into_iter().map(|run| &run.id).collect()
    }

    /// Nothing goes on and every end was published.
    pub(super) fn check_all_over(&self) {
        for run in self.runs.values() {
            assert!(run.status.is_terminal(), "{run:?}");
        }
        for task in self.tasks.values() {
            assert!(task.result.is_some(), "{task:?}");
        }
    }
}

/// Exactly one where it was acknowledged, at most one where nobody heard an answer.
fn check_one(what: &str, word: &str, asked: &Asked, ids: &[&str]) {
    match &asked.answered {
        Some(answered) => assert_eq!(ids, [answered.id.as_str()], "{what} {word}"),
        None => assert!(
            ids.len() <= 1,
            "{what} {word} is there {} times: {ids:?}",
            ids.len()
        ),
    }
}

fn grouped<'a, T>(
    all: impl Iterator<Item = &'a T>,
    word: impl Fn(&T) -> Option<String>,
) -> BTreeMap<String, Vec<&'a T>> {
    let mut found: BTreeMap<String, Vec<&T>> = BTreeMap::new();
    for one in all {
        if let Some(word) = word(one) {
            found.entry(word).or_default().push(one);
        }
    }
    found
}
