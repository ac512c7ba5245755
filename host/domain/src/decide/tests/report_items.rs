//! What providers say of items and their text.

use crate::ids::ThreadId;
use crate::item::{ItemHead, ItemKind, ItemStatus};
use crate::message::{CreatedBy, CreationSource, Role};
use crate::provider_event::{ProviderEvent, TurnOutcome};

use super::world::{INSTANCE, Talk, World, failed};

fn text(thread: &ThreadId, id: &str, appended: &str) -> ProviderEvent {
    ProviderEvent::Text {
        thread_id: thread.clone(),
        driver_item_id: id.to_owned(),
        appended: appended.to_owned(),
    }
}

fn tell(world: &mut World, talk: &Talk, id: &str, status: ItemStatus, words: Option<&str>) {
    let mut item = world.item(&talk.run, id, status);
    item.text = words.map(str::to_owned);
    world.report(ProviderEvent::Item(item));
}

#[test]
fn an_item_opens_grows_and_closes_in_its_place() {
    let mut world = World::new();
    let talk = world.running();
    tell(&mut world, &talk, "a", ItemStatus::Running, None);
    world.report(text(&talk.thread, "a", "Half "));
    tell(&mut world, &talk, "b", ItemStatus::Running, None);
    world.report(text(&talk.thread, "a", "and half."));
    tell(&mut world, &talk, "a", ItemStatus::Completed, None);
    tell(
        &mut world,
        &talk,
        "b",
        ItemStatus::Completed,
        Some("Whole."),
    );

    let said = world.items(&talk.thread, ItemKind::AssistantMessage);
    let texts: Vec<_> = said
        .iter()
        .map(|item| (item.text.as_str(), item.status))
        .collect();
    assert_eq!(
        texts,
        [
            ("Half and half.", ItemStatus::Completed),
            ("Whole.", ItemStatus::Completed)
        ]
    );
}

#[test]
fn a_whole_text_takes_the_place_of_what_was_appended() {
    let mut world = World::new();
    let talk = world.running();
    world.report(text(&talk.thread, "a", "Draft"));
    tell(&mut world, &talk, "a", ItemStatus::Completed, Some("Final"));
    assert_eq!(
        world.items(&talk.thread, ItemKind::AssistantMessage)[0].text,
        "Final"
    );
}

#[test]
fn a_closed_answer_is_a_message_that_names_its_model() {
    let mut world = World::new();
    let talk = world.running();
    tell(
        &mut world,
        &talk,
        "a",
        ItemStatus::Running,
        Some("Thinking"),
    );
    assert_eq!(world.view.messages.len(), 1, "not before it is closed");
    tell(&mut world, &talk, "a", ItemStatus::Completed, Some("Done."));
    let item = world.items(&talk.thread, ItemKind::AssistantMessage)[0].clone();
    let message = world.view.messages[&item.message_id.expect("a message")].clone();
    assert_eq!(
        (message.role, message.text.as_str()),
        (Role::Assistant, "Done.")
    );
    assert_eq!(message.run_id, Some(talk.run.clone()));
    let from = &message.provenance;
    assert_eq!(from.created_by, CreatedBy::Agent);
    assert_eq!(from.creation_source, CreationSource::Provider);
    assert_eq!(from.source_model.as_deref(), Some("gpt"));
    assert_eq!(
        from.source_provider_instance_id
            .as_ref()
            .map(crate::ids::ProviderInstanceId::as_str),
        Some(INSTANCE)
    );

    tell(&mut world, &talk, "a", ItemStatus::Completed, Some("Done!"));
    assert_eq!(world.view.messages.len(), 2, "told twice, one message");
    assert_eq!(world.view.messages[&message.id].text, "Done!");
}

#[test]
fn silence_and_other_kinds_are_no_message() {
    let mut world = World::new();
    let talk = world.running();
    tell(&mut world, &talk, "silent", ItemStatus::Completed, Some(""));
    let mut thought = world.item(&talk.run, "thought", ItemStatus::Completed);
    (thought.kind, thought.text) = (ItemKind::Reasoning, Some("Hm.".to_owned()));
    world.report(ProviderEvent::Item(thought));
    assert_eq!(world.view.messages.len(), 1);
}

