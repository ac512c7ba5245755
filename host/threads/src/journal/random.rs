//! Random use of a whole journal, with restarts and crashes, from a seed. After it, the journal must
//! say the same as its projections, and keep the promises that hold whatever is called.

use std::collections::{BTreeMap, BTreeSet};

use domain::command::{AnsweredBy, CancelTask, Command};
use domain::event::Event;
use domain::ids::{RunId, ThreadId};
use domain::item::{ItemHead, ItemKind, ItemStatus};
use domain::provider_event::{
    Failure, FailureClass, ProviderEvent, ProviderItem, ProviderReport, SessionEnd, TurnOutcome,
    Usage,
};
use domain::request::{Choice, Reply};
use domain::run::{Run, RunStatus};
use domain::task::Task;
use domain::view::View;

use crate::limits::PAGE_MAX;
use crate::ports::ProviderWork;
use crate::store::compare_with_events;
use crate::testing::disk::{Crash, Disk};
use crate::testing::{
    Host, approval, attached, create, delegate, on_disk, report, send, text, turn_started,
};

const STEPS: u64 = 120;

struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % count.max(1)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        if from.is_empty() {
            None
        } else {
            from.get(self.below(from.len())).cloned()
        }
    }
}

/// Stores a report at once, as the taking of reports would.
async fn tell(host: &Host, report: ProviderReport) {
    host.submit(Command::Report(report)).await.unwrap();
}

async fn step(host: &Host, dice: &mut Dice) {
    let reader = host.reader();
    let threads: Vec<ThreadId> = reader
        .threads(0, 100)
        .unwrap()
        .into_iter()
        .map(|thread| thread.id)
        .collect();
    let runs = reader.open_runs().unwrap();
    let requests = reader.pending_requests().unwrap();
    let tasks: Vec<Task> = threads
        .iter()
        .flat_map(|thread| reader.tasks_of(thread).unwrap())
        .collect();
    let project = reader.projects().unwrap()[0].id.clone();
    drop(reader);
    let (thread, run) = (dice.pick(&threads), dice.pick(&runs));
    // A refusal is an answer like any other here.
    match (dice.below(16), thread, run) {
        (0, _, _) | (_, None, _) => {
            drop(host.submit(create(&project, Some("work"))).await);
        }
        (1 | 2, Some(thread), _) => drop(host.submit(send(&thread, "more")).await),
        (3 | 4, Some(thread), _) => drop(host.submit(delegate(&thread, "a part")).await),
        (5, Some(thread_id), _) => {
            let reason = "enough".to_owned();
            drop(host.submit(Command::StopThread { thread_id, reason }).await);
        }
        (6, _, _) => {
            if let Some(request) = dice.pick(&requests) {
                let reply = Reply::Decision {
                    choice: Choice::Accept,
                    message: None,
                };
                let request_id = request.id;
                let answered_by = AnsweredBy::Person;
                drop(
                    host.submit(Command::Respond {
                        request_id,
                        reply,
                        answered_by,
                    })
                    .await,
                );
            }
        }
        (7, _, _) => {
            if let Some(task) = dice.pick(&tasks) {
                let (parent_thread_id, task_id) = (task.parent_thread_id, task.id);
                let cancel = CancelTask {
                    parent_thread_id,
                    task_id,
                    reason: None,
                };
                drop(host.submit(Command::CancelTask(cancel)).await);
            }
        }
        (_, _, Some(run)) => provider_says(host, dice, &run).await,
        _ => {}
    }
    host.clock.advance(dice.below(5) as u64);
}

async fn provider_says(host: &Host, dice: &mut Dice, run: &Run) {
    let session = format!("session-{}", run.thread_id);
    let item = format!("item-{}", dice.below(3));
    let (id, thread) = (&run.id, &run.thread_id);
    let said = match dice.below(9) {
        0 => attached(&session, thread),
        1 | 2 => turn_started(&session, id),
        3 => text(&session, thread, &item, "some words "),
        4 => report(
            &session,
            ProviderEvent::Item(provider_item(dice, item, id, thread)),
        ),
        5 => {
            let request = format!("request-{}-{}", run.id, dice.below(1_000));
            approval(&session, thread, id, &request)
        }
        6 => {
            let usage = Usage {
                output_tokens: dice.below(99) as u64,
                ..Usage::default()
            };
            report(
                &session,
                ProviderEvent::Usage {
                    run_id: id.clone(),
                    usage,
                },
            )
        }
        7 => {
            let outcome = match dice.below(3) {
                0 => TurnOutcome::Completed,
                1 => TurnOutcome::Interrupted,
                _ => TurnOutcome::Failed(failure()),
            };
            let event = ProviderEvent::TurnEnded {
                run_id: id.clone(),
                outcome,
                native_point: None,
            };
            report(&session, event)
        }
        _ => {
            let event = ProviderEvent::SessionEnded {
                reason: "gone".to_owned(),
                end: SessionEnd::Failed,
            };
            report(&session, event)
        }
    };
    tell(host, said).await;
}

