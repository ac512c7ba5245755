//! Schema 1: the first journal. Frozen.
//!
//! Values written as bytes are JSON. Records of schema 1:
//! - `events`: `{seq, at, key, event}`, in order, never changed.
//! - entities (`projects` to `sessions`): `{since, changed, value}`, the numbers of the first and
//!   the newest event that carried the entity. An item's text is not in its row.
//! - `item_text`: pieces of an item's text in order, each with the millisecond it came.
//! - `receipts`: `{digest, at, outcome}`.
//! - `outbox`: one effect each, by the order in which they are to be done.
//!
//! The other tables are indexes: keys are what is asked by, values are ids.

use redb::{TableDefinition, WriteTransaction};

type Text = &'static str;
type Bytes = &'static [u8];

macro_rules! tables {
    ($($name:literal: $key:ty => $value:ty;)*) => {
        /// Makes every table of schema 1.
        pub(crate) fn run(transaction: &WriteTransaction) -> Result<(), redb::Error> {
            $(transaction.open_table(TableDefinition::<$key, $value>::new($name))?;)*
            Ok(())
        }

        #[cfg(test)]
        pub(crate) const NAMES: &[&str] = &[$($name),*];
    };
}

tables! {
    "events": u64 => Bytes;
    "receipts": (Text, Text) => Bytes;
    "outbox": u64 => Bytes;
    "projects": Text => Bytes;
    "threads": Text => Bytes;
    "runs": Text => Bytes;
    "messages": Text => Bytes;
    "items": Text => Bytes;
    "requests": Text => Bytes;
    "tasks": Text => Bytes;
    "transfers": Text => Bytes;
    "sessions": Text => Bytes;
    "item_text": (Text, u64) => (u64, Text);
    "threads_by_change": (u64, u64) => Text;
    "runs_by_thread": (Text, u32) => Text;
    "open_runs": (Text, u32) => Text;
    "active_threads": Text => u32;
    "items_by_thread": (Text, u64) => Text;
    "items_by_origin": (Text, Text) => Text;
    "open_items": (Text, u64) => Text;
    "assistant_items": (Text, u64) => Text;
    "pending_requests": (Text, u64) => Text;
    "tasks_by_parent": (Text, u64) => Text;
    "transfers_by_pair": (Text, Text, Text) => Text;
    "open_sessions": Text => ();
}
