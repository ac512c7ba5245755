//! The journal on redb: tables, records, folding, snapshots. Stored shapes exist here and in
//! `migrations`, nowhere else.

mod batch;
mod error;
mod fold;
mod reader;
mod rebuild;
mod record;
mod tables;
mod view;

#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use redb::{Database, ReadableDatabase};

pub(crate) use batch::{Batch, Content, Ends};
pub use error::StoreError;
pub use reader::Reader;
pub(crate) use record::{Outcome, Receipt};
pub use rebuild::compare_with_events;
pub use tables::Difference;
pub(crate) use tables::{ReadTables, Tables};
pub use view::State;

/// Where snapshots are taken from. Cheap to clone.
#[derive(Clone)]
pub struct Store(Arc<RwLock<Option<Arc<Database>>>>);

impl Store {
    pub(crate) fn new(database: Database) -> Self {
        Self(Arc::new(RwLock::new(Some(Arc::new(database)))))
    }

    /// A snapshot of now.
    ///
    /// # Errors
    /// [`StoreError::Closed`] after the journal was stopped, or the engine's.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        Ok(State(ReadTables::new(self.database()?.begin_read()?)))
    }

    pub(crate) fn database(&self) -> Result<Arc<Database>, StoreError> {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        held.clone().ok_or(StoreError::Closed)
    }

    /// Lets go of the file: snapshots taken before stay readable, later ones are refused.
    pub(crate) fn close(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}
