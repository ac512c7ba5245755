//! What providers say of turns. Each beginning and end counts once; what comes late changes nothing.

use crate::ids::{RequestId, RunId};
use crate::item::{ItemKind, ItemStatus};
use crate::provider_event::{Blocking, ProviderEvent, TurnOutcome, Usage};
use crate::run::{EndReason, RunStatus};

use super::respond::{approval, questions};
use super::world::{World, failed, failure, started};

#[test]
fn a_turn_starts_once() {
    let mut world = World::new();
    let talk = world.starting();
    world.start(&talk.run);
    let run = world.run_at(&talk.run).clone();
    assert_eq!(run.status, RunStatus::Running);
    assert_eq!(run.native_turn_id, Some(format!("native of {}", talk.run)));
    assert!(run.started_at.is_some());
    let again = world.start(&talk.run);
    assert!(again.events.is_empty(), "{again:?}");
    assert_eq!(*world.run_at(&talk.run), run);
}

#[test]
fn how_a_turn_ends_is_how_its_run_ends() {
    use RunStatus::{Completed, Failed, Interrupted};
    let stopped = |words: &str| Some(EndReason::Stopped(words.to_owned()));
    let broken = Some(EndReason::Failure(failure("broken")));
    for (begun, stop, outcome, status, reason) in [
        (true, false, TurnOutcome::Completed, Completed, None),
        (true, false, failed("broken"), Failed, broken.clone()),
        (
            true,
            false,
            TurnOutcome::Interrupted,
            Interrupted,
            stopped("stopped at the provider"),
        ),
        // Ended without having been told as started.
        (false, false, TurnOutcome::Completed, Completed, None),
        (false, false, failed("broken"), Failed, broken),
        (
            false,
            false,
            TurnOutcome::Interrupted,
            Interrupted,
            stopped("stopped at the provider"),
        ),
        // While somebody stopped it. A stop may break what it stops.
        (
            true,
            true,
            TurnOutcome::Interrupted,
            Interrupted,
            stopped("enough"),
        ),
        (true, true, failed("broken"), Interrupted, stopped("enough")),
        (true, true, TurnOutcome::Completed, Completed, None),
        (
            false,
            true,
            TurnOutcome::Interrupted,
            Interrupted,
            stopped("enough"),
        ),
        (
            false,
            true,
            failed("broken"),
            Interrupted,
            stopped("enough"),
        ),
    ] {
        let name = format!("begun {begun}, stop {stop}, {outcome:?}");
        let mut world = World::new();
        let talk = world.starting();
        if begun {
            world.start(&talk.run);
        }
        if stop {
            world.stop(&talk.thread);
        }
        world.end(&talk.run, outcome);
        let run = world.run_at(&talk.run);
        assert_eq!((run.status, &run.reason), (status, &reason), "{name}");
        assert!(run.completed_at.is_some(), "{name}");
        assert_eq!(
            run.started_at.is_some(),
            begun || status == Completed,
            "{name}"
        );
    }
}

#[test]
fn what_is_said_of_an_ended_turn_does_not_move_it() {
    for first in [
        TurnOutcome::Completed,
        TurnOutcome::Interrupted,
        failed("broken"),
    ] {
        for late in [
            TurnOutcome::Completed,
            TurnOutcome::Interrupted,
            failed("late"),
        ] {
            let mut world = World::new();
            let talk = world.running();
            world.end(&talk.run, first.clone());
            let run = world.run_at(&talk.run).clone();
            let decision = world.end(&talk.run, late.clone());
            assert!(
                decision.events.is_empty(),
                "{first:?} then {late:?}: {decision:?}"
            );
            assert!(world.start(&talk.run).events.is_empty());
            assert_eq!(*world.run_at(&talk.run), run);
        }
    }
}

#[test]
fn what_is_said_of_a_turn_that_was_not_handed_over_does_not_move_it() {
    for outcome in [
        TurnOutcome::Completed,
        TurnOutcome::Interrupted,
        failed("broken"),
    ] {
        let mut world = World::new();
        let talk = world.running();
        let queued = world.send(&talk.thread);
        assert!(world.start(&queued).events.is_empty());
        assert!(
            world.end(&queued, outcome.clone()).events.is_empty(),
            "{outcome:?}"
        );
        assert_eq!(world.status(&queued), RunStatus::Queued);
    }
}

