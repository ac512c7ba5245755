//! Reading a task, and cancelling one with everything below it.

use domain::command::CancelOutcome;
use domain::error::DenialCode;
use domain::ids::{RunId, TaskId};
use domain::limits::REASON_UNITS_MAX;
use domain::provider_event::TurnOutcome;
use domain::run::{EndReason, RunStatus};
use domain::task::{DeliveryState, TaskStatus};
use domain::view::View;
use threads::ports::ProviderWork;
use threads::service::{Cancelled, ObservedState};

use super::bench::*;

async fn cancel(bench: &Bench, parent: &Talk, task: &TaskId) -> Cancelled {
    let agent = bench.agent(&parent.thread);
    let cancelled = bench
        .service
        .task_cancel(&agent, task, None, call(None, "cancel"));
    cancelled.await.unwrap()
}

/// Waits until the provider was told to end this run, and with which words.
async fn interrupted(bench: &Bench, run: &RunId) -> String {
    bench
        .providers
        .given(|work| match work {
            ProviderWork::Interrupt { run_id, reason, .. } if run_id == run => Some(reason.clone()),
            _ => None,
        })
        .await
}

// -------------------------------------------------------------------- reading

#[tokio::test]
async fn reading_a_task_that_goes_on_changes_nothing() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    let before = bench.stored();
    let view = bench.status(&parent.thread, &child.task).await;
    assert_eq!(view.status, TaskStatus::Running);
    assert_eq!(bench.stored(), before);
}

#[tokio::test]
async fn reading_an_ended_task_withdraws_its_queued_wake() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    bench.answers(&child.talk(), "found it").await;
    let queued = bench.wakes_of(&parent.thread, &child.task);
    assert_eq!(queued.len(), 1);
    let view = bench.status(&parent.thread, &child.task).await;
    assert_eq!(view.summary.as_deref(), Some("found it"));
    assert_eq!(bench.run(&queued[0].id).status, RunStatus::Cancelled);
    let delivery = bench.delivery(&child.task);
    assert_eq!(delivery.state, DeliveryState::Acknowledged);
    assert_eq!(delivery.observed_by_run_id.as_ref(), Some(&parent.run));
    // A second reading reads the same and writes nothing.
    let before = bench.stored();
    assert_eq!(bench.status(&parent.thread, &child.task).await, view);
    assert_eq!(bench.stored(), before);

    bench.turn_ends(&parent, TurnOutcome::Completed).await;
    assert_eq!(bench.providers.turns_of(&parent.thread).len(), 1);
    let detail = bench
        .service
        .thread(&PERSON, &parent.thread, 0, 100)
        .await
        .unwrap();
    assert_eq!(
        detail.row.state,
        ObservedState::Completed,
        "a wake that never was does not count"
    );
    assert_eq!(detail.row.latest_run.unwrap().id, parent.run);
    bench.check();
}

#[tokio::test]
async fn reading_one_of_two_tasks_leaves_the_other_in_the_wake() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let read = bench.delegate_working(&parent, "look").await;
    let unread = bench.delegate_working(&parent, "look").await;
    for child in [&read, &unread] {
        bench.answers(&child.talk(), "secret of the child").await;
    }
    bench.status(&parent.thread, &read.task).await;
    bench.turn_ends(&parent, TurnOutcome::Completed).await;
    let (_, text) = bench.providers.turn_number(&parent.thread, 2).await;
    assert!(text.contains(unread.task.as_str()), "{text}");
    assert!(!text.contains(read.task.as_str()), "{text}");
    assert!(
        !text.contains("secret"),
        "a wake never carries a result: {text}"
    );
    assert_eq!(bench.wakes_of(&parent.thread, &unread.task).len(), 1);
}

