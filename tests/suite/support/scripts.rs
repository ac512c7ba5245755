//! Words of scripts, as the tests write them.

use serde_json::Value;

/// A step that calls a tool.
pub(crate) fn call(tool: &str, arguments: &Value) -> String {
    format!("call {tool} {arguments}")
}

/// A prompt with a script of these steps.
pub(crate) fn script(steps: &[&str]) -> String {
    format!("script: {}", steps.join(" ;; "))
}
