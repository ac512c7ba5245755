use std::time::Duration;

use serde_json::json;

use super::*;

fn steps(message: &str) -> Vec<Step> {
    Script::find(message)
        .expect("has a script")
        .expect("can be read")
        .steps
}

fn error(message: &str) -> String {
    Script::find(message)
        .expect("has a script")
        .expect_err("can't be read")
        .to_string()
}

#[test]
fn a_message_without_the_marker_has_no_script() {
    for message in ["", "hello", "script without a colon", "Script: capital"] {
        assert_eq!(Script::find(message), None, "{message}");
    }
}

#[test]
fn each_step_is_read_with_its_argument() {
    let text = |text: &str| text.to_owned();
    let table = [
        ("say hello there", Step::Say(text("hello there"))),
        ("say {{1.taskId}}", Step::Say(text("{{1.taskId}}"))),
        (
            "think so :: that",
            Step::Think {
                reasoning: text("so"),
                text: text("that"),
            },
        ),
        (
            "slow 5 200",
            Step::Slow {
                chunks: 5,
                pause: Duration::from_millis(200),
            },
        ),
        (
            "slow 1 0",
            Step::Slow {
                chunks: 1,
                pause: Duration::ZERO,
            },
        ),
        (
            "call t {\"a\": 1}",
            Step::Call {
                tool: text("t"),
                arguments: json!({"a": 1}),
            },
        ),
        (
            "call t{\"a\":1}",
            Step::Call {
                tool: text("t"),
                arguments: json!({"a": 1}),
            },
        ),
        (
            "call n/t",
            Step::Call {
                tool: text("n/t"),
                arguments: json!({}),
            },
        ),
        (
            "custom p a\\nb",
            Step::Custom {
                tool: text("p"),
                input: text("a\nb"),
            },
        ),
        (
            "custom p \"a;;\\n\\\\n\"",
            Step::Custom {
                tool: text("p"),
                input: text("a;;\n\\n"),
            },
        ),
        ("shell ls -l", Step::Shell(text("ls -l"))),
        ("shell \"a ;; b\"", Step::Shell(text("a ;; b"))),
        ("shell \"a b\" c", Step::Shell(text("\"a b\" c"))),
        ("fail 500", Step::Fail { status: 500 }),
        ("failonce 429", Step::FailOnce { status: 429 }),
        ("cut", Step::Cut),
        (
            "approve Run it?",
            Step::Approve {
                title: text("Run it?"),
            },
        ),
        (
            "ask Which? :: red | blue",
            Step::Ask {
                text: text("Which?"),
                options: vec![text("red"), text("blue")],
            },
        ),
        (
            "ask Why?",
            Step::Ask {
                text: text("Why?"),
                options: vec![],
            },
        ),
        ("hang", Step::Hang),
        ("noise 3", Step::Noise { lines: 3 }),
        ("exit 0", Step::Exit { code: 0 }),
        ("exit 255", Step::Exit { code: 255 }),
        ("crash", Step::Crash),
        ("flood 1024", Step::Flood { bytes: 1024 }),
    ];
    for (written, step) in table {
        assert_eq!(
            steps(&format!("Do this. script: {written}")),
            vec![step.clone()],
            "{written}"
        );
        // The same with neighbours, with and without spaces, and with an end that no step follows.
        let between = steps(&format!("script:say a;;{written};; say b ;; "));
        assert_eq!(
            between,
            vec![Step::Say(text("a")), step, Step::Say(text("b"))],
            "{written}"
        );
    }
}

#[test]
fn the_first_marker_begins_the_script() {
    assert_eq!(
        steps("script: say script: say x ;; say y"),
        vec![Step::Say("script: say x".into()), Step::Say("y".into())]
    );
}

#[test]
fn a_script_inside_the_arguments_of_a_call_is_theirs() {
    let message = r#"Go. script: call delegate_task {"prompt":"script: call a {\"b\":\"c ;; d\"} ;; say e"} ;; say f"#;
    assert_eq!(
        steps(message),
        vec![
            Step::Call {
                tool: "delegate_task".into(),
                arguments: json!({"prompt": "script: call a {\"b\":\"c ;; d\"} ;; say e"}),
            },
            Step::Say("f".into()),
        ]
    );
}

#[test]
fn every_known_step_can_be_named_and_no_other() {
    for name in crate::step::STEP_NAMES {
        let result = Script::find(&format!("script: {name} 400 1")).expect("has a script");
        assert!(
            !matches!(result, Err(ScriptError::UnknownStep { .. })),
            "{name} is listed but not read"
        );
    }
    for consumer in [Consumer::ModelServer, Consumer::ScriptedAgent] {
        for name in consumer.step_names() {
            assert!(
                crate::step::STEP_NAMES.contains(name),
                "{consumer} plays {name}"
            );
        }
    }
}

