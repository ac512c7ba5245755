//! Scripted parent, scripted child: the whole way through the host, without anybody's account.

use serde_json::json;

use crate::support::scripts::{call, script};
use crate::support::{Configuration, TestHost};

#[test]
fn a_scripted_parent_waits_for_a_scripted_child() {
    let host = TestHost::start(&Configuration::default().scripted());
    let delegate = json!({"task": "script: say The answer is 42.", "mode": "wait"});
    let steps = [
        &call("delegate_task", &delegate),
        "say Child: {{1.summary}}",
    ];
    let mut run = host.run("scripted", &script(&steps));
    assert_eq!(run.completed(), "Child: The answer is 42.");
    let task = run.result()["tasks"][0].clone();
    assert_eq!(task["status"], "completed");
    assert_eq!(task["summary"], "The answer is 42.");
}

#[test]
fn a_scripted_parent_is_woken_once_for_children_that_end() {
    let host = TestHost::start(&Configuration::default().scripted());
    let delegate = |text: &str| {
        call(
            "delegate_task",
            &json!({"task": format!("script: hang ;; say {text}")}),
        )
    };
    let look = |result: &str| call("task_status", &json!({"taskId": result}));
    let steps = [
        &delegate("One."),
        &delegate("Two."),
        "hang",
        "say Going on.",
        &look("{{1.taskId}}"),
        &look("{{2.taskId}}"),
        "say {{3.summary}} {{4.summary}}",
    ];
    let mut feed = host.feed();
    let mut run = host.run("scripted", &script(&steps));
    let parent = run.thread_id();
    // Both work at the same time, and both end while the parent is at work.
    let children = [feed.child(&parent, 1), feed.child(&parent, 2)];
    for child in &children {
        feed.running(child, 1);
    }
    for child in &children {
        host.tell(child, "Go on.");
        assert_eq!(feed.end_of(child, 1)["status"], "completed");
    }
    host.tell(&parent, "Go on.");
    assert_eq!(run.completed(), "Going on.");

    assert_eq!(feed.end_of(&parent, 2)["status"], "completed");
    let thread = host.thread(&parent);
    assert_eq!(
        thread["items"].as_array().unwrap().last().unwrap()["text"],
        "One. Two."
    );
    assert_eq!(
        thread["runs"].as_array().unwrap().len(),
        2,
        "one wake for both: {thread}"
    );
}

#[test]
fn a_wait_that_runs_out_goes_on_by_a_wake() {
    let host = TestHost::start(&Configuration::default().scripted());
    let delegate = json!({"task": "script: hang ;; say Late.", "mode": "wait", "timeoutMs": 50});
    let steps = [
        &call("delegate_task", &delegate),
        "say {{1.waitTimedOut}} {{1.status}}",
        &call("task_status", &json!({"taskId": "{{1.taskId}}"})),
        "say {{2.summary}}",
    ];
    let mut feed = host.feed();
    let mut run = host.run("scripted", &script(&steps));
    assert_eq!(run.completed(), "true running");
    let parent = run.thread_id();
    host.tell(&feed.child(&parent, 1), "Go on.");
    assert_eq!(feed.end_of(&parent, 2)["status"], "completed");
    assert_eq!(host.last_text(&parent), "Late.");
}

#[test]
fn a_childs_question_ends_the_wait_and_its_answer_ends_in_a_wake() {
    let host = TestHost::start(&Configuration::default().scripted());
    let delegate = json!({"task": "script: ask Which colour? :: red | blue ;; say I took {{1}}", "mode": "wait"});
    let steps = [
        &call("delegate_task", &delegate),
        "say asked: {{1.hasPendingQuestion}}, out of time: {{1.waitTimedOut}}",
        &call("task_status", &json!({"taskId": "{{1.taskId}}"})),
        "say {{2.hasPendingQuestion}}: {{2.summary}}",
    ];
    let mut feed = host.feed();
    let mut run = host.run("scripted", &script(&steps));
    assert_eq!(run.completed(), "asked: true, out of time: false");
    let parent = run.thread_id();
    let question = run.request();
    assert_eq!(question["threadId"], feed.child(&parent, 1));
    host.weft_ok(&[
        "request",
        "answer",
        question["id"].as_str().unwrap(),
        "blue",
    ]);
    assert_eq!(feed.end_of(&parent, 2)["status"], "completed");
    let said = host.last_text(&parent);
    assert!(
        said.starts_with("false: I took") && said.contains("blue"),
        "{said}"
    );
}

#[test]
fn a_repeated_call_with_the_same_key_makes_one_child() {
    let host = TestHost::start(&Configuration::default().scripted());
    let delegate = call(
        "delegate_task",
        &json!({"task": "script: say Once.", "mode": "wait", "clientRequestId": "once"}),
    );
    let other = call(
        "delegate_task",
        &json!({"task": "script: say Twice.", "mode": "wait", "clientRequestId": "once"}),
    );
    let steps = [
        &delegate,
        &delegate,
        &other,
        "say {{1.taskId}} {{2.taskId}} {{3}}",
    ];
    let mut run = host.run("scripted", &script(&steps));
    let said = run.completed();
    let tasks = run.result()["tasks"].clone();
    let id = tasks[0]["taskId"].as_str().unwrap();
    assert!(said.starts_with(&format!("{id} {id} ")), "{said}");
    assert!(
        said.contains("invalid_request"),
        "the key of another call is refused: {said}"
    );
    assert_eq!(tasks.as_array().unwrap().len(), 1, "{tasks}");
}

#[test]
fn delegation_ends_at_the_configured_depth() {
    let configuration = Configuration::default()
        .with("[delegation]\ndepth_max = 1\n")
        .scripted();
    let host = TestHost::start(&configuration);
    let too_deep = call("delegate_task", &json!({"task": "script: say Never."}));
    let delegate = json!({"task": script(&[&too_deep, "say {{1}}"]), "mode": "wait"});
    let steps = [&call("delegate_task", &delegate), "say {{1.summary}}"];
    let mut run = host.run("scripted", &script(&steps));
    let said = run.completed();
    assert!(
        said.contains("invalid_request") && said.contains("depth"),
        "{said}"
    );
    let threads = host.weft_json(&["thread", "list", "--json"]);
    assert_eq!(threads["threads"].as_array().unwrap().len(), 2, "{threads}");
}
