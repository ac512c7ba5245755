//! What was asked of the host and what it answered, over all its lives. It is kept outside of the host.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// A thread, a message or a task that was asked for under a word of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Thread asked to do it; empty: a person asked for a thread.
    pub(super) thread: String,
    /// What the host answered; `None`: it was killed before anybody heard.
    pub(super) answered: Option<Answered>,
}

/// Ids of an acknowledged command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answered {
    /// The thread, the message or the task.
    pub(super) id: String,
    /// The run it started or joined; `None`: none yet.
    pub(super) run: Option<String>,
}

/// Everything asked for.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// By title.
    pub(super) threads: BTreeMap<String, Asked>,
    /// By text.
    pub(super) messages: BTreeMap<String, Asked>,
    /// By `clientRequestId`, which is also the child's title.
    pub(super) tasks: BTreeMap<String, Asked>,
}

/// The ledger. Clones are of the same book.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger(Arc<Mutex<Entries>>);

impl Ledger {
    /// The book, for as long as the guard lives.
    pub(super) fn book(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap()
    }
}

impl Entries {
    /// Commands nobody heard an answer for.
    pub(super) fn unheard(&self) -> usize {
        let all = self.threads.values().chain(self.messages.values());
        let all = all.chain(self.tasks.values());
        all.filter(|asked| asked.answered.is_none()).count()
    }

    /// How many were answered.
    pub(super) fn answered(entries: &BTreeMap<String, Asked>) -> usize {
        entries
            .values()
            .filter(|asked| asked.answered.is_some())
            .count()
    }
}
