//! Items and notices that no recording shows.

use crate::common::*;
use driver_sdk::types::*;
use serde_json::{Value, json};

#[test]
fn an_item_of_an_unknown_type_is_a_tool_of_that_name() {
    let mut session = running();
    tell(
        &mut session,
        "item/started",
        json!({ "item": { "type": "hologram", "id": "x", "colour": "red" } }),
    );
    tell(
        &mut session,
        "item/completed",
        json!({ "item": { "type": "hologram", "id": "x" } }),
    );
    assert_eq!(
        tail(&session, 2),
        [
            "item item-1 tool Running turn=1 title=\"hologram\"",
            "item item-1 tool Completed turn=1 title=\"hologram\"",
        ]
    );
}

#[test]
fn unknown_and_malformed_notifications_change_nothing() {
    let mut session = running();
    for (method, params) in [
        ("quantum/entangled", json!({ "a": 1 })),
        ("item/started", json!({ "item": 7 })),
        ("item/agentMessage/delta", json!({ "delta": 7 })),
        ("turn/completed", json!({ "turn": "over" })),
        ("error", json!({})),
        ("thread/tokenUsage/updated", json!({ "tokenUsage": null })),
    ] {
        tell(&mut session, method, params);
    }
    assert!(tail(&session, 2).is_empty());
    complete(&mut session, "completed", Value::Null);
    assert_eq!(tail(&session, 2), ["turn-ended 1 completed reusable"]);
}

#[test]
fn what_concerns_other_threads_or_turns_is_not_shown() {
    let mut session = running();
    let message = json!({ "type": "agentMessage", "id": "m", "text": "" });
    for (thread, turn) in [("elsewhere", "native-turn-1"), (NATIVE, "another turn")] {
        tell(
            &mut session,
            "item/started",
            json!({ "threadId": thread, "turnId": turn, "item": message }),
        );
        let delta = json!({ "threadId": thread, "turnId": turn, "itemId": "m", "delta": "x" });
        tell(&mut session, "item/agentMessage/delta", delta);
    }
    let over = json!({ "turn": { "id": "another turn", "status": "completed" } });
    tell(&mut session, "turn/completed", over);
    assert!(tail(&session, 2).is_empty());
}

#[test]
fn a_piece_of_an_item_nobody_announced_begins_it() {
    let mut session = running();
    tell(
        &mut session,
        "item/agentMessage/delta",
        json!({ "itemId": "m", "delta": "Hel" }),
    );
    tell(
        &mut session,
        "item/agentMessage/delta",
        json!({ "itemId": "m", "delta": "lo" }),
    );
    tell(
        &mut session,
        "item/completed",
        json!({ "item": { "type": "agentMessage", "id": "m", "text": "Hello" } }),
    );
    assert_eq!(
        tail(&session, 2),
        [
            "item item-1 message Running turn=1",
            "text item-1 \"Hello\"",
            "item item-1 message Completed turn=1 text=\"Hello\"",
        ]
    );
}

#[test]
fn parts_of_reasoning_are_apart_by_an_empty_line() {
    let mut session = running();
    tell(
        &mut session,
        "item/started",
        json!({ "item": { "type": "reasoning", "id": "r", "summary": [] } }),
    );
    for (part, delta) in [(0, "One"), (0, "."), (1, "Two")] {
        let piece = json!({ "itemId": "r", "delta": delta, "summaryIndex": part });
        tell(&mut session, "item/reasoning/summaryTextDelta", piece);
    }
    tell(
        &mut session,
        "item/completed",
        json!({ "item": { "type": "reasoning", "id": "r", "summary": ["One.", "Two"] } }),
    );
    assert_eq!(
        tail(&session, 2)[1..],
        [
            "text item-1 \"One.\\n\\nTwo\"",
            "item item-1 reasoning Completed turn=1 text=\"One.\\n\\nTwo\""
        ]
    );
}

#[test]
fn the_to_do_list_is_one_item_that_is_sent_again() {
    let mut session = running();
    for statuses in [["inProgress", "pending"], ["completed", "inProgress"]] {
        let plan: Vec<_> = statuses
            .iter()
            .map(|status| json!({ "step": "s", "status": status }))
            .collect();
        tell(
            &mut session,
            "turn/plan/updated",
            json!({ "explanation": null, "plan": plan }),
        );
    }
    complete(&mut session, "completed", Value::Null);
    assert_eq!(
        tail(&session, 2),
        [
            "item item-1 todo Running turn=1 title=\"0 of 2 steps done\"",
            "item item-1 todo Running turn=1 title=\"1 of 2 steps done\"",
            "item item-1 todo Completed turn=1 title=\"1 of 2 steps done\"",
            "turn-ended 1 completed reusable",
        ]
    );
    let last = session.events().filter_map(|event| match event {
        Event::Item(item) => Some(item.body_json.clone()),
        _ => None,
    });
    let body: Value = serde_json::from_str(&last.last().unwrap()).unwrap();
    assert_eq!(body["steps"][1]["status"], "running");
}

#[test]
fn a_command_that_outlives_its_turn_is_background_until_it_ends() {
    let mut session = running();
    let command = |status: &str| json!({ "type": "commandExecution", "id": "c", "command": "sleep 3", "status": status, "exitCode": 0 });
    tell(
        &mut session,
        "item/started",
        json!({ "item": command("inProgress") }),
    );
    complete(&mut session, "completed", Value::Null);
    reply(
        &mut session,
        "thread/backgroundTerminals/list",
        json!({ "data": [{ "itemId": "c", "processId": "1", "command": "sleep 3" }] }),
    );
    tell(
        &mut session,
        "item/commandExecution/outputDelta",
        json!({ "itemId": "c", "delta": "late" }),
    );
    tell(
        &mut session,
        "item/completed",
        json!({ "item": command("completed") }),
    );
    let expected = [
        "item item-1 command Running turn=1 title=\"sleep 3\" exit=0",
        "item item-1 command Completed turn=1 title=\"sleep 3\" exit=0",
        "turn-ended 1 completed reusable",
        "background T [\"item-1\"]",
        "text item-1 \"late\"",
        "item item-1 command Completed turn=1 title=\"sleep 3\" exit=0",
        "background T []",
    ];
    assert_eq!(tail(&session, 2), expected);
}

#[test]
fn a_retry_is_a_notice_and_a_warning_is_shown_once() {
    let mut session = running();
    let error = json!({ "message": "Reconnecting... 1/5", "codexErrorInfo": "other", "additionalDetails": "busy" });
    tell(
        &mut session,
        "error",
        json!({ "error": error, "willRetry": true }),
    );
    for _ in 0..3 {
        tell(&mut session, "warning", json!({ "message": "careful" }));
    }
    assert_eq!(
        tail(&session, 2),
        [
            "item item-1 notice Completed turn=1 title=\"Reconnecting... 1/5\" text=\"Reconnecting... 1/5 (busy)\"",
            "item item-2 notice Completed turn=1 title=\"careful\" text=\"careful\"",
        ]
    );
}

#[test]
fn a_body_over_the_bound_is_replaced_and_stays_json() {
    let mut session = running();
    let arguments = json!({ "text": "x".repeat(2 << 20) });
    let item = json!({ "type": "mcpToolCall", "id": "m", "server": "s", "tool": "t", "status": "inProgress", "arguments": arguments });
    tell(&mut session, "item/started", json!({ "item": item }));
    let Some(Event::Item(item)) = session.events().last() else {
        panic!("no item")
    };
    let body: Value = serde_json::from_str(&item.body_json).unwrap();
    assert!(body["omitted"].as_str().unwrap().ends_with("bytes"));
}
