//! Messages to a thread whose agent is at work.

use model::ModelServer;

use crate::support::told::hanging;
use crate::support::{Configuration, PATIENCE, TestHost};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_joins_the_text_a_codex_agent_is_writing() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let mut run = host.run("codex", "script: slow 6000 10 ;; say Turned.");
    let thread = run.thread_id();
    run.change("text", |_| true);
    let sent = host.weft_json(&["thread", "send", &thread, "--json", "--", "Turn left."]);
    assert_eq!(sent["delivery"], "steered", "{sent}");
    assert_eq!(run.completed(), "Turned.");
    assert_eq!(sent["runId"], run.result()["runId"]);
    model
        .wait_for(PATIENCE, |request| {
            request.messages().any(|text| text == "Turn left.")
        })
        .await
        .unwrap();
    assert_eq!(host.thread(&thread)["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_message_joins_the_turn_of_a_scripted_agent() {
    let host = TestHost::start(&Configuration::default().scripted());
    let mut feed = host.feed();
    let mut run = host.run("scripted", "script: hang");
    let thread = run.thread_id();
    feed.running(&thread, 1);
    let words = [
        "thread",
        "send",
        &thread,
        "--mode",
        "steer",
        "--json",
        "--",
        "Turn left.",
    ];
    assert_eq!(host.weft_json(&words)["delivery"], "steered");
    assert!(run.completed().contains("also heard: Turn left."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_message_waits_for_the_end_of_the_turn() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let mut feed = host.feed();
    let mut run = host.run("codex", "script: hang ;; say First.");
    let thread = run.thread_id();
    hanging(&model, 1).await;
    let words = [
        "thread",
        "send",
        &thread,
        "--mode",
        "queue",
        "--json",
        "--",
        "script: say Second.",
    ];
    assert_eq!(host.weft_json(&words)["delivery"], "queued");
    host.tell(&thread, "Go on.");
    assert_eq!(run.completed(), "First.");
    assert_eq!(feed.end_of(&thread, 2)["status"], "completed");
    assert_eq!(host.last_text(&thread), "Second.");
}

#[test]
fn a_message_that_must_join_a_turn_is_refused_where_none_runs() {
    let host = TestHost::start(&Configuration::default().scripted());
    let mut run = host.run("scripted", "script: say Done.");
    run.completed();
    let thread = run.thread_id();
    let refused = host.weft_refused(&["thread", "send", &thread, "--mode", "steer", "More."]);
    assert!(refused.contains("[thread_not_sendable]"), "{refused}");
    let mut again = host.send(&thread, "script: say Again.");
    assert_eq!(again.completed(), "Again.");
}
