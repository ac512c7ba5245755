//! Schema 2: worktrees, checkpoints, attempts, and what people and agents keep on a thread. Frozen once released.
//!
//! Each changed entity gets its new fields at its end, with the values that say nothing happened, in its row and in
//! every event that carried it: a rebuild from the events still gives the same bytes.

use redb::{ReadableTable, TableDefinition, WriteTransaction};
use serde::Deserialize;
use serde_json::value::RawValue;

type Text = &'static str;
type Bytes = &'static [u8];

macro_rules! tables {
    ($($name:literal: $key:ty => $value:ty;)*) => {
        fn make_tables(transaction: &WriteTransaction) -> Result<(), redb::Error> {
            $(transaction.open_table(TableDefinition::<$key, $value>::new($name))?;)*
            Ok(())
        }

        #[cfg(test)]
        pub(crate) const NAMES: &[&str] = &[$($name),*];
    };
}

tables! {
    "worktrees": Text => Bytes;
    "worktrees_by_project": (Text, u64) => Text;
    "worktrees_by_path": Text => Text;
    "checkpoints": Text => Bytes;
    "checkpoints_by_thread": (Text, u32) => Text;
    "threads_by_project": (Text, u64, u64) => Text;
    "project_threads": Text => u64;
}

/// An entity that got fields: its table, the events that carry it, and the fields as JSON.
struct Grown {
    table: &'static str,
    events: &'static [&'static str],
    fields: &'static str,
}

const GROWN: &[Grown] = &[
    Grown {
        table: "projects",
        events: &["project.added"],
        fields: r#""kind":"registered""#,
    },
    Grown {
        table: "threads",
        events: &["thread.created", "thread.updated"],
        fields: concat!(
            r#""branch":null,"worktree_id":null,"forked_from":null,"rolling_back_to":null,"#,
            r#""upkeep":{"settlement":null,"snooze":null,"pull_request":null,"title_request":null}"#
        ),
    },
    Grown {
        table: "runs",
        events: &["run.created", "run.updated"],
        fields: r#""attempts":[],"restart":null,"checkpoint_id":null,"awaits_worktree_id":null"#,
    },
    Grown {
        table: "messages",
        events: &["message.updated"],
        fields: r#""asks":null"#,
    },
    Grown {
        table: "transfers",
        events: &["context-transfer.created"],
        fields: r#""status":"consumed","strategy":null,"consumed_by_run_id":null,"error":null"#,
    },
];

/// A row: the parts this step passes on unread stay as they were written.
#[derive(Deserialize)]
struct Row<'a> {
    since: u64,
    changed: u64,
    #[serde(borrow)]
    value: &'a RawValue,
}

#[derive(Deserialize)]
struct Recorded<'a> {
    seq: u64,
    at: u64,
    #[serde(borrow)]
    key: &'a RawValue,
    #[serde(borrow)]
    event: &'a RawValue,
}

#[derive(Deserialize)]
struct Event<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// What the indexes of threads are keyed by.
#[derive(Deserialize)]
struct IndexedThread {
    project_id: String,
    updated_at: u64,
    archived_at: Option<u64>,
    deleted_at: Option<u64>,
}

pub(crate) fn run(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    make_tables(transaction)?;
    for grown in GROWN {
        grow_rows(transaction, grown)?;
    }
    grow_events(transaction)?;
    index_threads(transaction)
}

fn grow_rows(transaction: &WriteTransaction, grown: &Grown) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(TableDefinition::<Text, Bytes>::new(grown.table))?;
    let mut after: Option<String> = None;
    // One row in memory at a time: a journal may be larger than memory.
    while let Some((id, bytes)) = next_row(&table, after.as_deref())? {
        let row: Row<'_> = parsed(grown.table, &bytes)?;
        let value = with_fields(row.value.get(), grown.fields);
        let text = format!(
            r#"{{"since":{},"changed":{},"value":{value}}}"#,
            row.since, row.changed
        );
        table.insert(id.as_str(), text.as_bytes())?;
        after = Some(id);
    }
    Ok(())
}

fn next_row(
    table: &impl ReadableTable<Text, Bytes>,
    after: Option<&str>,
) -> Result<Option<(String, Vec<u8>)>, redb::Error> {
    use std::ops::Bound;
    let start = after.map_or(Bound::Unbounded, Bound::Excluded);
    let mut rows = table.range::<&str>((start, Bound::Unbounded))?;
    let Some(row) = rows.next() else {
        return Ok(None);
    };
    let (id, bytes) = row?;
    Ok(Some((id.value().to_owned(), bytes.value().to_vec())))
}

fn grow_events(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(TableDefinition::<u64, Bytes>::new("events"))?;
    let newest = table.last()?.map_or(0, |(seq, _)| seq.value());
    for seq in 1..=newest {
        let Some(bytes) = table.get(seq)?.map(|bytes| bytes.value().to_vec()) else {
            continue;
        };
        let recorded: Recorded<'_> = parsed("events", &bytes)?;
        let event: Event<'_> = parsed("events", recorded.event.get().as_bytes())?;
        let Some(grown) = GROWN
            .iter()
            .find(|grown| grown.events.contains(&event.r#type))
        else {
            continue;
        };
        let text = format!(
            r#"{{"seq":{},"at":{},"key":{},"event":{{"type":"{}","payload":{}}}}}"#,
            recorded.seq,
            recorded.at,
            recorded.key.get(),
            event.r#type,
            with_fields(event.payload.get(), grown.fields)
        );
        table.insert(seq, text.as_bytes())?;
    }
    Ok(())
}

/// Keys of the new indexes: open threads alone, as in `threads_by_change`.
fn index_threads(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    let threads = transaction.open_table(TableDefinition::<Text, Bytes>::new("threads"))?;
    let mut by_project = transaction.open_table(TableDefinition::<(Text, u64, u64), Text>::new(
        "threads_by_project",
    ))?;
    let mut counts =
        transaction.open_table(TableDefinition::<Text, u64>::new("project_threads"))?;
    for entry in threads.iter()? {
        let (id, bytes) = entry?;
        let row: Row<'_> = parsed("threads", bytes.value())?;
        let thread: IndexedThread = parsed("threads", row.value.get().as_bytes())?;
        if thread.archived_at.is_some() || thread.deleted_at.is_some() {
            continue;
        }
        let project = thread.project_id.as_str();
        by_project.insert((project, thread.updated_at, row.changed), id.value())?;
        let open = counts.get(project)?.map_or(0, |open| open.value());
        counts.insert(project, open.saturating_add(1))?;
    }
    Ok(())
}

/// A JSON object with more fields at its end.
fn with_fields(object: &str, fields: &str) -> String {
    let open = object.trim_end().strip_suffix('}').unwrap_or(object);
    let comma = if open.ends_with('{') { "" } else { "," };
    format!("{open}{comma}{fields}}}")
}

fn parsed<'a, T: Deserialize<'a>>(table: &str, bytes: &'a [u8]) -> Result<T, redb::Error> {
    serde_json::from_slice(bytes)
        .map_err(|fault| redb::Error::Corrupted(format!("a row of {table}: {fault}")))
}
