//! After a restart of the host: nothing has an agent, nothing is lost, nothing is told twice.

use std::slice::from_ref;

use crate::command::Command;
use crate::ids::{ProviderSessionId, RequestId};
use crate::item::{ItemKind, ItemStatus};
use crate::provider_event::{ProviderEvent, SessionEnd};
use crate::request::RequestStatus;
use crate::run::{EndReason, RunStatus};
use crate::task::{DeliveryState, TaskStatus};

use super::respond::{approval, questions};
use super::world::{Child, SESSION, World, started};

#[test]
fn runs_that_had_an_agent_are_interrupted_and_never_handed_over_again() {
    let mut world = World::new();
    let (running, starting) = (world.running(), world.starting());
    let open = world.item(&running.run, "a", ItemStatus::Running);
    world.report(ProviderEvent::Item(open));
    let decision = world.run(Command::Recover);
    assert!(started(&decision.effects).is_empty(), "{decision:?}");
    for run in [&running.run, &starting.run] {
        let run = world.run_at(run);
        assert_eq!(
            (run.status, &run.reason),
            (RunStatus::Interrupted, &Some(EndReason::HostRestarted))
        );
    }
    let item = world.items(&running.thread, ItemKind::AssistantMessage)[0].clone();
    assert_eq!(item.status, ItemStatus::Interrupted);
}

#[test]
fn queued_runs_go_on_and_held_runs_stay_held() {
    let mut world = World::new();
    let (talk, stopped) = (world.running(), world.running());
    let next = world.send(&talk.thread);
    let held = world.send(&stopped.thread);
    world.stop(&stopped.thread);
    let decision = world.run(Command::Recover);
    assert_eq!(started(&decision.effects), from_ref(&next));
    assert_eq!(world.status(&next), RunStatus::Starting);
    assert_eq!(world.held(&stopped.thread), [held]);
}

#[test]
fn a_queue_that_stands_still_goes_on() {
    let mut world = World::new();
    let talk = world.running();
    let next = world.send(&talk.thread);
    // No command leads here: the run before it is over and nothing started the next one.
    world.view.runs.get_mut(&talk.run).expect("run").status = RunStatus::Completed;
    let decision = world.run(Command::Recover);
    assert_eq!(started(&decision.effects), [next]);
}

#[test]
fn a_stop_that_was_under_way_stays_a_stop() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.start(&child.run);
    world.stop(&parent.thread);
    let decision = world.run(Command::Recover);
    assert!(started(&decision.effects).is_empty());
    for run in [&parent.run, &child.run] {
        let run = world.run_at(run);
        assert_eq!(run.status, RunStatus::Interrupted);
        assert_eq!(run.reason, Some(EndReason::Stopped("enough".to_owned())));
    }
    assert_eq!(world.delivery(&child), Some(DeliveryState::Disposed));
    assert!(world.wakes(&parent.thread).is_empty());
}

#[test]
fn a_parent_is_woken_once_for_all_children_the_restart_interrupted() {
    // Whichever of the threads comes first by its id.
    for seed in 0..40 {
        let mut world = World::seeded(seed);
        let parent = world.running();
        let children: Vec<Child> = (0..4)
            .map(|at| match at % 2 {
                0 => world.delegate(&parent.thread),
                _ => world.delegate_and_wait(&parent.thread),
            })
            .collect();
        world.start(&children[0].run);
        let decision = world.run(Command::Recover);

        let wakes = world.wakes(&parent.thread);
        assert_eq!(wakes.len(), 1, "seed {seed}");
        assert_eq!(wakes[0].1.len(), 4, "seed {seed}");
        assert_eq!(started(&decision.effects), [wakes[0].0.clone()]);
        for child in &children {
            assert_eq!(world.ended(child), Some(TaskStatus::Interrupted));
            assert_eq!(world.delivery(child), Some(DeliveryState::Claimed));
        }
        let summary = world.summary(&children[0]).expect("published");
        assert!(summary.contains("host restarted"), "{summary}");
        world.run_dry();
        assert!(
            children
                .iter()
                .all(|child| world.told[&child.task].len() == 1)
        );
    }
}

#[test]
fn a_tree_wakes_from_the_bottom_and_each_parent_once() {
    for seed in 0..40 {
        let mut world = World::seeded(seed);
        let top = world.running();
        let middle = world.delegate(&top.thread);
        world.start(&middle.run);
        let below = [
            world.delegate(&middle.thread),
            world.delegate(&middle.thread),
        ];
        world.run(Command::Recover);
        assert_eq!(world.wakes(&middle.thread).len(), 1, "seed {seed}");
        assert_eq!(
            world.ended(&middle),
            None,
            "it goes on with what it was told"
        );
        world.run_dry();
        for child in below.iter().chain([&middle]) {
            assert_eq!(world.told[&child.task].len(), 1, "seed {seed}");
        }
    }
}

