//! Waiting for a delegated task: what ends a wait, what does not, and who is told afterwards.

use std::time::Duration;

use domain::error::DenialCode;
use domain::ids::RequestId;
use domain::limits::WAIT_MS_MAX;
use domain::provider_event::{Blocking, TurnOutcome};
use domain::request::Prompt;
use domain::run::RunStatus;
use domain::task::{DeliveryState, TaskStatus, WakePolicy, WorkState};
use domain::view::View;
use threads::service::{Delegated, Pending, WaitEnd, WaitMode};
use tokio_util::sync::CancellationToken;

use super::bench::*;

/// A delegation that is waited for while `what` happens to its child; both are over afterwards.
async fn wait_while<F: Future<Output = ()>>(
    bench: &Bench,
    parent: &Talk,
    what: impl FnOnce(Child) -> F,
) -> Delegated {
    let (delegated, _) = tokio::join!(bench.try_delegate(parent, waiting("look", LONG)), async {
        let child = only_child(bench, parent).await;
        bench.turn_starts(&child.talk()).await;
        what(child).await;
    });
    delegated.unwrap()
}

/// The one task of a parent, as soon as there is one.
async fn only_child(bench: &Bench, parent: &Talk) -> Child {
    let tasks = |reader: &threads::store::Reader| reader.tasks_of(&parent.thread).unwrap();
    bench
        .until("a task", |reader| !tasks(reader).is_empty())
        .await;
    let task = tasks(&bench.reader()).remove(0);
    Child {
        task: task.id,
        thread: task.child_thread_id,
        run: task.child_run_id,
    }
}

/// Whether the wait is still open after everything that could have ended it was looked at.
async fn is_open<T>(wait: &mut (impl Future<Output = T> + Unpin)) -> bool {
    for _ in 0..100 {
        tokio::select! {
            biased;
            _ = &mut *wait => return false,
            () = tokio::task::yield_now() => {}
        }
    }
    true
}

#[tokio::test]
async fn a_wait_ends_with_the_childs_result_and_no_wake_follows() {
    for (outcome, said, status, summary) in [
        (
            TurnOutcome::Completed,
            Some("found it"),
            TaskStatus::Completed,
            "found it",
        ),
        (
            TurnOutcome::Completed,
            None,
            TaskStatus::Completed,
            "without a text",
        ),
        (
            failure("No quota is left."),
            Some("half"),
            TaskStatus::Failed,
            "No quota is left.",
        ),
        (
            TurnOutcome::Interrupted,
            Some("half"),
            TaskStatus::Interrupted,
            "half",
        ),
    ] {
        let bench = Bench::new().await;
        let parent = bench.working("go").await;
        let bench = &bench;
        let ended = outcome.clone();
        let delegated = wait_while(bench, &parent, |child| async move {
            if let Some(said) = said {
                bench.says(&child.talk(), said).await;
            }
            bench.turn_ends(&child.talk(), ended).await;
        });
        let delegated = delegated.await;
        let view = &delegated.task;
        assert_eq!(delegated.wait, WaitEnd::Met, "{outcome:?}");
        assert_eq!(view.status, status, "{outcome:?}");
        assert_eq!(view.work_state, WorkState::ResultAvailable);
        let told = view.summary.clone().unwrap();
        assert!(told.contains(summary), "{outcome:?}: {told}");
        let terminal = view.latest_terminal.clone().unwrap();
        assert_eq!(terminal.run_id, view.child_run_id);
        assert_eq!(terminal.summary, view.summary);
        assert!(view.result_transfer_id.is_some());
        assert_eq!(terminal.transfer_id, view.result_transfer_id);

        let delivery = bench.delivery(&view.task_id);
        assert_eq!(delivery.state, DeliveryState::Acknowledged);
        assert_eq!(delivery.observed_by_run_id.as_ref(), Some(&parent.run));
        bench.turn_ends(&parent, TurnOutcome::Completed).await;
        assert_eq!(bench.wakes_of(&parent.thread, &view.task_id), []);
        bench.check();
    }
}

