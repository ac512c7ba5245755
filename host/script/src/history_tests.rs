use serde_json::json;

use super::*;

fn user(text: &str) -> Entry {
    Entry::User(text.to_owned())
}

fn result(text: &str) -> Entry {
    Entry::Result(text.to_owned())
}

fn next(history: &[Entry]) -> Next {
    next_step(history, Consumer::ModelServer).expect("the script can be read")
}

fn said(history: &[Entry]) -> String {
    match next(history).step {
        Step::Say(text) => text,
        step => panic!("{step:?} is no `say`"),
    }
}

#[test]
fn the_position_moves_on_with_each_finished_step() {
    let script = user("Please. script: call a {} ;; call b {} ;; say c ;; say d");
    let table = [
        (vec![], Position::At(1), "call"),
        (vec![result("1")], Position::At(2), "call"),
        (vec![result("1"), result("2")], Position::At(3), "say"),
        (
            vec![result("1"), result("2"), Entry::Message],
            Position::At(4),
            "say",
        ),
        // A wake, a question of a person: the same script goes on.
        (
            vec![result("1"), result("2"), Entry::Message, user("task ended")],
            Position::At(4),
            "say",
        ),
        (vec![Entry::Passed, result("2")], Position::At(3), "say"),
        (
            vec![
                result("1"),
                result("2"),
                Entry::Message,
                user("x"),
                Entry::Message,
            ],
            Position::PastEnd,
            "say",
        ),
    ];
    for (later, position, name) in table {
        let mut history = vec![user("earlier"), script.clone()];
        history.extend(later.clone());
        let next = next(&history);
        assert_eq!(
            (next.position, next.step.name()),
            (position, name),
            "{later:?}"
        );
    }
}

#[test]
fn a_new_script_starts_anew() {
    let history = [
        user("script: call a {} ;; say {{1.x}}"),
        result(r#"{"x":"old"}"#),
        Entry::Message,
        user("script: call b {} ;; say {{1.x}}"),
        result(r#"{"x":"new"}"#),
    ];
    assert_eq!(next(&history).position, Position::At(2));
    assert_eq!(said(&history), "new");
}

#[test]
fn a_script_in_a_result_is_not_played() {
    let history = [
        user("script: call a {} ;; say mine"),
        result("script: say theirs"),
    ];
    assert_eq!(said(&history), "mine");
}

#[test]
fn a_step_without_a_trace_ends_with_its_turn_or_the_next_message() {
    for step in ["slow 9 9", "hang", "fail 500", "cut"] {
        let script = user(&format!("script: {step} ;; say next ;; say after"));
        assert_eq!(
            next(std::slice::from_ref(&script)).position,
            Position::At(1),
            "{step}"
        );
        for later in [
            vec![user("steered")],
            vec![Entry::TurnOver],
            vec![Entry::TurnOver, user("go on")],
            // An agent that lets the message finish before it takes the steered text.
            vec![Entry::Message, user("steered")],
        ] {
            let mut history = vec![script.clone()];
            history.extend(later.clone());
            assert_eq!(
                next(&history).position,
                Position::At(2),
                "{step}, {later:?}"
            );
        }
    }
}

#[test]
fn a_step_that_has_not_begun_is_not_ended() {
    let table = [
        (
            "script: say a ;; hang",
            vec![Entry::Message, user("go on")],
            Position::At(2),
        ),
        (
            "script: say a ;; hang",
            vec![Entry::Message, Entry::TurnOver],
            Position::At(2),
        ),
        // These are played again: their result or message is missing.
        (
            "script: call a {} ;; say b",
            vec![user("steered")],
            Position::At(1),
        ),
        (
            "script: call a {} ;; say b",
            vec![Entry::TurnOver, user("again")],
            Position::At(1),
        ),
        (
            "script: failonce 500 ;; say b",
            vec![Entry::TurnOver, user("again")],
            Position::At(1),
        ),
    ];
    for (script, later, position) in table {
        let mut history = vec![user(script)];
        history.extend(later.clone());
        assert_eq!(next(&history).position, position, "{script}, {later:?}");
    }
}

#[test]
fn past_the_end_the_last_result_is_told() {
    let long = "é".repeat(RESULT_CHARS_MAX + 1);
    let steer = "ü".repeat(HEARD_CHARS_MAX + 1);
    let table = [
        (vec![result("done")], "Result: done".to_owned()),
        (vec![Entry::Message], "Result: none".to_owned()),
        (
            vec![result(&long)],
            format!("Result: {}", "é".repeat(RESULT_CHARS_MAX)),
        ),
        (
            vec![result("done"), user("faster")],
            "Result: done [also heard: faster]".to_owned(),
        ),
        (
            vec![result("a"), user("b"), user("c")],
            "Result: a [also heard: b | c]".to_owned(),
        ),
        (
            vec![result("a"), user(&steer)],
            format!("Result: a [also heard: {}]", "ü".repeat(HEARD_CHARS_MAX)),
        ),
        // A message that begins a turn wasn't steered in, nor is one of an earlier turn told again.
        (
            vec![result("a"), Entry::Message, user("wake")],
            "Result: a".to_owned(),
        ),
        (
            vec![result("a"), user("b"), Entry::Message, user("wake")],
            "Result: a".to_owned(),
        ),
    ];
    for (later, sentence) in table {
        let mut history = vec![user("script: call a {}")];
        history.extend(later.clone());
        assert_eq!(next(&history).position, Position::PastEnd, "{later:?}");
        assert_eq!(said(&history), sentence, "{later:?}");
    }
}

#[test]
fn without_a_script_that_is_said() {
    for history in [
        vec![],
        vec![user("hello")],
        vec![user("a"), Entry::Message, user("b")],
    ] {
        assert_eq!(next(&history).position, Position::NoScript);
        assert_eq!(said(&history), NO_SCRIPT);
    }
}

#[test]
fn templates_are_filled_with_results_of_this_script_alone() {
    let history = [
        user("script: call a {}"),
        result(r#"{"taskId":"old"}"#),
        Entry::Message,
        user(r#"script: call b {} ;; call task_status {"taskId":"{{1.taskId}}"}"#),
        result(r#"{"taskId":"new"}"#),
    ];
    assert_eq!(
        next(&history).step,
        Step::Call {
            tool: "task_status".into(),
            arguments: json!({"taskId": "new"})
        }
    );
}

#[test]
fn a_wrong_script_fails_before_its_first_step() {
    let table = [
        ("script: say a ;; dance", "step 2: unknown step `dance`"),
        (
            "script: say a ;; crash",
            "step 2: `crash` can't be played by the scripted model server",
        ),
    ];
    for (script, begins) in table {
        let error = next_step(&[user(script)], Consumer::ModelServer).expect_err("is wrong");
        assert!(error.to_string().starts_with(begins), "{error}");
    }
}
