//! One snapshot of the journal. Reading never waits for the writer.

use domain::event::Event;
use domain::ids::ThreadId;
use domain::item::Item;
use domain::run::Run;
use domain::thread::Thread;
use redb::ReadableTable;

use super::StoreError;
use super::record::{ReadRecord, decode};
use super::tables::{ReadTables, Tables};
use super::view::{State, all_of};
use crate::limits::PAGE_MAX;

/// A snapshot; it shows what was stored when it was taken, and answers [`View`](domain::view::View).
///
/// Take a new one for each read: an old one keeps the file from reusing space.
pub type Reader = State<ReadTables>;

impl<T: Tables> State<T> {
    /// Number of the newest event; 0: there is none.
    ///
    /// # Errors
    /// The store's.
    pub fn sequence(&self) -> Result<u64, StoreError> {
        Ok(self
            .0
            .events()?
            .last()?
            .map_or(0, |(number, _)| number.value()))
    }

    /// Threads neither archived nor deleted, the newest change first: `limit` of them, at most
    /// [`PAGE_MAX`], after leaving out `offset`.
    ///
    /// # Errors
    /// The store's.
    pub fn threads(&self, offset: usize, limit: usize) -> Result<Vec<Thread>, StoreError> {
        let newest_first = self.0.threads_by_change()?.iter()?.rev();
        newest_first
            .skip(offset)
            .take(limit.min(PAGE_MAX))
            .map(|entry| self.thread_at(&entry?.1))
            .collect()
    }

    /// The run of a thread with the highest ordinal.
    ///
    /// # Errors
    /// The store's.
    pub fn latest_run(&self, thread: &ThreadId) -> Result<Option<Run>, StoreError> {
        let mut ids = self
            .0
            .runs_by_thread()?
            .range(all_of::<u32>(thread.as_str()))?;
        ids.next_back()
            .map(|entry| self.run_at(&entry?.1))
            .transpose()
    }

    /// Items of a thread at later positions than `position`, in order: `limit` of them, at most
    /// [`PAGE_MAX`].
    ///
    /// # Errors
    /// The store's.
    pub fn items_after(
        &self,
        thread: &ThreadId,
        position: u64,
        limit: usize,
    ) -> Result<Vec<Item>, StoreError> {
        let thread = thread.as_str();
        let Some(first) = position.checked_add(1) else {
            return Ok(Vec::new());
        };
        let ids = self
            .0
            .items_by_thread()?
            .range((thread, first)..=(thread, u64::MAX))?;
        ids.take(limit.min(PAGE_MAX))
            .map(|entry| self.item_at(&entry?.1))
            .collect()
    }

    /// Events after `sequence`, each with its number, in order: `limit` of them, at most [`PAGE_MAX`].
    ///
    /// # Errors
    /// The store's.
    pub fn events_after(
        &self,
        sequence: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Event)>, StoreError> {
        let Some(first) = sequence.checked_add(1) else {
            return Ok(Vec::new());
        };
        let stored = self.0.events()?.range(first..)?;
        stored
            .take(limit.min(PAGE_MAX))
            .map(|entry| {
                let (number, bytes) = entry?;
                let record: ReadRecord = decode("events", bytes.value())?;
                Ok((number.value(), record.event))
            })
            .collect()
    }

    /// Whether the provider accepted a turn of a run of this thread before the one at `ordinal`. The
    /// first run mostly tells, so few are read.
    pub(crate) fn had_turn_before(
        &self,
        thread: &ThreadId,
        ordinal: u32,
    ) -> Result<bool, StoreError> {
        let thread = thread.as_str();
        for entry in self
            .0
            .runs_by_thread()?
            .range((thread, 0)..(thread, ordinal))?
        {
            if self.run_at(&entry?.1)?.started_at.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A receipt as it stands in its table.
    #[cfg(test)]
    pub(crate) fn receipt_bytes(
        &self,
        key: &domain::ids::RequestKey,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let stored = self
            .0
            .receipts()?
            .get((key.namespace.as_str(), key.key.as_str()))?;
        Ok(stored.map(|bytes| bytes.value().to_vec()))
    }

    /// Effects in the outbox.
    #[cfg(test)]
    pub(crate) fn outbox_len(&self) -> Result<u64, StoreError> {
        use redb::ReadableTableMetadata;
        Ok(self.0.outbox()?.len()?)
    }
}
