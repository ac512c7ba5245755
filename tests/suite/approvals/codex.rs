//! What the real codex asks, and what its model is told of the decision.

use std::os::unix::fs::PermissionsExt as _;

use model::ModelServer;
use serde_json::json;

use crate::support::scripts::{call, script};
use crate::support::{Configuration, TestHost, told};

const PATCH: &str =
    "custom apply_patch *** Begin Patch\\n*** Add File: made.txt\\n+made\\n*** End Patch";

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_command_runs() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let mut run = host.run("codex", "script: shell echo sum $((40 + 2)) ;; say Done.");
    let request = run.request();
    let approval = &request["prompt"]["approval"];
    assert_eq!(approval["kind"], "command", "{request}");
    assert!(
        approval["title"].as_str().unwrap().contains("echo sum"),
        "{request}"
    );
    host.weft_ok(&["request", "allow", request["id"].as_str().unwrap()]);
    assert_eq!(run.completed(), "Done.");
    let result = told::results(&model, "exec_command").remove(0);
    assert!(result.contains("sum 42"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_command_does_not_run_and_the_turn_goes_on() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let mut run = host.run("codex", "script: shell echo sum $((40 + 2)) ;; say Done.");
    let request = run.request();
    host.weft_ok(&["request", "deny", request["id"].as_str().unwrap()]);
    assert_eq!(run.completed(), "Done.");
    let result = told::results(&model, "exec_command").remove(0);
    assert!(
        result.contains("rejected") && !result.contains("sum 42"),
        "{result}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_that_ends_the_turn_interrupts_the_run() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let mut run = host.run("codex", "script: shell echo sum $((40 + 2)) ;; say Never.");
    let request = run.request();
    host.weft_ok(&[
        "request",
        "deny",
        request["id"].as_str().unwrap(),
        "--end-turn",
    ]);
    assert_eq!(run.result()["status"], "interrupted", "{}", run.result());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_allowed_for_the_session_is_not_asked_again() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let steps = [
        "shell echo one",
        "shell echo one",
        "shell echo two",
        "say Done.",
    ];
    let mut run = host.run("codex", &script(&steps));
    let first = run.request();
    host.weft_ok(&[
        "request",
        "allow",
        first["id"].as_str().unwrap(),
        "--for-session",
    ]);
    let second = run.change("request", |request| {
        request["status"] == "pending" && request["id"] != first["id"]
    });
    let title = second["prompt"]["approval"]["title"].as_str().unwrap();
    assert!(
        title.contains("echo two"),
        "the same command was asked again: {title}"
    );
    host.weft_ok(&["request", "allow", second["id"].as_str().unwrap()]);
    assert_eq!(run.completed(), "Done.");
    assert_eq!(told::results(&model, "exec_command").len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_change_is_made_when_it_is_allowed_and_only_then() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let made = host.project().join("made.txt");
    for (word, is_made) in [("deny", false), ("allow", true)] {
        let mut run = host.run("codex", &script(&[PATCH, "say Done."]));
        let request = run.request();
        assert_eq!(
            request["prompt"]["approval"]["kind"], "file-change",
            "{request}"
        );
        assert!(!made.exists(), "nothing is written before the answer");
        host.weft_ok(&["request", word, request["id"].as_str().unwrap()]);
        assert_eq!(run.completed(), "Done.");
        assert_eq!(made.exists(), is_made, "{word}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_may_edit_is_not_asked_for_edits() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let words = ["--runtime-mode", "auto-accept-edits"];
    let mut run = host.run_with("codex", &words, &script(&[PATCH, "say Done."]));
    assert_eq!(run.completed(), "Done.");
    assert_eq!(
        std::fs::read_to_string(host.project().join("made.txt")).unwrap(),
        "made\n"
    );
    assert_eq!(run.seen_changes("request").len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_a_planning_agent_is_answered() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let option = |label: &str| json!({"label": label, "description": "A colour."});
    let question = json!({"questions": [{
        "id": "colour", "header": "Colour", "question": "Which colour?",
        "options": [option("Red"), option("Blue")],
    }]});
    let steps = [&call("request_user_input", &question), "say Done."];
    let words = ["--interaction-mode", "plan"];
    let mut run = host.run_with("codex", &words, &script(&steps));
    let request = run.request();
    let asked = &request["prompt"]["questions"][0];
    assert_eq!(asked["text"], "Which colour?", "{request}");
    host.weft_ok(&["request", "answer", request["id"].as_str().unwrap(), "Blue"]);
    assert_eq!(run.completed(), "Done.");
    let result = told::results(&model, "request_user_input").remove(0);
    assert!(
        result.contains("Blue") && !result.contains("Red"),
        "{result}"
    );
}

/// A tool server of the user's own, with one tool that says nothing about what it does.
const PAINTER: &str = r#"#!/bin/sh
while read -r line; do
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"painter","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"paint","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"painted"}]}' ;;
    *) continue ;;
  esac
  id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
done
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_another_server_is_used_when_it_is_allowed_and_only_then() {
    let model = ModelServer::start().await.unwrap();
    let settings =
        "settings = { config_overrides = ['mcp_servers.painter.command=\"@FOLDER@/painter\"'] }";
    let host = TestHost::start(&Configuration::default().codex_as("codex", &model, settings));
    let painter = host.folder().join("painter");
    std::fs::write(&painter, PAINTER).unwrap();
    std::fs::set_permissions(&painter, std::fs::Permissions::from_mode(0o755)).unwrap();
    for word in ["deny", "allow"] {
        let mut run = host.run("codex", "script: call mcp__painter/paint ;; say Done.");
        let request = run.request();
        let approval = &request["prompt"]["approval"];
        assert_eq!(approval["kind"], "mcp-elicitation", "{request}");
        host.weft_ok(&["request", word, request["id"].as_str().unwrap()]);
        assert_eq!(run.completed(), "Done.");
    }
    let results = told::results(&model, "paint");
    assert!(!results[0].contains("painted"), "{results:?}");
    assert!(results[1].contains("painted"), "{results:?}");
}
