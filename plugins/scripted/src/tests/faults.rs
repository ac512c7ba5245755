//! What goes wrong: each fault ends in one visible failure, and nothing is left without its end.

use driver_sdk::harness;
use driver_sdk::limits::NOISE_LINES_MAX;
use driver_sdk::types::{ExitCause, Input, LineState, Output, Reply};

use super::bench::{Bench, open_thread, start_turn};
use super::{COMPLETED, OPENED, STARTED, answer, interrupt, steer};

const HELLO: &str = r#"{"event":"hello","version":"9"}"#;
const ASKED: &str = r#"{"event":"approval","turn":"U","request":"request-1","title":"Sure?"}"#;

/// Brings a session to a point, by words.
fn take_steps(bench: &mut Bench, steps: &str) {
    for step in steps.split(' ') {
        match step {
            "begin" => bench.give(Input::Begin),
            "hello" => bench.say(HELLO),
            "open" => bench.give(open_thread("T")),
            "opened" => bench.say(OPENED),
            "start" => bench.give(start_turn("T", "U", "x")),
            "started" => bench.say(STARTED),
            "asked" => bench.say(ASKED),
            "replied" => bench.give(answer("E-answer", Reply::Dismissed("x".to_owned()))),
            "steered" => bench.give(steer("E-steer", "U")),
            "stopped" => bench.give(interrupt("E-stop", "U")),
            "completed" => bench.say(COMPLETED),
            other => panic!("no step {other}"),
        };
    }
}

#[test]
fn an_exit_at_any_step_ends_everything_once() {
    let gone =
        "The scripted agent ended with exit code 3. Send a message to go on in a new process.";
    let early = "The scripted agent ended with exit code 3 before it answered. Check the command of this provider \
                 instance: it must be `weft`.";
    let ended = |message: &str| format!("session-ended transport_error exit-3: {message}");
    let table = vec![
        ("begin", vec![ended(early)]),
        (
            "begin open",
            vec![format!("effect E-T refused: {early}"), ended(early)],
        ),
        ("begin hello", vec![ended(gone)]),
        (
            "begin hello open",
            vec![format!("effect E-T failed: {gone}"), ended(gone)],
        ),
        ("begin hello open opened", vec![ended(gone)]),
        (
            "begin hello open opened start",
            vec![format!("effect E-U failed: {gone}"), ended(gone)],
        ),
        (
            "begin hello open opened start started",
            vec![
                format!("turn-ended U Failed(transport_error: {gone}) broken"),
                ended(gone),
            ],
        ),
        (
            "begin hello open opened start started asked",
            vec![
                "request-closed request-1 process-ended".to_owned(),
                format!("turn-ended U Failed(transport_error: {gone}) broken"),
                ended(gone),
            ],
        ),
        (
            "begin hello open opened start started asked replied",
            vec![
                "request-closed request-1 process-ended".to_owned(),
                format!("turn-ended U Failed(transport_error: {gone}) broken"),
                format!("effect E-answer failed: {gone}"),
                ended(gone),
            ],
        ),
        (
            "begin hello open opened start started steered",
            vec![
                "effect E-steer refused: The turn ended before.".to_owned(),
                format!("turn-ended U Failed(transport_error: {gone}) broken"),
                ended(gone),
            ],
        ),
        (
            "begin hello open opened start started stopped",
            vec!["turn-ended U Interrupted broken".to_owned(), ended(gone)],
        ),
        (
            "begin hello open opened start started completed",
            vec![ended(gone)],
        ),
    ];
    for (steps, expected) in table {
        let mut bench = Bench::new("session");
        take_steps(&mut bench, steps);
        let actions: Vec<String> = bench
            .give(harness::exited(1, ExitCause::Code(3)))
            .into_iter()
            .filter(|action| action != "timer off")
            .collect();
        assert_eq!(actions, expected, "{steps}");
        // The end is the end.
        assert_eq!(bench.say(COMPLETED), [""; 0], "{steps}");
        assert_eq!(
            bench.give(start_turn("T", "U9", "x")),
            ["effect E-U9 refused: This provider session is over."],
            "{steps}"
        );
    }
}

