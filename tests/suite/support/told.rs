//! What the model of a real agent was told: the proof that something reached it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use model::{ModelServer, Outcome, Recorded};
use serde_json::Value;

use super::PATIENCE;

/// Waits until this many requests hang at the model.
pub(crate) async fn hanging(model: &ModelServer, count: usize) {
    let seen = RefCell::new(BTreeSet::new());
    let enough = |request: &Recorded| {
        if request.step_name() == "hang" && request.outcome == Outcome::Open {
            seen.borrow_mut().insert(request.number);
        }
        seen.borrow().len() >= count
    };
    model.wait_for(PATIENCE, enough).await.unwrap();
}

/// The results of a tool that stand in the requests of the model, each once, oldest first.
pub(crate) fn results(model: &ModelServer, tool: &str) -> Vec<String> {
    let mut calls_seen: Vec<Value> = Vec::new();
    let mut results = Vec::new();
    for request in model.requests() {
        let Some(input) = request.body["input"].as_array() else {
            continue;
        };
        let is_call = |entry: &&Value| entry["name"] == tool && entry["type"] == "function_call";
        for call in input.iter().filter(is_call) {
            let id = &call["call_id"];
            let is_output =
                |entry: &&Value| entry["type"] == "function_call_output" && entry["call_id"] == *id;
            let Some(output) = input.iter().find(is_output) else {
                continue;
            };
            if !calls_seen.contains(id) {
                calls_seen.push(id.clone());
                results.push(text_of(&output["output"]));
            }
        }
    }
    assert!(
        !results.is_empty(),
        "the model was told no result of {tool}"
    );
    results
}

/// The same, of a tool that answers JSON.
pub(crate) fn json_results(model: &ModelServer, tool: &str) -> Vec<Value> {
    let read = |text: String| {
        // Codex puts a line in front.
        let object = text.find('{').and_then(|start| text.get(start..));
        let value = object.and_then(|object| serde_json::from_str(object).ok());
        value.unwrap_or_else(|| panic!("no JSON: {text}"))
    };
    results(model, tool).into_iter().map(read).collect()
}

/// A result's text: a string, or parts of which each has a text.
fn text_of(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}
