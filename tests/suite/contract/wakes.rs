//! A parent that does not wait is woken once for each end it has not read.

use std::collections::BTreeSet;

use domain::message::{CreatedBy, CreationSource};
use domain::provider_event::TurnOutcome;
use domain::run::{RunPurpose, RunStatus};
use domain::task::{DeliveryState, TaskStatus};
use domain::view::View;
use threads::clock::{IdSource, SeededIds};

use super::bench::*;

#[tokio::test]
async fn an_end_while_the_parent_works_waits_behind_its_turn() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    bench.answers(&child.talk(), "found it").await;
    assert_eq!(
        bench.run(&parent.run).status,
        RunStatus::Running,
        "the turn is not cut"
    );
    assert_eq!(bench.providers.turns_of(&parent.thread).len(), 1);
    bench.turn_ends(&parent, TurnOutcome::Completed).await;
    let (run, text) = bench.providers.turn_number(&parent.thread, 2).await;
    assert!(text.contains(child.task.as_str()), "{text}");
    assert!(text.contains("task_status"), "{text}");
    assert!(
        !text.contains("found it"),
        "a wake never carries a result: {text}"
    );
    let message_id = bench.run(&run).message_id;
    let message = bench.reader().message(&message_id).unwrap().unwrap();
    assert_eq!(message.provenance.created_by, CreatedBy::Agent);
    assert_eq!(message.provenance.creation_source, CreationSource::Server);
}

#[tokio::test]
async fn an_end_while_the_parent_is_idle_wakes_it_at_once() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    bench.turn_ends(&parent, TurnOutcome::Completed).await;
    bench.answers(&child.talk(), "found it").await;
    let (run, text) = bench.providers.turn_number(&parent.thread, 2).await;
    assert!(text.contains(child.task.as_str()), "{text}");
    assert_eq!(bench.delivery(&child.task).state, DeliveryState::Claimed);
    let woken = Talk {
        thread: parent.thread.clone(),
        run,
    };
    bench.turn_starts(&woken).await;
    assert_eq!(bench.delivery(&child.task).state, DeliveryState::Delivered);
    bench.turn_ends(&woken, TurnOutcome::Completed).await;
    assert_eq!(bench.providers.turns_of(&parent.thread).len(), 2);
}

#[tokio::test]
async fn a_wake_goes_before_messages_that_wait() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    let sent = bench.service.send(
        &PERSON,
        &parent.thread,
        "and then".to_owned(),
        domain::command::SendMode::Queue,
    );
    let queued = sent.await.unwrap().run_id;
    bench.answers(&child.talk(), "found it").await;
    bench.turn_ends(&parent, TurnOutcome::Completed).await;
    let (run, _) = bench.providers.turn_number(&parent.thread, 2).await;
    assert_eq!(bench.run(&run).purpose, RunPurpose::Wake);
    assert_eq!(bench.run(&queued).status, RunStatus::Queued);
    let woken = Talk {
        thread: parent.thread.clone(),
        run,
    };
    bench.turn_starts(&woken).await;
    bench.turn_ends(&woken, TurnOutcome::Completed).await;
    let (run, text) = bench.providers.turn_number(&parent.thread, 3).await;
    assert_eq!((run, text.as_str()), (queued, "and then"));
}

#[tokio::test]
async fn a_wake_whose_turn_fails_is_not_sent_for_ever() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    bench.turn_ends(&parent, TurnOutcome::Completed).await;
    bench.answers(&child.talk(), "found it").await;
    let (run, _) = bench.providers.turn_number(&parent.thread, 2).await;
    let woken = Talk {
        thread: parent.thread.clone(),
        run,
    };
    bench.turn_ends(&woken, failure("no process")).await;
    assert_eq!(bench.delivery(&child.task).state, DeliveryState::Delivered);
    assert_eq!(bench.wakes_of(&parent.thread, &child.task).len(), 1);
}

/// A parent with children; everything that can happen to them happens in an order chosen by a seed.
struct Crowd {
    bench: Bench,
    parent: Talk,
    /// The turn the parent is in; `None`: it is idle, or handed over and not started.
    turn: Option<Talk>,
    working: Vec<Child>,
    read: BTreeSet<String>,
    choice: SeededIds,
    /// Turns of the parent seen so far.
    turns: usize,
}

impl Crowd {
    async fn new(seed: u64, children: usize) -> Self {
        let bench = Bench::seeded(seed).await;
        let parent = bench.working("go").await;
        let mut working = Vec::new();
        for at in 0..children {
            let task = format!("look {at}");
            working.push(bench.delegate_working(&parent, &task).await);
        }
        Self {
            turn: Some(parent.clone()),
            choice: SeededIds::new(seed),
            read: BTreeSet::new(),
            turns: 1,
            bench,
            parent,
            working,
        }
    }

    fn choose(&self, below: usize) -> usize {
        usize::try_from(self.choice.bits() % below as u128).unwrap()
    }

