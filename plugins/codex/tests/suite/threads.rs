//! Opening and closing threads, and the tools of the host.

use crate::common::*;
use crate::show::lines;
use driver_codex::Codex;
use driver_sdk::harness::{Replay, session_config};
use driver_sdk::types::*;
use serde_json::{Value, json};

#[test]
fn one_process_holds_threads_with_their_own_tokens() {
    let mut session = greeted(&json!({}));
    let second = McpEndpoint {
        authorization: "{{mcp:2}}".to_owned(),
        ..endpoint()
    };
    session
        .give(vec![
            open("A", None, Some(endpoint())),
            open("B", Some("old"), Some(second)),
        ])
        .unwrap();
    let header = "/params/config/mcp_servers.t3-code/http_headers/Authorization";
    let start = &sent(&session, "thread/start")[0];
    assert_eq!(start.pointer(header).unwrap(), "Bearer {{mcp:1}}");
    let resume = &sent(&session, "thread/resume")[0];
    assert_eq!(resume.pointer(header).unwrap(), "Bearer {{mcp:2}}");
    assert_eq!(resume["params"]["threadId"], "old");
    assert_eq!(resume["params"]["excludeTurns"], true);
    let spawns = session
        .actions
        .iter()
        .filter(|action| matches!(action, Action::Spawn(_)))
        .count();
    assert_eq!(spawns, 1);
}

#[test]
fn a_placeholder_appears_only_where_the_host_replaces_it() {
    for injection in ["frames", "environment"] {
        let mut session = greeted_with_thread(injection);
        reply(
            &mut session,
            "thread/start",
            json!({ "thread": { "id": NATIVE } }),
        );
        mcp_status(&mut session, json!(NATIVE), "t3-code", "ready");
        for action in &session.actions {
            match action {
                Action::Spawn(spawn) => {
                    assert!(
                        !spawn.arguments.join(" ").contains("{{mcp:1}}"),
                        "{spawn:?}"
                    );
                    let carries = spawn
                        .environment
                        .iter()
                        .any(|variable| variable.value == "{{mcp:1}}");
                    assert_eq!(carries, injection == "environment", "{spawn:?}");
                }
                Action::Write(write) => {
                    let carries = write.frame.contains("{{mcp:1}}");
                    assert_eq!(
                        carries,
                        injection == "frames" && write.frame.contains("thread/start"),
                        "{write:?}"
                    );
                }
                other => assert!(!format!("{other:?}").contains("{{mcp:1}}"), "{other:?}"),
            }
        }
    }
}

#[test]
fn with_the_token_in_the_environment_a_process_starts_with_its_only_thread() {
    let config = session_config("session", &json!({ "mcp_injection": "environment" }));
    let mut session = Replay::<Codex>::begin(config).unwrap();
    assert!(session.actions.is_empty());
    session
        .give(vec![
            open("T", None, Some(endpoint())),
            open("U", None, None),
        ])
        .unwrap();
    let Action::Spawn(spawn) = &session.actions[0] else {
        panic!("{:?}", session.actions)
    };
    assert!(
        spawn
            .arguments
            .iter()
            .any(|word| word.contains("bearer_token_env_var"))
    );
    assert!(
        spawn
            .arguments
            .iter()
            .any(|word| word.contains("shell_environment_policy.exclude"))
    );
    assert_eq!(
        lines(session.events()),
        [
            "effect-ended open-U refused validation_error: \"This session holds as many threads as it may: 1.\""
        ]
    );
    reply(
        &mut session,
        "initialize",
        json!({ "userAgent": "weft/0.171.0 (Linux)" }),
    );
    reply(
        &mut session,
        "thread/start",
        json!({ "thread": { "id": NATIVE } }),
    );
    let Some(Event::ThreadReady(ready)) = session.events().last() else {
        panic!("not ready")
    };
    assert_eq!(ready.capabilities.as_ref().unwrap().threads, "one");
}

#[test]
fn threads_beyond_the_setting_or_twice_the_same_are_refused() {
    let mut session = greeted(&json!({ "threads_per_session": 2 }));
    session
        .give(vec![
            open("A", None, None),
            open("A", None, None),
            open("B", None, None),
            open("C", None, None),
        ])
        .unwrap();
    let lines = lines(session.events());
    assert!(lines[0].contains("holds the thread already"), "{lines:?}");
    assert!(
        lines[1].contains("as many threads as it may: 2"),
        "{lines:?}"
    );
}

#[test]
fn a_conversation_codex_lost_is_refused_and_its_held_turn_with_it() {
    let mut session = greeted(&json!({}));
    session
        .give(vec![
            open("T", Some("gone"), None),
            Input::StartTurn(start("T", "1")),
        ])
        .unwrap();
    refuse(
        &mut session,
        "thread/resume",
        "no rollout found for thread id gone",
    );
    let lines = lines(session.events());
    assert!(
        lines[0].starts_with("effect-ended start-1 refused validation_error"),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("effect-ended open-T refused validation_error"),
        "{lines:?}"
    );
    assert!(lines[1].contains("Start a new thread"), "{lines:?}");
}