#[test]
fn a_step_that_cannot_be_read_is_named() {
    let known = "say, think, slow, call, custom, shell, fail, failonce, cut, approve, ask, hang, \
                 noise, exit, crash, flood";
    let table = [
        ("script:", format!("step 1: there is no step; the known steps are {known}")),
        ("script: ;; say a", format!("step 1: there is no step; the known steps are {known}")),
        ("script: say a ;; ;; say b", format!("step 2: there is no step; the known steps are {known}")),
        (
            "script: say a ;; dance now",
            format!("step 2: unknown step `dance`; the known steps are {known}"),
        ),
        ("script: -", format!("step 1: unknown step `-`; the known steps are {known}")),
        ("script: say", "step 1: `say` needs a text".into()),
        ("script: think a", "step 1: `think` needs `REASONING :: ANSWER`".into()),
        (
            "script: slow 5",
            "step 1: `slow` needs `CHUNKS MS`, at most 1000000 and 3600000, not `5`".into(),
        ),
        (
            "script: slow 0 5",
            "step 1: `slow` needs `CHUNKS MS`, at most 1000000 and 3600000, not `0 5`".into(),
        ),
        (
            "script: slow 1 3600001",
            "step 1: `slow` needs `CHUNKS MS`, at most 1000000 and 3600000, not `1 3600001`".into(),
        ),
        ("script: call", "step 1: `call` needs the name of a tool".into()),
        (
            "script: call t {\"a\":",
            "step 1: `call` t: the arguments aren't JSON: EOF while parsing a value at line 1 column 5"
                .into(),
        ),
        ("script: call t [1]", "step 1: `call` t: the arguments aren't an object".into()),
        (
            "script: call t {} and more",
            "step 1: `call` t: `;;` or the end must follow the arguments, not `and`".into(),
        ),
        ("script: fail 200", "step 1: `fail` takes one number from 400 to 599, not `200`".into()),
        ("script: fail", "step 1: `fail` takes one number from 400 to 599, not ``".into()),
        ("script: cut it", "step 1: `cut` takes nothing, but `it` follows".into()),
        ("script: exit 256", "step 1: `exit` takes one number from 0 to 255, not `256`".into()),
        ("script: ask :: a", "step 1: `ask` needs `TEXT :: OPTION | OPTION`, at most 32 options".into()),
    ];
    for (message, expected) in table {
        assert_eq!(error(message), expected, "{message}");
    }
}

#[test]
fn a_script_has_a_longest_length() {
    let of = |count: usize| format!("script: {}", vec!["cut"; count].join(" ;; "));
    assert_eq!(steps(&of(limits::STEPS_MAX)).len(), limits::STEPS_MAX);
    assert_eq!(
        error(&of(limits::STEPS_MAX + 1)),
        "a script has at most 1000 steps"
    );
}

#[test]
fn a_consumer_refuses_what_it_does_not_play() {
    let table = [
        (Consumer::ModelServer, "say a ;; approve b", Some("approve")),
        (Consumer::ModelServer, "say a ;; crash", Some("crash")),
        (
            Consumer::ModelServer,
            "shell ls ;; custom a b ;; hang",
            None,
        ),
        (Consumer::ScriptedAgent, "shell ls", Some("shell")),
        (Consumer::ScriptedAgent, "custom a b", Some("custom")),
        (
            Consumer::ScriptedAgent,
            "approve a ;; ask b ;; exit 1 ;; flood 1",
            None,
        ),
    ];
    for (consumer, written, refused) in table {
        let script = Script::find(&format!("script: {written}"))
            .expect("has")
            .expect("reads");
        match (script.check(consumer), refused) {
            (Ok(()), None) => {}
            (Err(ScriptError::UnsupportedStep { name, .. }), Some(refused)) => {
                assert_eq!(name, refused);
            }
            (result, _) => panic!("{consumer}, {written}: {result:?}"),
        }
    }
}

#[test]
fn the_documentation_tells_who_plays_what() {
    let documentation = include_str!("../../../docs/scripts.md");
    for name in crate::step::STEP_NAMES {
        let row = documentation
            .lines()
            .find(|line| {
                let cell = line
                    .strip_prefix("| `")
                    .and_then(|cell| cell.strip_prefix(name));
                cell.is_some_and(|rest| rest.starts_with([' ', '`']))
            })
            .unwrap_or_else(|| panic!("{name} has no row"));
        let row = row.replace("\\|", "");
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        for (cell, consumer) in [(3, Consumer::ModelServer), (4, Consumer::ScriptedAgent)] {
            let plays = consumer.step_names().contains(name);
            assert_eq!(cells[cell].starts_with("yes"), plays, "{name}, {consumer}");
        }
    }
}