fn provider_item(dice: &mut Dice, item: String, run: &RunId, thread: &ThreadId) -> ProviderItem {
    ProviderItem {
        driver_item_id: item,
        thread_id: thread.clone(),
        run_id: Some(run.clone()),
        parent_driver_item_id: None,
        kind: if dice.below(2) == 0 {
            ItemKind::AssistantMessage
        } else {
            ItemKind::Command
        },
        status: if dice.below(2) == 0 {
            ItemStatus::Running
        } else {
            ItemStatus::Completed
        },
        title: None,
        text: (dice.below(2) == 0).then(|| "whole text".to_owned()),
        head: ItemHead::default(),
        body_json: "{}".to_owned(),
    }
}

fn failure() -> Failure {
    Failure {
        class: FailureClass::Unknown,
        message: "it failed".to_owned(),
        code: None,
        retryable: None,
    }
}

/// Every event of a journal.
fn history(host: &Host) -> Vec<(u64, Event)> {
    let reader = host.reader();
    let mut events: Vec<(u64, Event)> = Vec::new();
    loop {
        let after = events.last().map_or(0, |(number, _)| *number);
        let page = reader.events_after(after, PAGE_MAX).unwrap();
        if page.is_empty() {
            return events;
        }
        events.extend(page);
    }
}

/// What must hold of any journal, whatever was called.
fn promises(host: &Host) {
    let reader = host.reader();
    assert_eq!(compare_with_events(&reader).unwrap(), []);
    let mut runs: BTreeMap<RunId, Run> = BTreeMap::new();
    let mut places = BTreeSet::new();
    let mut items = BTreeMap::new();
    for (_, event) in history(host) {
        match event {
            Event::RunCreated(run) => {
                assert!(
                    places.insert((run.thread_id.clone(), run.ordinal)),
                    "{run:?}"
                );
                assert!(runs.insert(run.id.clone(), run).is_none());
            }
            Event::RunUpdated(run) => {
                let old = runs.insert(run.id.clone(), run.clone()).unwrap();
                let (from, to) = (old.status, run.status);
                assert!(
                    from == to || from.may_become(to),
                    "{from:?} became {to:?}: {run:?}"
                );
            }
            Event::ItemUpdated(item) => {
                let at = (item.thread_id.clone(), item.position);
                let holder = items.entry(at).or_insert_with(|| item.id.clone());
                assert_eq!(*holder, item.id, "a place was given twice");
            }
            _ => {}
        }
    }
    let open: BTreeSet<_> = runs
        .values()
        .filter(|run| !run.status.is_terminal())
        .map(|run| run.id.clone())
        .collect();
    let listed: BTreeSet<_> = reader
        .open_runs()
        .unwrap()
        .into_iter()
        .map(|run| run.id)
        .collect();
    assert_eq!(listed, open);
    let active: BTreeSet<_> = runs
        .values()
        .filter(|run| !run.status.is_terminal())
        .map(|run| run.thread_id.clone())
        .collect();
    assert_eq!(reader.active_thread_count().unwrap() as usize, active.len());
    for thread in &active {
        let going = |run: &&Run| run.thread_id == *thread && run.status.is_active();
        assert!(
            runs.values().filter(going).count() <= 1,
            "two active runs on {thread}"
        );
    }
}

/// No prompt is handed to an agent twice.
fn starts_once(started: &mut BTreeSet<RunId>, work: Vec<ProviderWork>) {
    for work in work {
        if let ProviderWork::StartTurn { run_id, .. } = work {
            assert!(started.insert(run_id.clone()), "{run_id} was started twice");
        }
    }
}

async fn play(seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    let mut disk = Disk::default();
    let mut started = BTreeSet::new();
    let (journal, clock) = on_disk(&disk, seed).unwrap();
    let mut host = Host::of(journal, clock).await;
    host.project("a").await;
    for number in 0..STEPS {
        step(&host, &mut dice).await;
        if dice.below(40) > 0 {
            continue;
        }
        promises(&host);
        let left = match dice.below(2) {
            0 => None,
            _ => Some(disk.crashed(Crash::Torn {
                sector: 512,
                seed: number + 1,
            })),
        };
        let port = host.port.clone();
        host.stop().await;
        starts_once(&mut started, port.so_far());
        disk = left.unwrap_or(disk);
        let (journal, clock) = on_disk(&disk, seed ^ (number + 1)).unwrap();
        host = Host::of(journal, clock).await;
        for run in host.reader().open_runs().unwrap() {
            let fresh = !started.contains(&run.id);
            assert!(
                fresh || run.status == RunStatus::Queued,
                "{run:?} outlived its agent"
            );
        }
        assert_eq!(host.reader().open_sessions().unwrap(), []);
    }
    promises(&host);
    let port = host.port.clone();
    let events = history(&host);
    host.stop().await;
    starts_once(&mut started, port.so_far());
    serde_json::to_vec(&events).unwrap()
}

#[tokio::test]
async fn random_use_with_restarts_and_crashes_keeps_the_promises() {
    for seed in 1..=8 {
        // The seed of a failure is the last one printed.
        println!("seed {seed}");
        play(seed).await;
    }
}

#[tokio::test]
async fn a_seed_repeats_to_the_byte() {
    assert!(play(4_711).await == play(4_711).await);
}
