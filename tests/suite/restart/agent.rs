//! An agent's process is killed in the middle of a turn.

use std::time::{Duration, Instant};

use model::ModelServer;
use serde_json::json;

use crate::support::scripts::{call, script};
use crate::support::told::hanging;
use crate::support::{Configuration, Process, TestHost, processes};

/// Within this time of its agent's death a run has failed.
const FAILED_WITHIN: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_agent_that_is_killed_fails_its_run_and_the_next_message_goes_on() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let mut run = host.run("codex", "script: hang ;; say I am back.");
    let thread = run.thread_id();
    hanging(&model, 1).await;
    let agent = Process::of(processes::find_below(host.pid(), "app-server"));
    agent.kill_group();
    let killed = Instant::now();
    let result = run.result();
    assert!(killed.elapsed() < FAILED_WITHIN, "{:?}", killed.elapsed());
    assert_eq!(result["status"], "failed", "{result}");
    let reason = result["reason"].as_str().unwrap();
    assert!(reason.contains("signal 9"), "the cause: {reason}");
    assert!(
        reason.contains("to go on in a new process"),
        "the remedy: {reason}"
    );

    // The next message starts another process, which goes on with the same conversation.
    assert_eq!(host.send(&thread, "Go on.").completed(), "I am back.");
    let next = Process::of(processes::find_below(host.pid(), "app-server"));
    assert_ne!(next.pid(), agent.pid());
    let last = model.requests().pop().unwrap();
    let messages: Vec<&str> = last.messages().collect();
    assert_eq!(messages, ["script: hang ;; say I am back.", "Go on."]);
}

#[test]
fn a_scripted_agent_that_is_killed_fails_its_run_and_the_next_message_goes_on() {
    let host = TestHost::start(&Configuration::default().scripted());
    let mut feed = host.feed();
    let mut run = host.run("scripted", "script: hang");
    let thread = run.thread_id();
    feed.running(&thread, 1);
    let agent = Process::of(processes::find_below(host.pid(), "scripted-agent"));
    agent.kill_group();
    let killed = Instant::now();
    let result = run.result();
    assert!(killed.elapsed() < FAILED_WITHIN, "{:?}", killed.elapsed());
    assert_eq!(result["status"], "failed", "{result}");
    let mut again = host.send(&thread, "script: say I am back.");
    assert_eq!(again.completed(), "I am back.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_dies_with_its_agent_is_told_to_a_parent_at_another_agent() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model).scripted());
    let delegate = json!({
        "task": "script: hang",
        "target": {"providerInstanceId": "codex"},
        "mode": "wait",
    });
    let steps = [&call("delegate_task", &delegate), "say {{1.status}}"];
    let mut run = host.run("scripted", &script(&steps));
    hanging(&model, 1).await;
    Process::of(processes::find_below(host.pid(), "app-server")).kill_group();
    assert_eq!(run.completed(), "failed");
}
