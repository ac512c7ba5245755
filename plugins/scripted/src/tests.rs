//! The driver as the host sees it: inputs in, actions out, both shown as one line each.

mod bench;
mod faults;

use driver_sdk::types::{
    Answer, CloseThread, Decision, ExitCause, Fork, Input, Interrupt, LineState, ModelOption,
    ModelSelection, Modes, OptionValue, Output, QuestionAnswer, Reply, Rollback, SetModel,
    SetModes, Steer,
};
use driver_sdk::{Driver, harness};
use serde_json::{Value, json};

use crate::core::Scripted;
use crate::wire::{self, Read, Said};
use bench::{Bench, attachment, open_thread, start_turn};

const OPENED: &str = r#"{"event":"opened","thread":"T","native":"N"}"#;
const STARTED: &str = r#"{"event":"turn-started","turn":"U"}"#;
const COMPLETED: &str = r#"{"event":"turn-ended","turn":"U","outcome":"completed","message":null}"#;

#[test]
fn the_description_is_constant_and_names_what_the_driver_asks_for() {
    let info = Scripted::describe();
    assert_eq!(info, Scripted::describe());
    assert_eq!(info.kind, "scripted");
    assert_eq!(info.capabilities.threads, "many");
    assert_eq!(info.spawn_templates.len(), 1);
    assert_eq!(info.spawn_templates[0].arguments, ["scripted-agent"]);
    let schema: Value = serde_json::from_str(&info.settings_schema_json).unwrap();
    assert_eq!(schema["type"], "object");
}

