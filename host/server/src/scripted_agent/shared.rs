use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use script::Entry;
use tokio::sync::mpsc;

use super::limits::CLOSED_THREADS_MAX;
use super::protocol::{NativeId, Reply, RequestId, ThreadId, TurnId};

/// What a thread is told.
#[derive(Debug)]
pub(super) enum Command {
    Turn { turn: TurnId, text: String },
    Steer { turn: TurnId, text: String },
    Interrupt { turn: TurnId },
    Answer { request: RequestId, reply: Reply },
    Close,
}

/// Who has what, shared between the task that reads the host's lines and the threads.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    threads: HashMap<ThreadId, mpsc::Sender<Command>>,
    turns: HashMap<TurnId, ThreadId>,
    requests: HashMap<RequestId, ThreadId>,
    /// Conversations of threads that were closed, for those that are opened again.
    closed: VecDeque<(NativeId, Vec<Entry>)>,
}

impl Shared {
    pub(super) fn thread_count(&self) -> usize {
        self.lock().threads.len()
    }

    pub(super) fn has_thread(&self, thread: &ThreadId) -> bool {
        self.lock().threads.contains_key(thread)
    }

    pub(super) fn add_thread(&self, thread: ThreadId, commands: mpsc::Sender<Command>) {
        self.lock().threads.insert(thread, commands);
    }

    /// Forgets a thread and all that belongs to it.
    pub(super) fn remove_thread(&self, thread: &ThreadId) {
        let mut inner = self.lock();
        inner.threads.remove(thread);
        inner.turns.retain(|_, owner| owner != thread);
        inner.requests.retain(|_, owner| owner != thread);
    }

    pub(super) fn thread(&self, thread: &ThreadId) -> Option<mpsc::Sender<Command>> {
        self.lock().threads.get(thread).cloned()
    }

    /// The thread that runs this turn.
    pub(super) fn thread_of_turn(&self, turn: &TurnId) -> Option<mpsc::Sender<Command>> {
        let inner = self.lock();
        inner.threads.get(inner.turns.get(turn)?).cloned()
    }

    /// The thread that waits for an answer to this request.
    pub(super) fn thread_of_request(&self, request: &RequestId) -> Option<mpsc::Sender<Command>> {
        let inner = self.lock();
        inner.threads.get(inner.requests.get(request)?).cloned()
    }

    pub(super) fn add_turn(&self, turn: TurnId, thread: ThreadId) {
        self.lock().turns.insert(turn, thread);
    }

    pub(super) fn has_turn(&self, turn: &TurnId) -> bool {
        self.lock().turns.contains_key(turn)
    }

    pub(super) fn remove_turn(&self, turn: &TurnId) {
        self.lock().turns.remove(turn);
    }

    pub(super) fn add_request(&self, request: RequestId, thread: ThreadId) {
        self.lock().requests.insert(request, thread);
    }

    pub(super) fn remove_request(&self, request: &RequestId) {
        self.lock().requests.remove(request);
    }

    pub(super) fn keep_history(&self, native: NativeId, history: Vec<Entry>) {
        let mut inner = self.lock();
        inner.closed.push_back((native, history));
        if inner.closed.len() > CLOSED_THREADS_MAX {
            inner.closed.pop_front();
        }
    }

    /// The conversation of a thread that was closed, if it is still known.
    pub(super) fn take_history(&self, native: &NativeId) -> Option<Vec<Entry>> {
        let mut inner = self.lock();
        let place = inner.closed.iter().position(|(kept, _)| kept == native)?;
        inner.closed.remove(place).map(|(_, history)| history)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
