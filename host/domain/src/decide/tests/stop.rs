//! Stopping a thread: its turn, its queue, its wakes and everything below it.

use std::slice::from_ref;

use crate::command::{Answer, Command, SendMode};
use crate::error::DenialCode::{InvalidRequest, ParentNotActive, ThreadNotFound};
use crate::ids::ThreadId;
use crate::limits::REASON_UNITS_MAX;
use crate::provider_event::TurnOutcome;
use crate::request::RequestStatus;
use crate::run::{EndReason, RunStatus};
use crate::task::{DeliveryState, TaskStatus, WakePolicy};
use crate::time::Timestamp;

use super::respond::{approval, questions};
use super::world::{World, interrupted, started};

fn stop(thread: &ThreadId, reason: &str) -> Command {
    Command::StopThread {
        thread_id: thread.clone(),
        reason: reason.to_owned(),
    }
}

#[test]
fn a_stop_interrupts_the_turn_and_holds_the_queue() {
    for begun in [true, false] {
        let mut world = World::new();
        let talk = world.starting();
        if begun {
            world.start(&talk.run);
        }
        let (one, two) = (world.send(&talk.thread), world.send(&talk.thread));
        assert_eq!(world.stop(&talk.thread), 3);
        assert_eq!(interrupted(&world.effects), from_ref(&talk.run));
        assert_eq!(world.held(&talk.thread), [one, two]);
        let run = world.run_at(&talk.run);
        assert!(
            run.is_stopping() && !run.status.is_terminal(),
            "its provider ends it"
        );
        assert_eq!(run.reason, Some(EndReason::Stopped("enough".to_owned())));

        let decision = world.end(&talk.run, TurnOutcome::Interrupted);
        assert!(started(&decision.effects).is_empty(), "begun: {begun}");
        assert_eq!(world.status(&talk.run), RunStatus::Interrupted);
    }
}

#[test]
fn a_stop_of_an_idle_thread_meets_nothing() {
    let mut world = World::new();
    let thread = world.idle_thread();
    assert_eq!(world.stop(&thread), 0);
    let talk = world.running();
    world.complete(&talk.run);
    let decision = world.run(stop(&talk.thread, "enough"));
    assert!(
        decision.events.is_empty() && decision.effects.is_empty(),
        "{decision:?}"
    );
}

#[test]
fn an_unknown_thread_and_an_endless_reason_are_refused() {
    let mut world = World::new();
    let (thread, deleted) = (world.idle_thread(), world.idle_thread());
    world
        .view
        .threads
        .get_mut(&deleted)
        .expect("thread")
        .deleted_at = Some(Timestamp::from_millis(1));
    assert_eq!(
        world.deny(stop(&ThreadId::new("thread-x"), "")),
        ThreadNotFound
    );
    assert_eq!(world.deny(stop(&deleted, "")), ThreadNotFound);
    let long = "r".repeat(REASON_UNITS_MAX + 1);
    assert_eq!(world.deny(stop(&thread, &long)), InvalidRequest);
    world.run(stop(&thread, &long[1..]));
}

#[test]
fn a_stop_goes_down_the_whole_tree_from_the_top() {
    let mut world = World::new();
    let top = world.running();
    let (left, right) = (
        world.delegate(&top.thread),
        world.delegate_and_wait(&top.thread),
    );
    let (below, done) = (world.delegate(&left.thread), world.delegate(&left.thread));
    let deepest = world.delegate(&below.thread);
    let stranger = world.running();
    world.finish(&done.run, "Done.");
    world.send(&below.thread);

    assert_eq!(
        world.stop(&top.thread),
        7,
        "five turns, a queued message, a queued wake"
    );
    let order = interrupted(&world.effects);
    let depth_first = [&top.run, &left.run, &below.run, &deepest.run, &right.run];
    assert_eq!(order.iter().collect::<Vec<_>>(), depth_first);
    assert_eq!(world.held(&below.thread).len(), 1);
    for run in order.iter().rev() {
        let decision = world.end(run, TurnOutcome::Interrupted);
        assert!(started(&decision.effects).is_empty(), "{decision:?}");
    }
    for child in [&left, &right, &below, &deepest] {
        assert_eq!(world.delivery(child), Some(DeliveryState::Disposed));
        assert_eq!(world.ended(child), Some(TaskStatus::Interrupted));
    }
    assert_eq!(world.delivery(&done), Some(DeliveryState::Disposed));
    assert_eq!(world.status(&stranger.run), RunStatus::Running);
    assert_eq!(
        world
            .view
            .runs
            .values()
            .filter(|run| run.status.is_active())
            .count(),
        1
    );
}

