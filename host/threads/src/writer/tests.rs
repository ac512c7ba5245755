use domain::error::DenialCode;
use domain::ids::{ProjectId, ThreadId};
use domain::view::View;

use super::*;
use crate::store::compare_with_events;
use crate::testing::{Folder, Host, add, create, key};

/// The stored receipt, as it stands in the table.
fn receipt(host: &Host, key: &CommandKey) -> Option<Vec<u8>> {
    let transaction = host.reader();
    transaction.receipt_bytes(&key.request).unwrap()
}

#[tokio::test]
async fn the_same_key_and_call_gets_the_stored_answer_and_nothing_is_done_twice() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let first = host.keyed(key("k", "d"), add("a")).await.unwrap();
    assert_eq!(first.replay, Replay::First);
    let stored = receipt(&host, &key("k", "d")).unwrap();

    host.clock.advance(1_000);
    host.project("b").await;
    let again = host.keyed(key("k", "d"), add("a")).await.unwrap();
    assert_eq!(
        again,
        Answered {
            replay: Replay::Repeated,
            ..first
        }
    );
    assert_eq!(
        receipt(&host, &key("k", "d")).unwrap(),
        stored,
        "a receipt never changes"
    );
    assert_eq!(host.reader().projects().unwrap().len(), 2);
    host.stop().await;
}

#[tokio::test]
async fn a_receipt_outlives_the_host() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let first = host.keyed(key("k", "d"), add("a")).await.unwrap();
    let stored = receipt(&host, &key("k", "d")).unwrap();
    host.stop().await;

    let host = Host::start(&folder.file(), 2).await;
    let again = host.keyed(key("k", "d"), add("a")).await.unwrap();
    assert_eq!(
        again,
        Answered {
            replay: Replay::Repeated,
            ..first
        }
    );
    assert_eq!(receipt(&host, &key("k", "d")).unwrap(), stored);
    host.stop().await;
}

#[tokio::test]
async fn a_key_belongs_to_its_namespace_and_to_one_call() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    host.keyed(key("k", "d"), add("a")).await.unwrap();
    let stored = receipt(&host, &key("k", "d")).unwrap();

    let other_call = host.keyed(key("k", "other"), add("b")).await.unwrap_err();
    assert_eq!(other_call.code, DenialCode::KeyConflict);
    assert_eq!(receipt(&host, &key("k", "d")).unwrap(), stored);

    let mut elsewhere = key("k", "other");
    elsewhere.request.namespace = "session-2".to_owned();
    assert_eq!(
        host.keyed(elsewhere, add("b")).await.unwrap().replay,
        Replay::First
    );
    assert_eq!(host.reader().projects().unwrap().len(), 2);
    host.stop().await;
}

#[tokio::test]
async fn a_refusal_for_good_is_kept_and_one_that_may_pass_is_not() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let nowhere = || create(&ProjectId::new("none"), None);
    let refused = host.keyed(key("k", "d"), nowhere()).await.unwrap_err();
    assert_eq!(refused.code, DenialCode::ProjectNotFound);
    let stored = receipt(&host, &key("k", "d")).unwrap();
    assert_eq!(
        host.keyed(key("k", "d"), nowhere()).await.unwrap_err(),
        refused
    );
    assert_eq!(receipt(&host, &key("k", "d")).unwrap(), stored);
    assert_eq!(
        host.keyed(key("k", "other"), nowhere())
            .await
            .unwrap_err()
            .code,
        DenialCode::KeyConflict
    );

    let (parent, _) = host.thread("a", None).await;
    let idle_parent = || crate::testing::delegate(&parent, "work");
    let refused = host
        .keyed(key("later", "d"), idle_parent())
        .await
        .unwrap_err();
    assert_eq!(refused.code, DenialCode::ParentNotActive);
    assert!(refused.code.is_retryable());
    assert_eq!(receipt(&host, &key("later", "d")), None);
    host.stop().await;
}

#[tokio::test]
async fn a_refusal_without_a_key_writes_nothing() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let before = host.reader().sequence().unwrap();
    host.submit(create(&ProjectId::new("none"), None))
        .await
        .unwrap_err();
    assert_eq!(host.reader().sequence().unwrap(), before);
    host.stop().await;
}