#[test]
fn what_is_said_of_an_unknown_turn_changes_nothing() {
    let mut world = World::new();
    let run = RunId::new("run-x");
    assert!(world.start(&run).events.is_empty());
    assert!(world.complete(&run).events.is_empty());
    let usage = ProviderEvent::Usage {
        run_id: run,
        usage: Usage::default(),
    };
    assert!(world.report(usage).events.is_empty());
}

#[test]
fn the_place_after_a_turn_is_kept() {
    let mut world = World::new();
    let talk = world.running();
    world.report(ProviderEvent::TurnEnded {
        run_id: talk.run.clone(),
        outcome: TurnOutcome::Completed,
        native_point: Some("point-7".to_owned()),
    });
    let run = world.run_at(&talk.run);
    assert_eq!(
        (run.status, run.native_point.as_deref()),
        (RunStatus::Completed, Some("point-7"))
    );
}

#[test]
fn later_usage_replaces_earlier_and_moves_nothing() {
    let mut world = World::new();
    let talk = world.running();
    let usage = |output_tokens| ProviderEvent::Usage {
        run_id: talk.run.clone(),
        usage: Usage {
            output_tokens,
            ..Usage::default()
        },
    };
    world.report(usage(5));
    world.report(usage(9));
    assert_eq!(world.run_at(&talk.run).usage.output_tokens, 9);
    world.complete(&talk.run);
    let ended = world.run_at(&talk.run).completed_at;
    world.report(usage(11));
    let run = world.run_at(&talk.run);
    assert_eq!(
        (run.status, run.completed_at),
        (RunStatus::Completed, ended)
    );
}

#[test]
fn the_end_of_a_turn_closes_its_items_with_its_outcome() {
    for (outcome, status) in [
        (TurnOutcome::Completed, ItemStatus::Completed),
        (failed("broken"), ItemStatus::Failed),
        (TurnOutcome::Interrupted, ItemStatus::Interrupted),
    ] {
        let mut world = World::new();
        let talk = world.running();
        for (id, open) in [
            ("pending", ItemStatus::Pending),
            ("running", ItemStatus::Running),
            ("waiting", ItemStatus::Waiting),
            ("cancelled", ItemStatus::Cancelled),
        ] {
            let mut item = world.item(&talk.run, id, open);
            item.kind = ItemKind::Command;
            world.report(ProviderEvent::Item(item));
        }
        let child = world.delegate(&talk.thread);
        world.end(&talk.run, outcome);
        let commands = world.items(&talk.thread, ItemKind::Command);
        let states: Vec<_> = commands.iter().map(|item| item.status).collect();
        assert_eq!(states, [status, status, status, ItemStatus::Cancelled]);

        let delegated = || world.items(&talk.thread, ItemKind::Subagent)[0].clone();
        assert_eq!(delegated().status, ItemStatus::Running, "the child goes on");
        world.finish(&child.run, "Found.");
        let item = world.items(&talk.thread, ItemKind::Subagent)[0].clone();
        assert_eq!(
            (item.status, item.text.as_str()),
            (ItemStatus::Completed, "Found.")
        );
    }
}

#[test]
fn the_end_of_a_turn_ends_its_requests_and_no_others() {
    let mut world = World::new();
    let (talk, other) = (world.running(), world.running());
    let asked = world.ask("request-1", &talk.run, approval(&[]));
    let question = world.ask("request-2", &talk.run, questions());
    let elsewhere = world.ask("request-3", &other.run, approval(&[]));
    let of_the_thread = RequestId::new("request-4");
    world.report(ProviderEvent::RequestOpened {
        request_id: of_the_thread.clone(),
        thread_id: talk.thread.clone(),
        run_id: None,
        blocking: Blocking::NonBlocking,
        prompt: questions(),
        detail_json: "{}".to_owned(),
    });
    world.complete(&talk.run);
    for request in [asked, question] {
        assert!(!world.request(&request).is_pending());
        assert!(world.request(&request).resolved_at.is_some());
    }
    assert!(world.request(&elsewhere).is_pending());
    assert!(world.request(&of_the_thread).is_pending());
}

#[test]
fn an_end_starts_the_next_run_in_the_same_decision() {
    let mut world = World::new();
    let talk = world.running();
    let next = world.send(&talk.thread);
    assert_eq!(started(&world.complete(&talk.run).effects), [next]);
}