    async fn child_ends(&mut self) {
        if self.working.is_empty() {
            return;
        }
        let child = self.working.remove(self.choose(self.working.len()));
        let outcome = if self.choose(4) == 0 {
            failure("no")
        } else {
            TurnOutcome::Completed
        };
        self.bench.turn_ends(&child.talk(), outcome).await;
    }

    /// The parent's turn ends, or its next one starts if it was handed one.
    async fn parent_moves(&mut self) {
        match self.turn.take() {
            Some(turn) => {
                self.bench.turn_ends(&turn, TurnOutcome::Completed).await;
            }
            None => self.starts_if_woken().await,
        }
    }

    async fn starts_if_woken(&mut self) {
        let open = self.bench.reader().open_runs_of(&self.parent.thread);
        if open.unwrap().is_empty() {
            return;
        }
        self.turns += 1;
        let (run, _) = self
            .bench
            .providers
            .turn_number(&self.parent.thread, self.turns)
            .await;
        let turn = Talk {
            thread: self.parent.thread.clone(),
            run,
        };
        self.bench.turn_starts(&turn).await;
        self.turn = Some(turn);
    }

    /// The parent's agent reads one of its tasks, ended or not.
    async fn parent_reads(&mut self) {
        let tasks = self.bench.reader().tasks_of(&self.parent.thread).unwrap();
        let task = &tasks[self.choose(tasks.len())].id;
        let view = self.bench.status(&self.parent.thread, task).await;
        if view.status.is_terminal() {
            self.read.insert(task.to_string());
        }
    }

    async fn step(&mut self) {
        match self.choose(5) {
            0 | 1 => self.child_ends().await,
            2 | 3 => self.parent_moves().await,
            _ if self.turn.is_some() => self.parent_reads().await,
            _ => {}
        }
    }

    /// Lets everything come to its end.
    async fn finish(&mut self) {
        while !self.working.is_empty() {
            self.child_ends().await;
        }
        loop {
            let open = self.bench.reader().open_runs_of(&self.parent.thread);
            if open.unwrap().is_empty() {
                return;
            }
            self.parent_moves().await;
        }
    }

    /// Each end was told by exactly one wake that started, or was read before one did.
    fn check(&self, seed: u64) {
        for task in self.bench.reader().tasks_of(&self.parent.thread).unwrap() {
            let wakes = self.bench.wakes_of(&self.parent.thread, &task.id);
            let state = task.delivery.unwrap().state;
            let was_read = self.read.contains(task.id.as_str());
            match (was_read, wakes.as_slice()) {
                // Read while no wake of it had started, or after.
                (true, [] | [_]) => assert_eq!(state, DeliveryState::Acknowledged, "{seed}"),
                (false, [wake]) => {
                    assert_eq!(wake.status, RunStatus::Completed, "{seed}");
                    assert_eq!(state, DeliveryState::Delivered, "{seed}");
                }
                (_, wakes) => panic!("seed {seed}: {} told by {wakes:?}", task.id),
            }
        }
        self.bench.check();
    }
}

#[tokio::test]
async fn whatever_the_order_each_end_is_told_once_or_read() {
    for seed in 1..=40 {
        let mut crowd = Crowd::new(seed, 4).await;
        for _ in 0..14 {
            crowd.step().await;
        }
        crowd.finish().await;
        crowd.check(seed);
    }
}

#[tokio::test]
async fn twelve_children_that_end_in_six_waves_are_told_once_each() {
    // Whether the parent is in a turn when each wave comes.
    for parent_works in [
        [true; 6],
        [false; 6],
        [true, false, true, false, true, false],
        [false, false, true, true, false, true],
    ] {
        let mut crowd = Crowd::new(7, 12).await;
        let mut waves = 0;
        for works in parent_works {
            if crowd.turn.is_some() != works {
                crowd.parent_moves().await;
            }
            // A parent that was never woken has no turn to be in.
            for _ in 0..2 {
                crowd.child_ends().await;
            }
            waves += 1;
        }
        assert_eq!((waves, crowd.working.len()), (6, 0));
        crowd.finish().await;
        assert!(crowd.read.is_empty());
        crowd.check(7);
    }
}

#[tokio::test]
async fn ends_that_come_together_are_told_together() {
    let mut crowd = Crowd::new(3, 5).await;
    while !crowd.working.is_empty() {
        crowd.child_ends().await;
    }
    crowd.finish().await;
    crowd.check(3);
    let bench = &crowd.bench;
    assert_eq!(bench.providers.turns_of(&crowd.parent.thread).len(), 2);
    let tasks = bench.reader().tasks_of(&crowd.parent.thread).unwrap();
    let (_, text) = &bench.providers.turns_of(&crowd.parent.thread)[1];
    for task in tasks {
        let result = task.result.unwrap();
        let word = result.status.word();
        assert!(
            matches!(result.status, TaskStatus::Completed | TaskStatus::Failed),
            "{word}"
        );
        assert!(text.contains(&format!("{}: {word}", task.id)), "{text}");
    }
}
