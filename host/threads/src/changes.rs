//! Signals that something was stored: one for each thread somebody watches, one for the whole journal.
//!
//! A signal carries no facts. Whoever waits subscribes first, reads the journal, then waits: what is
//! stored between the two is never missed.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ids::ThreadId;
use tokio::sync::watch;

/// Nothing more will change: the journal takes no more writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal takes no more writes: the host is going down")]
pub struct Ended;

/// Where changes are subscribed to.
#[derive(Clone, Debug)]
pub struct Changes(Arc<Board>);

#[derive(Debug)]
struct Board {
    /// One sender for each thread with at least one watcher. `None`: ended.
    threads: Mutex<Option<HashMap<ThreadId, watch::Sender<u64>>>>,
    place: watch::Sender<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    sequence: u64,
    life: Life,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Going,
    Ended,
}

impl Changes {
    pub(crate) fn new(sequence: u64) -> Self {
        Self(Arc::new(Board {
            threads: Mutex::new(Some(HashMap::new())),
            place: watch::Sender::new(Place {
                sequence,
                life: Life::Going,
            }),
        }))
    }

    /// Watches one thread from now on.
    #[must_use]
    pub fn subscribe(&self, thread: &ThreadId) -> ThreadChanges {
        let receiver = match self.0.threads().as_mut() {
            Some(threads) => threads
                .entry(thread.clone())
                .or_insert_with(|| watch::Sender::new(0))
                .subscribe(),
            // Its sender is gone at once, which is what ended means.
            None => watch::Sender::new(0).subscribe(),
        };
        ThreadChanges {
            board: Arc::clone(&self.0),
            thread: thread.clone(),
            receiver: Some(receiver),
        }
    }

    /// Watches the whole journal.
    #[must_use]
    pub fn feed(&self) -> Feed {
        Feed(self.0.place.subscribe())
    }

    /// Tells the watchers of these threads, and of the journal, that it now ends at `sequence`.
    pub(crate) fn publish(&self, sequence: u64, threads: &BTreeSet<ThreadId>) {
        if let Some(watched) = self.0.threads().as_ref() {
            for sender in threads.iter().filter_map(|thread| watched.get(thread)) {
                sender.send_replace(sequence);
            }
        }
        self.0.place.send_modify(|place| place.sequence = sequence);
    }

    /// Ends every wait, present and future.
    pub(crate) fn end(&self) {
        self.0.threads().take();
        self.0.place.send_modify(|place| place.life = Life::Ended);
    }

    #[cfg(test)]
    fn watched(&self) -> usize {
        self.0.threads().as_ref().map_or(0, HashMap::len)
    }
}

impl Board {
    fn threads(&self) -> MutexGuard<'_, Option<HashMap<ThreadId, watch::Sender<u64>>>> {
        // The map is whole between any two statements, so a panic elsewhere does not spoil it.
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watch on one thread. Dropping it ends it.
#[derive(Debug)]
pub struct ThreadChanges {
    board: Arc<Board>,
    thread: ThreadId,
    /// Always there until dropped.
    receiver: Option<watch::Receiver<u64>>,
}

impl ThreadChanges {
    /// Returns when a fact of the thread was stored since the last return, or since subscribing.
    ///
    /// # Errors
    /// [`Ended`] when nothing more will change.
    pub async fn changed(&mut self) -> Result<(), Ended> {
        match &mut self.receiver {
            Some(receiver) => receiver.changed().await.map_err(|_| Ended),
            None => Err(Ended),
        }
    }
}

impl Drop for ThreadChanges {
    fn drop(&mut self) {
        let mut threads = self.board.threads();
        self.receiver = None;
        if let Some(watched) = threads.as_mut()
            && watched
                .get(&self.thread)
                .is_some_and(|sender| sender.receiver_count() == 0)
        {
            watched.remove(&self.thread);
        }
    }
}

/// A watch on the whole journal.
#[derive(Clone, Debug)]
pub struct Feed(watch::Receiver<Place>);

impl Feed {
    /// Returns when the journal ends after `sequence`, and where it ends.
    ///
    /// # Errors
    /// [`Ended`] when it ends there for good.
    pub async fn past(&mut self, sequence: u64) -> Result<u64, Ended> {
        let place = self
            .0
            .wait_for(|place| place.sequence > sequence || place.life == Life::Ended)
            .await
            .map_err(|_| Ended)?;
        if place.sequence > sequence {
            Ok(place.sequence)
        } else {
            Err(Ended)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(name: &str) -> ThreadId {
        ThreadId::new(name)
    }

    fn touched(names: &[&str]) -> BTreeSet<ThreadId> {
        names.iter().map(|name| thread(name)).collect()
    }

    /// Polls once: whether the wait is over.
    async fn is_over(wait: impl Future<Output = Result<(), Ended>>) -> bool {
        tokio::select! { biased; _ = wait => true, () = std::future::ready(()) => false }
    }

    #[tokio::test]
    async fn only_watchers_of_the_changed_thread_are_told() {
        let changes = Changes::new(0);
        let (mut a, mut b) = (
            changes.subscribe(&thread("a")),
            changes.subscribe(&thread("b")),
        );
        changes.publish(1, &touched(&["a", "nobody"]));
        assert!(is_over(a.changed()).await);
        assert!(!is_over(b.changed()).await);
        assert!(!is_over(a.changed()).await, "one change is told once");
    }

    #[tokio::test]
    async fn what_changes_between_subscribing_and_waiting_is_not_missed() {
        let changes = Changes::new(0);
        let mut watch = changes.subscribe(&thread("a"));
        changes.publish(1, &touched(&["a"]));
        changes.publish(2, &touched(&["a"]));
        assert_eq!(watch.changed().await, Ok(()));
    }

    #[tokio::test]
    async fn a_thread_nobody_watches_any_more_is_forgotten() {
        let changes = Changes::new(0);
        let (first, second) = (
            changes.subscribe(&thread("a")),
            changes.subscribe(&thread("a")),
        );
        assert_eq!(changes.watched(), 1);
        drop(first);
        assert_eq!(changes.watched(), 1);
        drop(second);
        assert_eq!(changes.watched(), 0);
    }

    #[tokio::test]
    async fn the_end_reaches_waits_of_now_and_later() {
        let changes = Changes::new(4);
        let mut before = changes.subscribe(&thread("a"));
        let mut feed = changes.feed();
        changes.end();
        assert_eq!(before.changed().await, Err(Ended));
        assert_eq!(changes.subscribe(&thread("a")).changed().await, Err(Ended));
        assert_eq!(feed.past(3).await, Ok(4), "what was stored is still told");
        assert_eq!(feed.past(4).await, Err(Ended));
        assert_eq!(changes.watched(), 0);
    }

    #[tokio::test]
    async fn the_feed_waits_for_a_later_place() {
        let changes = Changes::new(7);
        let mut feed = changes.feed();
        assert_eq!(feed.past(6).await, Ok(7));
        let waiting = tokio::spawn(async move { feed.past(7).await });
        tokio::task::yield_now().await;
        changes.publish(9, &touched(&[]));
        assert_eq!(waiting.await.unwrap(), Ok(9));
    }
}