#[tokio::test]
async fn a_task_of_another_thread_is_as_unknown_as_one_that_never_was() {
    let bench = Bench::new().await;
    let (mine, other) = (bench.working("go").await, bench.working("go").await);
    let theirs = bench.delegate_working(&other, "look").await.task;
    let agent = bench.agent(&mine.thread);
    let before = bench.stored();
    let mut texts = Vec::new();
    for id in [theirs, TaskId::new("task-unknown")] {
        let read = bench.service.task_status(&agent, &id).await.unwrap_err();
        let key = call(None, "cancel");
        let cancelled = bench.service.task_cancel(&agent, &id, None, key).await;
        let cancelled = cancelled.unwrap_err();
        for denial in [&read, &cancelled] {
            assert_eq!(denial.code, DenialCode::TaskNotFound);
        }
        texts.push((
            read.message.replace(id.as_str(), "ID"),
            cancelled.message.replace(id.as_str(), "ID"),
        ));
    }
    assert_eq!(texts[0], texts[1]);
    assert_eq!(bench.stored(), before);
}

#[tokio::test]
async fn a_grandchild_is_its_parents_task_and_nobody_elses() {
    let bench = Bench::new().await;
    let top = bench.working("go").await;
    let child = bench.delegate_working(&top, "look").await;
    let grandchild = bench.delegate_working(&child.talk(), "deeper").await;
    let agent = bench.agent(&top.thread);
    let read = bench.service.task_status(&agent, &grandchild.task).await;
    assert_eq!(code(read), DenialCode::TaskNotFound);
    bench.status(&child.thread, &grandchild.task).await;
}

// -------------------------------------------------------------------- cancelling

#[tokio::test]
async fn cancelling_interrupts_the_child_and_no_wake_follows() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    let agent = bench.agent(&parent.thread);
    let reason = Some("found it myself".to_owned());
    let key = call(None, "cancel");
    let cancelled = bench
        .service
        .task_cancel(&agent, &child.task, reason, key)
        .await
        .unwrap();
    assert_eq!(cancelled.task_id, child.task);
    assert_eq!(cancelled.outcome, CancelOutcome::Requested);
    assert!(!cancelled.request_key.is_empty());
    assert_eq!(interrupted(&bench, &child.run).await, "found it myself");
    // Until its provider has ended it, it may still be writing.
    let view = bench.status(&parent.thread, &child.task).await;
    assert_eq!(view.status, TaskStatus::Running);
    bench
        .turn_ends(&child.talk(), TurnOutcome::Interrupted)
        .await;
    let view = bench.status(&parent.thread, &child.task).await;
    assert_eq!(view.status, TaskStatus::Interrupted);
    let reason = EndReason::Stopped("found it myself".to_owned());
    assert_eq!(bench.run(&child.run).reason, Some(reason));
    bench.turn_ends(&parent, TurnOutcome::Completed).await;
    assert_eq!(bench.wakes_of(&parent.thread, &child.task), []);
    assert_eq!(bench.providers.turns_of(&parent.thread).len(), 1);
    bench.check();
}

#[tokio::test]
async fn a_child_can_be_cancelled_before_its_provider_said_a_word() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate(&parent, "look").await;
    let outcome = cancel(&bench, &parent, &child.task).await.outcome;
    assert_eq!(outcome, CancelOutcome::Requested);
    interrupted(&bench, &child.run).await;
    bench
        .turn_ends(&child.talk(), TurnOutcome::Interrupted)
        .await;
    let view = bench.status(&parent.thread, &child.task).await;
    assert_eq!(view.status, TaskStatus::Interrupted);
}

#[tokio::test]
async fn a_cancel_that_comes_late_says_how_the_task_ended_and_drops_its_wake() {
    for (outcome, status) in [
        (TurnOutcome::Completed, TaskStatus::Completed),
        (failure("no"), TaskStatus::Failed),
        (TurnOutcome::Interrupted, TaskStatus::Interrupted),
    ] {
        let bench = Bench::new().await;
        let parent = bench.working("go").await;
        let child = bench.delegate_working(&parent, "look").await;
        bench.says(&child.talk(), "found it").await;
        bench.turn_ends(&child.talk(), outcome).await;
        assert_eq!(bench.wakes_of(&parent.thread, &child.task).len(), 1);
        let cancelled = cancel(&bench, &parent, &child.task).await;
        assert_eq!(cancelled.outcome, CancelOutcome::Ended(status));
        assert_eq!(bench.wakes_of(&parent.thread, &child.task), []);
        let view = bench.status(&parent.thread, &child.task).await;
        assert!(view.summary.is_some(), "a finished result stays readable");
        bench.turn_ends(&parent, TurnOutcome::Completed).await;
        assert_eq!(bench.providers.turns_of(&parent.thread).len(), 1);
    }
}