#[test]
fn closing_a_thread_stops_its_turn_and_leaves_the_others() {
    let mut session = running();
    session.give(vec![open("U", None, None)]).unwrap();
    reply(
        &mut session,
        "thread/start",
        json!({ "thread": { "id": "native-2" } }),
    );
    let from = count(&session);
    let close = CloseThread {
        effect_id: "close".to_owned(),
        thread_id: "T".to_owned(),
        reason: "idle".to_owned(),
    };
    session.give(vec![Input::CloseThread(close)]).unwrap();
    assert_eq!(sent(&session, "turn/interrupt").len(), 1);
    reply(
        &mut session,
        "thread/unsubscribe",
        json!({ "status": "unsubscribed" }),
    );
    assert_eq!(
        tail(&session, from),
        ["turn-ended 1 interrupted broken", "effect-ended close done"]
    );
    session
        .give(vec![Input::StartTurn(start("U", "2"))])
        .unwrap();
    assert_eq!(last_frame(&session)["params"]["threadId"], "native-2");
}

#[test]
fn a_thread_codex_let_go_of_is_taken_up_again_with_its_next_turn() {
    let mut session = opened();
    say(
        &mut session,
        &json!({ "method": "thread/closed", "params": { "threadId": NATIVE } }),
    );
    session
        .give(vec![Input::StartTurn(start("T", "1"))])
        .unwrap();
    assert_eq!(
        sent(&session, "thread/resume")[0]["params"]["threadId"],
        NATIVE
    );
    reply(
        &mut session,
        "thread/resume",
        json!({ "thread": { "id": NATIVE }, "model": "gpt-5.5" }),
    );
    reply(
        &mut session,
        "turn/start",
        json!({ "turn": { "id": "native-turn-1" } }),
    );
    let ready = session
        .events()
        .filter(|event| matches!(event, Event::ThreadReady(_)))
        .count();
    assert_eq!(ready, 1);
    assert_eq!(lines(session.events()).last().unwrap(), "turn-started 1");
}

#[test]
fn the_first_turn_waits_for_the_tools_and_has_the_instructions_only_with_them() {
    for (status, by_time, with_instructions, notice) in [
        ("ready", false, true, None),
        ("failed", false, false, Some("no route")),
        ("", true, false, Some("was not ready within 10 s")),
    ] {
        let mut session = greeted_with_thread("frames");
        reply(
            &mut session,
            "thread/start",
            json!({ "thread": { "id": NATIVE } }),
        );
        session.give(vec![instructed("T", "1")]).unwrap();
        mcp_status(&mut session, json!(NATIVE), "t3-code", "starting");
        mcp_status(&mut session, json!(NATIVE), "another", "ready");
        mcp_status(&mut session, json!("another thread"), "t3-code", "ready");
        assert!(sent(&session, "turn/start").is_empty(), "{status}");
        if by_time {
            run_out(&mut session, 10_000);
        } else {
            mcp_status(&mut session, json!(NATIVE), "t3-code", status);
        }
        let turns = sent(&session, "turn/start");
        let expected: &[&str] = if with_instructions {
            &["INSTRUCTIONS", "CONTEXT", "do it"]
        } else {
            &["CONTEXT", "do it"]
        };
        assert_eq!(texts(&turns[0]), expected, "{status}");
        let shown = session.events().find_map(|event| match event {
            Event::Item(item) if item.kind == "notice" => item.text.clone(),
            _ => None,
        });
        assert_eq!(shown.is_some(), notice.is_some(), "{shown:?}");
        assert!(
            shown
                .unwrap_or_default()
                .contains(notice.unwrap_or_default())
        );
    }
}

#[test]
fn older_versions_report_in_another_form_and_a_second_failure_says_nothing_new() {
    for (state, notices) in [("ready", 0), ("failed", 1)] {
        let mut session = greeted_with_thread("frames");
        reply(
            &mut session,
            "thread/start",
            json!({ "thread": { "id": NATIVE } }),
        );
        session.give(vec![instructed("T", "1")]).unwrap();
        for _ in 0..2 {
            let message =
                json!({ "server": "t3-code", "status": { "state": state, "error": "no route" } });
            let params = json!({ "conversationId": NATIVE, "msg": message });
            say(
                &mut session,
                &json!({ "method": "codex/event/mcp_startup_update", "params": params }),
            );
        }
        assert_eq!(sent(&session, "turn/start").len(), 1, "{state}");
        let shown = lines(session.events())
            .iter()
            .filter(|line| line.contains(" notice "))
            .count();
        assert_eq!(shown, notices, "{state}");
    }
}

#[test]
fn a_report_that_comes_before_the_thread_is_named_counts() {
    for native in [json!(NATIVE), Value::Null] {
        let mut session = greeted_with_thread("frames");
        session.give(vec![instructed("T", "1")]).unwrap();
        mcp_status(&mut session, native.clone(), "t3-code", "ready");
        reply(
            &mut session,
            "thread/start",
            json!({ "thread": { "id": NATIVE } }),
        );
        assert_eq!(sent(&session, "turn/start").len(), 1, "{native}");
    }
}
