//! What a turn carries, and how it starts and ends. Also the bound on actions.

use crate::common::*;
use crate::show::lines;
use driver_codex::Codex;
use driver_sdk::harness::{Replay, session_config};
use driver_sdk::types::*;
use serde_json::{Value, json};

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
