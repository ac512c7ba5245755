use domain::event::Event;
use domain::ids::{RunId, ThreadId};
use domain::provider_event::{ProviderEvent, Usage};
use domain::view::View;

use super::*;
use crate::limits::FLUSH_MS_MAX;
use crate::testing::{Folder, Host, attached, report, text, turn_completed, turn_started};

fn a() -> ThreadId {
    ThreadId::new("a")
}

/// The reports of a batch, in short: pieces of text as session, item and text.
fn held(reports: &[ProviderReport]) -> Vec<String> {
    reports
        .iter()
        .map(|report| match &report.event {
            ProviderEvent::Text {
                driver_item_id,
                appended,
                ..
            } => {
                format!("{} {driver_item_id} {appended}", report.session_id)
            }
            other => format!("{other:?}")
                .chars()
                .take_while(|c| c.is_alphanumeric())
                .collect(),
        })
        .collect()
}

fn waiting(reports: Vec<ProviderReport>) -> Waiting {
    let mut waiting = Waiting::default();
    for report in reports {
        waiting.push(report);
    }
    waiting
}

#[test]
fn text_is_joined_only_with_text_of_the_same_item_just_before_it() {
    let usage = ProviderEvent::Usage {
        run_id: RunId::new("r"),
        usage: Usage::default(),
    };
    for (reports, expected) in [
        (
            vec![text("s", &a(), "1", "a"), text("s", &a(), "1", "b")],
            vec!["s 1 ab"],
        ),
        (
            vec![text("s", &a(), "1", "a"), text("s", &a(), "2", "b")],
            vec!["s 1 a", "s 2 b"],
        ),
        (
            vec![text("s", &a(), "1", "a"), text("z", &a(), "1", "b")],
            vec!["s 1 a", "z 1 b"],
        ),
        (
            vec![
                text("s", &a(), "1", "a"),
                text("s", &ThreadId::new("b"), "1", "b"),
            ],
            vec!["s 1 a", "s 1 b"],
        ),
        (
            vec![
                text("s", &a(), "1", "a"),
                text("s", &a(), "2", "b"),
                text("s", &a(), "1", "c"),
                text("s", &a(), "1", "d"),
            ],
            vec!["s 1 a", "s 2 b", "s 1 cd"],
        ),
        (
            vec![
                text("s", &a(), "1", "a"),
                report("s", usage),
                text("s", &a(), "1", "b"),
            ],
            vec!["s 1 a", "Usage", "s 1 b"],
        ),
    ] {
        assert_eq!(held(&waiting(reports).reports), expected);
    }
}

#[test]
fn a_batch_is_due_at_its_bounds_and_for_whatever_somebody_waits_for() {
    let run = RunId::new("r");
    let apart = |count: usize| {
        (0..count)
            .map(|item| text("s", &a(), &item.to_string(), "x"))
            .collect::<Vec<_>>()
    };
    let long = |bytes: usize| vec![text("s", &a(), "1", &"x".repeat(bytes))];
    for (case, reports, due) in [
        ("one piece of text", apart(1), false),
        (
            "one report less than the bound",
            apart(FLUSH_REPORTS_MAX - 1),
            false,
        ),
        (
            "as many reports as the bound",
            apart(FLUSH_REPORTS_MAX),
            true,
        ),
        (
            "one byte less than the bound",
            long(FLUSH_BYTES_MAX - 1),
            false,
        ),
        ("as many bytes as the bound", long(FLUSH_BYTES_MAX), true),
        ("a turn's start", vec![turn_started("s", &run)], true),
        ("a turn's end", vec![turn_completed("s", &run)], true),
        ("a thread taken", vec![attached("s", &a())], true),
        (
            "a question",
            vec![crate::testing::approval("s", &a(), &run, "request")],
            true,
        ),
        (
            "a process",
            vec![report(
                "s",
                ProviderEvent::ProcessStarted {
                    pid: 1,
                    start_ticks: 1,
                },
            )],
            true,
        ),
    ] {
        let waiting = waiting(reports);
        assert_eq!(waiting.is_due(), due, "{case}");
    }
}

/// A host with one thread whose run has started, and the texts stored for it so far.
async fn streaming(folder: &Folder) -> (Host, ThreadId, RunId) {
    let host = Host::start(&folder.file(), 1).await;
    let (thread, run) = host.thread("a", Some("one")).await;
    let run = run.unwrap();
    let mut watch = host.running.changes().subscribe(&thread);
    host.reports.send(attached("s", &thread)).await.unwrap();
    host.reports.send(turn_started("s", &run)).await.unwrap();
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
    (host, thread, run)
}

