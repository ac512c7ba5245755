//! The journal on redb: tables, records, folding, snapshots. Stored shapes exist here and in
//! `migrations`, nowhere else.

mod aside;
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
use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use redb::{Builder, Database, ReadableDatabase};

use crate::limits::STORE_CACHE_BYTES_MAX;
pub(crate) use aside::{Aside, Source};
pub(crate) use batch::{Batch, Content, Ends};
pub use error::StoreError;
pub use reader::Reader;
pub use rebuild::compare_with_events;
pub(crate) use record::{Outcome, Receipt};
pub use tables::Difference;
pub(crate) use tables::{ReadTables, Tables};
pub use view::State;

/// Opens the journal's bytes for reading, apart from the engine.
pub(crate) type OpenSource = Box<dyn Fn() -> io::Result<Box<dyn Source>> + Send + Sync>;

/// Where snapshots are taken from. Cheap to clone.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    held: RwLock<Held>,
    source: OpenSource,
}

/// What snapshots are taken from; `None`: closed.
#[derive(Default)]
struct Held {
    open: Option<Arc<Database>>,
    /// The database before an I/O error: snapshots of it may still be read, as far as they are in memory.
    failed: Option<Arc<Database>>,
}

impl Store {
    pub(crate) fn new(database: Arc<Database>, source: OpenSource) -> Self {
        let held = Held {
            open: Some(database),
            failed: None,
        };
        Self(Arc::new(Inner {
            held: RwLock::new(held),
            source,
        }))
    }

    /// A snapshot of now.
    ///
    /// # Errors
    /// [`StoreError::Closed`] after the journal was stopped, or the engine's.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        let held = self.0.held.read().unwrap_or_else(PoisonError::into_inner);
        let database = held.open.as_ref().ok_or(StoreError::Closed)?;
        Ok(State(ReadTables::new(database.begin_read()?)))
    }

    /// After an I/O error: has reads go on from what the file holds, repaired in memory.
    pub(crate) fn read_on(&self) -> Result<(), StoreError> {
        let source = (self.0.source)().map_err(redb::Error::Io)?;
        let aside = Aside::new(source).map_err(redb::Error::Io)?;
        let opened = Builder::new()
            .set_cache_size(STORE_CACHE_BYTES_MAX)
            .create_with_backend(aside);
        let database = opened.map_err(redb::Error::from)?;
        let mut held = self.0.held.write().unwrap_or_else(PoisonError::into_inner);
        held.failed = held.open.replace(Arc::new(database));
        Ok(())
    }

    /// Closes the file: later snapshots are refused, and earlier ones can't be read any more.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        let mut held = self.0.held.write().unwrap_or_else(PoisonError::into_inner);
        let held = std::mem::take(&mut *held);
        if let Some(database) = held.open.and_then(Arc::into_inner) {
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
