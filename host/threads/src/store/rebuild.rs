//! Projections made again from the events alone.

use redb::backends::InMemoryBackend;
use redb::{Builder, Durability, ReadableTable};

use super::record::{ReadRecord, decode};
use super::tables::{Tables, WriteTables, differences};
use super::{Difference, Reader, State, StoreError};

/// Folds every event of a snapshot into empty tables and says where the result is not, byte for
/// byte, what the snapshot's projections are. Nothing is written to the file.
///
/// # Errors
/// The store's.
pub fn compare_with_events(snapshot: &Reader) -> Result<Vec<Difference>, StoreError> {
    let memory = Builder::new()
        .create_with_backend(InMemoryBackend::new())
        .map_err(redb::Error::from)?;
    let mut transaction = memory.begin_write()?;
    transaction.set_durability(Durability::None)?;
    let mut rebuilt = WriteTables::new(&transaction);
    fold_all(snapshot, &mut rebuilt)?;
    differences(&snapshot.0, &rebuilt)
}

/// Folds every event of a snapshot, in order.
fn fold_all<T: Tables>(snapshot: &State<T>, into: &mut WriteTables<'_>) -> Result<(), StoreError> {
    for entry in snapshot.0.events()?.iter()? {
        let (number, bytes) = entry?;
        let record: ReadRecord = decode("events", bytes.value())?;
        into.fold(number.value(), &record.event)?;
    }
    Ok(())
}
