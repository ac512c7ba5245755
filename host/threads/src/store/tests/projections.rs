//! What each kind of event leaves in the projections.

use domain::ids::{ProviderSessionId, RequestId, RunId, TaskId, ThreadId};
use domain::item::{Item, ItemKind, ItemOrigin, ItemStatus};
use domain::provider_event::SessionEnd;
use domain::request::RequestStatus;
use domain::run::{Run, RunStatus};
use domain::session::{ProviderSession, SessionEnded};
use domain::task::TransferKind;
use domain::thread::Thread;
use domain::view::View;
use redb::ReadableTable;

use super::super::samples::{
    appended, item, message, project, request, run, session, task, thread, transfer,
};
use super::super::view::all_of;
use super::*;

fn ids<T>(entities: &[T], id: impl Fn(&T) -> String) -> Vec<String> {
    entities.iter().map(id).collect()
}

fn thread_ids(threads: &[Thread]) -> Vec<String> {
    ids(threads, |thread| thread.id.to_string())
}

fn run_ids(runs: &[Run]) -> Vec<String> {
    ids(runs, |run| run.id.to_string())
}

fn item_ids(items: &[Item]) -> Vec<String> {
    ids(items, |item| item.id.to_string())
}

#[test]
fn an_empty_store_answers_every_question() {
    let reader = stored(&[]);
    let nobody = ThreadId::new("nobody");
    assert_eq!(reader.sequence().unwrap(), 0);
    assert_eq!(reader.projects().unwrap(), []);
    assert_eq!(reader.thread(&nobody).unwrap(), None);
    assert_eq!(reader.threads(0, 10).unwrap(), []);
    assert_eq!(reader.latest_run(&nobody).unwrap(), None);
    assert_eq!(reader.open_runs().unwrap(), []);
    assert_eq!(reader.active_thread_count().unwrap(), 0);
    assert_eq!(reader.items_after(&nobody, 0, 10).unwrap(), []);
    assert_eq!(
        reader.last_assistant_item_of(&RunId::new("none")).unwrap(),
        None
    );
    assert_eq!(reader.pending_requests().unwrap(), []);
    assert_eq!(reader.open_sessions().unwrap(), []);
    assert_eq!(reader.events_after(0, 10).unwrap(), []);
    assert_eq!(reader.events_after(u64::MAX, 10).unwrap(), []);
}

#[test]
fn projects_are_listed_by_name() {
    let reader = stored(&[
        Event::ProjectAdded(project("1", "zebra")),
        Event::ProjectAdded(project("2", "ant")),
    ]);
    assert_eq!(
        ids(&reader.projects().unwrap(), |project| project.name.clone()),
        ["ant", "zebra"]
    );
}

#[test]
fn threads_are_listed_by_their_newest_change_and_only_while_open() {
    let archived = Thread {
        archived_at: Some(at(60)),
        ..thread("c", 60)
    };
    let deleted = Thread {
        deleted_at: Some(at(70)),
        ..thread("d", 70)
    };
    let reader = stored(&[
        Event::ThreadCreated(thread("a", 10)),
        Event::ThreadCreated(thread("b", 20)),
        Event::ThreadCreated(thread("c", 30)),
        Event::ThreadCreated(thread("d", 40)),
        Event::ThreadCreated(thread("e", 20)),
        Event::ThreadUpdated(thread("a", 50)),
        Event::ThreadUpdated(archived.clone()),
        Event::ThreadUpdated(deleted.clone()),
    ]);
    assert_eq!(thread_ids(&reader.threads(0, 10).unwrap()), ["a", "e", "b"]);
    assert_eq!(thread_ids(&reader.threads(1, 1).unwrap()), ["e"]);
    assert_eq!(reader.threads(3, 1).unwrap(), []);
    assert_eq!(reader.thread(&archived.id).unwrap(), Some(archived));
    assert_eq!(reader.thread(&deleted.id).unwrap(), Some(deleted));
}

