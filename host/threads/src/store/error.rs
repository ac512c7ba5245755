//! Faults of the store.

use domain::error::{Denial, DenialCode};

/// The store failed, or holds something it should not.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The engine failed; mostly the disk did.
    #[error("the store failed: {0}")]
    Engine(Box<redb::Error>),
    /// A record is not what this build writes.
    #[error("a record of {table} can't be read: {source}")]
    Malformed {
        /// Its table.
        table: &'static str,
        /// What the reader stumbled over.
        source: serde_json::Error,
    },
    /// A record points at another that is not there.
    #[error("{table} lacks {id}, which another record names")]
    Missing {
        /// Table without it.
        table: &'static str,
        /// What is missing.
        id: String,
    },
    /// Events are missing.
    #[error("the journal has {stored} events but its newest is number {newest}")]
    Gap {
        /// Number of events there are.
        stored: u64,
        /// Number of the newest.
        newest: u64,
    },
    /// A fault before this one ended all writing.
    #[error("{0}")]
    Poisoned(String),
    /// The store was closed.
    #[error("the store is closed: the host is going down")]
    Closed,
}

impl StoreError {
    pub(crate) fn missing(table: &'static str, id: &impl ToString) -> Self {
        Self::Missing {
            table,
            id: id.to_string(),
        }
    }
}

macro_rules! engine {
    ($($fault:ty),*) => {$(
        impl From<$fault> for StoreError {
            fn from(fault: $fault) -> Self {
                Self::Engine(Box::new(fault.into()))
            }
        }
    )*};
}

engine!(
    redb::StorageError,
    redb::TableError,
    redb::TransactionError,
    redb::CommitError,
    redb::SetDurabilityError
);

impl From<redb::Error> for StoreError {
    fn from(fault: redb::Error) -> Self {
        Self::Engine(Box::new(fault))
    }
}

impl From<StoreError> for Denial {
    fn from(fault: StoreError) -> Self {
        Self::new(DenialCode::StorageUnavailable, fault.to_string())
    }
}