fn texts(host: &Host) -> Vec<String> {
    let events = host.reader().events_after(0, 1_000).unwrap();
    events
        .into_iter()
        .filter_map(|(_, event)| match event {
            Event::ItemTextAppended(text) => Some(text.appended),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn an_end_takes_everything_before_it_along_in_order() {
    let folder = Folder::new();
    let (host, thread, run) = streaming(&folder).await;
    let mut watch = host.running.changes().subscribe(&thread);
    for piece in ["a", "b", "c"] {
        host.reports
            .send(text("s", &thread, "1", piece))
            .await
            .unwrap();
    }
    host.reports
        .send(text("s", &thread, "2", "d"))
        .await
        .unwrap();
    host.reports.send(turn_completed("s", &run)).await.unwrap();
    while !host
        .reader()
        .run(&run)
        .unwrap()
        .unwrap()
        .status
        .is_terminal()
    {
        watch.changed().await.unwrap();
    }
    assert_eq!(texts(&host).concat(), "abcd");
    let last = host.reader().last_assistant_item_of(&run).unwrap().unwrap();
    assert_eq!(last.text, "d");
    host.stop().await;
}

#[tokio::test(start_paused = true)]
async fn text_alone_is_stored_when_its_time_is_up() {
    let folder = Folder::new();
    let (host, thread, _) = streaming(&folder).await;
    let mut watch = host.running.changes().subscribe(&thread);
    let sent = tokio::time::Instant::now();
    host.reports
        .send(text("s", &thread, "1", "a"))
        .await
        .unwrap();
    host.reports
        .send(text("s", &thread, "1", "b"))
        .await
        .unwrap();
    watch.changed().await.unwrap();
    assert!(sent.elapsed() >= Duration::from_millis(FLUSH_MS_MAX));
    assert_eq!(texts(&host), ["ab"]);
    host.stop().await;
}

#[tokio::test]
async fn a_refused_report_does_not_stop_those_after_it() {
    let folder = Folder::new();
    let (host, thread, run) = streaming(&folder).await;
    let mut watch = host.running.changes().subscribe(&thread);
    let unknown = ThreadId::new("unknown");
    for report in [
        text("s", &unknown, "1", "lost"),
        attached("s", &unknown),
        turn_completed("s", &RunId::new("unknown")),
        turn_completed("s", &run),
    ] {
        host.reports.send(report).await.unwrap();
    }
    while !host
        .reader()
        .run(&run)
        .unwrap()
        .unwrap()
        .status
        .is_terminal()
    {
        watch.changed().await.unwrap();
    }
    assert_eq!(host.running.health().poisoned(), None);
    host.stop().await;
}

#[tokio::test]
async fn reports_sent_before_the_senders_are_gone_are_stored_at_the_stop() {
    let folder = Folder::new();
    let (host, thread, _) = streaming(&folder).await;
    for piece in 0..500 {
        let item = (piece % 7).to_string();
        host.reports
            .send(text("s", &thread, &item, &format!("{piece} ")))
            .await
            .unwrap();
    }
    host.stop().await;

    let (journal, _) = crate::testing::open(&folder.file(), 2);
    let mut items = journal
        .store()
        .reader()
        .unwrap()
        .items_after(&thread, 0, 100)
        .unwrap();
    items.retain(|item| item.origin.is_some());
    let said: String = items.iter().map(|item| item.text.as_str()).collect();
    let mut pieces: Vec<u32> = said
        .split_whitespace()
        .filter_map(|p| p.parse().ok())
        .collect();
    pieces.sort_unstable();
    assert_eq!(pieces, (0..500).collect::<Vec<_>>());
    for item in &items {
        let pieces: Vec<u32> = item
            .text
            .split_whitespace()
            .map(|p| p.parse().unwrap())
            .collect();
        assert!(pieces.is_sorted(), "{pieces:?}");
        assert_eq!(pieces.len(), if pieces[0] < 3 { 72 } else { 71 });
    }
}

#[tokio::test]
async fn when_the_journal_takes_no_more_the_sessions_are_told() {
    let folder = Folder::new();
    let (host, thread, _) = streaming(&folder).await;
    let fault = crate::writer::Poison::Storage("disk full".to_owned());
    host.running.health().poison(fault);
    let mut tries = 0;
    while host
        .reports
        .send(text("s", &thread, "1", "x"))
        .await
        .is_ok()
    {
        tries += 1;
        assert!(tries < 100_000, "reports are taken for ever");
        tokio::task::yield_now().await;
    }
    host.stop().await;
}

#[tokio::test]
async fn a_host_that_leaves_its_agents_stores_what_was_said_and_nothing_of_their_end() {
    let folder = Folder::new();
    let (host, thread, run) = streaming(&folder).await;
    host.reports
        .send(text("s", &thread, "1", "said"))
        .await
        .unwrap();
    host.running.leave_agents().await;
    let refused = host.reports.send(turn_completed("s", &run)).await;
    assert_eq!(refused, Err(crate::ports::JournalGone));
    host.stop().await;
    let again = Host::start(&folder.file(), 2).await;
    let settled = again.reader().run(&run).unwrap().unwrap();
    assert_eq!(
        settled.reason,
        Some(domain::run::EndReason::HostRestarted),
        "settled as after a crash"
    );
    assert!(texts(&again).concat().starts_with("said"));
    again.stop().await;
}
