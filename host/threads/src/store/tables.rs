//! The tables of the journal, opened when first touched: opening all of them costs a sixth of a commit.
//!
//! [`Tables`] is what reading needs, so that the same questions are answered from the open tables of a
//! transaction ([`WriteTables`]) and from a snapshot ([`ReadTables`]). The tables are made by
//! `migrations`; a test holds both descriptions together.

use std::cell::OnceCell;
use std::fmt;
use std::sync::OnceLock;

use redb::{
    AccessGuard, Key, ReadOnlyTable, ReadTransaction, ReadableTable, Table, TableDefinition, Value,
    WriteTransaction,
};

use super::StoreError;

type Text = &'static str;
type Bytes = &'static [u8];

/// A table of a write transaction.
pub(crate) struct Lazy<'t, K: Key + 'static, V: Value + 'static> {
    transaction: &'t WriteTransaction,
    definition: TableDefinition<'static, K, V>,
    table: OnceCell<Table<'t, K, V>>,
}

impl<'t, K: Key + 'static, V: Value + 'static> Lazy<'t, K, V> {
    fn new(transaction: &'t WriteTransaction, definition: TableDefinition<'static, K, V>) -> Self {
        Self {
            transaction,
            definition,
            table: OnceCell::new(),
        }
    }

    /// The table, for reading.
    pub(crate) fn read(&self) -> Result<&Table<'t, K, V>, StoreError> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let table = self.transaction.open_table(self.definition)?;
        Ok(self.table.get_or_init(|| table))
    }

    /// The table, for writing.
    pub(crate) fn write(&mut self) -> Result<&mut Table<'t, K, V>, StoreError> {
        self.read()?;
        self.table.get_mut().ok_or(StoreError::Closed)
    }
}