#[tokio::test]
async fn a_wait_goes_on_while_the_child_waits_for_its_own_children() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let delegated = wait_while(&bench, &parent, async |child| {
        let grandchild = bench.delegate_working(&child.talk(), "deeper").await;
        bench.answers(&child.talk(), "started it").await;
        let view = bench.status(&parent.thread, &child.task).await;
        assert_eq!(view.status, TaskStatus::Running);
        assert_eq!(view.work_state, WorkState::WaitingForChildren);
        bench.answers(&grandchild.talk(), "deep").await;
        // The grandchild's end wakes the child, whose word then is the result.
        let (run, _) = bench.providers.turn_number(&child.thread, 2).await;
        let woken = Talk {
            thread: child.thread,
            run,
        };
        bench.turn_starts(&woken).await;
        let view = bench.status(&parent.thread, &child.task).await;
        assert_eq!(view.pending_child_runs, Pending::Something);
        bench
            .service
            .task_status(&bench.agent(&woken.thread), &grandchild.task)
            .await
            .unwrap();
        bench.answers(&woken, "all of it").await;
    });
    let view = delegated.await.task;
    assert_eq!(view.summary.as_deref(), Some("all of it"));
    assert_ne!(view.latest_terminal.unwrap().run_id, view.child_run_id);
}

#[tokio::test]
async fn a_blocking_question_ends_the_wait_and_the_end_wakes_the_parent_once() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let delegated = wait_while(&bench, &parent, async |child| {
        bench
            .asks(&child.talk(), "request-1", Blocking::Blocking, question())
            .await;
    });
    let delegated = delegated.await;
    assert_eq!(delegated.wait, WaitEnd::Met);
    assert_eq!(delegated.task.pending_question, Pending::Something);
    assert_eq!(delegated.task.status, TaskStatus::Running);
    let child = Child::of(&delegated.task);
    assert_eq!(bench.task(&child.task).wake, WakePolicy::Always);

    bench.answers(&child.talk(), "done").await;
    assert_eq!(bench.wakes_of(&parent.thread, &child.task).len(), 1);
    bench.turn_ends(&parent, TurnOutcome::Completed).await;
    assert_eq!(bench.wakes_of(&parent.thread, &child.task).len(), 1);
}

#[tokio::test]
async fn an_approval_and_a_question_that_does_not_block_leave_the_wait_open() {
    let cases: [(Blocking, Prompt); 3] = [
        (Blocking::NonBlocking, question()),
        (Blocking::Blocking, approval()),
        (Blocking::NonBlocking, approval()),
    ];
    for (blocking, prompt) in cases {
        let bench = Bench::new().await;
        let parent = bench.working("go").await;
        let mut wait = Box::pin(bench.try_delegate(&parent, waiting("look", LONG)));
        let asks = async {
            let child = only_child(&bench, &parent).await;
            bench.turn_starts(&child.talk()).await;
            bench
                .asks(&child.talk(), "request-1", blocking, prompt.clone())
                .await;
            child
        };
        let child = tokio::select! {
            biased;
            answer = &mut wait => panic!("ended by {prompt:?}: {answer:?}"),
            child = asks => child,
        };
        assert!(is_open(&mut wait).await, "{prompt:?}");
        let request = RequestId::new("request-1");
        assert!(bench.reader().request(&request).unwrap().is_some());
        let talk = child.talk();
        let (delegated, ()) = tokio::join!(wait, bench.answers(&talk, "done"));
        let task = delegated.unwrap().task;
        assert_eq!(task.pending_question, Pending::Nothing);
        assert_eq!(task.summary.as_deref(), Some("done"));
    }
}