#[test]
fn a_session_greets_and_opens_threads_once_it_is_greeted() {
    let mut bench = Bench::new("session");
    assert_eq!(
        bench.give(Input::Begin),
        ["spawn agent", r#"> {"op":"hello"}"#, "timer 10000"]
    );
    assert_eq!(bench.give(open_thread("T")), [""; 0]);
    assert_eq!(
        bench.say(r#"{"event":"hello","version":"9"}"#),
        [
            "timer off",
            r#"> {"op":"open","thread":"T","native":null,"mcp":{"url":"http://127.0.0.1:1/mcp","authorization":"{{token-T}}","serverName":"t3-code","protocolVersion":"2025-06-18"}}"#,
            "timer 15000",
        ]
    );
    assert_eq!(
        bench.say(OPENED),
        ["timer off", "thread-ready T N resumable"]
    );
}

#[test]
fn a_conversation_is_taken_up_by_its_native_id() {
    let mut bench = Bench::greeted();
    let mut open = match open_thread("T") {
        Input::OpenThread(open) => open,
        other => panic!("{other:?}"),
    };
    open.native_thread_id = Some("N".to_owned());
    open.mcp = None;
    assert_eq!(
        bench.give(Input::OpenThread(open)),
        [
            r#"> {"op":"open","thread":"T","native":"N","mcp":null}"#,
            "timer 15000"
        ]
    );
}

#[test]
fn a_text_turn_is_one_message() {
    let mut bench = Bench::open();
    assert_eq!(
        bench.give(start_turn("T", "U", "script: say a b")),
        [
            r#"> {"op":"turn","thread":"T","turn":"U","text":"script: say a b","instructions":"be good","context":null}"#,
            "timer 15000",
        ]
    );
    assert_eq!(bench.say(STARTED), ["timer off", "turn-started U"]);
    assert_eq!(
        bench.say_all(&[
            r#"{"event":"reasoning","turn":"U","item":"item-1","text":"hm"}"#,
            r#"{"event":"reasoning-ended","turn":"U","item":"item-1","text":"hm"}"#,
            r#"{"event":"text","turn":"U","item":"item-2","text":"a "}"#,
            r#"{"event":"text","turn":"U","item":"item-2","text":"b"}"#,
            r#"{"event":"text-ended","turn":"U","item":"item-2","text":"a b"}"#,
            r#"{"event":"usage","turn":"U","inputTokens":120,"cachedInputTokens":20,"outputTokens":15,"reasoningTokens":5}"#,
            COMPLETED,
        ]),
        [
            "item item-1 reasoning Running",
            "text item-1 hm",
            "item item-1 reasoning Completed hm",
            "item item-2 message Running",
            "text item-2 a b",
            "item item-2 message Completed a b",
            "usage U 120 20 15 5",
            "turn-ended U Completed reusable",
        ]
    );
}

#[test]
fn a_turn_waits_for_its_thread() {
    let mut bench = Bench::greeted();
    bench.give(open_thread("T"));
    assert_eq!(bench.give(start_turn("T", "U", "x")), [""; 0]);
    let actions = bench.say(OPENED);
    assert_eq!(actions[..2], ["timer off", "thread-ready T N resumable"]);
    assert!(actions[2].starts_with(r#"> {"op":"turn""#));
}

#[test]
fn a_tool_is_an_item_with_arguments_and_result() {
    let mut bench = Bench::running();
    let tool = |status: &str, result: Value| {
        json!({
            "event": "tool", "turn": "U", "item": "item-1", "server": "t3-code", "name": "task_status",
            "arguments": {"taskId": "1"}, "status": status, "result": result,
        })
        .to_string()
    };
    assert_eq!(
        bench.say(&tool("running", Value::Null)),
        [
            r#"item item-1 mcp-tool Running "t3-code: task_status" {"arguments":{"taskId":"1"},"result":null}"#
        ]
    );
    let table = [
        ("completed", "Completed", json!("{\"a\":1}"), r#"{"a":1}"#),
        ("failed", "Failed", json!("(error) no"), r#""(error) no""#),
        ("interrupted", "Interrupted", json!("x"), "\"x\""),
    ];
    for (status, shown, result, body) in table {
        assert_eq!(
            bench.say(&tool(status, result)),
            [format!(
                r#"item item-1 mcp-tool {shown} "t3-code: task_status" {{"arguments":{{"taskId":"1"}},"result":{body}}}"#
            )]
        );
    }
}

#[test]
fn an_approval_is_asked_and_answered() {
    for (choice, outcome) in [
        ("accept", "completed"),
        ("decline", "completed"),
        ("cancel", "interrupted"),
    ] {
        let mut bench = Bench::running();
        assert_eq!(
            bench.say(
                r#"{"event":"approval","turn":"U","request":"request-1","title":"Delete it?"}"#
            ),
            [
                "request request-1 T U permission: Delete it? [accept acceptForSession acceptAlways decline cancel]"
            ]
        );
        let decision = Decision {
            choice: choice.to_owned(),
            message: None,
            option_id: None,
        };
        assert_eq!(
            bench.give(answer("E-answer", Reply::Decision(decision))),
            [format!(
                r#"> {{"op":"answer","request":"request-1","decision":"{choice}"}}"#
            )]
        );
        assert_eq!(
            bench.say_all(&[
                r#"{"event":"request-closed","request":"request-1","reason":"answered"}"#,
                &format!(
                    r#"{{"event":"turn-ended","turn":"U","outcome":"{outcome}","message":null}}"#
                ),
            ]),
            [
                "request-closed request-1 answered".to_owned(),
                format!("turn-ended U {} reusable", capital(outcome))
            ]
        );
    }
}

fn capital(word: &str) -> String {
    word.chars()
        .take(1)
        .flat_map(char::to_uppercase)
        .chain(word.chars().skip(1))
        .collect()
}

fn answer(effect: &str, reply: Reply) -> Input {
    Input::Answer(Answer {
        effect_id: effect.to_owned(),
        request_id: "request-1".to_owned(),
        reply,
        extra: None,
    })
}

#[test]
fn a_question_is_asked_and_answered() {
    let mut bench = Bench::running();
    assert_eq!(
        bench.say(r#"{"event":"question","turn":"U","request":"request-1","questions":[{"id":"q","header":"H","text":"Which?","options":["a","b"]}]}"#),
        ["request request-1 T U question q: Which? [a b]"]
    );
    let decision = Decision {
        choice: "accept".to_owned(),
        message: None,
        option_id: None,
    };
    assert_eq!(
        bench.give(answer("E1", Reply::Decision(decision))),
        ["effect E1 refused: A question takes answers."]
    );
    let values = vec!["a".to_owned()];
    let answers = vec![QuestionAnswer {
        question_id: "q".to_owned(),
        values,
    }];
    assert_eq!(
        bench.give(answer("E2", Reply::Answers(answers))),
        [r#"> {"op":"answer","request":"request-1","answers":{"q":["a"]}}"#]
    );
    // Only one answer is under way at a time, and one that the agent refuses leaves the request open.
    assert_eq!(
        bench.give(answer("E3", Reply::Dismissed("nobody".to_owned()))),
        ["effect E3 refused: This request is no longer open."]
    );
    assert_eq!(
        bench.say(r#"{"event":"answer-refused","request":"request-1","message":"no"}"#),
        ["effect E2 refused: no"]
    );
    assert_eq!(
        bench.give(answer("E4", Reply::Dismissed("nobody".to_owned()))),
        [r#"> {"op":"answer","request":"request-1","dismissed":"nobody"}"#]
    );
    assert_eq!(
        bench.say(r#"{"event":"request-closed","request":"request-1","reason":"answered"}"#),
        ["request-closed request-1 answered"]
    );
}

#[test]
fn a_request_that_its_turn_leaves_open_is_closed() {
    let mut bench = Bench::running();
    bench.say(r#"{"event":"approval","turn":"U","request":"request-1","title":"Sure?"}"#);
    assert_eq!(
        bench.say(COMPLETED),
        [
            "request-closed request-1 turn-ended",
            "turn-ended U Completed reusable"
        ]
    );
}

fn steer(effect: &str, turn: &str) -> Input {
    Input::Steer(Steer {
        effect_id: effect.to_owned(),
        turn_id: turn.to_owned(),
        text: "faster".to_owned(),
        attachments: Vec::new(),
        extra: None,
    })
}

#[test]
fn added_text_is_answered_in_order() {
    let mut bench = Bench::running();
    let frame = r#"> {"op":"steer","turn":"U","text":"faster"}"#;
    for effect in ["E1", "E2", "E3"] {
        assert_eq!(bench.give(steer(effect, "U")), [frame]);
    }
    assert_eq!(
        bench.say(r#"{"event":"steered","turn":"U"}"#),
        ["effect E1 done"]
    );
    assert_eq!(
        bench.say(r#"{"event":"steer-refused","turn":"U","message":"late"}"#),
        ["effect E2 refused: late"]
    );
    assert_eq!(
        bench.say(COMPLETED),
        [
            "effect E3 refused: The turn ended before.",
            "turn-ended U Completed reusable"
        ]
    );
    // What the agent says after that is about nothing.
    assert_eq!(
        bench.say(r#"{"event":"steer-refused","turn":"U","message":"late"}"#),
        [""; 0]
    );
    assert_eq!(
        bench.give(steer("E4", "U")),
        ["effect E4 refused: This turn is not running."]
    );
}

fn interrupt(effect: &str, turn: &str) -> Input {
    Input::Interrupt(Interrupt {
        effect_id: effect.to_owned(),
        turn_id: turn.to_owned(),
        reason: "stop".to_owned(),
        background: "end".to_owned(),
        extra: None,
    })
}

#[test]
fn a_stopped_turn_ends_as_interrupted() {
    let mut bench = Bench::running();
    bench.say(r#"{"event":"text","turn":"U","item":"item-1","text":"a "}"#);
    assert_eq!(
        bench.give(interrupt("E1", "U")),
        [r#"> {"op":"interrupt","turn":"U"}"#, "timer 15000"]
    );
    assert_eq!(
        bench.give(interrupt("E2", "U")),
        ["effect E2 refused: The turn is being stopped already."]
    );
    assert_eq!(
        bench.say_all(&[
            r#"{"event":"text-ended","turn":"U","item":"item-1","text":"a "}"#,
            r#"{"event":"turn-ended","turn":"U","outcome":"interrupted","message":null}"#,
        ]),
        [
            "item item-1 message Interrupted a ",
            "timer off",
            "turn-ended U Interrupted reusable"
        ]
    );
    assert_eq!(
        bench.give(interrupt("E3", "U")),
        ["effect E3 refused: This turn is not running."]
    );
}

#[test]
fn a_turn_that_was_not_sent_is_stopped_without_the_agent() {
    let mut bench = Bench::greeted();
    bench.give(open_thread("T"));
    bench.give(start_turn("T", "U", "x"));
    assert_eq!(
        bench.give(interrupt("E1", "U")),
        [
            "effect E-U refused: The turn was stopped before it started.",
            "effect E1 done"
        ]
    );
}

#[test]
fn failures_have_a_class() {
    let table = [
        ("scripted 500", "provider_error"),
        ("scripted 429", "usage_limit"),
        ("scripted 401", "permission_error"),
        ("scripted 400", "validation_error"),
        ("step 1: unknown step `dance`", "validation_error"),
    ];
    for (message, class) in table {
        let mut bench = Bench::running();
        let ended =
            json!({"event": "turn-ended", "turn": "U", "outcome": "failed", "message": message});
        assert_eq!(
            bench.say(&ended.to_string()),
            [format!("turn-ended U Failed({class}: {message}) reusable")]
        );
    }
}

#[test]
fn several_threads_run_at_once() {
    let mut bench = Bench::greeted();
    for thread in ["A", "B"] {
        bench.give(open_thread(thread));
        bench.say(&format!(
            r#"{{"event":"opened","thread":"{thread}","native":"N{thread}"}}"#
        ));
        bench.give(start_turn(thread, &format!("U{thread}"), "x"));
        bench.say(&format!(r#"{{"event":"turn-started","turn":"U{thread}"}}"#));
    }
    for thread in ["B", "A"] {
        let ended = format!(
            r#"{{"event":"turn-ended","turn":"U{thread}","outcome":"completed","message":null}}"#
        );
        assert_eq!(
            bench.say(&ended),
            [format!("turn-ended U{thread} Completed reusable")]
        );
    }
}

#[test]
fn a_thread_is_closed_with_its_turn() {
    let mut bench = Bench::running();
    let close = |effect: &str| {
        Input::CloseThread(CloseThread {
            effect_id: effect.to_owned(),
            thread_id: "T".to_owned(),
            reason: "done".to_owned(),
        })
    };
    assert_eq!(
        bench.give(close("E1")),
        [r#"> {"op":"close","thread":"T"}"#, "timer 15000"]
    );
    assert_eq!(
        bench.give(close("E2")),
        ["effect E2 refused: The thread is being closed already."]
    );
    assert_eq!(
        bench.give(start_turn("T", "U2", "x")),
        ["effect E-U2 refused: The thread is being closed."]
    );
    assert_eq!(
        bench.say_all(&[
            r#"{"event":"turn-ended","turn":"U","outcome":"interrupted","message":null}"#,
            r#"{"event":"closed","thread":"T"}"#,
        ]),
        [
            "turn-ended U Interrupted reusable",
            "timer off",
            "effect E1 done"
        ]
    );
    assert_eq!(
        bench.give(close("E3")),
        ["effect E3 refused: This session does not hold the thread."]
    );
}

#[test]
fn what_the_agent_cannot_do_is_refused() {
    let mut bench = Bench::open();
    let model = |model: Option<&str>, options: Vec<ModelOption>| ModelSelection {
        model: model.map(str::to_owned),
        options,
    };
    let set_model = |selection: ModelSelection| {
        Input::SetModel(SetModel {
            effect_id: "E".to_owned(),
            thread_id: "T".to_owned(),
            model: selection,
        })
    };
    let option = ModelOption {
        id: "effort".to_owned(),
        value: OptionValue::Toggle(true),
    };
    let modes = Modes {
        runtime_mode: "full-access".to_owned(),
        interaction_mode: "default".to_owned(),
    };
    let mut pictured = match start_turn("T", "U", "x") {
        Input::StartTurn(start) => start,
        other => panic!("{other:?}"),
    };
    pictured.attachments = vec![attachment()];
    pictured.effect_id = "E".to_owned();
    let table = [
        (
            Input::Fork(Fork {
                effect_id: "E".to_owned(),
                thread_id: "T".to_owned(),
                native_point: None,
                extra: None,
            }),
            "effect E refused: The scripted agent can't copy a conversation.",
        ),
        (
            Input::Rollback(Rollback {
                effect_id: "E".to_owned(),
                thread_id: "T".to_owned(),
                native_point: None,
                extra: None,
            }),
            "effect E refused: The scripted agent can't shorten a conversation.",
        ),
        (
            set_model(model(Some("gpt"), vec![])),
            "effect E refused: The scripted agent has one model, `scripted`, not `gpt`.",
        ),
        (
            set_model(model(None, vec![option])),
            "effect E refused: The model `scripted` has no option `effort`.",
        ),
        (set_model(model(Some("scripted"), vec![])), "effect E done"),
        (
            Input::SetModes(SetModes {
                effect_id: "E".to_owned(),
                thread_id: "T".to_owned(),
                modes,
            }),
            "effect E done",
        ),
        (
            Input::StartTurn(pictured),
            "effect E refused: The scripted agent takes text alone.",
        ),
        (
            open_thread("T"),
            "effect E-T refused: This session holds the thread already.",
        ),
        (
            start_turn("X", "U", "x"),
            "effect E-U refused: This session does not hold the thread.",
        ),
    ];
    for (input, shown) in table {
        assert_eq!(bench.give(input.clone()), [shown], "{input:?}");
    }
}

#[test]
fn a_session_takes_as_many_threads_as_it_may() {
    let mut bench = Bench::with_settings("session", &json!({"threads_per_session": 1}));
    bench.give(Input::Begin);
    bench.say(r#"{"event":"hello","version":"9"}"#);
    bench.give(open_thread("A"));
    assert_eq!(
        bench.give(open_thread("B")),
        ["effect E-B refused: This session holds as many threads as it may: 1."]
    );
}

#[test]
fn a_probe_ends_in_a_snapshot() {
    let mut bench = Bench::new("probe");
    bench.give(Input::Begin);
    assert_eq!(
        bench.say(r#"{"event":"hello","version":"1.2.3"}"#),
        [
            "timer off",
            "snapshot installed 1.2.3 authenticated ready [scripted]",
            "stop"
        ]
    );
    assert_eq!(
        bench.give(harness::exited(1, ExitCause::Signal(15))),
        [""; 0]
    );
}

#[test]
fn a_session_is_closed_in_good_order() {
    let mut bench = Bench::running();
    let close = Input::Close(driver_sdk::types::Close {
        reason: "done".to_owned(),
    });
    assert_eq!(bench.give(close), ["close-stdin"]);
    assert_eq!(
        bench.give(start_turn("T", "U2", "x")),
        ["effect E-U2 refused: This provider session is over."]
    );
    assert_eq!(
        bench.give(harness::exited(1, ExitCause::Code(0))),
        ["turn-ended U Interrupted broken", "session-ended"]
    );
}

#[test]
fn a_text_that_is_too_long_is_not_sent() {
    let mut bench = Bench::open();
    let long = "x".repeat(1 << 20);
    assert_eq!(
        bench.give(start_turn("T", "U", &long)),
        ["effect E-U refused: The text is longer than a line to the agent may be."]
    );
    // The thread takes another one.
    assert!(bench.give(start_turn("T", "U2", "short"))[0].starts_with("> {\"op\":\"turn\""));
}

#[test]
fn the_token_never_appears_only_its_placeholder_in_one_frame() {
    let mut bench = Bench::running();
    bench.give(steer("E1", "U"));
    bench.give(interrupt("E2", "U"));
    let holding: Vec<&String> = bench
        .seen
        .iter()
        .filter(|action| action.contains("{{token-T}}"))
        .collect();
    assert_eq!(holding.len(), 1);
    assert!(holding[0].starts_with(r#"> {"op":"open""#));
}

#[test]
fn lines_of_the_other_output_are_no_protocol() {
    let mut bench = Bench::running();
    let line = harness::line(1, Output::Stderr, COMPLETED, LineState::Whole);
    assert_eq!(bench.give(line), [""; 0]);
}

#[test]
fn every_line_of_the_real_agent_is_understood() {
    let recorded = include_str!("tests/recorded.jsonl");
    let mut events = Vec::new();
    for line in recorded.lines() {
        match wire::read(line) {
            Read::Said(Said::Unknown) | Read::Misshapen(_) | Read::Noise => panic!("{line}"),
            Read::Said(_) => {
                let event: Value = serde_json::from_str(line).unwrap();
                events.push(event["event"].as_str().unwrap().to_owned());
            }
        }
    }
    events.sort();
    events.dedup();
    // All of them occur in the recording.
    assert_eq!(
        events,
        [
            "answer-refused",
            "approval",
            "closed",
            "error",
            "hello",
            "interrupt-refused",
            "open-failed",
            "opened",
            "question",
            "reasoning",
            "reasoning-ended",
            "request-closed",
            "steer-refused",
            "steered",
            "text",
            "text-ended",
            "tool",
            "turn-ended",
            "turn-refused",
            "turn-started",
            "usage",
        ]
    );
}
