//! The host goes away while a parent waits for its child, and comes up again.

use model::ModelServer;
use serde_json::json;

use crate::support::scripts::{call, script};
use crate::support::told::hanging;
use crate::support::{Configuration, Process, TestHost, processes};

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_host_settles_its_work_at_the_next_start_and_wakes_the_parent_once() {
    work_is_settled_over_an_end_of_the_host(TestHost::kill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_was_stopped_in_good_order_leaves_the_same() {
    work_is_settled_over_an_end_of_the_host(TestHost::stop).await;
}

async fn work_is_settled_over_an_end_of_the_host(end: fn(&mut TestHost)) {
    let model = ModelServer::start().await.unwrap();
    let mut host = TestHost::start(&Configuration::default().codex(&model));
    let delegate = json!({"task": "script: hang ;; say I am back.", "mode": "wait"});
    let mut feed = host.feed();
    let mut run = host.run("codex", &script(&[&call("delegate_task", &delegate)]));
    let parent = run.thread_id();
    let child = feed.child(&parent, 1);
    hanging(&model, 1).await;
    let agents: Vec<Process> = processes::tree_of(host.pid())
        .into_iter()
        .map(Process::of)
        .collect();
    assert!(!agents.is_empty());
    drop(run);

    end(&mut host);
    host.start_again();
    let left = agents.iter().filter(|agent| !agent.is_gone()).count();
    assert_eq!(left, 0, "an agent of the old host runs beside the new one");

    let mut feed = host.feed();
    for thread in [&parent, &child] {
        let run = feed.end_of(thread, 1);
        assert_eq!(run["status"], "interrupted", "{run}");
        assert_eq!(run["reason"], "host_restarted", "{run}");
    }
    let wake = feed.end_of(&parent, 2);
    assert_eq!(wake["status"], "completed", "{wake}");
    let thread = host.thread(&parent);
    let task = &thread["tasks"][0];
    assert_eq!(task["resultStatus"], "interrupted", "{task}");
    let task_id = task["id"].as_str().unwrap();
    let requests = model.requests();
    let wakes = requests.iter().filter(|request| {
        request
            .messages()
            .last()
            .is_some_and(|text| text.contains(task_id))
    });
    assert_eq!(wakes.count(), 1, "the parent's model is told once");

    // A message goes on with the conversation that codex itself kept.
    assert_eq!(host.send(&child, "Go on.").completed(), "I am back.");
    let last = model.requests().pop().unwrap();
    let messages: Vec<&str> = last.messages().collect();
    assert_eq!(messages, ["script: hang ;; say I am back.", "Go on."]);
    let runs = host.thread(&parent)["runs"].as_array().unwrap().len();
    assert_eq!(runs, 2, "an end is told once");
}

#[test]
fn a_request_that_was_open_can_no_longer_be_answered_after_a_restart() {
    let mut host = TestHost::start(&Configuration::default().scripted());
    let mut run = host.run("scripted", "script: approve Deploy it? ;; say Never.");
    let request = run.request();
    let id = request["id"].as_str().unwrap();
    drop(run);
    host.kill();
    host.start_again();
    let over = host
        .feed()
        .change("request", |request| request["status"] == "invalidated");
    assert_eq!(over["id"], id);
    let reason = over["reason"].as_str().unwrap();
    assert!(reason.contains("host restarted"), "{reason}");
    let refused = host.weft_refused(&["request", "allow", id]);
    assert!(refused.contains("[request_not_pending]"), "{refused}");
}

#[test]
fn a_prompt_that_waited_for_its_turn_runs_after_a_restart() {
    let mut host = TestHost::start(&Configuration::default().scripted());
    let mut feed = host.feed();
    let mut run = host.run("scripted", "script: hang");
    let thread = run.thread_id();
    feed.running(&thread, 1);
    host.weft_ok(&[
        "thread",
        "send",
        &thread,
        "--mode",
        "queue",
        "script: say Later.",
    ]);
    drop(run);
    host.kill();
    host.start_again();
    let mut feed = host.feed();
    assert_eq!(feed.end_of(&thread, 1)["reason"], "host_restarted");
    assert_eq!(feed.end_of(&thread, 2)["status"], "completed");
    assert_eq!(host.last_text(&thread), "Later.");
}