#[test]
fn runs_are_ordered_by_ordinal_and_open_until_terminal() {
    let reader = stored(&[
        Event::RunCreated(run("a", 2, RunStatus::Queued)),
        Event::RunCreated(run("a", 10, RunStatus::Queued)),
        Event::RunCreated(run("a", 1, RunStatus::Starting)),
        Event::RunCreated(run("ab", 1, RunStatus::Queued)),
        Event::RunCreated(run("b", 1, RunStatus::Running)),
        Event::RunUpdated(run("a", 1, RunStatus::Completed)),
        Event::RunUpdated(run("b", 1, RunStatus::Failed)),
    ]);
    let (a, b) = (ThreadId::new("a"), ThreadId::new("b"));
    assert_eq!(
        run_ids(&reader.runs_of(&a).unwrap()),
        ["a-run-1", "a-run-2", "a-run-10"]
    );
    assert_eq!(
        run_ids(&reader.open_runs_of(&a).unwrap()),
        ["a-run-2", "a-run-10"]
    );
    assert_eq!(reader.open_runs_of(&b).unwrap(), []);
    assert_eq!(
        run_ids(&reader.open_runs().unwrap()),
        ["a-run-2", "a-run-10", "ab-run-1"]
    );
    assert_eq!(reader.active_thread_count().unwrap(), 2);
    assert_eq!(reader.latest_run(&a).unwrap().unwrap().ordinal, 10);
}

#[test]
fn a_run_that_opens_again_counts_again() {
    let reader = stored(&[
        Event::RunCreated(run("a", 1, RunStatus::Running)),
        Event::RunUpdated(run("a", 1, RunStatus::Failed)),
        Event::RunUpdated(run("a", 1, RunStatus::Preparing)),
    ]);
    assert_eq!(reader.active_thread_count().unwrap(), 1);
    assert_eq!(run_ids(&reader.open_runs().unwrap()), ["a-run-1"]);
}

#[test]
fn text_is_joined_from_its_pieces_and_dated_by_the_newest() {
    let open = Item {
        text: "Hello".to_owned(),
        ..item("i", "a", 1, Some("r"))
    };
    let reader = stored(&[
        Event::ItemUpdated(open.clone()),
        appended(&open, ", ", 20),
        appended(&open, "", 25),
        appended(&open, "wörld", 30),
    ]);
    let read = reader.item(&open.id).unwrap().unwrap();
    assert_eq!(
        (read.text.as_str(), read.updated_at),
        ("Hello, wörld", at(30))
    );
}

