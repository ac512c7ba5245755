//! Whether the journal can still be written.

use tokio::sync::watch;

use crate::store::StoreError;

/// Why the journal takes no more writes. Reads go on; the process should drain and exit non-zero.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Poison {
    /// A transaction failed and left nothing behind.
    #[error("the journal could not be written: {0}")]
    Storage(String),
    /// A commit failed: what it held is either all there or not at all, which the next start finds
    /// out. It is never made up for.
    #[error("a commit to the journal failed and may or may not have been stored: {0}")]
    CommitUnknown(String),
    /// The journal or the host contradicts itself.
    #[error("the journal is not whole: {0}")]
    Broken(String),
}

impl Poison {
    /// What a fault of the store means for writing.
    pub(crate) fn by(fault: &StoreError) -> Self {
        match fault {
            StoreError::Engine(_) | StoreError::Closed | StoreError::Poisoned(_) => {
                Self::Storage(fault.to_string())
            }
            StoreError::Malformed { .. } | StoreError::Missing { .. } | StoreError::Gap { .. } => {
                Self::Broken(fault.to_string())
            }
        }
    }
}

/// The journal's health. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Health(watch::Sender<Option<Poison>>);

impl Health {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Why nothing more is written; `None`: all is well.
    #[must_use]
    pub fn poisoned(&self) -> Option<Poison> {
        self.0.borrow().clone()
    }

    /// Returns once nothing more is written because of a fault.
    pub async fn wait_poisoned(&self) -> Poison {
        let mut receiver = self.0.subscribe();
        loop {
            if let Some(poison) = receiver.borrow_and_update().clone() {
                return poison;
            }
            // The sender is `self`, so this can't fail; if it did, nothing will ever be told.
            if receiver.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Says that nothing more is written. The first reason stays.
    pub(crate) fn poison(&self, poison: Poison) {
        self.0.send_if_modified(|held| {
            let first = held.is_none();
            if first {
                tracing::error!(%poison, "the journal takes no more writes");
                *held = Some(poison);
            }
            first
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_reason_stays_and_reaches_waiters_of_before_and_after() {
        let health = Health::new();
        assert_eq!(health.poisoned(), None);
        let waiting = tokio::spawn({
            let health = health.clone();
            async move { health.wait_poisoned().await }
        });
        tokio::task::yield_now().await;
        let first = Poison::Storage("disk full".to_owned());
        health.poison(first.clone());
        health.poison(Poison::Broken("later".to_owned()));
        assert_eq!(waiting.await.unwrap(), first);
        assert_eq!(health.wait_poisoned().await, first);
        assert_eq!(health.poisoned(), Some(first));
    }
}
