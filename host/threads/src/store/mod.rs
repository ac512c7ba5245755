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
pub use rebuild::compare_with_events;
pub(crate) use record::{Outcome, Receipt};
pub use tables::Difference;
pub(crate) use tables::{ReadTables, Tables};
pub use view::State;

/// Where snapshots are taken from. Cheap to clone.
#[derive(Clone)]
pub struct Store(Arc<RwLock<Option<Arc<Database>>>>);

impl Store {
    pub(crate) fn new(database: Arc<Database>) -> Self {
        Self(Arc::new(RwLock::new(Some(database))))
    }

    /// A snapshot of now.
    ///
    /// # Errors
    /// [`StoreError::Closed`] after the journal was stopped, or the engine's.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let database = held.as_ref().ok_or(StoreError::Closed)?;
        Ok(State(ReadTables::new(database.begin_read()?)))
    }

    /// Closes the file: later snapshots are refused, and earlier ones can't be read any more.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        let held = self
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(database) = held.and_then(Arc::into_inner) {
            database.close().map_err(redb::Error::from)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}