macro_rules! tables {
    (
        kept { $($(#[$kept_doc:meta])* $kept:ident: $kept_key:ty => $kept_value:ty;)* }
        folded { $($(#[$folded_doc:meta])* $folded:ident: $key:ty => $value:ty;)* }
    ) => {
        tables! {
            $($(#[$kept_doc])* $kept: $kept_key => $kept_value;)*
            $($(#[$folded_doc])* $folded: $key => $value;)*
        }

        /// Where the projections of two sets of tables differ: the first place of each table.
        pub(crate) fn differences(
            one: &impl Tables,
            other: &impl Tables,
        ) -> Result<Vec<Difference>, StoreError> {
            let mut found = Vec::new();
            $(found.extend(difference(stringify!($folded), one.$folded()?, other.$folded()?)?);)*
            Ok(found)
        }
    };
    ($($(#[$doc:meta])* $name:ident: $key:ty => $value:ty;)*) => {
        /// Every table of the journal, for reading.
        pub trait Tables {
            $($(#[$doc])* fn $name(&self) -> Result<&impl ReadableTable<$key, $value>, StoreError>;)*
        }

        /// The tables of one write transaction.
        pub(crate) struct WriteTables<'t> {
            $(pub(crate) $name: Lazy<'t, $key, $value>,)*
        }

        impl<'t> WriteTables<'t> {
            pub(crate) fn new(transaction: &'t WriteTransaction) -> Self {
                Self { $($name: Lazy::new(transaction, TableDefinition::new(stringify!($name))),)* }
            }
        }

        impl Tables for WriteTables<'_> {
            $(fn $name(&self) -> Result<&impl ReadableTable<$key, $value>, StoreError> {
                self.$name.read()
            })*
        }

        /// The tables of one snapshot.
        pub struct ReadTables {
            transaction: ReadTransaction,
            $($name: OnceLock<ReadOnlyTable<$key, $value>>,)*
        }

        impl ReadTables {
            pub(crate) fn new(transaction: ReadTransaction) -> Self {
                Self { transaction, $($name: OnceLock::new(),)* }
            }
        }

        impl Tables for ReadTables {
            $(fn $name(&self) -> Result<&impl ReadableTable<$key, $value>, StoreError> {
                if let Some(table) = self.$name.get() {
                    return Ok(table);
                }
                let table = self.transaction.open_table(TableDefinition::new(stringify!($name)))?;
                Ok(self.$name.get_or_init(|| table))
            })*
        }

        /// Names of every table.
        #[cfg(test)]
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

tables! {
kept {
    /// Facts about the file itself.
    meta: Text => Text;
    /// Facts in order.
    events: u64 => Bytes;
    /// What commands with a key were answered, by namespace and key.
    receipts: (Text, Text) => Bytes;
    /// Effects not yet handed over, in order.
    outbox: u64 => Bytes;
}
folded {
    /// Projects.
    projects: Text => Bytes;
    /// Threads.
    threads: Text => Bytes;
    /// Runs.
    runs: Text => Bytes;
    /// Messages.
    messages: Text => Bytes;
    /// Items without their text.
    items: Text => Bytes;
    /// Requests.
    requests: Text => Bytes;
    /// Delegated tasks.
    tasks: Text => Bytes;
    /// Transfers.
    transfers: Text => Bytes;
    /// Provider sessions.
    sessions: Text => Bytes;
    /// Pieces of items' texts in order: when each came, and the piece.
    item_text: (Text, u64) => (u64, Text);
    /// Open threads by when they last changed, and by the event that did it.
    threads_by_change: (u64, u64) => Text;
    /// Runs by thread and ordinal.
    runs_by_thread: (Text, u32) => Text;
    /// Runs that are not terminal, by thread and ordinal.
    open_runs: (Text, u32) => Text;
    /// Number of open runs of each thread that has one.
    active_threads: Text => u32;
    /// Items by thread and position.
    items_by_thread: (Text, u64) => Text;
    /// Items by session and the driver's id.
    items_by_origin: (Text, Text) => Text;
    /// Items that are not closed, by run and position.
    open_items: (Text, u64) => Text;
    /// Assistant messages with text, by run and position.
    assistant_items: (Text, u64) => Text;
    /// Pending requests by thread and the event that opened them.
    pending_requests: (Text, u64) => Text;
    /// Tasks by delegating thread and the event that made them.
    tasks_by_parent: (Text, u64) => Text;
    /// Transfers by source, target and kind.
    transfers_by_pair: (Text, Text, Text) => Text;
    /// Worktrees.
    worktrees: Text => Bytes;
    /// Worktrees by Project and the event that made them known.
    worktrees_by_project: (Text, u64) => Text;
    /// Worktrees that are not removed, by path.
    worktrees_by_path: Text => Text;
    /// Checkpoints.
    checkpoints: Text => Bytes;
    /// Checkpoints by thread and ordinal of their run.
    checkpoints_by_thread: (Text, u32) => Text;
    /// Open threads by Project, by when they last changed, and by the event that did it.
    threads_by_project: (Text, u64, u64) => Text;
    /// Number of open threads of each Project.
    project_threads: Text => u64;
    /// Sessions that have not ended.
    open_sessions: Text => ();
}
}

/// A place where two sets of projections differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The table.
    pub table: &'static str,
    /// The first key whose row is not the same in both, with unprintable bytes escaped.
    pub key: String,
}

fn difference<K: Key + 'static, V: Value + 'static>(
    table: &'static str,
    one: &impl ReadableTable<K, V>,
    other: &impl ReadableTable<K, V>,
) -> Result<Option<Difference>, StoreError> {
    let (mut one, mut other) = (one.iter()?, other.iter()?);
    loop {
        let pair = (one.next().transpose()?, other.next().transpose()?);
        let bytes = |row: &Option<(AccessGuard<'_, K>, AccessGuard<'_, V>)>| {
            row.as_ref().map(|(key, value)| {
                let key = K::as_bytes(&key.value()).as_ref().to_vec();
                (key, V::as_bytes(&value.value()).as_ref().to_vec())
            })
        };
        let pair = (bytes(&pair.0), bytes(&pair.1));
        if pair.0 != pair.1 {
            let key = pair.0.or(pair.1).map_or_else(Vec::new, |(key, _)| key);
            return Ok(Some(Difference {
                table,
                key: key.escape_ascii().to_string(),
            }));
        }
        if pair.0.is_none() {
            return Ok(None);
        }
    }
}

impl fmt::Debug for WriteTables<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WriteTables")
    }
}

impl fmt::Debug for ReadTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadTables")
    }
}
