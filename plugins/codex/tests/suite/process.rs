//! The process: start, greeting, noise, cut lines, and its end at every step.

use crate::common::*;
use crate::show::lines;
use driver_codex::Codex;
use driver_sdk::harness::{Replay, exited, line, session_config, stdout};
use driver_sdk::types::*;
use serde_json::{Value, json};

fn last_line(session: &Replay<Codex>) -> String {
    lines(session.events()).pop().unwrap_or_default()
}

#[test]
fn a_session_starts_the_app_server_and_greets_it() {
    let session = begun("session");
    let Action::Spawn(spawn) = &session.actions[0] else {
        panic!("{:?}", session.actions)
    };
    assert_eq!(
        (spawn.template.as_str(), spawn.process_id),
        ("app-server", APP)
    );
    let greeting = last_frame(&session);
    assert_eq!(greeting["method"], "initialize");
    assert_eq!(greeting["params"]["capabilities"]["experimentalApi"], true);
    assert_eq!(running_timers(&session).len(), 1);
}

#[test]
fn a_silent_greeting_ends_the_session_after_its_named_time() {
    let mut session = begun("session");
    session.give(vec![open("T", None, None)]).unwrap();
    run_out(&mut session, 10_000);
    let lines = lines(session.events());
    assert!(
        lines[0].starts_with("effect-ended open-T refused transport_error"),
        "{lines:?}"
    );
    assert!(
        lines[1].contains("did not answer its greeting within 10 s"),
        "{lines:?}"
    );
    assert!(lines[1].contains("0.113.0"), "{lines:?}");
    assert!(session.actions.contains(&Action::Stop(APP)));
    assert!(running_timers(&session).is_empty());
}

#[test]
fn an_old_version_is_refused_with_the_minimum() {
    let mut session = begun("session");
    session.give(vec![open("T", None, None)]).unwrap();
    reply(
        &mut session,
        "initialize",
        json!({ "userAgent": "weft/0.96.0 (Linux)" }),
    );
    let last = last_line(&session);
    assert!(
        last.contains("Codex 0.96.0 is too old: 0.113.0 or newer"),
        "{last}"
    );
}

#[test]
fn noise_between_frames_is_tolerated_and_too_much_of_it_is_shown() {
    let mut session = begun("session");
    let id = session.take_asked("initialize").unwrap();
    for noise in [
        "Welcome to bash",
        "",
        "[1,2]",
        "{\"a\":1}",
        "\u{feff}",
        "\u{1b}[31mred\u{1b}[0m",
    ] {
        session.give(vec![stdout(APP, noise)]).unwrap();
    }
    say(
        &mut session,
        &json!({ "id": id, "result": { "userAgent": "weft/0.171.0 (Linux)" } }),
    );
    session.give(vec![open("T", None, None)]).unwrap();
    assert_eq!(last_frame(&session)["method"], "thread/start");
    for _ in 0..40 {
        session.give(vec![stdout(APP, "still noise")]).unwrap();
    }
    let last = last_line(&session);
    assert!(last.starts_with("session-ended transport_error"), "{last}");
    assert!(last.contains("still noise"), "{last}");
    let ends = session
        .events()
        .filter(|event| matches!(event, Event::SessionEnded(_)))
        .count();
    assert_eq!(ends, 1);
}

#[test]
fn a_cut_last_line_is_never_a_success() {
    let mut session = running();
    let turn = json!({ "id": "native-turn-1", "status": "completed", "error": null });
    let frame =
        json!({ "method": "turn/completed", "params": { "threadId": NATIVE, "turn": turn } });
    let cut = line(
        APP,
        Output::Stdout,
        &frame.to_string(),
        LineState::Unterminated,
    );
    session
        .give(vec![cut, exited(APP, ExitCause::Code(0))])
        .unwrap();
    let lines = lines(session.events());
    let end = lines
        .iter()
        .find(|line| line.starts_with("turn-ended 1"))
        .unwrap();
    assert!(
        end.contains("failed transport_error") && end.contains("cut off"),
        "{end}"
    );
}