#[tokio::test]
async fn cancelling_reaches_everything_the_child_delegated_three_deep() {
    let bench = Bench::new().await;
    let top = bench.working("go").await;
    let one = bench.delegate_working(&top, "one").await;
    let two = bench.delegate_working(&one.talk(), "two").await;
    let three = bench.delegate_working(&two.talk(), "three").await;
    let beside = bench.delegate_working(&top, "beside").await;
    let outcome = cancel(&bench, &top, &one.task).await.outcome;
    assert_eq!(outcome, CancelOutcome::Requested);
    for child in [&one, &two, &three] {
        interrupted(&bench, &child.run).await;
    }
    assert_eq!(bench.run(&beside.run).status, RunStatus::Running);
    assert_eq!(bench.run(&beside.run).reason, None);

    // Whichever ends first, nothing below the cancelled task starts again.
    for child in [&two, &one, &three] {
        bench
            .turn_ends(&child.talk(), TurnOutcome::Interrupted)
            .await;
    }
    for child in [&one, &two, &three] {
        let task = bench.task(&child.task);
        assert_eq!(task.result.unwrap().status, TaskStatus::Interrupted);
        assert_eq!(bench.providers.turns_of(&child.thread).len(), 1);
        let open = bench.reader().open_runs_of(&child.thread).unwrap();
        assert_eq!(open, []);
    }
    bench.answers(&beside.talk(), "found it").await;
    bench.turn_ends(&top, TurnOutcome::Completed).await;
    let (_, text) = bench.providers.turn_number(&top.thread, 2).await;
    assert!(text.contains(beside.task.as_str()), "{text}");
    assert!(!text.contains(one.task.as_str()), "{text}");
    bench.check();
}

#[tokio::test]
async fn a_child_that_only_waits_for_its_own_children_can_be_cancelled() {
    let bench = Bench::new().await;
    let top = bench.working("go").await;
    let child = bench.delegate_working(&top, "one").await;
    let grandchild = bench.delegate_working(&child.talk(), "two").await;
    bench.answers(&child.talk(), "started it").await;
    let outcome = cancel(&bench, &top, &child.task).await.outcome;
    assert_eq!(outcome, CancelOutcome::Requested);
    interrupted(&bench, &grandchild.run).await;
    bench
        .turn_ends(&grandchild.talk(), TurnOutcome::Interrupted)
        .await;
    let view = bench.status(&top.thread, &child.task).await;
    assert!(view.status.is_terminal(), "{view:?}");
    assert_eq!(bench.providers.turns_of(&child.thread).len(), 1);
}

#[tokio::test]
async fn nothing_is_delegated_under_a_stop() {
    let bench = Bench::new().await;
    let top = bench.working("go").await;
    let child = bench.delegate_working(&top, "one").await;
    cancel(&bench, &top, &child.task).await;
    // The child's agent has not heard of it yet.
    let late = bench.try_delegate(&child.talk(), asking("late")).await;
    assert_eq!(code(late), DenialCode::ParentNotActive);
    assert_eq!(bench.reader().tasks_of(&child.thread).unwrap(), []);
}

#[tokio::test]
async fn a_cancels_reason_has_its_bound() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    let agent = bench.agent(&parent.thread);
    for (units, fits) in [(REASON_UNITS_MAX + 1, false), (REASON_UNITS_MAX, true)] {
        let reason = Some("x".repeat(units));
        let key = call(None, "cancel");
        let answer = bench
            .service
            .task_cancel(&agent, &child.task, reason, key)
            .await;
        assert_eq!(answer.is_ok(), fits, "{units}");
        if let Err(denial) = answer {
            assert_eq!(denial.code, DenialCode::InvalidRequest);
        }
    }
}
