use domain::event::Event;
use domain::provider_event::{ProviderEvent, Resume};
use domain::request::{Choice, Reply};
use domain::view::View;

use super::*;
use crate::testing::{
    Folder, Host, attached, create, delegate, report, send, turn_completed, turn_started,
};

fn name(work: &ProviderWork) -> &'static str {
    match work {
        ProviderWork::StartTurn { .. } => "start",
        ProviderWork::Steer { .. } => "steer",
        ProviderWork::Interrupt { .. } => "interrupt",
        ProviderWork::Answer { .. } => "answer",
        ProviderWork::Release { .. } => "release",
    }
}

fn started(work: &ProviderWork) -> (&ThreadOpening, &RunId, &str) {
    let ProviderWork::StartTurn {
        thread,
        run_id,
        text,
    } = work
    else {
        panic!("a start was expected: {work:?}")
    };
    (thread, run_id, text)
}

#[tokio::test]
async fn a_start_carries_the_prompt_and_what_a_session_needs() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let (thread, run) = host.thread("a", Some("do this")).await;
    let work = host.port.work(1).await;
    let (opening, run_id, text) = started(&work[0]);
    assert_eq!((Some(run_id), text), (run.as_ref(), "do this"));
    let stored = host.reader().thread(&thread).unwrap().unwrap();
    assert_eq!(opening.thread_id, thread);
    assert_eq!(opening.instance_id, stored.provider_instance_id);
    assert_eq!(opening.workspace_path, "/src/a");
    assert_eq!(opening.modes, stored.modes);
    assert_eq!(
        (&opening.native, opening.conversation),
        (&None, Conversation::New)
    );
    host.stop().await;
}

#[tokio::test]
async fn the_second_turn_takes_the_conversation_up_again() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let (thread, run) = host.thread("a", Some("one")).await;
    let run = run.unwrap();
    host.port.work(1).await;
    let ready = ProviderEvent::ThreadReady {
        thread_id: thread.clone(),
        native_thread_id: "native-1".to_owned(),
        resume: Resume::Possible,
        model: None,
    };
    for report in [
        attached("s", &thread),
        report("s", ready),
        turn_started("s", &run),
        turn_completed("s", &run),
    ] {
        host.reports.send(report).await.unwrap();
    }
    let mut feed = host.running.changes().feed();
    while !host
        .reader()
        .run(&run)
        .unwrap()
        .unwrap()
        .status
        .is_terminal()
    {
        feed.past(host.reader().sequence().unwrap()).await.unwrap();
    }
    host.submit(send(&thread, "two")).await.unwrap();
    let work = host.port.work(2).await;
    let (opening, _, text) = started(&work[1]);
    assert_eq!(text, "two");
    assert_eq!(opening.conversation, Conversation::Begun);
    assert_eq!(opening.native.as_ref().unwrap().id, "native-1");
    host.stop().await;
}

#[tokio::test]
async fn a_first_turn_that_was_never_accepted_leaves_the_conversation_new() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let (thread, run) = host.thread("a", Some("one")).await;
    host.port.work(1).await;
    host.reports.send(attached("s", &thread)).await.unwrap();
    host.reports
        .send(turn_completed("s", &run.unwrap()))
        .await
        .unwrap();
    host.submit(send(&thread, "two")).await.unwrap();
    let work = host.port.work(2).await;
    assert_eq!(started(&work[1]).0.conversation, Conversation::New);
    host.stop().await;
}