/// Commands that wait in the queue when the writer starts are one batch: each must see those before it.
#[tokio::test]
async fn commands_of_one_batch_see_each_other() {
    let folder = Folder::new();
    let (journal, clock) = crate::testing::open(&folder.file(), 1);
    let writer = journal.writer();
    let mut pending = Vec::new();
    for (key, command) in [
        (Some(key("k", "d")), add("a")),
        (Some(key("k", "d")), add("a")),
        (Some(key("k", "other")), add("c")),
        (None, add("a")),
        (None, add("b")),
    ] {
        pending.push(writer.enqueue(key, command).await.unwrap());
    }
    let host = Host::of(journal, clock).await;
    let mut answers = Vec::new();
    for pending in pending {
        answers.push(pending.answer().await);
    }
    let (first, again) = (answers[0].as_ref().unwrap(), answers[1].as_ref().unwrap());
    assert_eq!(
        (first.replay, again.replay),
        (Replay::First, Replay::Repeated)
    );
    assert_eq!(
        (&first.answer, first.sequence),
        (&again.answer, again.sequence)
    );
    assert_eq!(
        answers[2].as_ref().unwrap_err().code,
        DenialCode::KeyConflict
    );
    assert_eq!(
        answers[3].as_ref().unwrap_err().code,
        DenialCode::InvalidRequest
    );
    assert!(answers[4].is_ok());
    assert_eq!(host.reader().projects().unwrap().len(), 2);
    assert_eq!(compare_with_events(&host.reader()).unwrap(), []);
    host.stop().await;
}

#[tokio::test]
async fn an_answer_is_durable_and_readable_when_it_comes() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let mut feed = host.running.changes().feed();
    for round in 0..20 {
        let answered = host.submit(add(&format!("p{round}"))).await.unwrap();
        assert_eq!(host.reader().sequence().unwrap(), answered.sequence);
        let copy = folder.killed_now("killed.redb");
        let (left, _) = crate::testing::open(&copy, 9);
        assert_eq!(
            left.store().reader().unwrap().sequence().unwrap(),
            answered.sequence
        );
        assert_eq!(
            feed.past(answered.sequence - 1).await,
            Ok(answered.sequence)
        );
    }
    host.stop().await;
}

#[tokio::test]
async fn watchers_of_a_thread_are_told_of_its_facts() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let (thread, _) = host.thread("a", None).await;
    let (changes, unknown) = (host.running.changes(), ThreadId::new("other"));
    let (mut told, mut not_told) = (changes.subscribe(&thread), changes.subscribe(&unknown));
    host.submit(crate::testing::send(&thread, "go on"))
        .await
        .unwrap();
    assert_eq!(told.changed().await, Ok(()));
    let nothing = std::future::ready(());
    tokio::select! { biased; _ = not_told.changed() => panic!("told of another"), () = nothing => {} }
    host.stop().await;
}

#[tokio::test]
async fn after_a_stop_every_write_is_refused_and_every_wait_ends() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let (writer, changes, store) = (
        host.running.writer(),
        host.running.changes(),
        host.running.store(),
    );
    host.project("a").await;
    host.stop().await;
    let refused = writer.submit(None, add("b")).await.unwrap_err();
    assert_eq!(refused.code, DenialCode::StorageUnavailable);
    assert!(changes.feed().past(u64::MAX - 1).await.is_err());
    assert!(store.reader().is_err());
}

#[tokio::test]
async fn many_callers_at_once_are_all_answered_and_the_journal_has_no_gap() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let project = host.project("a").await;
    let mut calls = tokio::task::JoinSet::new();
    for call in 0..300 {
        let (writer, command) = (host.running.writer(), create(&project, None));
        calls.spawn(async move {
            writer
                .submit(Some(key(&call.to_string(), "d")), command)
                .await
        });
    }
    let mut sequences = std::collections::BTreeSet::new();
    for answered in calls.join_all().await {
        sequences.insert(answered.unwrap().sequence);
    }
    assert_eq!(sequences.len(), 300, "each command has its own place");
    let reader = host.reader();
    assert_eq!(reader.threads(0, 1_000).unwrap().len(), 300);
    let numbers: Vec<u64> = reader
        .events_after(0, 1_000)
        .unwrap()
        .iter()
        .map(|(number, _)| *number)
        .collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(compare_with_events(&reader).unwrap(), []);
    host.stop().await;
}
