mod journal;
mod projections;

use domain::event::Event;
use redb::backends::InMemoryBackend;
use redb::{Builder, Database};

use super::samples::at;
use super::*;

/// A migrated store in memory.
struct Memory {
    store: Store,
    database: Arc<Database>,
    ends: Ends,
}

impl Memory {
    fn new() -> Self {
        let database = Builder::new()
            .create_with_backend(InMemoryBackend::new())
            .unwrap();
        migrations::migrate(&database).unwrap();
        let database = Arc::new(database);
        Self {
            store: Store::new(
                Arc::clone(&database),
                Box::new(|| Err(io::ErrorKind::NotFound.into())),
            ),
            database,
            ends: Ends::default(),
        }
    }

    /// Stores events, one transaction.
    fn append(&mut self, events: &[Event]) {
        let transaction = self.database.begin_write().unwrap();
        let mut batch = Batch::new(&transaction, self.ends);
        for event in events {
            batch.append(at(9), None, event).unwrap();
        }
        self.ends = batch.ends();
        drop(batch);
        transaction.commit().unwrap();
    }

    fn reader(&self) -> Reader {
        self.store.reader().unwrap()
    }
}

/// A snapshot, and the store that it can't outlive.
struct Stored {
    reader: Reader,
    _memory: Memory,
}

impl std::ops::Deref for Stored {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

/// A store with these events, after proving that its projections say nothing else.
fn stored(events: &[Event]) -> Stored {
    let mut memory = Memory::new();
    for event in events {
        memory.append(std::slice::from_ref(event));
    }
    let reader = memory.reader();
    assert_eq!(compare_with_events(&reader).unwrap(), []);
    Stored {
        reader,
        _memory: memory,
    }
}
