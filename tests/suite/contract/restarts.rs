//! A host that was killed, and the next one on its file.

use std::collections::BTreeMap;

use domain::command::SendMode;
use domain::error::DenialCode;
use domain::ids::{RequestId, RunId, TaskId};
use domain::provider_event::{Blocking, TurnOutcome};
use domain::request::{Choice, Reply, RequestStatus};
use domain::run::{EndReason, Run, RunPurpose, RunStatus};
use domain::task::{DeliveryState, TaskResult, TaskStatus};
use domain::view::View;
use threads::ports::{Conversation, ProviderWork};
use threads::service::DelegateRequest;
use tokio_util::sync::CancellationToken;

use super::bench::*;

/// A file at a moment, and what stood in it.
struct Moment {
    name: &'static str,
    left: Left,
    /// Runs that had an agent.
    active: Vec<Run>,
    /// Runs that waited for their turn.
    queued: Vec<RunId>,
    results: BTreeMap<TaskId, TaskResult>,
    parent: Talk,
    children: Vec<Child>,
}

/// Collects moments of one story.
struct Story {
    bench: Bench,
    parent: Talk,
    children: Vec<Child>,
    moments: Vec<Moment>,
}

impl Story {
    fn keep(&mut self, name: &'static str) {
        let reader = self.bench.reader();
        let open = reader.open_runs().unwrap();
        let (queued, active): (Vec<Run>, Vec<Run>) = open
            .into_iter()
            .partition(|run| run.status == RunStatus::Queued);
        let tasks = reader.tasks_of(&self.parent.thread).unwrap();
        let results = tasks
            .into_iter()
            .filter_map(|task| Some((task.id, task.result?)))
            .collect();
        self.moments.push(Moment {
            name,
            left: self
                .bench
                .killed_now(&format!("{}.redb", self.moments.len())),
            active,
            queued: queued.into_iter().map(|run| run.id).collect(),
            results,
            parent: self.parent.clone(),
            children: self.children.clone(),
        });
    }

    async fn wake(&self, number: usize) -> Talk {
        let thread = self.parent.thread.clone();
        let (run, _) = self.bench.providers.turn_number(&thread, number).await;
        Talk { thread, run }
    }
}

/// Two children of one parent, every step of theirs kept.
async fn story() -> Vec<Moment> {
    let bench = Bench::new().await;
    let parent = bench.create(threads::service::NewThread {
        prompt: Some("go".to_owned()),
        ..new_thread()
    });
    let parent = parent.await;
    let mut story = Story {
        bench,
        parent: parent.clone(),
        children: Vec::new(),
        moments: Vec::new(),
    };
    story.keep("the parent's turn is committed");
    story.bench.turn_starts(&parent).await;
    story.keep("the parent works");
    let first = story.bench.delegate(&parent, "first").await;
    story.children.push(first.clone());
    story.keep("the first child is committed");
    story.bench.providers.turn(&first.run).await;
    story.keep("the first child is handed over");
    story.bench.turn_starts(&first.talk()).await;
    story.keep("the first child works");
    let second = story.bench.delegate_working(&parent, "second").await;
    story.children.push(second.clone());
    story.keep("both children work");
    let more = "and then".to_owned();
    let sent = story
        .bench
        .service
        .send(&PERSON, &first.thread, more, SendMode::Queue);
    let later = Talk {
        thread: first.thread.clone(),
        run: sent.await.unwrap().run_id,
    };
    story.keep("a message waits behind the first child's turn");
    story.bench.says(&second.talk(), "half of it").await;
    story.keep("the second child has said something");
    story.bench.answers(&second.talk(), "found it").await;
    story.keep("the second child's result is stored");
    story.bench.turn_ends(&parent, TurnOutcome::Completed).await;
    story.keep("the first wake is committed");
    let wake = story.wake(2).await;
    story.keep("the first wake is handed over");
    story.bench.turn_starts(&wake).await;
    story.keep("the first wake is told");
    story
        .bench
        .turn_ends(&first.talk(), failure("no quota"))
        .await;
    story.keep("the first child failed and its next message is committed");
    story.bench.turn_starts(&later).await;
    story.keep("the first child works on its next message");
    story.bench.answers(&later, "done after all").await;
    story.keep("the first child's result is stored");
    story.bench.turn_ends(&wake, TurnOutcome::Completed).await;
    story.keep("the second wake is committed");
    let wake = story.wake(3).await;
    story.bench.turn_starts(&wake).await;
    story.keep("the second wake is told");
    story.bench.turn_ends(&wake, TurnOutcome::Completed).await;
    story.keep("everything is over");
    story.moments
}

