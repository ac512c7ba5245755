//! Adding to a turn and stopping it.

use crate::common::*;
use crate::show::lines;
use driver_codex::Codex;
use driver_sdk::harness::Replay;
use driver_sdk::types::*;
use serde_json::{Value, json};

#[test]
fn added_text_waits_for_the_name_of_the_turn_and_is_refused_when_there_is_none() {
    let mut session = opened();
    session
        .give(vec![Input::StartTurn(start("T", "1")), steer("1", 1)])
        .unwrap();
    assert!(sent(&session, "turn/steer").is_empty());
    reply(
        &mut session,
        "turn/start",
        json!({ "turn": { "id": "native-turn-1" } }),
    );
    // Named, but not at work: 0.171 refuses both until it says so.
    assert!(sent(&session, "turn/steer").is_empty() && sent(&session, "turn/interrupt").is_empty());
    tell(
        &mut session,
        "turn/started",
        json!({ "turn": { "id": "native-turn-1" } }),
    );
    assert_eq!(
        sent(&session, "turn/steer")[0]["params"]["expectedTurnId"],
        "native-turn-1"
    );
    reply(
        &mut session,
        "turn/steer",
        json!({ "turnId": "native-turn-1" }),
    );
    session.give(vec![steer("1", 2)]).unwrap();
    refuse(&mut session, "turn/steer", "no active turn to steer");
    complete(&mut session, "completed", Value::Null);
    session.give(vec![steer("1", 3)]).unwrap();
    let lines = tail(&session, 2);
    assert_eq!(lines[0], "effect-ended steer-1 done");
    assert!(
        lines[1].starts_with("effect-ended steer-2 refused"),
        "{lines:?}"
    );
    assert!(
        lines[3].starts_with("effect-ended steer-3 refused"),
        "{lines:?}"
    );
}

#[test]
fn a_stop_ends_the_commands_before_the_turn_is_over() {
    let mut session = running();
    session
        .give(vec![
            interrupt("1", "end"),
            interrupt("1", "end"),
            steer("1", 1),
        ])
        .unwrap();
    assert_eq!(sent(&session, "turn/interrupt").len(), 1);
    reply(&mut session, "turn/interrupt", json!({}));
    complete(&mut session, "interrupted", Value::Null);
    let list = json!({ "data": [{ "itemId": "a", "processId": "7" }, { "itemId": "b", "processId": "8" }] });
    reply(&mut session, "thread/backgroundTerminals/list", list);
    let ended = |session: &Replay<Codex>| {
        lines(session.events()).contains(&"turn-ended 1 interrupted reusable".to_owned())
    };
    assert!(!ended(&session));
    assert_eq!(
        sent(&session, "thread/backgroundTerminals/terminate").len(),
        2
    );
    reply(
        &mut session,
        "thread/backgroundTerminals/terminate",
        json!({}),
    );
    assert!(!ended(&session));
    refuse(
        &mut session,
        "thread/backgroundTerminals/terminate",
        "no such process",
    );
    assert!(ended(&session));
    let turn_timers = running_timers(&session);
    assert!(turn_timers.is_empty(), "{turn_timers:?}");
}

#[test]
fn a_stop_is_over_also_when_nothing_can_be_ended() {
    let prepare = || {
        let mut session = running();
        session.give(vec![interrupt("1", "end")]).unwrap();
        complete(&mut session, "interrupted", Value::Null);
        session
    };
    type End = fn(&mut Replay<Codex>);
    let ends: [(&str, End); 3] = [
        ("nothing runs", |s| {
            reply(s, "thread/backgroundTerminals/list", json!({ "data": [] }));
        }),
        ("no such method", |s| {
            refuse(s, "thread/backgroundTerminals/list", "unknown variant");
            refuse(s, "thread/backgroundTerminals/clean", "unknown variant");
        }),
        ("no answer", |s| run_out(s, 3_000)),
    ];
    for (name, end) in ends {
        let mut session = prepare();
        end(&mut session);
        assert_eq!(
            tail(&session, 2),
            ["turn-ended 1 interrupted reusable"],
            "{name}"
        );
    }
}

#[test]
fn a_stop_that_keeps_the_background_leaves_it() {
    let mut session = running();
    session.give(vec![interrupt("1", "keep")]).unwrap();
    complete(&mut session, "interrupted", Value::Null);
    assert_eq!(tail(&session, 2), ["turn-ended 1 interrupted reusable"]);
    assert!(sent(&session, "thread/backgroundTerminals/list").is_empty());
}

#[test]
fn a_stop_reaches_a_turn_wherever_it_is() {
    // Held for the tools: it never starts.
    let mut session = greeted_with_thread("frames");
    reply(
        &mut session,
        "thread/start",
        json!({ "thread": { "id": NATIVE } }),
    );
    session
        .give(vec![
            Input::StartTurn(start("T", "1")),
            interrupt("1", "end"),
        ])
        .unwrap();
    let lines = tail(&session, 1);
    assert!(
        lines[0].starts_with("effect-ended start-1 refused"),
        "{lines:?}"
    );
    assert_eq!(lines[1], "effect-ended interrupt-1 done");
    mcp_status(&mut session, json!(NATIVE), "t3-code", "ready");
    assert!(sent(&session, "turn/start").is_empty());
    // Asked: as soon as it has a name.
    let mut session = opened();
    session
        .give(vec![
            Input::StartTurn(start("T", "1")),
            interrupt("1", "end"),
        ])
        .unwrap();
    assert!(sent(&session, "turn/interrupt").is_empty());
    reply(
        &mut session,
        "turn/start",
        json!({ "turn": { "id": "native-turn-1" } }),
    );
    // Named, but not at work: 0.171 refuses both until it says so.
    assert!(sent(&session, "turn/steer").is_empty() && sent(&session, "turn/interrupt").is_empty());
    tell(
        &mut session,
        "turn/started",
        json!({ "turn": { "id": "native-turn-1" } }),
    );
    assert_eq!(sent(&session, "turn/interrupt").len(), 1);
    // Not running.
    let mut session = opened();
    session.give(vec![interrupt("9", "end")]).unwrap();
    assert!(tail(&session, 1)[0].starts_with("effect-ended interrupt-9 refused"));
}

#[test]
fn a_stop_that_comes_too_early_is_asked_again() {
    let mut session = running();
    session.give(vec![interrupt("1", "keep")]).unwrap();
    refuse(
        &mut session,
        "turn/interrupt",
        "no active turn to interrupt",
    );
    run_out(&mut session, 100);
    assert_eq!(sent(&session, "turn/interrupt").len(), 2);
    complete(&mut session, "interrupted", Value::Null);
    assert_eq!(tail(&session, 2), ["turn-ended 1 interrupted reusable"]);
    refuse(
        &mut session,
        "turn/interrupt",
        "no active turn to interrupt",
    );
    assert!(running_timers(&session).is_empty());
}

#[test]
fn a_stop_that_is_ignored_stops_the_process() {
    let mut session = running();
    session.give(vec![interrupt("1", "end")]).unwrap();
    reply(&mut session, "turn/interrupt", json!({}));
    run_out(&mut session, 10_000);
    let lines = tail(&session, 2);
    assert_eq!(lines[0], "turn-ended 1 interrupted broken");
    assert!(
        lines[1].contains("did not answer to a stop within 10 s"),
        "{lines:?}"
    );
    assert!(session.actions.contains(&Action::Stop(APP)));
}
