//! Scripted parent, scripted child: the whole way through the host, without anybody's account.

use serde_json::json;

use crate::support::{Configuration, TestHost};

#[test]
fn a_scripted_parent_waits_for_a_scripted_child() {
    let host = TestHost::start(&Configuration::default().scripted());
    let call = json!({"task": "script: say The answer is 42.", "mode": "wait"});
    let mut run = host.run(
        "scripted",
        &format!("script: call delegate_task {call} ;; say Child: {{{{1.summary}}}}"),
    );
    let result = run.result();
    assert_eq!(result["status"], "completed", "{result}");
    assert_eq!(result["text"], "Child: The answer is 42.");
    assert_eq!(result["tasks"][0]["status"], "completed");
    assert_eq!(result["tasks"][0]["summary"], "The answer is 42.");
}
