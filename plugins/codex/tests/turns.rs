//! Threads and turns: what is sent for each input, and what comes of each answer.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "test code: what is not as expected stops the test"
)]

mod common;

use common::*;
use driver_codex::Codex;
use driver_sdk::harness::{Replay, session_config};
use driver_sdk::types::*;
use serde_json::{Value, json};

fn tail(session: &Replay<Codex>, from: usize) -> Vec<String> {
    lines(session.events()).split_off(from)
}

fn count(session: &Replay<Codex>) -> usize {
    lines(session.events()).len()
}

/// Frames of a method, oldest first.
fn sent(session: &Replay<Codex>, method: &str) -> Vec<Value> {
    session
        .frames()
        .map(|frame| serde_json::from_str::<Value>(frame).unwrap())
        .filter(|frame| frame["method"] == method)
        .collect()
}

fn mcp_status(session: &mut Replay<Codex>, native: Value, name: &str, status: &str) {
    let params = json!({ "threadId": native, "name": name, "status": status, "error": "no route" });
    say(
        session,
        &json!({ "method": "mcpServer/startupStatus/updated", "params": params }),
    );
}

fn instructed(thread_id: &str, turn_id: &str) -> Input {
    Input::StartTurn(StartTurn {
        instructions: Some("INSTRUCTIONS".to_owned()),
        context_transfer: Some("CONTEXT".to_owned()),
        ..start(thread_id, turn_id)
    })
}

