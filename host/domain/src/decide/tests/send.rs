//! Messages: start, queue, steer, or a refusal.

use crate::command::{Answer, Command, SendMessage, SendMode, Sent};
use crate::effect::Effect;
use crate::error::DenialCode::{self, *};
use crate::ids::{MessageId, ThreadId};
use crate::item::ItemKind;
use crate::limits::PROMPT_UNITS_MAX;
use crate::provider::Steering;
use crate::run::{RunPurpose, RunStatus};
use crate::time::Timestamp;

use super::world::{World, started};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Thread {
    Idle,
    Starting,
    Running,
    Stopping,
    Held,
    Ended,
}

fn thread_in(world: &mut World, state: Thread) -> ThreadId {
    if state == Thread::Idle {
        return world.idle_thread();
    }
    let talk = world.starting();
    match state {
        Thread::Idle | Thread::Starting => {}
        Thread::Running => drop(world.start(&talk.run)),
        Thread::Stopping => {
            world.start(&talk.run);
            world.stop(&talk.thread);
        }
        Thread::Held => {
            world.start(&talk.run);
            world.send(&talk.thread);
            world.stop(&talk.thread);
            world.complete(&talk.run);
            assert_eq!(world.held(&talk.thread).len(), 1);
        }
        Thread::Ended => drop(world.finish(&talk.run, "Done.")),
    }
    talk.thread
}

#[test]
fn what_becomes_of_a_message_depends_on_the_thread_the_mode_and_the_provider() {
    use SendMode::{Auto, Queue, Steer};
    use Sent::{Queued, Started, Steered};
    use Steering::{Native, None, Restart};
    const NO: Result<Sent, DenialCode> = Err(ThreadNotSendable);
    for (state, mode, steering, expected) in [
        (Thread::Idle, Auto, Native, Ok(Started)),
        (Thread::Idle, Queue, Native, Ok(Started)),
        (Thread::Idle, Steer, Native, NO),
        (Thread::Starting, Auto, Native, Ok(Queued)),
        (Thread::Starting, Queue, Native, Ok(Queued)),
        (Thread::Starting, Steer, Native, NO),
        (Thread::Running, Auto, Native, Ok(Steered)),
        (Thread::Running, Auto, Restart, Ok(Queued)),
        (Thread::Running, Auto, None, Ok(Queued)),
        (Thread::Running, Queue, Native, Ok(Queued)),
        (Thread::Running, Steer, Native, Ok(Steered)),
        (Thread::Running, Steer, Restart, NO),
        (Thread::Running, Steer, None, NO),
        // A turn that is being stopped would swallow the message.
        (Thread::Stopping, Auto, Native, Ok(Queued)),
        (Thread::Stopping, Queue, Native, Ok(Queued)),
        (Thread::Stopping, Steer, Native, NO),
        (Thread::Held, Auto, Native, Ok(Started)),
        (Thread::Held, Queue, Native, Ok(Started)),
        (Thread::Held, Steer, Native, NO),
        (Thread::Ended, Auto, Native, Ok(Started)),
        (Thread::Ended, Queue, None, Ok(Started)),
        (Thread::Ended, Steer, Native, NO),
    ] {
        let name = format!("{state:?} {mode:?} {steering:?}");
        let mut world = World::new();
        let thread = thread_in(&mut world, state);
        let send = SendMessage {
            steering,
            ..world.message_to(&thread, "Go on.", mode)
        };
        let before = world.open_runs(&thread).len();
        match world.try_run(&Command::SendMessage(send)) {
            Err(denial) => assert_eq!(Err(denial.code), expected, "{name}"),
            Ok(decision) => {
                let Answer::Sent {
                    message_id,
                    run_id,
                    status,
                    delivery,
                } = decision.answer
                else {
                    panic!("{name}")
                };
                assert_eq!(Ok(delivery), expected, "{name}");
                assert_eq!(
                    world.status(&run_id),
                    status,
                    "{name}: the answer tells the truth"
                );
                let message = &world.view.messages[&message_id];
                assert_eq!(message.run_id.as_ref(), Some(&run_id), "{name}");
                let joined = usize::from(delivery != Sent::Steered);
                assert_eq!(world.open_runs(&thread).len(), before + joined, "{name}");
                let expected = match delivery {
                    Started => vec![Effect::StartTurn {
                        thread_id: thread.clone(),
                        run_id,
                    }],
                    Queued => Vec::new(),
                    Steered => vec![Effect::Steer {
                        thread_id: thread.clone(),
                        run_id,
                        message_id,
                    }],
                };
                assert_eq!(decision.effects, expected, "{name}");
                let shown = world.items(&thread, ItemKind::UserMessage);
                let visible = shown.iter().any(|item| item.text == "Go on.");
                assert_eq!(
                    visible,
                    delivery != Queued,
                    "{name}: shown when the agent gets it"
                );
            }
        }
    }
}

