//! Messages of people to threads, and stopping threads.

use domain::command::{SendMode, Sent};
use domain::error::{Denial, DenialCode};
use domain::ids::ThreadId;
use domain::limits::{PROMPT_UNITS_MAX, REASON_UNITS_MAX};
use domain::message::Provenance;
use domain::provider::Steering;
use domain::provider_event::{Failure, FailureClass, ProviderEvent, TurnOutcome};
use domain::run::{QueueState, RunStatus};
use domain::task::TaskStatus;
use domain::view::View;
use threads::ports::{Conversation, ProviderWork};
use threads::service::{ObservedState, SentMessage};

use super::bench::*;
use crate::support::fake_providers::instance;

async fn send(
    bench: &Bench,
    thread: &ThreadId,
    text: &str,
    mode: SendMode,
) -> Result<SentMessage, Denial> {
    let sent = bench.service.send(&PERSON, thread, text.to_owned(), mode);
    sent.await
}

/// What a thread is doing when the message comes.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    BeingHandedOver,
    Working,
    Stopping,
    Done,
}

async fn thread_that_is(bench: &Bench, doing: Doing) -> Talk {
    if let Doing::Nothing | Doing::BeingHandedOver = doing {
        let prompt = matches!(doing, Doing::BeingHandedOver).then(|| "go".to_owned());
        let created = bench.service.create_thread(
            &PERSON,
            threads::service::NewThread {
                prompt,
                ..new_thread()
            },
        );
        let created = created.await.unwrap();
        return Talk {
            thread: created.thread_id,
            run: created
                .run_id
                .unwrap_or_else(|| domain::ids::RunId::new("none")),
        };
    }
    let talk = bench.working("go").await;
    match doing {
        Doing::Stopping => {
            let stopped = bench.service.stop(&PERSON, &talk.thread, None).await;
            assert_eq!(stopped.unwrap(), 1);
        }
        Doing::Done => bench.turn_ends(&talk, TurnOutcome::Completed).await,
        _ => {}
    }
    talk
}

#[tokio::test]
async fn what_becomes_of_a_message_by_its_mode_and_what_the_thread_is_doing() {
    use Doing::{BeingHandedOver, Done, Nothing, Stopping, Working};
    use SendMode::{Auto, Queue, Steer};
    use Sent::{Queued, Started, Steered};
    for (doing, mode, steering, expected) in [
        (Nothing, Auto, Steering::Native, Some(Started)),
        (Nothing, Queue, Steering::Native, Some(Started)),
        (Nothing, Steer, Steering::Native, None),
        (BeingHandedOver, Auto, Steering::Native, Some(Queued)),
        (BeingHandedOver, Steer, Steering::Native, None),
        (Working, Auto, Steering::Native, Some(Steered)),
        (Working, Queue, Steering::Native, Some(Queued)),
        (Working, Steer, Steering::Native, Some(Steered)),
        (Working, Auto, Steering::None, Some(Queued)),
        (Working, Steer, Steering::None, None),
        (Stopping, Auto, Steering::Native, Some(Queued)),
        (Stopping, Steer, Steering::Native, None),
        (Done, Auto, Steering::Native, Some(Started)),
        (Done, Queue, Steering::Native, Some(Started)),
        (Done, Steer, Steering::Native, None),
    ] {
        let bench = Bench::new().await;
        let mut own = instance(OWN, "codex", &[]);
        own.steering = steering;
        bench.providers.show(own);
        let talk = thread_that_is(&bench, doing).await;
        let what = format!("{doing:?} {mode:?} {steering:?}");
        let before = bench.stored();
        match (send(&bench, &talk.thread, "more", mode).await, expected) {
            (Ok(sent), Some(expected)) => {
                assert_eq!(sent.delivery, expected, "{what}");
                let run = bench.run(&sent.run_id);
                assert_eq!(run.status, sent.status, "{what}");
                let message = bench.reader().message(&sent.message_id);
                let message = message.unwrap().unwrap();
                assert_eq!(message.run_id.as_ref(), Some(&sent.run_id));
                assert_eq!(message.provenance, Provenance::person_at_command_line());
            }
            (Err(denial), None) => {
                assert_eq!(denial.code, DenialCode::ThreadNotSendable, "{what}");
                assert_eq!(bench.stored(), before, "{what}");
            }
            (found, _) => panic!("{what}: {found:?}"),
        }
    }
}