/// Delegates with a wait whose time runs out. The clock of the waits stands still but when nothing else
/// can happen; then it jumps to the deadline.
async fn timed_out(bench: &Bench, parent: &Talk, millis: u64) -> (Delegated, Duration) {
    // The store answers from a thread of its own, which a standing clock does not wait for: so the task
    // is made before, and the wait joins it by its key.
    let request = |wait| threads::service::DelegateRequest {
        call: call(Some("timed"), "timed"),
        ..waiting("look", wait)
    };
    let made = bench
        .try_delegate(parent, request(WaitMode::WaitMs(1)))
        .await;
    let made = made.unwrap();
    assert_eq!(made.wait, WaitEnd::TimedOut);
    bench.turn_starts(&Child::of(&made.task).talk()).await;
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let wait = request(WaitMode::WaitMs(millis));
    let delegated = bench.try_delegate(parent, wait).await.unwrap();
    let took = begun.elapsed();
    tokio::time::resume();
    (delegated, took)
}

#[tokio::test]
async fn a_wait_takes_the_time_it_was_given_and_no_more_than_an_hour() {
    for (asked, waited) in [
        (0, 1),
        (1, 1),
        (600_000, 600_000),
        (WAIT_MS_MAX - 1, WAIT_MS_MAX - 1),
        (WAIT_MS_MAX, WAIT_MS_MAX),
        (WAIT_MS_MAX + 1, WAIT_MS_MAX),
        (u64::MAX, WAIT_MS_MAX),
    ] {
        let bench = Bench::new().await;
        let parent = bench.working("go").await;
        let (delegated, took) = timed_out(&bench, &parent, asked).await;
        assert_eq!(delegated.wait, WaitEnd::TimedOut, "{asked}");
        let millis = u64::try_from(took.as_millis()).unwrap();
        assert!((waited..=waited + 2).contains(&millis), "{asked}: {took:?}");
    }
}

#[tokio::test]
async fn a_wait_that_times_out_leaves_the_child_alone_and_its_end_wakes_the_parent_once() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let delegated = bench.try_delegate(&parent, waiting("look", WaitMode::WaitMs(1)));
    let delegated = delegated.await.unwrap();
    assert_eq!(delegated.wait, WaitEnd::TimedOut);
    assert_eq!(delegated.task.status, TaskStatus::Running);
    let child = Child::of(&delegated.task);
    assert_eq!(bench.task(&child.task).wake, WakePolicy::Always);
    bench.turn_starts(&child.talk()).await;
    bench.answers(&child.talk(), "late").await;
    // Queued behind the parent's turn, then told.
    let queued = bench.wakes_of(&parent.thread, &child.task);
    assert_eq!(queued.len(), 1);
    assert_eq!(queued[0].status, RunStatus::Queued);
    bench.turn_ends(&parent, TurnOutcome::Completed).await;
    let (run, text) = bench.providers.turn_number(&parent.thread, 2).await;
    assert_eq!(run, queued[0].id);
    assert!(text.contains(child.task.as_str()), "{text}");
    let woken = Talk {
        thread: parent.thread.clone(),
        run,
    };
    bench.turn_starts(&woken).await;
    assert_eq!(bench.delivery(&child.task).state, DeliveryState::Delivered);
    bench.turn_ends(&woken, TurnOutcome::Completed).await;
    assert_eq!(bench.wakes_of(&parent.thread, &child.task).len(), 1);
    bench.check();
}

