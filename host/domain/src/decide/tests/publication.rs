//! The end of a task is published once, when nothing of its child goes on any more.

use std::slice::from_ref;

use crate::effect::Effect;
use crate::event::Event;
use crate::item::{ItemKind, ItemStatus};
use crate::limits::SUMMARY_UNITS_MAX;
use crate::provider_event::{ProviderEvent, SessionEnd, TurnOutcome};
use crate::task::{DeliveryState, TaskStatus, TransferKind};
use crate::text::utf16_len;
use crate::view::View;

use super::world::{Child, World, failed, started};

fn results(world: &World, child: &Child) -> usize {
    let of = |event: &&Event| {
        matches!(event, Event::TransferCreated(it)
            if it.kind == TransferKind::SubagentResult && it.source_thread_id == child.thread)
    };
    world.journal.iter().filter(of).count()
}

#[test]
fn an_end_is_published_with_its_status_text_and_transfer() {
    for (outcome, status, item) in [
        (
            TurnOutcome::Completed,
            TaskStatus::Completed,
            ItemStatus::Completed,
        ),
        (
            TurnOutcome::Interrupted,
            TaskStatus::Interrupted,
            ItemStatus::Interrupted,
        ),
    ] {
        let mut world = World::new();
        let parent = world.running();
        let child = world.delegate(&parent.thread);
        world.start(&child.run);
        world.say(&child.run, "First.");
        world.say(&child.run, "Last.");
        assert_eq!(world.ended(&child), None);
        world.end(&child.run, outcome);
        let result = world.task(&child).result.clone().expect("published");
        assert_eq!((result.status, result.summary.as_str()), (status, "Last."));
        assert_eq!(result.run_id, child.run);
        let Ok(transfer) =
            world
                .view
                .transfer(&child.thread, &parent.thread, TransferKind::SubagentResult);
        assert_eq!(transfer.map(|it| it.id), Some(result.transfer_id));
        assert_eq!(
            world.items(&parent.thread, ItemKind::Subagent)[0].status,
            item
        );
        assert_eq!(results(&world, &child), 1);
    }
}

#[test]
fn the_text_of_a_result_says_what_there_is_to_say() {
    type Ends = fn(&mut World, &Child);
    let cases: [(&str, TaskStatus, &str, Ends); 8] = [
        (
            "a failure, whatever was said",
            TaskStatus::Failed,
            "out of credit",
            |world, child| {
                world.start(&child.run);
                world.say(&child.run, "So far so good.");
                world.end(&child.run, failed("out of credit"));
            },
        ),
        (
            "never started",
            TaskStatus::Failed,
            "no such model",
            |world, child| {
                world.end(&child.run, failed("no such model"));
            },
        ),
        (
            "no text",
            TaskStatus::Completed,
            "The task ended without a text.",
            |world, child| {
                world.complete(&child.run);
            },
        ),
        (
            "an empty text",
            TaskStatus::Completed,
            "The task ended without a text.",
            |world, child| {
                world.start(&child.run);
                let mut item = world.item(&child.run, "silent", ItemStatus::Completed);
                item.text = Some(String::new());
                world.report(ProviderEvent::Item(item));
                world.complete(&child.run);
            },
        ),
        (
            "cut without a text",
            TaskStatus::Interrupted,
            "interrupted without a text",
            |world, child| {
                world.end(&child.run, TurnOutcome::Interrupted);
            },
        ),
        (
            "cut with a text",
            TaskStatus::Interrupted,
            "Half.",
            |world, child| {
                world.start(&child.run);
                world.say(&child.run, "Half.");
                world.end(&child.run, TurnOutcome::Interrupted);
            },
        ),
        (
            "text that was never closed",
            TaskStatus::Completed,
            "Streamed",
            |world, child| {
                world.start(&child.run);
                let (thread_id, driver_item_id) = (child.thread.clone(), "a".to_owned());
                let appended = "Streamed".to_owned();
                world.report(ProviderEvent::Text {
                    thread_id,
                    driver_item_id,
                    appended,
                });
                world.complete(&child.run);
            },
        ),
        (
            "an empty text after a full one",
            TaskStatus::Completed,
            "Full.",
            |world, child| {
                world.start(&child.run);
                world.say(&child.run, "Full.");
                world.say(&child.run, "");
                world.complete(&child.run);
            },
        ),
    ];
    for (name, status, text, ends) in cases {
        let mut world = World::new();
        let parent = world.running();
        let child = world.delegate(&parent.thread);
        ends(&mut world, &child);
        assert_eq!(world.ended(&child), Some(status), "{name}");
        let summary = world.summary(&child).expect("published");
        assert!(summary.contains(text), "{name}: {summary}");
    }
}

#[test]
fn a_result_is_cut_to_its_bound_between_characters() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    let long = format!("a{}", "\u{1f600}".repeat(SUMMARY_UNITS_MAX));
    world.finish(&child.run, &long);
    let summary = world.summary(&child).expect("published");
    assert_eq!(
        utf16_len(summary),
        SUMMARY_UNITS_MAX - 1,
        "half of the last one does not fit"
    );
    assert!(long.starts_with(summary));
}