#[tokio::test]
async fn messages_that_wait_are_worked_on_in_order() {
    let bench = Bench::new().await;
    let first = bench.working("one").await;
    let mut runs = vec![first.run.clone()];
    for text in ["two", "three"] {
        let sent = send(&bench, &first.thread, text, SendMode::Queue).await;
        runs.push(sent.unwrap().run_id);
    }
    for (at, text) in ["one", "two", "three"].iter().enumerate() {
        let (run, told) = bench.providers.turn_number(&first.thread, at + 1).await;
        assert_eq!((&run, told.as_str()), (&runs[at], *text));
        let talk = Talk {
            thread: first.thread.clone(),
            run,
        };
        if at > 0 {
            bench.turn_starts(&talk).await;
        }
        assert_eq!(bench.providers.turns_of(&first.thread).len(), at + 1);
        bench.turn_ends(&talk, TurnOutcome::Completed).await;
    }
}

#[tokio::test]
async fn a_later_turn_takes_up_the_same_conversation() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    let (opening, _) = bench.providers.turn(&talk.run).await;
    assert_eq!(
        (opening.conversation, opening.native),
        (Conversation::New, None)
    );
    bench.turn_ends(&talk, TurnOutcome::Completed).await;
    let sent = send(&bench, &talk.thread, "more", SendMode::Auto).await;
    let (opening, _) = bench.providers.turn(&sent.unwrap().run_id).await;
    assert_eq!(opening.conversation, Conversation::Begun);
    let native = opening.native.unwrap().id;
    assert_eq!(native, format!("native-{}", talk.thread));
}

#[tokio::test]
async fn a_steer_that_is_refused_becomes_a_run_of_its_own() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    let sent = send(&bench, &talk.thread, "left", SendMode::Auto).await;
    let message = sent.unwrap().message_id;
    let text = bench
        .providers
        .given(|work| match work {
            ProviderWork::Steer {
                message_id, text, ..
            } if *message_id == message => Some(text.clone()),
            _ => None,
        })
        .await;
    assert_eq!(text, "left");
    let refusal = Failure {
        class: FailureClass::ValidationError,
        message: "the turn is compacting".to_owned(),
        code: None,
        retryable: Some(true),
    };
    let refused = ProviderEvent::SteerEnded {
        run_id: talk.run.clone(),
        message_id: message,
        refusal: Some(refusal),
    };
    bench.report(&talk.thread, refused).await;
    bench.turn_ends(&talk, TurnOutcome::Completed).await;
    let (_, text) = bench.providers.turn_number(&talk.thread, 2).await;
    assert_eq!(text, "left");
}

#[tokio::test]
async fn a_message_that_cannot_be_taken_is_refused_and_not_stored() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    let unknown = ThreadId::new("thread-unknown");
    let long = "x".repeat(PROMPT_UNITS_MAX + 1);
    for (thread, text, expected) in [
        (&unknown, "more", DenialCode::ThreadNotFound),
        (&talk.thread, "", DenialCode::InvalidRequest),
        (&talk.thread, " \n", DenialCode::InvalidRequest),
        (&talk.thread, long.as_str(), DenialCode::InvalidRequest),
    ] {
        let before = bench.stored();
        let refused = send(&bench, thread, text, SendMode::Auto).await;
        assert_eq!(code(refused), expected);
        assert_eq!(bench.stored(), before);
    }
}

// -------------------------------------------------------------------- stopping