#[tokio::test]
async fn a_caller_that_goes_away_is_woken_as_if_its_time_had_run_out() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let agent = bench.agent(&parent.thread);
    let gone = CancellationToken::new();
    let (delegated, child) = tokio::join!(
        bench
            .service
            .delegate(&agent, waiting("look", LONG), gone.clone()),
        async {
            let child = only_child(&bench, &parent).await;
            bench.turn_starts(&child.talk()).await;
            gone.cancel();
            child
        }
    );
    let delegated = delegated.unwrap();
    assert_eq!(delegated.wait, WaitEnd::TimedOut);
    assert_eq!(
        delegated.task.status,
        TaskStatus::Running,
        "the work goes on"
    );
    assert_eq!(bench.task(&child.task).wake, WakePolicy::Always);
    bench.answers(&child.talk(), "late").await;
    assert_eq!(
        bench.wakes_of(&parent.thread, &child.task).len(),
        1,
        "queued at once: its turn may go on for hours"
    );
    bench.turn_ends(&parent, TurnOutcome::Completed).await;
    assert_eq!(bench.wakes_of(&parent.thread, &child.task).len(), 1);
}

#[tokio::test]
async fn a_result_nobody_is_there_to_take_is_not_read() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let agent = bench.agent(&parent.thread);
    let request = || threads::service::DelegateRequest {
        call: call(Some("k"), "a"),
        ..waiting("look", LONG)
    };
    let gone = CancellationToken::new();
    gone.cancel();
    let cut = bench.service.delegate(&agent, request(), gone.clone());
    let child = Child::of(&cut.await.unwrap().task);
    bench.turn_starts(&child.talk()).await;
    bench.answers(&child.talk(), "done").await;
    // Called again, and gone again before the result is there for it.
    let again = bench.service.delegate(&agent, request(), gone).await;
    assert_eq!(again.unwrap().wait, WaitEnd::TimedOut);
    assert_ne!(
        bench.delivery(&child.task).state,
        DeliveryState::Acknowledged
    );
    bench.turn_ends(&parent, TurnOutcome::Completed).await;
    assert_eq!(bench.wakes_of(&parent.thread, &child.task).len(), 1);
}

#[tokio::test]
async fn a_parent_that_is_stopped_while_it_waits_gets_its_answer_and_no_wake() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let delegated = wait_while(&bench, &parent, async |child| {
        let stopped = bench.service.stop(&PERSON, &parent.thread, None).await;
        assert_eq!(stopped.unwrap(), 2);
        bench
            .turn_ends(&child.talk(), TurnOutcome::Interrupted)
            .await;
        bench.turn_ends(&parent, TurnOutcome::Interrupted).await;
    });
    let task = delegated.await.task;
    assert_eq!(task.status, TaskStatus::Interrupted);
    assert_eq!(bench.wakes_of(&parent.thread, &task.task_id), []);
}

#[tokio::test]
async fn many_waits_of_one_parent_end_each_with_its_own_child() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let waits = (0..8).map(|at| {
        let request = waiting(&format!("look {at}"), LONG);
        let delegate = bench.try_delegate(&parent, request);
        async move { (at, delegate.await.unwrap()) }
    });
    let answers = async {
        let all = |reader: &threads::store::Reader| reader.tasks_of(&parent.thread).unwrap();
        bench
            .until("8 tasks", |reader| all(reader).len() == 8)
            .await;
        for task in all(&bench.reader()).into_iter().rev() {
            let talk = Talk {
                thread: task.child_thread_id,
                run: task.child_run_id,
            };
            bench.turn_starts(&talk).await;
            bench.answers(&talk, &format!("did {}", task.prompt)).await;
        }
    };
    let (ended, ()) = tokio::join!(futures::future::join_all(waits), answers);
    for (at, delegated) in ended {
        let expected = format!("did look {at}");
        assert_eq!(delegated.task.summary.as_deref(), Some(expected.as_str()));
    }
}

#[tokio::test]
async fn a_wait_on_a_host_that_goes_down_ends() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let agent = bench.agent(&parent.thread);
    let service = bench.service.clone();
    let wait = tokio::spawn(async move {
        let token = CancellationToken::new();
        service.delegate(&agent, waiting("look", LONG), token).await
    });
    only_child(&bench, &parent).await;
    bench.stop().await;
    assert_eq!(code(wait.await.unwrap()), DenialCode::StorageUnavailable);
}
