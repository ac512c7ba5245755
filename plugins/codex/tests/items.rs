//! Items, requests and notices that no recording shows.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "test code: what is not as expected stops the test"
)]

mod common;

use common::*;
use driver_codex::Codex;
use driver_sdk::harness::Replay;
use driver_sdk::types::*;
use serde_json::{Value, json};

fn tail(session: &Replay<Codex>) -> Vec<String> {
    lines(session.events()).split_off(2)
}

fn ask(session: &mut Replay<Codex>, method: &str, params: Value) {
    let mut params = params;
    params
        .as_object_mut()
        .unwrap()
        .entry("threadId")
        .or_insert(json!(NATIVE));
    say(
        session,
        &json!({ "method": method, "id": "question-1", "params": params }),
    );
}

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
        tail(&session),
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
    assert!(tail(&session).is_empty());
    complete(&mut session, "completed", Value::Null);
    assert_eq!(tail(&session), ["turn-ended 1 completed reusable"]);
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
    assert!(tail(&session).is_empty());
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
        tail(&session),
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
        tail(&session)[1..],
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
        tail(&session),
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
    assert_eq!(tail(&session), expected);
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
        tail(&session),
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

// ------------------------------------------------------------------ requests

#[test]
fn a_request_nobody_here_knows_is_refused_so_that_codex_goes_on() {
    for (method, params, code) in [
        ("attestation/generate", json!({}), -32_601),
        ("account/chatgptAuthTokens/refresh", json!({}), -32_601),
        ("item/tool/call", json!({ "tool": "x" }), -32_601),
        (
            "item/commandExecution/requestApproval",
            json!({ "threadId": "elsewhere", "command": "ls" }),
            -32_602,
        ),
        (
            "item/tool/requestUserInput",
            json!({ "questions": 7 }),
            -32_602,
        ),
    ] {
        let mut session = running();
        ask(&mut session, method, params);
        let answer = last_frame(&session);
        assert_eq!(answer["id"], "question-1", "{method}");
        assert_eq!(answer["error"]["code"], code, "{method}");
        assert!(tail(&session).is_empty(), "{method}");
    }
}

#[test]
fn more_permissions_are_an_approval_that_gives_what_was_asked() {
    let mut session = running();
    let permissions = json!({ "network": { "enabled": true }, "fileSystem": null });
    let params = json!({ "turnId": "native-turn-1", "itemId": "c", "reason": "fetch", "cwd": "/", "permissions": permissions });
    ask(&mut session, "item/permissions/requestApproval", params);
    session
        .give(vec![answer("request-1", decision("acceptForSession"))])
        .unwrap();
    let reply = last_frame(&session);
    assert_eq!(
        reply["result"],
        json!({ "permissions": { "network": { "enabled": true } }, "scope": "session" })
    );
    assert_eq!(tail(&session)[1], "request-closed request-1 answered");
}

#[test]
fn a_form_becomes_questions_and_what_a_chat_cannot_show_is_declined() {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let mut session = running();
    ask(
        &mut session,
        "mcpServer/elicitation/request",
        json!({ "serverName": "maps", "mode": "form", "message": "Where?", "requestedSchema": schema }),
    );
    let wrong = answer("request-1", Reply::Answers(Vec::new()));
    session.give(vec![wrong]).unwrap();
    assert!(tail(&session)[1].contains("`city` must be answered"));
    let city = QuestionAnswer {
        question_id: "city".to_owned(),
        values: vec!["Oslo".to_owned()],
    };
    session
        .give(vec![answer("request-1", Reply::Answers(vec![city]))])
        .unwrap();
    assert_eq!(
        last_frame(&session)["result"],
        json!({ "action": "accept", "content": { "city": "Oslo" }, "_meta": null })
    );

    for (mode, message) in [("url", "Open this"), ("openai/userVerification", "Verify")] {
        let mut session = running();
        ask(
            &mut session,
            "mcpServer/elicitation/request",
            json!({ "serverName": "maps", "mode": mode, "message": message, "url": "https://x" }),
        );
        assert_eq!(
            last_frame(&session)["result"]["action"],
            "decline",
            "{mode}"
        );
        assert!(
            tail(&session)[0].contains("notice") && tail(&session)[0].contains(message),
            "{mode}"
        );
    }
}

#[test]
fn a_withdrawn_request_closes_and_a_late_answer_is_refused() {
    let mut session = running();
    ask(
        &mut session,
        "item/commandExecution/requestApproval",
        json!({ "turnId": "native-turn-1", "command": "ls" }),
    );
    say(
        &mut session,
        &json!({ "method": "serverRequest/resolved", "params": { "threadId": NATIVE, "requestId": "question-1" } }),
    );
    session
        .give(vec![answer("request-1", decision("accept"))])
        .unwrap();
    let lines = tail(&session);
    assert_eq!(lines[1], "request-closed request-1 withdrawn");
    assert!(
        lines[2].starts_with("effect-ended answer-request-1 refused"),
        "{lines:?}"
    );
}

#[test]
fn ids_of_requests_are_this_sides_own_also_when_codex_repeats_its_own() {
    let mut session = running();
    for number in 1..=2 {
        ask(
            &mut session,
            "item/commandExecution/requestApproval",
            json!({ "turnId": "native-turn-1", "command": "ls" }),
        );
        session
            .give(vec![answer(
                &format!("request-{number}"),
                decision("decline"),
            )])
            .unwrap();
    }
    let ids: Vec<_> = session
        .events()
        .filter_map(|event| match event {
            Event::Request(request) => Some(request.request_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["request-1", "request-2"]);
}
