//! Fork and rollback.

use crate::common::*;
use driver_sdk::types::*;
use serde_json::{Value, json};

fn fork(point: Option<&str>) -> Input {
    Input::Fork(Fork {
        effect_id: "fork".to_owned(),
        thread_id: "T".to_owned(),
        native_point: point.map(str::to_owned),
        extra: None,
    })
}

fn rollback(point: Option<&str>) -> Input {
    Input::Rollback(Rollback {
        effect_id: "rollback".to_owned(),
        thread_id: "T".to_owned(),
        native_point: point.map(str::to_owned),
        extra: None,
    })
}

fn turns(ids: &[&str]) -> Value {
    json!(ids.iter().map(|id| json!({ "id": id })).collect::<Vec<_>>())
}

#[test]
fn a_fork_up_to_a_point_is_checked() {
    for (point, last, expected) in [
        (None, None, "effect-ended fork forked copy"),
        (
            Some("turn-2"),
            Some("turn-2"),
            "effect-ended fork forked copy",
        ),
        (
            Some("turn-2"),
            Some("turn-9"),
            "effect-ended fork refused validation_error",
        ),
    ] {
        let mut session = opened();
        session.give(vec![fork(point)]).unwrap();
        assert_eq!(
            last_frame(&session)["params"]
                .get("lastTurnId")
                .and_then(Value::as_str),
            point
        );
        reply(
            &mut session,
            "thread/fork",
            json!({ "thread": { "id": "copy" } }),
        );
        if let Some(last) = last {
            reply(
                &mut session,
                "thread/turns/list",
                json!({ "data": turns(&[last]) }),
            );
        }
        let lines = tail(&session, 1);
        assert!(lines[0].starts_with(expected), "{lines:?}");
        assert_eq!(last_frame(&session)["method"], "thread/unsubscribe");
    }
}

#[test]
fn a_rollback_drops_what_comes_after_the_point() {
    for (point, pages, expected) in [
        (
            Some("turn-2"),
            vec![(
                turns(&["turn-4", "turn-3", "turn-2", "turn-1"]),
                Value::Null,
            )],
            Some("turn-3"),
        ),
        (
            Some("turn-2"),
            vec![
                (turns(&["turn-4", "turn-3"]), json!("next")),
                (turns(&["turn-2"]), Value::Null),
            ],
            Some("turn-3"),
        ),
        (
            None,
            vec![(turns(&["turn-2", "turn-1"]), Value::Null)],
            Some("turn-1"),
        ),
        (
            Some("turn-4"),
            vec![(turns(&["turn-4", "turn-3"]), Value::Null)],
            None,
        ),
    ] {
        let mut session = opened();
        session.give(vec![rollback(point)]).unwrap();
        for (data, next) in pages {
            reply(
                &mut session,
                "thread/turns/list",
                json!({ "data": data, "nextCursor": next }),
            );
        }
        if let Some(first_gone) = expected {
            assert_eq!(last_frame(&session)["params"]["beforeTurnId"], first_gone);
            reply(&mut session, "thread/revert", json!({}));
        }
        assert_eq!(tail(&session, 1), ["effect-ended rollback done"]);
    }
}

#[test]
fn a_rollback_of_an_older_version_counts_the_turns() {
    let mut session = opened();
    session.give(vec![rollback(Some("turn-1"))]).unwrap();
    refuse(
        &mut session,
        "thread/turns/list",
        "Invalid request: unknown variant `thread/turns/list`",
    );
    reply(
        &mut session,
        "thread/read",
        json!({ "thread": { "turns": turns(&["turn-1", "turn-2", "turn-3"]) } }),
    );
    refuse(
        &mut session,
        "thread/revert",
        "Invalid request: unknown variant `thread/revert`",
    );
    assert_eq!(last_frame(&session)["params"]["numTurns"], 2);
    reply(&mut session, "thread/rollback", json!({}));
    assert_eq!(tail(&session, 1), ["effect-ended rollback done"]);
}

#[test]
fn a_rollback_of_a_conversation_that_cannot_be_reverted_counts_the_turns() {
    let mut session = opened();
    session.give(vec![rollback(Some("turn-1"))]).unwrap();
    let list = json!({ "data": turns(&["turn-2", "turn-1"]), "nextCursor": null });
    reply(&mut session, "thread/turns/list", list);
    refuse(
        &mut session,
        "thread/revert",
        "thread/revert only supports paginated threads",
    );
    assert_eq!(last_frame(&session)["params"]["numTurns"], 1);
    refuse(&mut session, "thread/rollback", "thread is busy");
    assert!(tail(&session, 1)[0].starts_with("effect-ended rollback refused"));
}

#[test]
fn a_rollback_to_an_unknown_point_or_under_a_turn_is_refused() {
    let mut session = opened();
    session.give(vec![rollback(Some("elsewhere"))]).unwrap();
    reply(
        &mut session,
        "thread/turns/list",
        json!({ "data": turns(&["turn-1"]), "nextCursor": null }),
    );
    assert!(tail(&session, 1)[0].contains("does not know this place"));
    assert!(sent(&session, "thread/revert").is_empty());
    let mut session = running();
    session.give(vec![rollback(None)]).unwrap();
    assert!(tail(&session, 2)[0].contains("Stop it first"));
}
