use script::Entry;
use serde_json::Value;

/// First words of messages that an agent adds in the user's name. They are no part of the conversation.
const ADDED_BY_AGENTS: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
];

/// First words of the message that codex leaves where a turn was interrupted.
const TURN_ABORTED: &str = "<turn_aborted>";

/// Reads the conversation that a request carries.
pub(crate) fn read(body: &Value) -> Vec<Entry> {
    match body.get("input") {
        Some(Value::String(text)) => vec![Entry::User(text.clone())],
        Some(Value::Array(items)) => items.iter().filter_map(entry).collect(),
        _ => Vec::new(),
    }
}

fn entry(item: &Value) -> Option<Entry> {
    let kind = item
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("message");
    if kind.ends_with("_output") {
        return Some(Entry::Result(text(item.get("output")?)));
    }
    if kind != "message" {
        return None;
    }
    match item.get("role").and_then(Value::as_str)? {
        "assistant" => Some(Entry::Message),
        "user" => user_entry(item.get("content")?),
        _ => None,
    }
}

/// A message may have several parts: what the host puts before the prompt, such as instructions or a handed-over
/// conversation, stands in parts of its own. The last one is the prompt.
fn user_entry(content: &Value) -> Option<Entry> {
    let parts = match content {
        Value::Array(parts) => parts
            .iter()
            .filter_map(part_text)
            .map(str::to_owned)
            .collect(),
        other => vec![text(other)],
    };
    let begins = |part: &str, words: &str| part.trim_start().starts_with(words);
    if parts.iter().any(|part| begins(part, TURN_ABORTED)) {
        return Some(Entry::TurnOver);
    }
    let added = |part: &String| ADDED_BY_AGENTS.iter().any(|words| begins(part, words));
    parts
        .into_iter()
        .rev()
        .find(|part| !added(part))
        .map(Entry::User)
}

fn part_text(part: &Value) -> Option<&str> {
    part.get("text").and_then(Value::as_str)
}

/// The text of a content field: a string, a list of parts, or any other JSON as it is.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .map(|part| part_text(part).map_or_else(|| part.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join("\n"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(text: &str) -> Value {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    }

    #[test]
    fn each_item_is_an_entry_or_none() {
        let message = |text: &str| Some(Entry::User(text.to_owned()));
        let result = |text: &str| Some(Entry::Result(text.to_owned()));
        let table = [
            (user("hello"), message("hello")),
            (
                json!({"role": "user", "content": "plain"}),
                message("plain"),
            ),
            (
                json!({"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]}),
                message("b"),
            ),
            (
                json!({"role": "user", "content": [
                    {"type": "input_text", "text": "Earlier: script: say no"},
                    {"type": "input_text", "text": "script: say yes"},
                    {"type": "input_image", "image_url": "data:"},
                ]}),
                message("script: say yes"),
            ),
            (user("<environment_context>\n  <cwd>/x</cwd>"), None),
            (
                user("# AGENTS.md instructions for /x\nscript: say no"),
                None,
            ),
            (
                user("<turn_aborted>\nThe user interrupted"),
                Some(Entry::TurnOver),
            ),
            (
                json!({"type": "message", "role": "developer", "content": "script: say no"}),
                None,
            ),
            (
                json!({"type": "message", "role": "assistant", "content": []}),
                Some(Entry::Message),
            ),
            (json!({"type": "reasoning", "summary": []}), None),
            (
                json!({"type": "function_call", "name": "a", "arguments": "{}"}),
                None,
            ),
            (
                json!({"type": "function_call_output", "call_id": "c", "output": "done"}),
                result("done"),
            ),
            (
                json!({"type": "function_call_output", "output": [{"type": "input_text", "text": "x"}]}),
                result("x"),
            ),
            (
                json!({"type": "custom_tool_call_output", "output": {"a": 1}}),
                result("{\"a\":1}"),
            ),
        ];
        for (item, expected) in table {
            assert_eq!(entry(&item), expected, "{item}");
        }
    }

    #[test]
    fn an_input_may_be_one_text_or_missing() {
        assert_eq!(read(&json!({"input": "a"})), [Entry::User("a".into())]);
        assert_eq!(read(&json!({})), []);
        assert_eq!(
            read(&json!({"input": [user("a"), {"type": "reasoning"}]})).len(),
            1
        );
    }
}