#[tokio::test]
async fn effects_of_a_thread_are_handed_over_in_the_order_they_were_stored() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let (thread, run) = host.thread("a", Some("one")).await;
    let run = run.unwrap();
    host.reports.send(attached("s", &thread)).await.unwrap();
    host.reports.send(turn_started("s", &run)).await.unwrap();
    let mut watch = host.running.changes().subscribe(&thread);
    while host
        .reader()
        .run(&run)
        .unwrap()
        .unwrap()
        .started_at
        .is_none()
    {
        watch.changed().await.unwrap();
    }
    for text in ["first", "second", "third"] {
        host.submit(send(&thread, text)).await.unwrap();
    }
    let stop = domain::command::Command::StopThread {
        thread_id: thread.clone(),
        reason: "enough".to_owned(),
    };
    host.submit(stop).await.unwrap();
    let work = host.port.work(5).await;
    let names: Vec<_> = work.iter().map(name).collect();
    assert_eq!(names, ["start", "steer", "steer", "steer", "interrupt"]);
    let texts: Vec<_> = work
        .iter()
        .filter_map(|work| match work {
            ProviderWork::Steer { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["first", "second", "third"]);
    host.stop().await;
}

#[tokio::test]
async fn a_batch_of_many_threads_is_handed_over_whole_and_in_order() {
    let folder = Folder::new();
    let (journal, clock) = crate::testing::open(&folder.file(), 1);
    let writer = journal.writer();
    let host = Host::of(journal, clock).await;
    let project = host.project("a").await;
    let mut pending = Vec::new();
    for number in 0..200 {
        let command = create(&project, Some(&format!("prompt {number}")));
        pending.push(writer.enqueue(None, command).await.unwrap());
    }
    for pending in pending {
        pending.answer().await.unwrap();
    }
    let work = host.port.work(200).await;
    let texts: Vec<_> = work.iter().map(|work| started(work).2.to_owned()).collect();
    assert_eq!(
        texts,
        (0..200)
            .map(|number| format!("prompt {number}"))
            .collect::<Vec<_>>()
    );
    host.stop().await;
}

#[tokio::test]
async fn an_effect_that_was_handed_over_leaves_the_outbox_with_the_next_commit() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    host.thread("a", Some("one")).await;
    host.port.work(1).await;
    assert_eq!(
        host.reader().outbox_len().unwrap(),
        1,
        "no commit of its own"
    );
    // What the port has been given is counted just after: the second commit is surely later.
    host.project("b").await;
    host.project("c").await;
    assert_eq!(host.reader().outbox_len().unwrap(), 0);
    host.stop().await;
}

#[tokio::test]
async fn an_answer_reaches_the_provider_and_is_in_no_row() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let (thread, run) = host.thread("a", Some("one")).await;
    let run = run.unwrap();
    host.reports.send(attached("s", &thread)).await.unwrap();
    host.reports.send(turn_started("s", &run)).await.unwrap();
    host.reports
        .send(crate::testing::approval("s", &thread, &run, "request-1"))
        .await
        .unwrap();
    let mut watch = host.running.changes().subscribe(&thread);
    while host.reader().pending_requests().unwrap().is_empty() {
        watch.changed().await.unwrap();
    }
    let reply = Reply::Decision {
        choice: Choice::Decline,
        message: Some("canary".to_owned()),
    };
    let request_id = domain::ids::RequestId::new("request-1");
    let respond = domain::command::Command::Respond {
        request_id: request_id.clone(),
        reply: reply.clone(),
        answered_by: domain::command::AnsweredBy::Person,
    };
    host.submit(respond).await.unwrap();
    let work = host.port.work(2).await;
    assert_eq!(
        work[1],
        ProviderWork::Answer {
            thread_id: thread,
            request_id,
            reply
        }
    );
    host.stop().await;
}

#[tokio::test]
async fn a_delegation_starts_its_child() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let (parent, run) = host.thread("a", Some("one")).await;
    host.reports.send(attached("s", &parent)).await.unwrap();
    host.reports
        .send(turn_started("s", &run.unwrap()))
        .await
        .unwrap();
    let answered = host.submit(delegate(&parent, "a part")).await.unwrap();
    let work = host.port.work(2).await;
    let (opening, _, text) = started(&work[1]);
    assert_ne!(opening.thread_id, parent);
    assert!(text.contains("a part"));
    let events = host.reader().events_after(0, 1_000).unwrap();
    assert!(
        events
            .iter()
            .any(|(_, event)| matches!(event, Event::TaskUpdated(_)))
    );
    assert!(answered.sequence > 0);
    host.stop().await;
}

#[tokio::test]
async fn an_effect_that_points_at_nothing_ends_all_writing() {
    let folder = Folder::new();
    let (journal, _) = crate::testing::open(&folder.file(), 1);
    let (effects, committed) = mpsc::channel(1);
    let dispatcher = Dispatcher {
        store: journal.store(),
        port: Arc::new(crate::testing::RecordingPort::default()),
        changes: journal.changes(),
        health: journal.health(),
        effects: committed,
        handed_over: Arc::default(),
    };
    let effect = Effect::StartTurn {
        thread_id: ThreadId::new("none"),
        run_id: RunId::new("none"),
    };
    effects.send((1, effect)).await.unwrap();
    dispatcher.run().await;
    assert!(matches!(
        journal.health().poisoned(),
        Some(Poison::Broken(_))
    ));
    assert!(journal.changes().feed().past(u64::MAX - 1).await.is_err());
}