#[test]
fn a_wake_the_provider_had_not_accepted_is_told_after_the_restart() {
    let mut world = World::new();
    let parent = world.running();
    let (one, two, three) = (
        world.delegate(&parent.thread),
        world.delegate(&parent.thread),
        world.delegate(&parent.thread),
    );
    world.complete(&parent.run);
    world.finish(&one.run, "One.");
    world.finish(&two.run, "Two.");
    let first = world.wakes(&parent.thread)[0].0.clone();
    assert_eq!(world.status(&first), RunStatus::Starting);

    world.run(Command::Recover);
    assert_eq!(world.status(&first), RunStatus::Interrupted);
    let open: Vec<_> = world.open_runs(&parent.thread);
    assert_eq!(
        open.len(),
        1,
        "one wake for what was handed over, queued and interrupted"
    );
    let mut named = world.wakes(&parent.thread).pop().expect("a wake").1;
    named.sort();
    let mut all = [one.task.clone(), two.task.clone(), three.task.clone()];
    all.sort();
    assert_eq!(named, all);
    world.run_dry();
    for child in [&one, &two, &three] {
        assert_eq!(world.told[&child.task].len(), 1);
    }
}

#[test]
fn a_wake_the_provider_had_accepted_is_not_told_again() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.complete(&parent.run);
    world.finish(&child.run, "Found.");
    let wake = world.wakes(&parent.thread)[0].0.clone();
    world.start(&wake);
    world.run(Command::Recover);
    assert_eq!(world.status(&wake), RunStatus::Interrupted);
    assert_eq!(world.wakes(&parent.thread).len(), 1);
    assert_eq!(world.delivery(&child), Some(DeliveryState::Delivered));
}

#[test]
fn a_result_that_was_published_is_not_published_again() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate_and_wait(&parent.thread);
    world.finish(&child.run, "Found.");
    let result = world.task(&child).result.clone();
    world.run(Command::Recover);
    assert_eq!(world.task(&child).result, result);
    assert_eq!(
        world.delivery(&child),
        Some(DeliveryState::Claimed),
        "its caller is gone"
    );
    assert_eq!(world.wakes(&parent.thread).len(), 1);
}

#[test]
fn sessions_end_and_let_go_of_their_threads() {
    let mut world = World::new();
    let talk = world.running();
    world.attach(&talk.thread);
    world.report(ProviderEvent::ProcessStarted {
        pid: 7,
        start_ticks: 70,
    });
    world.complete(&talk.run);
    world.background(&talk.thread, &["watch"]);
    world.run(Command::Recover);
    let session = &world.view.sessions[&ProviderSessionId::new(SESSION)];
    let end = session.ended.clone().expect("ended");
    assert_eq!(
        (end.end, end.reason.as_str()),
        (SessionEnd::Failed, "the host restarted")
    );
    assert!(session.threads.is_empty());
    let thread = world.thread(&talk.thread);
    assert_eq!((&thread.session_id, thread.background.len()), (&None, 0));
    assert!(
        world.run(Command::Recover).events.is_empty(),
        "nothing is left to end"
    );
}

#[test]
fn requests_of_the_last_life_are_invalidated() {
    let mut world = World::new();
    let (talk, other) = (world.running(), world.running());
    let open = [
        world.ask("request-1", &talk.run, approval(&[])),
        world.ask("request-2", &other.run, questions()),
    ];
    let closed = RequestId::new("request-3");
    world.ask("request-3", &talk.run, approval(&[]));
    world.report(ProviderEvent::RequestClosed {
        request_id: closed.clone(),
        reason: "withdrawn".to_owned(),
    });
    world.run(Command::Recover);
    for request in open {
        let RequestStatus::Invalidated(why) = &world.request(&request).status else {
            panic!("still open")
        };
        assert!(why.contains("host restarted"), "{why}");
    }
    let untouched = RequestStatus::Invalidated("withdrawn".to_owned());
    assert_eq!(world.request(&closed).status, untouched);
}

#[test]
fn a_first_start_and_a_second_restart_change_nothing() {
    let mut world = World::new();
    assert!(world.run(Command::Recover).events.is_empty());
    world.running();
    world.run(Command::Recover);
    assert!(world.run(Command::Recover).events.is_empty());
}

#[test]
fn a_message_after_the_restart_takes_the_conversation_up_again() {
    let mut world = World::new();
    let talk = world.running();
    world.report(ProviderEvent::ThreadReady {
        thread_id: talk.thread.clone(),
        native_thread_id: "native-1".to_owned(),
        resume: crate::provider_event::Resume::Possible,
        model: None,
    });
    world.run(Command::Recover);
    let next = world.send(&talk.thread);
    world.finish(&next, "Here again.");
    assert_eq!(world.status(&next), RunStatus::Completed);
    let native = world.thread(&talk.thread).native.clone();
    assert_eq!(native.map(|native| native.id), Some("native-1".to_owned()));
}
