//! Agents that end or misspeak at any step of the protocol.

use std::time::Duration;

use super::fake::{FAULT_TO_END_MAX, check_failed, host_with, refusal, since};
use crate::support::{Configuration, TestHost};

#[test]
fn an_agent_that_fails_in_a_turn_fails_the_run_within_a_second_and_the_next_send_works() {
    const AGAIN: &str = "Send a message to go on in a new process.";
    // An agent that lives on without an output gets half a second to end by itself.
    let own_end = Duration::from_millis(500);
    let faults: &[(&str, &[&str], Duration)] = &[
        ("exit-at-open", &["exit code 5", AGAIN], Duration::ZERO),
        ("exit-at-turn", &["exit code 6", AGAIN], Duration::ZERO),
        ("exit-0-in-turn", &["exit code 0", AGAIN], Duration::ZERO),
        ("exit-1-in-turn", &["exit code 1", AGAIN], Duration::ZERO),
        ("killed-in-turn", &["signal 9", AGAIN], Duration::ZERO),
        (
            "last-words",
            &["exit code 7", AGAIN, "out of memory, giving up"],
            Duration::ZERO,
        ),
        (
            "cut-line",
            &["in the middle of a line", AGAIN],
            Duration::ZERO,
        ),
        (
            "closes-stdout",
            &["closed its standard output", AGAIN],
            own_end,
        ),
        (
            "long-line",
            &["longer than 1048576 bytes", "Raise the limit for lines"],
            Duration::ZERO,
        ),
        (
            "noise-in-turn",
            &["`this is no protocol`", "Check the command"],
            Duration::ZERO,
        ),
    ];
    let names: Vec<&str> = faults.iter().map(|(fault, ..)| *fault).collect();
    let host = host_with(&names);
    for (fault, words, more) in faults {
        let mut run = host.run(fault, "go");
        let result = run.result();
        let late = since(&host, fault);
        check_failed(fault, &result, words);
        assert!(late <= FAULT_TO_END_MAX + *more, "{fault} took {late:?}");
        let thread = result["threadId"].as_str().unwrap();
        let again = host.send(thread, "go on").result();
        assert_eq!(
            (&again["status"], &again["text"]),
            (&"completed".into(), &"fine".into()),
            "{fault}: {again}"
        );
    }
}

#[test]
fn an_agent_that_fails_in_its_handshake_makes_its_instance_unusable_and_says_why() {
    let faults: &[(&str, &[&str])] = &[
        (
            "exit-at-once",
            &["exit code 3 before it answered", "Check the command"],
        ),
        (
            "exit-at-hello",
            &["exit code 4 before it answered", "Check the command"],
        ),
        (
            "wrong-handshake",
            &[
                "another version of its protocol",
                "Use the `weft` this driver came with",
            ],
        ),
        ("noise", &["`this is no protocol`", "Check the command"]),
    ];
    let names: Vec<&str> = faults.iter().map(|(fault, _)| *fault).collect();
    let host = host_with(&names);
    for (fault, words) in faults {
        // The second time the host knows already.
        for _ in 0..2 {
            let reason = refusal(&host, fault);
            for word in *words {
                assert!(
                    reason.contains(word),
                    "{fault} does not say {word:?}: {reason}"
                );
            }
        }
    }
}

#[test]
fn a_banner_blank_lines_and_other_json_before_the_first_answer_are_let_pass() {
    let host = host_with(&["noise-first"]);
    let result = host.run("noise-first", "go").result();
    assert_eq!(result["text"], "fine", "{result}");
}

#[test]
fn the_scripted_agent_itself_ends_a_turn_in_every_way() {
    let host = TestHost::start(&Configuration::default().scripted());
    let mut run = host.run("scripted", "script: say hello");
    let thread = run.thread_id();
    run.result();
    for (script, words) in [
        ("exit 3", &["exit code 3", "Send a message"][..]),
        ("crash", &["signal 6", "Send a message"]),
        ("cut", &["in the middle of a line", "Send a message"]),
        (
            "flood 9000000",
            &["longer than 8388608 bytes", "Raise the limit"],
        ),
        ("noise 100", &["not its protocol", "Check the command"]),
        ("fail 429", &["scripted 429"]),
        ("dance", &["`dance`", "the known steps are say"]),
    ] {
        let failed = host.send(&thread, &format!("script: {script}")).result();
        check_failed(script, &failed, words);
        let again = host.send(&thread, "script: say fine").result();
        assert_eq!(again["text"], "fine", "after {script}: {again}");
    }
}

#[test]
fn an_instance_whose_sessions_keep_failing_is_left_alone_for_a_while_and_others_go_on() {
    let host = TestHost::start(&Configuration::default().scripted().scripted_as("other", ""));
    let mut run = host.run("scripted", "script: crash");
    let thread = run.thread_id();
    check_failed("crash", &run.result(), &["signal 6"]);
    for _ in 0..2 {
        let failed = host.send(&thread, "script: crash").result();
        check_failed("crash", &failed, &["signal 6"]);
    }
    let failed = host.send(&thread, "script: say hello").result();
    check_failed(
        "the fourth",
        &failed,
        &["failed 3 times within 60 s", "left alone for", "signal 6"],
    );
    assert!(refusal(&host, "scripted").contains("left alone for"));
    let other = host.run("other", "script: say hello").result();
    assert_eq!(other["text"], "hello", "{other}");
}