#[test]
fn a_message_says_something_within_its_bound() {
    let clef = "\u{1d11e}";
    for (name, text, taken) in [
        ("empty", String::new(), false),
        ("blank", " \n\t".to_owned(), false),
        ("one letter", "a".to_owned(), true),
        (
            "one below the bound",
            "a".repeat(PROMPT_UNITS_MAX - 1),
            true,
        ),
        ("at the bound", "a".repeat(PROMPT_UNITS_MAX), true),
        ("one above", "a".repeat(PROMPT_UNITS_MAX + 1), false),
        (
            "two units each, at the bound",
            clef.repeat(PROMPT_UNITS_MAX / 2),
            true,
        ),
        (
            "two units each, above",
            clef.repeat(PROMPT_UNITS_MAX / 2 + 1),
            false,
        ),
        (
            "two bytes each, at the bound",
            "\u{e9}".repeat(PROMPT_UNITS_MAX),
            true,
        ),
    ] {
        let mut world = World::new();
        let thread = world.idle_thread();
        let send = world.message_to(&thread, &text, SendMode::Auto);
        let code = world
            .try_run(&Command::SendMessage(send))
            .err()
            .map(|denial| denial.code);
        assert_eq!(code, (!taken).then_some(InvalidRequest), "{name}");
    }
}

#[test]
fn archived_deleted_and_unknown_threads_take_no_message() {
    let mut world = World::new();
    let at = Some(Timestamp::from_millis(1));
    let (archived, deleted, both) = (
        world.idle_thread(),
        world.idle_thread(),
        world.idle_thread(),
    );
    world
        .view
        .threads
        .get_mut(&archived)
        .expect("thread")
        .archived_at = at;
    world
        .view
        .threads
        .get_mut(&deleted)
        .expect("thread")
        .deleted_at = at;
    let thread = world.view.threads.get_mut(&both).expect("thread");
    (thread.archived_at, thread.deleted_at) = (at, at);
    for (thread, code) in [
        (archived, ThreadNotSendable),
        (deleted, ThreadNotFound),
        (both, ThreadNotFound),
        (ThreadId::new("thread-x"), ThreadNotFound),
    ] {
        for mode in [SendMode::Auto, SendMode::Queue, SendMode::Steer] {
            let send = world.message_to(&thread, "Go on.", mode);
            assert_eq!(
                world.deny(Command::SendMessage(send)),
                code,
                "{thread} {mode:?}"
            );
        }
    }
}

// -------------------------------------------------------------------- refused steers

#[test]
fn a_refused_steer_becomes_a_queued_run_of_its_own() {
    let mut world = World::new();
    let talk = world.running();
    let message = world.steer(&talk.thread);
    world.refuse_steer(&talk.run, &message);

    let queued = world.view.messages[&message].run_id.clone().expect("a run");
    assert_ne!(queued, talk.run);
    let run = world.run_at(&queued);
    assert_eq!(
        (run.status, run.purpose),
        (RunStatus::Queued, RunPurpose::Work)
    );
    assert_eq!(run.message_id, message, "the same message, not a copy");
    let notices = world.items(&talk.thread, ItemKind::Notice);
    assert_eq!(notices.len(), 1);
    assert!(notices[0].text.contains("too late"), "{}", notices[0].text);

    let decision = world.complete(&talk.run);
    assert_eq!(started(&decision.effects), [queued]);
}

#[test]
fn a_steer_refused_after_its_turn_starts_at_once() {
    let mut world = World::new();
    let talk = world.running();
    let message = world.steer(&talk.thread);
    world.complete(&talk.run);
    let decision = world.refuse_steer(&talk.run, &message);
    let run = world.view.messages[&message].run_id.clone().expect("a run");
    assert_eq!(started(&decision.effects), [run]);
}

#[test]
fn a_refusal_told_twice_makes_one_run() {
    let mut world = World::new();
    let talk = world.running();
    let message = world.steer(&talk.thread);
    world.refuse_steer(&talk.run, &message);
    let again = world.refuse_steer(&talk.run, &message);
    assert!(again.events.is_empty(), "{again:?}");
    assert_eq!(world.open_runs(&talk.thread).len(), 2);
}

#[test]
fn a_refusal_of_what_was_never_steered_changes_nothing() {
    let mut world = World::new();
    let (talk, other) = (world.running(), world.running());
    let first = world.run_at(&talk.run).message_id.clone();
    assert!(world.refuse_steer(&other.run, &first).events.is_empty());
    assert!(
        world
            .refuse_steer(&talk.run, &MessageId::new("message-x"))
            .events
            .is_empty()
    );
}

#[test]
fn a_steer_that_was_taken_changes_nothing_more() {
    let mut world = World::new();
    let talk = world.running();
    let message_id = world.steer(&talk.thread);
    let taken = crate::provider_event::ProviderEvent::SteerEnded {
        run_id: talk.run.clone(),
        message_id,
        refusal: None,
    };
    assert!(world.report(taken).events.is_empty());
}

#[test]
fn a_steer_refused_because_of_a_stop_waits_for_a_person() {
    let mut world = World::new();
    let talk = world.running();
    let message = world.steer(&talk.thread);
    world.stop(&talk.thread);
    world.refuse_steer(&talk.run, &message);
    world.end(&talk.run, crate::provider_event::TurnOutcome::Interrupted);
    let run = world.view.messages[&message].run_id.clone().expect("a run");
    assert_eq!(world.held(&talk.thread), [run]);
    assert!(world.active(&talk.thread).is_none());
}