fn texts(frame: &Value) -> Vec<&str> {
    frame["params"]["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["text"].as_str().unwrap())
        .collect()
}

// ------------------------------------------------------------------- threads

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
    let header = "/params/config/mcp_servers/t3-code/http_headers/Authorization";
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

fn greeted_with_thread(injection: &str) -> Replay<Codex> {
    let config = session_config("session", &json!({ "mcp_injection": injection }));
    let mut session = Replay::<Codex>::begin(config).unwrap();
    session
        .give(vec![open("T", None, Some(endpoint()))])
        .unwrap();
    reply(
        &mut session,
        "initialize",
        json!({ "userAgent": "weft/0.171.0 (Linux)" }),
    );
    session
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

// ------------------------------------------------------------ tools of the host

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

// --------------------------------------------------------------------- turns

#[test]
fn a_turn_carries_its_modes_and_plan_mode_is_left_again() {
    let turn = |turn_id: &str, runtime_mode: &str, interaction_mode: &str| {
        Input::StartTurn(StartTurn {
            modes: modes(runtime_mode, interaction_mode),
            ..start("T", turn_id)
        })
    };
    let mut session = opened();
    for (number, (runtime_mode, interaction_mode, approval, sandbox, collaboration)) in [
        ("full-access", "default", "never", "dangerFullAccess", None),
        (
            "full-access",
            "plan",
            "on-request",
            "readOnly",
            Some("plan"),
        ),
        (
            "auto-accept-edits",
            "default",
            "on-request",
            "workspaceWrite",
            Some("default"),
        ),
        (
            "approval-required",
            "default",
            "untrusted",
            "readOnly",
            None,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        session
            .give(vec![turn(
                &number.to_string(),
                runtime_mode,
                interaction_mode,
            )])
            .unwrap();
        let params = &last_frame(&session)["params"];
        assert_eq!(params["approvalPolicy"], approval, "{number}");
        assert_eq!(params["sandboxPolicy"]["type"], sandbox, "{number}");
        assert_eq!(
            params
                .pointer("/collaborationMode/mode")
                .and_then(Value::as_str),
            collaboration,
            "{number}"
        );
        let native = format!("native-turn-{number}");
        reply(
            &mut session,
            "turn/start",
            json!({ "turn": { "id": native } }),
        );
        let completed =
            json!({ "threadId": NATIVE, "turn": { "id": native, "status": "completed" } });
        say(
            &mut session,
            &json!({ "method": "turn/completed", "params": completed }),
        );
    }
}

#[test]
fn a_resumed_conversation_is_told_its_mode_because_it_may_still_plan() {
    let mut session = greeted(&json!({}));
    session.give(vec![open("T", Some(NATIVE), None)]).unwrap();
    let opened =
        json!({ "thread": { "id": NATIVE }, "model": "gpt-5.5", "reasoningEffort": "high" });
    reply(&mut session, "thread/resume", opened);
    session
        .give(vec![Input::StartTurn(start("T", "1"))])
        .unwrap();
    let mode = &last_frame(&session)["params"]["collaborationMode"];
    assert_eq!(mode["mode"], "default");
    assert_eq!(mode["settings"]["model"], "gpt-5.5");
    assert_eq!(mode["settings"]["reasoning_effort"], "high");
}

#[test]
fn model_and_effort_go_with_the_turn_and_other_options_are_refused() {
    let option = |id: &str| ModelOption {
        id: id.to_owned(),
        value: OptionValue::Text("high".to_owned()),
    };
    let chosen = |id: &str| ModelSelection {
        model: Some("gpt-x".to_owned()),
        options: vec![option(id)],
    };
    let mut session = opened();
    let refused = StartTurn {
        model: chosen("speed"),
        ..start("T", "0")
    };
    session.give(vec![Input::StartTurn(refused)]).unwrap();
    assert!(
        lines(session.events())
            .last()
            .unwrap()
            .contains("no model option `speed`")
    );
    let set = |id: &str| {
        Input::SetModel(SetModel {
            effect_id: format!("set-{id}"),
            thread_id: "T".to_owned(),
            model: chosen(id),
        })
    };
    session.give(vec![set("effort"), set("speed")]).unwrap();
    let answers = lines(session.events()).split_off(2);
    assert_eq!(answers[0], "effect-ended set-effort done");
    assert!(
        answers[1].starts_with("effect-ended set-speed refused"),
        "{answers:?}"
    );
    session
        .give(vec![Input::StartTurn(StartTurn {
            model: chosen("effort"),
            ..start("T", "1")
        })])
        .unwrap();
    let params = &last_frame(&session)["params"];
    assert_eq!(
        (params["model"].as_str(), params["effort"].as_str()),
        (Some("gpt-x"), Some("high"))
    );
}

#[test]
fn images_go_by_path_and_other_files_are_refused() {
    let attachment = |media_type: &str| Attachment {
        name: "file".to_owned(),
        media_type: media_type.to_owned(),
        size_bytes: 3,
        path: "/home/dev/file".to_owned(),
        base64_placeholder: "{{file}}".to_owned(),
    };
    let mut session = opened();
    for (media_type, taken) in [("text/csv", false), ("image/png", true)] {
        let turn = StartTurn {
            attachments: vec![attachment(media_type)],
            ..start("T", media_type)
        };
        session.give(vec![Input::StartTurn(turn)]).unwrap();
        assert_eq!(
            sent(&session, "turn/start").len(),
            usize::from(taken),
            "{media_type}"
        );
    }
    let image = &last_frame(&session)["params"]["input"][1];
    assert_eq!(
        image,
        &json!({ "type": "localImage", "path": "/home/dev/file" })
    );
}

#[test]
fn a_prompt_longer_than_a_frame_is_refused_and_the_thread_stays_usable() {
    let mut session = opened();
    let long = StartTurn {
        text: "x".repeat(2 << 20),
        ..start("T", "1")
    };
    session
        .give(vec![
            Input::StartTurn(long),
            Input::StartTurn(start("T", "2")),
        ])
        .unwrap();
    let lines = lines(session.events());
    assert!(lines[1].contains("longer than one frame"), "{lines:?}");
    assert_eq!(sent(&session, "turn/start").len(), 1);
}

#[test]
fn a_turn_codex_refuses_or_that_is_one_too_many_never_starts() {
    let mut session = opened();
    session
        .give(vec![
            Input::StartTurn(start("T", "1")),
            Input::StartTurn(start("T", "2")),
        ])
        .unwrap();
    refuse(&mut session, "turn/start", "invalid thread id");
    let lines = lines(session.events()).split_off(1);
    assert!(
        lines[0].starts_with("effect-ended start-2 refused"),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("effect-ended start-1 refused validation_error"),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_turn_whose_start_is_never_answered_ends_the_session() {
    let mut session = opened();
    session
        .give(vec![Input::StartTurn(start("T", "1"))])
        .unwrap();
    run_out(&mut session, 30_000);
    let lines = lines(session.events()).split_off(1);
    assert!(
        lines[0].starts_with("effect-ended start-1 failed transport_error"),
        "{lines:?}"
    );
    assert!(lines[1].contains("within 30 s"), "{lines:?}");
    assert!(session.actions.contains(&Action::Stop(APP)));
}

#[test]
fn a_failed_turn_has_the_reason_of_its_end_or_else_of_its_error() {
    let error = json!({ "message": "boom", "codexErrorInfo": "serverOverloaded" });
    for (in_end, in_error, expected) in [
        (error.clone(), None, "failed provider_error: \"boom\""),
        (
            Value::Null,
            Some(error.clone()),
            "failed provider_error: \"boom\"",
        ),
        (
            Value::Null,
            None,
            "failed provider_error: \"Codex ended the turn as `failed` without a reason.\"",
        ),
    ] {
        let mut session = running();
        if let Some(error) = in_error {
            tell(
                &mut session,
                "error",
                json!({ "error": error, "willRetry": false }),
            );
        }
        complete(&mut session, "failed", in_end);
        assert_eq!(
            tail(&session, 2),
            [format!("turn-ended 1 {expected} reusable")]
        );
    }
}

#[test]
fn a_turn_that_is_over_before_its_start_was_answered_starts_and_ends() {
    let mut session = opened();
    session
        .give(vec![Input::StartTurn(start("T", "1"))])
        .unwrap();
    complete(&mut session, "completed", Value::Null);
    reply(
        &mut session,
        "turn/start",
        json!({ "turn": { "id": "native-turn-1" } }),
    );
    assert_eq!(
        tail(&session, 1),
        ["turn-started 1", "turn-ended 1 completed reusable"]
    );
}

// ------------------------------------------------------------ steer and stop

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
    let ends: [(&str, fn(&mut Replay<Codex>)); 3] = [
        ("nothing runs", |s| {
            reply(s, "thread/backgroundTerminals/list", json!({ "data": [] }))
        }),
        ("no such method", |s| {
            refuse(s, "thread/backgroundTerminals/list", "unknown variant")
        }),
        ("no answer", |s| run_out(s, 5_000)),
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
    assert_eq!(sent(&session, "turn/interrupt").len(), 1);
    // Not running.
    let mut session = opened();
    session.give(vec![interrupt("9", "end")]).unwrap();
    assert!(tail(&session, 1)[0].starts_with("effect-ended interrupt-9 refused"));
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

// ------------------------------------------------------------ fork and rollback

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

// -------------------------------------------------------------------- bounds

#[test]
fn more_actions_than_the_host_takes_come_with_the_next_call_in_order() {
    let mut config = session_config("session", &json!({}));
    config.limits.actions_max = 3;
    let mut session = Replay::<Codex>::begin(config).unwrap();
    reply(
        &mut session,
        "initialize",
        json!({ "userAgent": "weft/0.171.0 (Linux)" }),
    );
    session
        .give(vec![
            open("T", None, None),
            Input::StartTurn(start("T", "1")),
        ])
        .unwrap();
    while session
        .take_asked("thread/start")
        .map(|id| {
            say(
                &mut session,
                &json!({ "id": id, "result": { "thread": { "id": NATIVE }, "model": "m" } }),
            );
        })
        .is_none()
    {
        assert!(session.give(vec![Input::Timer(0)]).unwrap().len() <= 3);
    }
    for _ in 0..4 {
        assert!(session.give(vec![Input::Timer(0)]).unwrap().len() <= 3);
    }
    assert_eq!(sent(&session, "turn/start").len(), 1);
    let methods: Vec<_> = session
        .frames()
        .map(|frame| serde_json::from_str::<Value>(frame).unwrap()["method"].clone())
        .collect();
    assert_eq!(
        methods,
        ["initialize", "initialized", "thread/start", "turn/start"]
    );
}