/// Wakes of a task that were told or will be.
fn told(bench: &Bench, parent: &Talk, task: &TaskId) -> Vec<Run> {
    let wakes = bench.wakes_of(&parent.thread, task).into_iter();
    wakes
        .filter(|run| run.started_at.is_some() || !run.status.is_terminal())
        .collect()
}

/// Works off everything that is handed over or waits, until nothing is open.
async fn work_off(bench: &Bench) {
    while let Some(run) = bench.reader().open_runs().unwrap().first().cloned() {
        let active = |run: &&Run| run.status.is_active();
        let open = bench.reader().open_runs_of(&run.thread_id).unwrap();
        let next = open.iter().find(active).expect("what waits goes on");
        let talk = Talk {
            thread: next.thread_id.clone(),
            run: next.id.clone(),
        };
        bench.turn_starts(&talk).await;
        bench.answers(&talk, "done in the next life").await;
    }
}

fn check_recovered(bench: &Bench, moment: &Moment) {
    let name = moment.name;
    for before in &moment.active {
        let run = bench.run(&before.id);
        assert_eq!(run.status, RunStatus::Interrupted, "{name}");
        assert_eq!(run.reason, Some(EndReason::HostRestarted), "{name}");
    }
    for (id, result) in &moment.results {
        let now = bench.task(id).result;
        assert_eq!(now.as_ref(), Some(result), "{name}: published once");
    }
    for child in &moment.children {
        let task = bench.task(&child.task);
        let open = bench.reader().open_runs_of(&child.thread).unwrap();
        assert_eq!(task.result.is_some(), open.is_empty(), "{name}");
        let wakes = told(bench, &moment.parent, &child.task);
        let expected = usize::from(task.result.is_some());
        assert_eq!(wakes.len(), expected, "{name}: {wakes:?}");
    }
    // A prompt that was handed to an agent is never handed to another by itself.
    for work in bench.providers.work() {
        let ProviderWork::StartTurn { run_id, .. } = work else {
            panic!("{name}: {work:?}")
        };
        let replayed = moment.active.iter().any(|run| run.id == run_id);
        assert!(!replayed, "{name}");
    }
    bench.check();
}

#[tokio::test]
async fn wherever_the_host_is_killed_the_next_one_settles_it_and_goes_on() {
    for (at, moment) in story().await.into_iter().enumerate() {
        let name = moment.name;
        let native = |bench: &Bench, child: &Child| {
            let thread = bench.reader().thread(&child.thread).unwrap().unwrap();
            thread.native.map(|native| native.id)
        };
        let bench = moment
            .left
            .copy(&format!("{at}-settled.redb"))
            .opened()
            .await;
        check_recovered(&bench, &moment);

        // Killed again as soon as it stood: nothing is told twice.
        let second = moment.left.copy(&format!("{at}-again.redb")).opened().await;
        let third = second
            .killed_now(&format!("{at}-third.redb"))
            .opened()
            .await;
        for child in &moment.children {
            let task = third.task(&child.task);
            let wakes = told(&third, &moment.parent, &child.task);
            assert_eq!(wakes.len(), usize::from(task.result.is_some()), "{name}");
        }
        third.check();

        work_off(&bench).await;
        for run in &moment.queued {
            assert_eq!(bench.run(run).status, RunStatus::Completed, "{name}");
        }
        for child in &moment.children {
            let wakes = told(&bench, &moment.parent, &child.task);
            assert_eq!(wakes.len(), 1, "{name}: {wakes:?}");
            let state = bench.delivery(&child.task).state;
            assert_eq!(state, DeliveryState::Delivered, "{name}");

            let known = native(&bench, child);
            let sent =
                bench
                    .service
                    .send(&PERSON, &child.thread, "go on".to_owned(), SendMode::Auto);
            let run = sent.await.unwrap().run_id;
            let (opening, text) = bench.providers.turn(&run).await;
            assert_eq!(text, "go on");
            assert_eq!(opening.native.map(|it| it.id), known, "{name}");
            let talk = Talk {
                thread: child.thread.clone(),
                run,
            };
            bench.turn_starts(&talk).await;
            bench.answers(&talk, "gone on").await;
            assert_eq!(bench.run(&talk.run).status, RunStatus::Completed);
        }
        bench.check();
    }
}

#[tokio::test]
async fn a_send_after_a_restart_takes_up_the_same_native_conversation() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    let bench = bench.killed_now("left.redb").opened().await;
    assert_eq!(bench.run(&talk.run).status, RunStatus::Interrupted);
    let sent = bench
        .service
        .send(&PERSON, &talk.thread, "go on".to_owned(), SendMode::Auto);
    let (opening, _) = bench.providers.turn(&sent.await.unwrap().run_id).await;
    assert_eq!(
        opening.native.unwrap().id,
        format!("native-{}", talk.thread)
    );
    assert_eq!(opening.conversation, Conversation::Begun);
}

