//! Real codex parent, real codex child.

use model::ModelServer;
use serde_json::json;

use crate::support::{Configuration, TestHost};

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_parent_waits_for_a_codex_child() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let call = json!({"task": "script: say The answer is 42.", "mode": "wait"});
    let mut run = host.run(
        "codex",
        &format!("script: call delegate_task {call} ;; say Child: {{{{1.summary}}}}"),
    );
    let result = run.result();
    assert_eq!(result["status"], "completed", "{result}");
    assert_eq!(result["text"], "Child: The answer is 42.");
    assert_eq!(result["tasks"][0]["summary"], "The answer is 42.");
}