#[test]
fn a_line_over_the_limit_is_a_notice_where_it_only_shows_something_and_else_the_end() {
    for (start, survives) in [
        (
            r#"{"method":"item/completed","params":{"item":{"type":"commandExecution","aggregated"#,
            true,
        ),
        (
            r#"{"method":"item/commandExecution/outputDelta","params":{"#,
            true,
        ),
        (r#"{"method":"turn/diff/updated","params":{"#, true),
        (r#"{"method":"turn/completed","params":{"#, false),
        (
            r#"{"method":"item/fileChange/requestApproval","id":1,"params":{"#,
            false,
        ),
        (r#"{"id":4,"result":{"#, false),
        ("noise without end", false),
    ] {
        let mut session = running();
        session
            .give(vec![line(APP, Output::Stdout, start, LineState::OverLimit)])
            .unwrap();
        let lines = lines(session.events());
        let ended = lines
            .iter()
            .any(|line| line.starts_with("turn-ended 1 failed transport_error"));
        let notice = lines
            .iter()
            .any(|line| line.contains(" notice Completed turn=1"));
        assert_eq!((notice, ended), (survives, !survives), "{start}: {lines:?}");
    }
}

#[test]
fn close_ends_standard_input_and_the_exit_is_in_order() {
    let mut session = running();
    session
        .give(vec![Input::Close(Close {
            reason: "idle".to_owned(),
        })])
        .unwrap();
    assert_eq!(session.actions.last(), Some(&Action::CloseStdin(APP)));
    session.give(vec![open("late", None, None)]).unwrap();
    session.give(vec![exited(APP, ExitCause::Code(0))]).unwrap();
    let lines = lines(session.events());
    let tail: Vec<_> = lines.iter().skip(2).map(String::as_str).collect();
    assert_eq!(
        tail,
        [
            "effect-ended open-late refused transport_error: \"This provider session is over.\"",
            "turn-ended 1 interrupted broken",
            "session-ended",
        ]
    );
    assert!(!session.actions.contains(&Action::Stop(APP)));
}

#[test]
fn inputs_after_the_end_are_answered_or_ignored() {
    let mut session = opened();
    session
        .give(vec![exited(APP, ExitCause::Signal(9))])
        .unwrap();
    let before = session.actions.len();
    session
        .give(vec![
            stdout(
                APP,
                r#"{"method":"warning","params":{"threadId":"native-1","message":"m"}}"#,
            ),
            Input::Timer(1),
            exited(APP, ExitCause::Code(0)),
            Input::StartTurn(start("T", "1")),
        ])
        .unwrap();
    let after: Vec<_> = session.actions[before..].to_vec();
    assert_eq!(after.len(), 1, "{after:?}");
    assert!(last_line(&session).starts_with("effect-ended start-1 refused"));
}

#[test]
fn inputs_out_of_order_are_the_hosts_fault() {
    let mut session = begun("session");
    assert!(matches!(
        session.give(vec![Input::Begin]),
        Err(DriverError::InvalidInput(_))
    ));
    let config = session_config("elsewhere", &json!({}));
    assert!(matches!(
        Replay::<Codex>::begin(config),
        Err(DriverError::InvalidConfig(_))
    ));
}

// ------------------------------------------------------------ end at each step

type Step = (&'static str, fn() -> Replay<Codex>, &'static [&'static str]);

fn tell_command(session: &mut Replay<Codex>) {
    let item = json!({ "type": "commandExecution", "id": "call-1", "command": "ls", "status": "inProgress" });
    tell(session, "item/started", json!({ "item": item }));
}

fn asking() -> Replay<Codex> {
    let mut session = running();
    tell_command(&mut session);
    let params = json!({ "threadId": NATIVE, "turnId": "native-turn-1", "itemId": "call-1", "command": "ls" });
    say(
        &mut session,
        &json!({ "method": "item/commandExecution/requestApproval", "id": 0, "params": params }),
    );
    session
}

/// What the process's end answers at each step, before `session-ended`.
const STEPS: [Step; 11] = [
    ("not started", || begun("session"), &[]),
    (
        "thread held",
        || {
            let mut session = begun("session");
            session
                .give(vec![
                    open("T", None, None),
                    Input::StartTurn(start("T", "1")),
                ])
                .unwrap();
            session
        },
        &[
            "effect-ended start-1 refused",
            "effect-ended open-T refused",
        ],
    ),
    (
        "thread asked",
        || {
            let mut session = greeted(&json!({}));
            session.give(vec![open("T", None, None)]).unwrap();
            session
        },
        &["effect-ended open-T failed"],
    ),
    ("idle", opened, &[]),
    (
        "turn waits for the tools",
        || {
            let mut session = greeted(&json!({}));
            session
                .give(vec![
                    open("T", None, Some(endpoint())),
                    Input::StartTurn(start("T", "1")),
                ])
                .unwrap();
            reply(
                &mut session,
                "thread/start",
                json!({ "thread": { "id": NATIVE } }),
            );
            session
        },
        &["effect-ended start-1 refused"],
    ),
    (
        "turn asked",
        || {
            let mut session = opened();
            session
                .give(vec![Input::StartTurn(start("T", "1")), steer("1", 1)])
                .unwrap();
            session
        },
        &[
            "effect-ended start-1 failed",
            "effect-ended steer-1 refused",
        ],
    ),
    (
        "turn runs",
        running,
        &["turn-ended 1 failed transport_error"],
    ),
    (
        "command runs, steer asked",
        || {
            let mut session = running();
            tell_command(&mut session);
            session.give(vec![steer("1", 1)]).unwrap();
            session
        },
        &[
            "item item-1 command Failed",
            "turn-ended 1 failed",
            "effect-ended steer-1 failed",
        ],
    ),
    (
        "approval open",
        asking,
        &[
            "request-closed request-1 process-ended",
            "item item-1 command Failed",
            "turn-ended 1 failed",
        ],
    ),
    (
        "stop asked",
        || {
            let mut session = running();
            session.give(vec![interrupt("1", "end")]).unwrap();
            session
        },
        &["turn-ended 1 interrupted broken"],
    ),
    (
        "commands of a stopped turn end",
        || {
            let mut session = running();
            session.give(vec![interrupt("1", "end")]).unwrap();
            complete(&mut session, "interrupted", Value::Null);
            session
        },
        &["turn-ended 1 interrupted broken"],
    ),
];

#[test]
fn the_end_of_the_process_gives_everything_its_one_answer_at_every_step() {
    for (step, prepare, expected) in STEPS {
        for cause in [ExitCause::Code(0), ExitCause::Code(3), ExitCause::Signal(9)] {
            let mut session = prepare();
            let before = lines(session.events()).len();
            let stderr = line(APP, Output::Stderr, "Error: disk full", LineState::Whole);
            session
                .give(vec![stderr, exited(APP, cause.clone())])
                .unwrap();
            let lines = lines(session.events()).split_off(before);
            assert_eq!(lines.len(), expected.len() + 1, "{step}: {lines:?}");
            for (line, expected) in lines.iter().zip(expected) {
                assert!(
                    line.starts_with(expected),
                    "{step}: {line} is not {expected}"
                );
            }
            let last = lines.last().unwrap();
            assert!(
                last.starts_with("session-ended transport_error"),
                "{step}: {last}"
            );
            assert!(last.contains("disk full"), "{step}: {last}");
            assert!(running_timers(&session).is_empty(), "{step}");
        }
    }
}

#[test]
fn a_missing_program_names_the_cause_and_the_remedy() {
    let mut session = begun("session");
    session.give(vec![open("T", None, None)]).unwrap();
    session
        .give(vec![exited(
            APP,
            ExitCause::NotStarted("not found".to_owned()),
        )])
        .unwrap();
    let last = last_line(&session);
    for word in [
        "validation_error",
        "not found",
        "npm install -g @openai/codex",
        "0.113.0",
    ] {
        assert!(last.contains(word), "{last}");
    }
}