#[test]
fn a_queued_message_delays_the_end_and_its_run_gives_the_text() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    let more = world.send(&child.thread);
    world.finish(&child.run, "First.");
    assert_eq!(world.ended(&child), None);
    world.finish(&more, "Second.");
    assert_eq!(world.summary(&child), Some("Second."));
    assert_eq!(
        world.task(&child).result.as_ref().map(|it| &it.run_id),
        Some(&more)
    );
}

#[test]
fn a_later_run_that_never_started_gives_no_result() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    let more = world.send(&child.thread);
    world.finish(&child.run, "First.");
    world.end(&more, failed("gone"));
    assert_eq!(world.ended(&child), Some(TaskStatus::Completed));
    assert_eq!(world.summary(&child), Some("First."));
}

#[test]
fn what_a_child_does_after_its_end_was_published_changes_no_result() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.finish(&child.run, "First.");
    let result = world.task(&child).result.clone();
    let more = world.send(&child.thread);
    world.finish(&more, "Second.");
    world.background(&child.thread, &["watch"]);
    world.background(&child.thread, &[]);
    assert_eq!(world.task(&child).result, result);
    assert_eq!(results(&world, &child), 1);
}

#[test]
fn a_child_that_waits_for_its_own_children_has_not_ended() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.start(&child.run);
    let grandchild = world.delegate(&child.thread);
    world.say(&child.run, "I wait.");
    world.complete(&child.run);
    assert_eq!(world.ended(&child), None);

    let decision = world.finish(&grandchild.run, "Found.");
    let wake = world.wakes(&child.thread)[0].0.clone();
    assert_eq!(started(&decision.effects), from_ref(&wake));
    assert_eq!(world.ended(&child), None, "it is being told");
    world.finish(&wake, "All found.");
    assert_eq!(world.summary(&child), Some("All found."));
    assert_eq!(results(&world, &child), 1);
}

#[test]
fn a_child_that_read_its_childs_result_ends_with_its_own_turn() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.start(&child.run);
    let grandchild = world.delegate_and_wait(&child.thread);
    world.finish(&grandchild.run, "Found.");
    world.acknowledge(&grandchild);
    world.say(&child.run, "It was found.");
    world.complete(&child.run);
    assert_eq!(world.summary(&child), Some("It was found."));
    assert!(world.wakes(&child.thread).is_empty());
}

#[test]
fn background_work_delays_the_end() {
    type End = fn(&mut World, &Child);
    let ways: [(&str, End); 4] = [
        ("it ends", |world, child| {
            drop(world.background(&child.thread, &[]));
        }),
        ("its session lets go", |world, child| {
            let (thread_id, reason) = (child.thread.clone(), "idle".to_owned());
            world.report(ProviderEvent::ThreadDetached { thread_id, reason });
        }),
        ("its session dies", |world, _| {
            let (reason, end) = ("crash".to_owned(), SessionEnd::Failed);
            world.report(ProviderEvent::SessionEnded { reason, end });
        }),
        ("the host restarts", |world, _| {
            world.run(crate::command::Command::Recover);
        }),
    ];
    for (name, end) in ways {
        let mut world = World::new();
        let parent = world.running();
        let child = world.delegate(&parent.thread);
        world.attach(&child.thread);
        world.background(&child.thread, &["npm run watch", "a subagent"]);
        world.finish(&child.run, "Done.");
        assert_eq!(world.ended(&child), None, "{name}");
        world.background(&child.thread, &["npm run watch"]);
        assert_eq!(world.ended(&child), None, "{name}");
        end(&mut world, &child);
        assert_eq!(world.summary(&child), Some("Done."), "{name}");
    }
}

#[test]
fn a_child_that_was_stopped_ends_when_its_children_have_ended() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.start(&child.run);
    let grandchild = world.delegate(&child.thread);
    world.stop(&child.thread);
    world.end(&child.run, TurnOutcome::Interrupted);
    assert_eq!(world.ended(&child), None, "its own child still works");
    world.end(&grandchild.run, TurnOutcome::Interrupted);
    assert_eq!(world.ended(&child), Some(TaskStatus::Interrupted));
    assert_eq!(
        world.delivery(&child),
        Some(DeliveryState::Claimed),
        "nobody cancelled the task"
    );
}

#[test]
fn held_runs_do_not_keep_a_task_open() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    world.start(&child.run);
    world.send(&child.thread);
    world.stop(&child.thread);
    world.end(&child.run, TurnOutcome::Interrupted);
    assert_eq!(world.ended(&child), Some(TaskStatus::Interrupted));
}

#[test]
fn a_top_level_thread_publishes_nothing() {
    let mut world = World::new();
    let talk = world.running();
    let decision = world.complete(&talk.run);
    assert!(
        decision
            .events
            .iter()
            .all(|event| matches!(event, Event::RunUpdated(_)))
    );
    assert_eq!(decision.effects, Vec::<Effect>::new());
}