#[tokio::test]
async fn a_conversation_the_provider_never_named_is_begun_anew() {
    let bench = Bench::new().await;
    let talk = bench.create(threads::service::NewThread {
        prompt: Some("go".to_owned()),
        ..new_thread()
    });
    let talk = talk.await;
    bench.providers.turn(&talk.run).await;
    let bench = bench.killed_now("left.redb").opened().await;
    let sent = bench
        .service
        .send(&PERSON, &talk.thread, "go on".to_owned(), SendMode::Auto);
    let (opening, _) = bench.providers.turn(&sent.await.unwrap().run_id).await;
    assert_eq!(
        (opening.native, opening.conversation),
        (None, Conversation::New)
    );
}

#[tokio::test]
async fn an_interrupted_task_says_so_and_how_to_go_on() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    let bench = bench.killed_now("left.redb").opened().await;
    let view = bench.status(&parent.thread, &child.task).await;
    assert_eq!(view.status, TaskStatus::Interrupted);
    let summary = view.summary.unwrap();
    assert!(summary.contains("restarted"), "{summary}");
    // The parent's own run was cut as well: its wake is what it gets next.
    let (run, _) = bench.providers.turn_number(&parent.thread, 1).await;
    assert_eq!(bench.run(&run).purpose, RunPurpose::Wake);
}

#[tokio::test]
async fn what_was_read_before_the_kill_is_not_told_after_it() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    bench.answers(&child.talk(), "found it").await;
    bench.status(&parent.thread, &child.task).await;
    let bench = bench.killed_now("left.redb").opened().await;
    assert_eq!(told(&bench, &parent, &child.task), []);
    assert_eq!(bench.providers.work(), []);
}

#[tokio::test]
async fn what_was_cancelled_before_the_kill_wakes_nobody_after_it() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    let agent = bench.agent(&parent.thread);
    let reason = Some("enough".to_owned());
    bench
        .service
        .task_cancel(&agent, &child.task, reason, call(None, "cancel"))
        .await
        .unwrap();
    let bench = bench.killed_now("left.redb").opened().await;
    let run = bench.run(&child.run);
    assert_eq!(run.status, RunStatus::Interrupted);
    assert_eq!(run.reason, Some(EndReason::Stopped("enough".to_owned())));
    assert_eq!(told(&bench, &parent, &child.task), []);
    assert_eq!(bench.providers.work(), []);
    let task = bench.task(&child.task);
    assert_eq!(task.result.unwrap().status, TaskStatus::Interrupted);
}

#[tokio::test]
async fn an_open_request_is_invalid_after_a_restart_and_says_why() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    bench
        .asks(&talk, "request-1", Blocking::Blocking, approval())
        .await;
    let bench = bench.killed_now("left.redb").opened().await;
    let id = RequestId::new("request-1");
    let status = bench.reader().request(&id).unwrap().unwrap().status;
    let RequestStatus::Invalidated(why) = status else {
        panic!("{status:?}")
    };
    assert!(why.contains("restarted"), "{why}");
    let allow = Reply::Decision {
        choice: Choice::Accept,
        message: None,
    };
    let late = bench.service.respond(&PERSON, &id, allow).await;
    assert_eq!(code(late), DenialCode::RequestNotPending);
    assert_eq!(
        bench.run(&talk.run).status,
        RunStatus::Interrupted,
        "it does not stay running"
    );
}

#[tokio::test]
async fn a_call_answered_before_the_kill_is_answered_alike_after_it() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let request = || DelegateRequest {
        call: call(Some("k"), "a"),
        ..asking("look")
    };
    let first = bench.try_delegate(&parent, request()).await.unwrap();
    // The session's own word for itself, which outlives its host.
    let agent = bench.agent(&parent.thread);
    let bench = bench.killed_now("left.redb").opened().await;
    let token = CancellationToken::new();
    let again = bench.service.delegate(&agent, request(), token.clone());
    assert_eq!(
        Child::of(&again.await.unwrap().task),
        Child::of(&first.task)
    );
    let other = DelegateRequest {
        call: call(Some("k"), "b"),
        ..asking("look")
    };
    let other = bench.service.delegate(&agent, other, token).await;
    assert_eq!(code(other), DenialCode::KeyConflict);
}

#[tokio::test]
async fn a_host_that_goes_down_in_order_leaves_what_a_killed_one_leaves() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    let bench = bench.restarted().await;
    assert_eq!(bench.run(&child.run).status, RunStatus::Interrupted);
    assert_eq!(told(&bench, &parent, &child.task).len(), 1);
    bench.check();
}