#[test]
fn a_stop_of_a_child_leaves_its_parent_and_tells_it() {
    let mut world = World::new();
    let parent = world.running();
    let (child, sibling) = (
        world.delegate(&parent.thread),
        world.delegate(&parent.thread),
    );
    world.stop(&child.thread);
    world.end(&child.run, TurnOutcome::Interrupted);
    assert_eq!(world.delivery(&child), Some(DeliveryState::Claimed));
    assert_eq!(world.wakes(&parent.thread)[0].1, [child.task]);
    assert!(!world.run_at(&parent.run).is_stopping());
    assert!(!world.run_at(&sibling.run).is_stopping());
}

#[test]
fn a_child_that_works_again_after_its_end_is_stopped_with_its_parent() {
    let mut world = World::new();
    let top = world.running();
    let child = world.delegate(&top.thread);
    world.finish(&child.run, "Done.");
    let again = world.send(&child.thread);
    world.start(&again);
    let below = world.delegate(&child.thread);
    world.stop(&top.thread);
    assert_eq!(interrupted(&world.effects), [top.run, again, below.run]);
}

#[test]
fn a_turn_that_is_being_stopped_starts_nothing_more() {
    let mut world = World::new();
    let top = world.running();
    let child = world.delegate(&top.thread);
    world.start(&child.run);
    world.stop(&top.thread);
    for thread in [&top.thread, &child.thread] {
        let late = Command::Delegate(world.wanted(thread, WakePolicy::Always));
        assert_eq!(world.deny(late), ParentNotActive);
    }
    let steer = world.message_to(&top.thread, "Wait.", SendMode::Steer);
    world.deny(Command::SendMessage(steer));
}

#[test]
fn what_waits_for_a_person_is_withdrawn_by_a_stop_at_once() {
    let mut world = World::new();
    let top = world.running();
    let child = world.delegate(&top.thread);
    world.start(&child.run);
    let stranger = world.running();
    let below = world.ask("request-1", &child.run, approval(&[]));
    let here = world.ask("request-2", &top.run, questions());
    let elsewhere = world.ask("request-3", &stranger.run, approval(&[]));
    world.stop(&top.thread);
    for request in [below, here] {
        assert!(matches!(
            world.request(&request).status,
            RequestStatus::Invalidated(_)
        ));
    }
    assert!(world.request(&elsewhere).is_pending());
}

#[test]
fn stopping_twice_asks_again_and_changes_no_outcome() {
    let mut world = World::new();
    let talk = world.running();
    world.send(&talk.thread);
    world.stop(&talk.thread);
    world.stop(&talk.thread);
    assert_eq!(
        interrupted(&world.effects),
        [talk.run.clone(), talk.run.clone()]
    );
    world.end(&talk.run, TurnOutcome::Interrupted);
    assert_eq!(world.status(&talk.run), RunStatus::Interrupted);
    assert_eq!(world.held(&talk.thread).len(), 1);
}

#[test]
fn a_person_lets_a_stopped_queue_go_on_in_its_order() {
    let mut world = World::new();
    let talk = world.running();
    let (one, two) = (world.send(&talk.thread), world.send(&talk.thread));
    world.stop(&talk.thread);
    let resume = || Command::ResumeQueue {
        thread_id: talk.thread.clone(),
    };
    let decision = world.run(resume());
    assert_eq!(decision.answer, Answer::Resumed { runs: 2 });
    assert!(
        started(&decision.effects).is_empty(),
        "the stopped turn has not ended yet"
    );
    let decision = world.end(&talk.run, TurnOutcome::Interrupted);
    assert_eq!(started(&decision.effects), from_ref(&one));
    world.start(&one);
    let decision = world.complete(&one);
    assert_eq!(started(&decision.effects), from_ref(&two));
    assert_eq!(
        world.run(resume()).answer,
        Answer::Resumed { runs: 0 },
        "nothing was held"
    );
    let unknown = Command::ResumeQueue {
        thread_id: ThreadId::new("unknown"),
    };
    assert_eq!(world.deny(unknown), ThreadNotFound);
}