#[test]
fn an_item_stands_under_its_parent_and_keeps_its_title() {
    let mut world = World::new();
    let talk = world.running();
    let mut outer = world.item(&talk.run, "outer", ItemStatus::Running);
    (outer.kind, outer.title) = (ItemKind::McpTool, Some("search".to_owned()));
    world.report(ProviderEvent::Item(outer.clone()));
    let mut inner = world.item(&talk.run, "inner", ItemStatus::Running);
    inner.kind = ItemKind::Command;
    inner.parent_driver_item_id = Some("outer".to_owned());
    inner.head = ItemHead {
        exit_code: Some(1),
        ..ItemHead::default()
    };
    world.report(ProviderEvent::Item(inner));
    outer.title = None;
    world.report(ProviderEvent::Item(outer));

    let outer = world.items(&talk.thread, ItemKind::McpTool)[0].clone();
    let inner = world.items(&talk.thread, ItemKind::Command)[0].clone();
    assert_eq!(inner.parent_item_id, Some(outer.id));
    assert_eq!(inner.head.exit_code, Some(1));
    assert_eq!(outer.title.as_deref(), Some("search"));
}

#[test]
fn a_late_item_does_not_open_again() {
    for (outcome, status) in [
        (TurnOutcome::Completed, ItemStatus::Completed),
        (failed("broken"), ItemStatus::Failed),
        (TurnOutcome::Interrupted, ItemStatus::Interrupted),
    ] {
        let mut world = World::new();
        let talk = world.running();
        tell(&mut world, &talk, "a", ItemStatus::Running, None);
        world.end(&talk.run, outcome);
        tell(&mut world, &talk, "a", ItemStatus::Running, Some("Late."));
        tell(&mut world, &talk, "b", ItemStatus::Running, Some("Later."));
        let said = world.items(&talk.thread, ItemKind::AssistantMessage);
        let states: Vec<_> = said.iter().map(|item| item.status).collect();
        assert_eq!(
            states,
            [status, status],
            "neither the known one nor a new one"
        );
    }
}

#[test]
fn a_closed_item_stays_closed_while_its_turn_goes_on() {
    for closed in [
        ItemStatus::Completed,
        ItemStatus::Failed,
        ItemStatus::Cancelled,
    ] {
        let mut world = World::new();
        let talk = world.running();
        tell(&mut world, &talk, "a", closed, Some("Said."));
        tell(&mut world, &talk, "a", ItemStatus::Running, None);
        assert_eq!(
            world.items(&talk.thread, ItemKind::AssistantMessage)[0].status,
            closed
        );
    }
}

#[test]
fn text_for_an_unknown_item_opens_an_answer_in_the_active_run() {
    let mut world = World::new();
    let talk = world.running();
    world.report(text(&talk.thread, "a", "Hel"));
    world.report(text(&talk.thread, "a", "lo"));
    let said = world.items(&talk.thread, ItemKind::AssistantMessage);
    assert_eq!(said.len(), 1);
    assert_eq!(
        (said[0].text.as_str(), said[0].status),
        ("Hello", ItemStatus::Running)
    );
    assert_eq!(said[0].run_id.as_ref(), Some(&talk.run));
    assert_eq!(said[0].position, 2, "after the prompt");
}

#[test]
fn text_for_an_unknown_item_of_an_idle_thread_is_kept_and_closed() {
    let mut world = World::new();
    let thread = world.idle_thread();
    world.report(text(&thread, "a", "Hello"));
    let said = world.items(&thread, ItemKind::AssistantMessage);
    assert_eq!(
        (said[0].text.as_str(), said[0].status),
        ("Hello", ItemStatus::Completed)
    );
    assert_eq!(said[0].run_id, None);
}

#[test]
fn words_of_another_session_are_another_item() {
    let mut world = World::new();
    let talk = world.running();
    world.report_from("session-1", text(&talk.thread, "a", "One"));
    world.report_from("session-2", text(&talk.thread, "a", "Two"));
    let said = world.items(&talk.thread, ItemKind::AssistantMessage);
    let texts: Vec<_> = said.iter().map(|item| item.text.as_str()).collect();
    assert_eq!(texts, ["One", "Two"]);
}

#[test]
fn items_and_text_of_an_unknown_thread_are_dropped() {
    let mut world = World::new();
    let talk = world.running();
    let nowhere = ThreadId::new("thread-x");
    assert!(world.report(text(&nowhere, "a", "Hello")).events.is_empty());
    let mut item = world.item(&talk.run, "b", ItemStatus::Running);
    item.thread_id = nowhere;
    assert!(world.report(ProviderEvent::Item(item)).events.is_empty());
}
