//! The journal itself: batches, events, tables, rebuilding.

use domain::ids::RequestKey;
use domain::run::RunStatus;
use domain::view::View;
use redb::ReadableTable;

use super::super::samples::{appended, item, run, thread};
use super::*;

#[test]
fn the_tables_are_those_the_migrations_make() {
    let memory = Memory::new();
    let mut expected: Vec<String> = tables::NAMES.iter().map(|&name| name.to_owned()).collect();
    expected.sort_unstable();
    assert_eq!(migrations::table_names(&memory.database).unwrap(), expected);
    // Opening checks the types of keys and values too.
    let (reader, other) = (memory.reader(), memory.reader());
    assert_eq!(tables::differences(&reader.0, &other.0).unwrap(), []);
    reader.0.events().unwrap();
    reader.0.receipts().unwrap();
    reader.0.outbox().unwrap();
    reader.0.meta().unwrap();
}

#[test]
fn a_batch_sees_its_own_writes_and_a_snapshot_sees_none_of_them() {
    let mut memory = Memory::new();
    memory.append(&[Event::ThreadCreated(thread("a", 1))]);
    let transaction = memory.database.begin_write().unwrap();
    let mut batch = Batch::new(&transaction, memory.ends);
    let open = item("i", "a", 1, Some("a-run-1"));
    for event in [
        Event::RunCreated(run("a", 1, RunStatus::Running)),
        Event::ItemUpdated(open.clone()),
        appended(&open, "seen", 5),
    ] {
        batch.append(at(9), None, &event).unwrap();
    }
    assert_eq!(batch.view().active_thread_count().unwrap(), 1);
    assert_eq!(batch.view().item(&open.id).unwrap().unwrap().text, "seen");
    assert_eq!(batch.ends().sequence, 4);

    let before = memory.reader();
    assert_eq!(before.open_runs().unwrap(), []);
    drop(batch);
    transaction.commit().unwrap();
    assert_eq!(before.sequence().unwrap(), 1, "a snapshot does not move");
    assert_eq!(memory.reader().sequence().unwrap(), 4);
}

#[test]
fn a_dropped_transaction_leaves_nothing() {
    let memory = Memory::new();
    let transaction = memory.database.begin_write().unwrap();
    let mut batch = Batch::new(&transaction, memory.ends);
    batch
        .append(at(9), None, &Event::ThreadCreated(thread("a", 1)))
        .unwrap();
    drop(batch);
    drop(transaction);
    assert_eq!(memory.reader().sequence().unwrap(), 0);
    assert_eq!(memory.reader().threads(0, 1).unwrap(), []);
}

#[test]
fn events_are_paged_in_order_with_the_key_that_caused_them_in_the_record() {
    let mut memory = Memory::new();
    let transaction = memory.database.begin_write().unwrap();
    let mut batch = Batch::new(&transaction, memory.ends);
    let key = RequestKey {
        namespace: "n".to_owned(),
        key: "k".to_owned(),
    };
    batch
        .append(at(9), Some(&key), &Event::ThreadCreated(thread("a", 1)))
        .unwrap();
    memory.ends = batch.ends();
    drop(batch);
    transaction.commit().unwrap();
    memory.append(&[
        Event::ThreadUpdated(thread("a", 2)),
        Event::ThreadUpdated(thread("a", 3)),
    ]);

    let reader = memory.reader();
    let numbers = |after, limit| -> Vec<u64> {
        reader
            .events_after(after, limit)
            .unwrap()
            .into_iter()
            .map(|(number, _)| number)
            .collect()
    };
    assert_eq!(numbers(0, 2), [1, 2]);
    assert_eq!(numbers(2, 9), [3]);
    let bytes = reader
        .0
        .events()
        .unwrap()
        .get(1)
        .unwrap()
        .unwrap()
        .value()
        .to_vec();
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(json["seq"], 1);
    assert_eq!(json["at"], 9);
    assert_eq!(
        json["key"],
        serde_json::json!({ "namespace": "n", "key": "k" })
    );
    assert_eq!(json["event"]["type"], "thread.created");
}

#[test]
fn a_projection_that_is_not_what_the_events_say_is_named() {
    let mut memory = Memory::new();
    memory.append(&[Event::ThreadCreated(thread("a", 1))]);
    let transaction = memory.database.begin_write().unwrap();
    let mut tables = tables::WriteTables::new(&transaction);
    tables
        .active_threads
        .write()
        .unwrap()
        .insert("ghost", 1)
        .unwrap();
    tables.threads.write().unwrap().remove("a").unwrap();
    drop(tables);
    transaction.commit().unwrap();
    let differences = compare_with_events(&memory.reader()).unwrap();
    let found: Vec<_> = differences
        .iter()
        .map(|d| (d.table, d.key.as_str()))
        .collect();
    assert_eq!(found, [("threads", "a"), ("active_threads", "ghost")]);
}

#[test]
fn a_piece_of_text_for_an_unknown_item_is_a_damaged_journal() {
    let memory = Memory::new();
    let transaction = memory.database.begin_write().unwrap();
    let mut batch = Batch::new(&transaction, memory.ends);
    let fault = batch
        .append(at(9), None, &appended(&item("i", "a", 1, None), "x", 1))
        .unwrap_err();
    assert!(
        matches!(fault, StoreError::Missing { table: "items", ref id } if id == "i"),
        "{fault}"
    );
}
