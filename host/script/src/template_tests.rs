use serde_json::json;

use super::*;

const DELEGATED: &str = r#"{"taskId":"t-1","status":"running","tasks":[{"n":7}]}"#;
const WRAPPED: &str = "Wall time: 0.1 seconds\nOutput:\n{\"summary\":\"all done\"}";

#[test]
fn templates_are_filled_from_the_results() {
    let table = [
        ("no template", "no template"),
        ("{{1.taskId}}", "t-1"),
        ("a {{ 1.taskId }} b {{1.status}} c", "a t-1 b running c"),
        ("{{last.summary}}", "all done"),
        ("{{last}}", WRAPPED),
        ("{{1.tasks.0.n}} {{1.tasks}}", r#"7 [{"n":7}]"#),
        ("{{1.nothing}}", "(no nothing in result 1)"),
        ("{{1.tasks.1.n}}", "(no tasks.1.n in result 1)"),
        ("{{last.taskId}}", "(no taskId in result last)"),
        ("{{3.taskId}} {{9}}", "(no result 3) (no result 9)"),
        // What is no template stays.
        ("{{0.a}} {{x}} {{1.}} {{", "{{0.a}} {{x}} {{1.}} {{"),
        ("{{{1.taskId}}}", "{{{1.taskId}}}"),
    ];
    for (text, filled) in table {
        assert_eq!(fill_text(text, &[DELEGATED, WRAPPED]), filled, "{text}");
    }
    assert_eq!(
        fill_text("{{last}} {{last.a}} {{1}}", &[]),
        "(no result) (no result) (no result 1)"
    );
}

#[test]
fn a_result_that_is_no_json_has_no_fields() {
    for result in ["", "plain", "{broken", "[1, 2", "\"a string\"", "7"] {
        assert_eq!(
            fill_text("{{1.a}}", &[result]),
            "(no a in result 1)",
            "{result}"
        );
    }
}

#[test]
fn every_string_of_the_arguments_is_filled() {
    let step = Step::Call {
        tool: "task_status".into(),
        arguments: json!({"taskId": "{{1.taskId}}", "deep": [{"a": "{{last}}"}], "n": 1, "{{1}}": null}),
    };
    let filled = fill_step(&step, &[DELEGATED, "two"]);
    assert_eq!(
        filled,
        Step::Call {
            tool: "task_status".into(),
            arguments: json!({"taskId": "t-1", "deep": [{"a": "two"}], "n": 1, "{{1}}": null}),
        }
    );
}

#[test]
fn the_script_of_somebody_else_keeps_its_templates() {
    let step = Step::Call {
        tool: "delegate_task".into(),
        arguments: json!({"prompt": "About {{1.taskId}}. script: say {{1.taskId}}"}),
    };
    let Step::Call { arguments, .. } = fill_step(&step, &[DELEGATED]) else {
        panic!("a call")
    };
    assert_eq!(
        arguments,
        json!({"prompt": "About t-1. script: say {{1.taskId}}"})
    );
}

#[test]
fn texts_for_people_are_filled_too() {
    let results = [DELEGATED];
    let table = [
        (
            Step::Think {
                reasoning: "{{1.taskId}}".into(),
                text: "{{1.status}}".into(),
            },
            Step::Think {
                reasoning: "t-1".into(),
                text: "running".into(),
            },
        ),
        (
            Step::Shell("echo {{1.taskId}}".into()),
            Step::Shell("echo t-1".into()),
        ),
        (
            Step::Approve {
                title: "Stop {{1.taskId}}?".into(),
            },
            Step::Approve {
                title: "Stop t-1?".into(),
            },
        ),
        (
            Step::Ask {
                text: "{{1.taskId}}?".into(),
                options: vec!["{{1.status}}".into()],
            },
            Step::Ask {
                text: "t-1?".into(),
                options: vec!["running".into()],
            },
        ),
        // A patch is full of braces and is sent as it is.
        (
            Step::Custom {
                tool: "p".into(),
                input: "{{1.taskId}}".into(),
            },
            Step::Custom {
                tool: "p".into(),
                input: "{{1.taskId}}".into(),
            },
        ),
    ];
    for (step, filled) in table {
        assert_eq!(fill_step(&step, &results), filled);
    }
}
