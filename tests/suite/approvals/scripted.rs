//! What the scripted agent asks, and what its end does to what it asked.

use serde_json::json;

use crate::support::scripts::{call, script};
use crate::support::{Configuration, Process, TestHost, processes};

#[test]
fn a_decision_reaches_the_agent_that_asked() {
    let host = TestHost::start(&Configuration::default().scripted());
    for (words, said) in [
        (&["allow"][..], "accept"),
        (&["allow", "--for-session"], "acceptForSession"),
        (&["allow", "--always"], "acceptAlways"),
        (&["deny", "--message", "not today"], "decline"),
    ] {
        let mut run = host.run("scripted", "script: approve Deploy it? ;; say I got {{1}}");
        let request = run.request();
        let id = request["id"].as_str().unwrap();
        let listed = host.weft_json(&["request", "list", "--json"]);
        assert_eq!(listed["requests"][0]["id"], id, "{listed}");
        assert_eq!(
            listed["requests"][0]["prompt"]["approval"]["title"],
            "Deploy it?"
        );
        host.weft_ok(&with_id(words, id));
        let text = run.completed();
        assert!(text.contains(said), "{words:?}: {text}");
        let left = host.weft_json(&["request", "list", "--json"]);
        assert_eq!(left["requests"], json!([]));
    }
}

#[test]
fn a_denial_that_ends_the_turn_interrupts_the_run() {
    let host = TestHost::start(&Configuration::default().scripted());
    let mut run = host.run("scripted", "script: approve Deploy it? ;; say Never.");
    let request = run.request();
    host.weft_ok(&[
        "request",
        "deny",
        request["id"].as_str().unwrap(),
        "--end-turn",
    ]);
    assert_eq!(run.result()["status"], "interrupted", "{}", run.result());
}

#[test]
fn an_answer_reaches_the_agent_that_asked() {
    let host = TestHost::start(&Configuration::default().scripted());
    let mut run = host.run(
        "scripted",
        "script: ask Which colour? :: red | blue ;; say I got {{1}}",
    );
    let question = run.request();
    assert_eq!(question["prompt"]["questions"][0]["text"], "Which colour?");
    host.weft_ok(&[
        "request",
        "answer",
        question["id"].as_str().unwrap(),
        "blue",
    ]);
    let text = run.completed();
    assert!(text.contains("blue") && !text.contains("red"), "{text}");
}

#[test]
fn a_request_is_answered_once() {
    let host = TestHost::start(&Configuration::default().scripted());
    let mut run = host.run("scripted", "script: approve Deploy it? ;; say I got {{1}}");
    let request = run.request();
    let id = request["id"].as_str().unwrap();
    host.weft_ok(&["request", "deny", id]);
    for words in [&["allow"][..], &["deny"]] {
        let refused = host.weft_refused(&with_id(words, id));
        assert!(refused.contains("[request_not_pending]"), "{refused}");
    }
    assert!(run.completed().contains("decline"));
}

#[test]
fn a_request_takes_answers_of_its_own_kind() {
    let host = TestHost::start(&Configuration::default().scripted());
    let mut run = host.run(
        "scripted",
        "script: ask Which colour? :: red | blue ;; say I got {{1}}",
    );
    let id = run.request()["id"].as_str().unwrap().to_owned();
    let refused = host.weft_refused(&["request", "allow", &id]);
    assert!(refused.contains("[invalid_request]"), "{refused}");
    let refused = host.weft_refused(&["request", "answer", &id]);
    assert!(refused.contains("name the answer"), "{refused}");
    host.weft_ok(&["request", "answer", &id, "red"]);
    run.completed();
}

#[test]
fn what_a_child_asks_is_shown_to_who_follows_its_parent() {
    let host = TestHost::start(&Configuration::default().scripted());
    let delegate = json!({"task": "script: approve Deploy it? ;; say {{1}}", "mode": "wait"});
    let steps = [&call("delegate_task", &delegate), "say {{1.summary}}"];
    let mut run = host.run("scripted", &script(&steps));
    let request = run.request();
    assert_ne!(request["threadId"], run.thread_id());
    host.weft_ok(&["request", "allow", request["id"].as_str().unwrap()]);
    assert!(run.completed().contains("accept"));
}

#[test]
fn a_request_of_an_agent_that_dies_can_no_longer_be_answered() {
    let host = TestHost::start(&Configuration::default().scripted());
    let mut run = host.run("scripted", "script: approve Deploy it? ;; say Never.");
    let request = run.request();
    let id = request["id"].as_str().unwrap();
    let agent = processes::find_below(host.pid(), "scripted-agent");
    Process::of(agent).kill_group();

    let over = run.change("request", |request| request["status"] == "invalidated");
    assert_eq!(over["id"], id);
    assert_eq!(over["reason"], "process-ended");
    assert_eq!(run.result()["status"], "failed");
    let refused = host.weft_refused(&["request", "allow", id]);
    assert!(refused.contains("[request_not_pending]"), "{refused}");
}

fn with_id<'a>(words: &[&'a str], id: &'a str) -> Vec<&'a str> {
    let (verb, options) = words.split_first().unwrap();
    let mut all = vec!["request", verb, id];
    all.extend(options);
    all
}
