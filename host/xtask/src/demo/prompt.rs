//! What the demo's parent is asked.

use serde_json::json;

/// For a real model.
pub(super) const IN_WORDS: &str = "Delegate two tasks at once with the tool delegate_task of the server t3-code. \
     First, in mode async, with the title \"Count the words\": \"Count the words of README.md and answer in one sentence.\" \
     Then, in mode wait, with the title \"Check the heading\": \"Say in one sentence whether README.md begins with a heading.\" \
     Then call task_status for the first task until it has ended, and answer with both results.";

/// For a scripted agent or a scripted model: the first child runs on while the parent waits for the second.
pub(super) fn script() -> String {
    let child = |title: &str, mode: &str, pieces: u32| {
        json!({
            "task": format!("{title}. script: slow {pieces} 200"),
            "title": title,
            "mode": mode,
        })
    };
    format!(
        "Delegate two tasks at once. script: call delegate_task {} ;; call delegate_task {} ;; \
         call task_status {} ;; say Both have ended. First: {{{{3.summary}}}} Second: {{{{2.summary}}}}",
        child("Count the words", "async", 6),
        child("Check the heading", "wait", 10),
        json!({ "taskId": "{{1.taskId}}" }),
    )
}