#[tokio::test]
async fn stopping_a_thread_stops_its_run_its_queue_and_everything_it_delegated() {
    let bench = Bench::new().await;
    let top = bench.working("go").await;
    let child = bench.delegate_working(&top, "one").await;
    let grandchild = bench.delegate_working(&child.talk(), "two").await;
    let queued = send(&bench, &top.thread, "later", SendMode::Queue).await;
    let queued = queued.unwrap().run_id;
    let other = bench.working("go").await;
    let met = bench
        .service
        .stop(&PERSON, &top.thread, Some("enough".to_owned()));
    assert_eq!(met.await.unwrap(), 4);
    let held = bench.run(&queued);
    assert_eq!(
        (held.status, held.queue),
        (RunStatus::Queued, QueueState::Held)
    );
    for talk in [&grandchild.talk(), &child.talk(), &top] {
        let reason = bench.providers.given(|work| match work {
            ProviderWork::Interrupt { run_id, reason, .. } if *run_id == talk.run => {
                Some(reason.clone())
            }
            _ => None,
        });
        assert_eq!(reason.await, "enough");
        bench.turn_ends(talk, TurnOutcome::Interrupted).await;
    }
    for task in [&child.task, &grandchild.task] {
        let result = bench.task(task).result.unwrap();
        assert_eq!(result.status, TaskStatus::Interrupted);
    }
    for thread in [&top.thread, &child.thread, &grandchild.thread] {
        assert_eq!(bench.providers.turns_of(thread).len(), 1, "nothing wakes");
    }
    let detail = bench.service.thread(&PERSON, &top.thread, 0, 1).await;
    assert_eq!(detail.unwrap().row.state, ObservedState::Stopped);
    assert_eq!(bench.run(&other.run).status, RunStatus::Running);
    // A message after the stop runs before what is held.
    let sent = send(&bench, &top.thread, "now", SendMode::Auto).await;
    assert_eq!(sent.unwrap().delivery, Sent::Started);
    assert_eq!(bench.run(&queued).status, RunStatus::Queued);
    bench.check();
}

#[tokio::test]
async fn what_a_stop_held_back_goes_on_when_a_person_says_so() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    for text in ["two", "three"] {
        send(&bench, &talk.thread, text, SendMode::Queue)
            .await
            .unwrap();
    }
    let met = bench.service.stop(&PERSON, &talk.thread, None).await;
    assert_eq!(met.unwrap(), 3);
    bench.turn_ends(&talk, TurnOutcome::Interrupted).await;
    assert_eq!(bench.providers.turns_of(&talk.thread).len(), 1);
    let resume = || bench.service.resume(&PERSON, &talk.thread);
    assert_eq!(resume().await.unwrap(), 2);
    let (_, text) = bench.providers.turn_number(&talk.thread, 2).await;
    assert_eq!(text, "two");
    assert_eq!(resume().await.unwrap(), 0, "nothing is held any more");
    let unknown = ThreadId::new("thread-unknown");
    let refused = bench.service.resume(&PERSON, &unknown).await;
    assert_eq!(code(refused), DenialCode::ThreadNotFound);
}

#[tokio::test]
async fn stopping_what_does_not_run_meets_nothing() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    bench.turn_ends(&talk, TurnOutcome::Completed).await;
    let met = bench.service.stop(&PERSON, &talk.thread, None).await;
    assert_eq!(met.unwrap(), 0);
    let unknown = ThreadId::new("thread-unknown");
    let refused = bench.service.stop(&PERSON, &unknown, None).await;
    assert_eq!(code(refused), DenialCode::ThreadNotFound);
    let long = Some("x".repeat(REASON_UNITS_MAX + 1));
    let refused = bench.service.stop(&PERSON, &talk.thread, long).await;
    assert_eq!(code(refused), DenialCode::InvalidRequest);
}

#[tokio::test]
async fn a_failed_stop_is_still_a_stop() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    bench
        .service
        .stop(&PERSON, &talk.thread, None)
        .await
        .unwrap();
    bench.turn_ends(&talk, failure("the process is gone")).await;
    assert_eq!(bench.run(&talk.run).status, RunStatus::Interrupted);
}