#[test]
fn the_end_tells_what_was_printed_and_whether_a_line_was_cut() {
    let mut bench = Bench::running();
    bench.give(harness::line(
        1,
        Output::Stderr,
        "out of luck",
        LineState::Whole,
    ));
    let half = r#"{"event":"turn-ended","turn":"U","outcome":"completed","message":null}"#;
    // Even a line that parses is not believed without its end.
    let cut = harness::line(1, Output::Stdout, half, LineState::Unterminated);
    assert_eq!(bench.give(cut), [""; 0]);
    let message = "The scripted agent ended by signal 6 in the middle of a line. Send a message to go on in a new \
                   process. It printed last: out of luck";
    assert_eq!(
        bench.give(harness::exited(1, ExitCause::Signal(6))),
        [
            format!("turn-ended U Failed(transport_error: {message}) broken"),
            format!("session-ended transport_error signal-6: {message}"),
        ]
    );
}

#[test]
fn a_program_that_is_missing_is_named_with_the_remedy() {
    let message = "The scripted agent could not be started: not found. It is part of `weft`: check the command of this \
                   provider instance.";
    let cause = || ExitCause::NotStarted("not found".to_owned());
    let mut bench = Bench::new("session");
    bench.give(Input::Begin);
    assert_eq!(
        bench.give(harness::exited(1, cause())),
        [
            format!("session-ended transport_error not-started: {message}"),
            "timer off".to_owned()
        ]
    );
    let mut bench = Bench::new("probe");
    bench.give(Input::Begin);
    assert_eq!(
        bench.give(harness::exited(1, cause())),
        [
            format!("snapshot missing - authenticated error [scripted] {message}"),
            "timer off".to_owned(),
        ]
    );
}

#[test]
fn a_silent_agent_is_given_up() {
    let table = [
        ("session", "begin", "10 s: its greeting"),
        (
            "session",
            "begin hello open",
            "15 s: the opening of a thread",
        ),
        (
            "session",
            "begin hello open opened start",
            "15 s: the start of a turn",
        ),
        (
            "session",
            "begin hello open opened start started stopped",
            "15 s: the end of a stopped turn",
        ),
        ("probe", "begin", "10 s: its greeting"),
    ];
    for (purpose, steps, what) in table {
        let mut bench = Bench::new(purpose);
        take_steps(&mut bench, steps);
        let actions = bench.give(Input::Timer(1));
        let said = format!("The scripted agent did not answer within {what} is missing.");
        assert!(
            actions.iter().any(|action| action.contains(&said)),
            "{steps}: {actions:?}"
        );
        assert_eq!(actions.last().map(String::as_str), Some("stop"), "{steps}");
    }
}

#[test]
fn an_answer_stops_the_clock() {
    let mut bench = Bench::running();
    assert_eq!(bench.give(Input::Timer(1)), [""; 0]);
    assert_eq!(bench.give(Input::Timer(7)), [""; 0]);
}

#[test]
fn noise_is_tolerated_up_to_its_bound() {
    let mut bench = Bench::running();
    for _ in 0..NOISE_LINES_MAX {
        assert_eq!(bench.say("Welcome!"), [""; 0]);
    }
    assert_eq!(bench.say(""), [""; 0]);
    let actions = bench.say("Welcome again!");
    assert!(
        actions[0].starts_with("turn-ended U Failed(transport_error: "),
        "{actions:?}"
    );
    assert!(actions[1].contains("`Welcome again!`"), "{actions:?}");
    assert_eq!(actions[2], "stop");
}

