//! Stopping a thread, whatever its agent is doing.

use model::{ModelServer, Outcome, Recorded};
use serde_json::{Value, json};

use crate::support::scripts::{call, script};
use crate::support::told::hanging;
use crate::support::{Configuration, PATIENCE, Sleeper, TestHost};

const FULL_ACCESS: [&str; 2] = ["--runtime-mode", "full-access"];

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_the_text_a_codex_agent_is_writing() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let mut run = host.run("codex", "script: slow 6000 10");
    let thread = run.thread_id();
    run.change("text", |_| true);
    stop(&host, &thread);
    assert_stopped(&run.result());
    let gone = |request: &Recorded| request.outcome == Outcome::ClientGone;
    model.wait_for(PATIENCE, gone).await.unwrap();
    // The thread takes a message as ever.
    assert_eq!(
        host.send(&thread, "script: say Again.").completed(),
        "Again."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_the_command_a_codex_agent_runs() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let sleeper = Sleeper::new(host.folder());
    let prompt = format!("script: shell {}", sleeper.command());
    let mut run = host.run_with("codex", &FULL_ACCESS, &prompt);
    let command = sleeper.process();
    stop(&host, &run.thread_id());
    assert_stopped(&run.result());
    command.wait_gone();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_a_command_left_in_the_background() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let sleeper = Sleeper::new(host.folder());
    // Codex gives back what a command said so far after this time and lets it run on.
    let command = json!({"cmd": sleeper.command(), "yield_time_ms": 250});
    let prompt = script(&[&call("exec_command", &command), "hang"]);
    let mut run = host.run_with("codex", &FULL_ACCESS, &prompt);
    let command = sleeper.process();
    hanging(&model, 1).await;
    stop(&host, &run.thread_id());
    assert_stopped(&run.result());
    command.wait_gone();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_of_a_waiting_parent_stops_the_child_too() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let sleeper = Sleeper::new(host.folder());
    let delegate = json!({"task": format!("script: shell {}", sleeper.command()), "mode": "wait"});
    let mut feed = host.feed();
    let prompt = script(&[&call("delegate_task", &delegate)]);
    let mut run = host.run_with("codex", &FULL_ACCESS, &prompt);
    let parent = run.thread_id();
    let child = feed.child(&parent, 1);
    let command = sleeper.process();
    stop(&host, &parent);
    assert_stopped(&run.result());
    assert_eq!(feed.end_of(&child, 1)["status"], "interrupted");
    command.wait_gone();
    // Who was stopped is not woken for what was stopped with it.
    let thread = host.thread(&parent);
    assert_eq!(thread["runs"].as_array().unwrap().len(), 1, "{thread}");
    assert_eq!(
        thread["tasks"][0]["resultStatus"], "interrupted",
        "{thread}"
    );
}

#[test]
fn a_stop_ends_the_turn_of_a_scripted_agent() {
    let host = TestHost::start(&Configuration::default().scripted());
    let mut feed = host.feed();
    let mut run = host.run("scripted", "script: hang");
    let thread = run.thread_id();
    feed.running(&thread, 1);
    stop(&host, &thread);
    assert_stopped(&run.result());
}

fn stop(host: &TestHost, thread: &str) {
    host.weft_ok(&["thread", "stop", thread, "--reason", "seen enough"]);
}

fn assert_stopped(result: &Value) {
    assert_eq!(result["status"], "interrupted", "{result}");
    let reason = result["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("seen enough"), "{result}");
}
