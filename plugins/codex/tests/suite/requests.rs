//! Requests of Codex that no recording shows.

use crate::common::*;
use driver_codex::Codex;
use driver_sdk::harness::Replay;
use driver_sdk::types::*;
use serde_json::{Value, json};

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
        assert!(tail(&session, 2).is_empty(), "{method}");
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
    assert_eq!(tail(&session, 2)[1], "request-closed request-1 answered");
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
    assert!(tail(&session, 2)[1].contains("`city` must be answered"));
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
            tail(&session, 2)[0].contains("notice") && tail(&session, 2)[0].contains(message),
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
    let lines = tail(&session, 2);
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

#[test]
fn questions_the_host_could_not_take_are_refused_and_long_texts_cut() {
    let question = |id: String, text: String| json!({ "id": id, "header": "h", "question": text, "options": null });
    for (questions, taken) in [
        (vec![question("i".repeat(257), "t".to_owned())], false),
        (vec![question("i".to_owned(), "t".to_owned()); 65], false),
        (vec![question("i".to_owned(), "t".repeat(2 << 20))], true),
    ] {
        let mut session = running();
        let params = json!({ "turnId": "native-turn-1", "questions": questions });
        ask(&mut session, "item/tool/requestUserInput", params);
        let shown = session.events().find_map(|event| match event {
            Event::Request(Request {
                prompt: Prompt::Questions(questions),
                ..
            }) => Some(questions[0].text.len()),
            _ => None,
        });
        assert_eq!(shown, taken.then_some(1 << 20));
    }
}