#[test]
fn events_of_a_newer_agent_are_passed_over() {
    let mut bench = Bench::running();
    let table = [
        r#"{"event":"weather","turn":"U","sky":"blue"}"#,
        r#"{"event":"error","message":"the op `x` is unknown"}"#,
        // Known events with more than this driver knows.
        r#"{"event":"steered","turn":"other","extra":{}}"#,
        // Known events about what this session does not hold.
        r#"{"event":"opened","thread":"X","native":"N"}"#,
        r#"{"event":"closed","thread":"X"}"#,
        r#"{"event":"turn-started","turn":"X"}"#,
        r#"{"event":"text","turn":"X","item":"i","text":"x"}"#,
        r#"{"event":"text-ended","turn":"X","item":"i","text":"x"}"#,
        r#"{"event":"tool","turn":"X","item":"i","name":"n","status":"running"}"#,
        r#"{"event":"approval","turn":"X","request":"r","title":"t"}"#,
        r#"{"event":"request-closed","request":"r","reason":"answered"}"#,
        r#"{"event":"answer-refused","request":"r","message":"m"}"#,
        r#"{"event":"interrupt-refused","turn":"X","message":"m"}"#,
        r#"{"event":"turn-refused","turn":"U","message":"m"}"#,
        r#"{"event":"turn-ended","turn":"X","outcome":"completed"}"#,
        r#"{"event":"usage","turn":"X","inputTokens":1,"cachedInputTokens":1,"outputTokens":1,"reasoningTokens":1}"#,
    ];
    for line in table {
        assert_eq!(bench.say(line), [""; 0], "{line}");
    }
    assert_eq!(bench.say(COMPLETED), ["turn-ended U Completed reusable"]);
}

#[test]
fn a_known_event_of_another_shape_ends_the_session() {
    let mut bench = Bench::running();
    let actions = bench.say(r#"{"event":"turn-ended","turn":"U"}"#);
    assert!(
        actions[0].contains("speaks another version of its protocol"),
        "{actions:?}"
    );
    assert_eq!(actions.last().map(String::as_str), Some("stop"));
}

#[test]
fn a_line_that_is_too_long_ends_the_session() {
    let mut bench = Bench::running();
    let line = harness::line(1, Output::Stdout, "xxx", LineState::OverLimit);
    let actions = bench.give(line);
    assert!(
        actions[0].contains("a line longer than 1048576 bytes"),
        "{actions:?}"
    );
    assert!(
        actions[1].starts_with("session-ended transport_error line-too-long"),
        "{actions:?}"
    );
    assert_eq!(actions[2], "stop");
}

#[test]
fn refusals_of_the_agent_reach_the_host() {
    let mut bench = Bench::greeted();
    bench.give(open_thread("T"));
    bench.give(start_turn("T", "U", "x"));
    assert_eq!(
        bench.say(r#"{"event":"open-failed","thread":"T","message":"no server"}"#),
        [
            "timer off",
            "effect E-U refused: no server",
            "effect E-T refused: no server"
        ]
    );
    let mut bench = Bench::open();
    bench.give(start_turn("T", "U", "x"));
    assert_eq!(
        bench.say(r#"{"event":"turn-refused","turn":"U","message":"not now"}"#),
        ["effect E-U refused: not now", "timer off"]
    );
    let mut bench = Bench::running();
    bench.give(interrupt("E-stop", "U"));
    assert_eq!(
        bench.say(r#"{"event":"interrupt-refused","turn":"U","message":"it isn't running"}"#),
        ["timer off", "effect E-stop refused: it isn't running"]
    );
}

#[test]
fn inputs_out_of_order_are_a_fault_of_the_host() {
    use driver_sdk::Driver;

    let config = || harness::session_config("session", &serde_json::json!({}));
    let mut early = crate::core::Scripted::open(config()).unwrap();
    assert!(early.handle(vec![Input::Timer(1)]).is_err());
    let mut twice = crate::core::Scripted::open(config()).unwrap();
    assert!(twice.handle(vec![Input::Begin, Input::Begin]).is_err());
    let mut other = config();
    other.purpose = "party".to_owned();
    assert!(crate::core::Scripted::open(other).is_err());
}