#[test]
fn an_update_takes_the_place_of_all_text_before_it_and_leaves_one_piece() {
    let open = item("i", "a", 1, Some("r"));
    let closed = Item {
        text: "whole".to_owned(),
        status: ItemStatus::Completed,
        updated_at: at(40),
        ..open.clone()
    };
    let events: Vec<Event> = std::iter::once(Event::ItemUpdated(open.clone()))
        .chain((0..100).map(|piece| appended(&open, "x", piece)))
        .chain([Event::ItemUpdated(closed.clone())])
        .collect();
    let reader = stored(&events);
    assert_eq!(reader.item(&open.id).unwrap(), Some(closed));
    assert_eq!(
        reader
            .0
            .item_text()
            .unwrap()
            .range(all_of::<u64>("i"))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn items_are_found_by_place_origin_run_and_state() {
    let note = Item {
        kind: ItemKind::Notice,
        origin: None,
        run_id: None,
        ..item("note", "a", 1, None)
    };
    let tool = Item {
        kind: ItemKind::Command,
        ..item("tool", "a", 2, Some("r"))
    };
    let said = Item {
        text: "hi".to_owned(),
        ..item("said", "a", 3, Some("r"))
    };
    let silent = item("silent", "a", 4, Some("r"));
    let done = Item {
        status: ItemStatus::Completed,
        ..tool.clone()
    };
    let reader = stored(&[
        Event::ItemUpdated(note),
        Event::ItemUpdated(tool),
        Event::ItemUpdated(said.clone()),
        Event::ItemUpdated(silent),
        Event::ItemUpdated(item("else", "b", 1, Some("other"))),
        Event::ItemUpdated(done),
    ]);
    let (a, run) = (ThreadId::new("a"), RunId::new("r"));
    assert_eq!(
        item_ids(&reader.items_after(&a, 0, 10).unwrap()),
        ["note", "tool", "said", "silent"]
    );
    assert_eq!(
        item_ids(&reader.items_after(&a, 1, 2).unwrap()),
        ["tool", "said"]
    );
    assert_eq!(reader.items_after(&a, u64::MAX, 2).unwrap(), []);
    assert_eq!(
        item_ids(&reader.open_items_of(&run).unwrap()),
        ["said", "silent"]
    );
    assert_eq!(
        reader
            .item_by_origin(said.origin.as_ref().unwrap())
            .unwrap(),
        Some(said.clone())
    );
    let unknown = ItemOrigin {
        session_id: ProviderSessionId::new("other"),
        driver_item_id: "native-said".to_owned(),
    };
    assert_eq!(reader.item_by_origin(&unknown).unwrap(), None);
    assert_eq!(reader.last_assistant_item_of(&run).unwrap(), Some(said));
}

#[test]
fn the_last_assistant_item_is_the_newest_that_says_something() {
    let (first, second) = (item("1", "a", 1, Some("r")), item("2", "a", 2, Some("r")));
    let thought = Item {
        kind: ItemKind::Reasoning,
        text: "hm".to_owned(),
        ..item("3", "a", 3, Some("r"))
    };
    let emptied = Item {
        text: String::new(),
        ..second.clone()
    };
    let last = |reader: &Reader| {
        let item = reader.last_assistant_item_of(&RunId::new("r")).unwrap();
        item.map(|item| item.id.to_string())
    };
    let mut events = vec![
        Event::ItemUpdated(first.clone()),
        Event::ItemUpdated(second.clone()),
        Event::ItemUpdated(thought),
    ];
    assert_eq!(last(&stored(&events)), None);
    events.push(appended(&first, "one", 5));
    assert_eq!(last(&stored(&events)).as_deref(), Some("1"));
    events.push(appended(&second, "two", 6));
    assert_eq!(last(&stored(&events)).as_deref(), Some("2"));
    events.push(Event::ItemUpdated(emptied));
    assert_eq!(last(&stored(&events)).as_deref(), Some("1"));
}

#[test]
fn requests_are_pending_in_the_order_they_came_until_they_end() {
    let pending = |id, thread| Event::RequestUpdated(request(id, thread, RequestStatus::Pending));
    let reader = stored(&[
        pending("z", "b"),
        pending("y", "a"),
        pending("x", "a"),
        pending("w", "a"),
        Event::RequestUpdated(request(
            "y",
            "a",
            RequestStatus::Invalidated("over".to_owned()),
        )),
    ]);
    let names = |requests: Vec<_>| ids(&requests, |r: &domain::request::Request| r.id.to_string());
    assert_eq!(
        names(reader.pending_requests_of(&ThreadId::new("a")).unwrap()),
        ["x", "w"]
    );
    assert_eq!(names(reader.pending_requests().unwrap()), ["z", "x", "w"]);
    assert!(
        !reader
            .request(&RequestId::new("y"))
            .unwrap()
            .unwrap()
            .is_pending()
    );
}

#[test]
fn tasks_transfers_sessions_and_messages_are_found() {
    let ended = ProviderSession {
        ended: Some(SessionEnded {
            at: at(9),
            end: SessionEnd::Stopped,
            reason: "idle".to_owned(),
        }),
        ..session("gone")
    };
    let (result, told) = (
        transfer("t2", "child", "parent", TransferKind::SubagentResult),
        message("m", "parent", "text"),
    );
    let reader = stored(&[
        Event::TaskUpdated(task("z", "parent", "child")),
        Event::TaskUpdated(task("y", "parent", "other")),
        Event::TaskUpdated(task("z", "parent", "child")),
        Event::TransferCreated(transfer(
            "t1",
            "parent",
            "child",
            TransferKind::SubagentSpawn,
        )),
        Event::TransferCreated(result.clone()),
        Event::SessionUpdated(session("live")),
        Event::SessionUpdated(session("gone")),
        Event::SessionUpdated(ended.clone()),
        Event::MessageUpdated(told.clone()),
    ]);
    let (parent, child) = (ThreadId::new("parent"), ThreadId::new("child"));
    let tasks = reader.tasks_of(&parent).unwrap();
    assert_eq!(ids(&tasks, |task| task.id.to_string()), ["z", "y"]);
    assert!(reader.task(&TaskId::new("y")).unwrap().is_some());
    let found = |source, target, kind| reader.transfer(source, target, kind).unwrap();
    assert_eq!(
        found(&child, &parent, TransferKind::SubagentResult),
        Some(result)
    );
    assert_eq!(found(&parent, &child, TransferKind::SubagentResult), None);
    assert_eq!(reader.open_sessions().unwrap(), [session("live")]);
    assert_eq!(reader.session(&ended.id).unwrap(), Some(ended));
    assert_eq!(reader.message(&told.id).unwrap(), Some(told));
}
