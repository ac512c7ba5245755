use serde_json::Value;

use crate::parse::MARKER;
use crate::step::Step;

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// Most places in a result at which JSON is looked for. Agents put a few lines before a tool's JSON.
const JSON_STARTS_MAX: usize = 16;

/// Fills in the templates of a step from the results of the tool calls since the script began.
pub(crate) fn fill_step(step: &Step, results: &[&str]) -> Step {
    let fill = |text: &String| fill_text(text, results);
    match step {
        Step::Say(text) => Step::Say(fill(text)),
        Step::Think { reasoning, text } => Step::Think {
            reasoning: fill(reasoning),
            text: fill(text),
        },
        Step::Call { tool, arguments } => Step::Call {
            tool: tool.clone(),
            arguments: fill_json(arguments, results),
        },
        Step::Shell(command) => Step::Shell(fill(command)),
        Step::Approve { title } => Step::Approve { title: fill(title) },
        Step::Ask { text, options } => Step::Ask {
            text: fill(text),
            options: options.iter().map(fill).collect(),
        },
        Step::Slow { .. }
        | Step::Custom { .. }
        | Step::Fail { .. }
        | Step::FailOnce { .. }
        | Step::Cut
        | Step::Hang
        | Step::Noise { .. }
        | Step::Exit { .. }
        | Step::Crash
        | Step::Flood { .. } => step.clone(),
    }
}

/// Fills in every string of a JSON value. What follows `script:` in a string is the script of somebody
/// else, whose templates are about that one's own results: it stays as it is.
fn fill_json(value: &Value, results: &[&str]) -> Value {
    match value {
        Value::String(text) => {
            let end = text.find(MARKER).unwrap_or(text.len());
            let (own, nested) = text.split_at(end);
            Value::String(fill_text(own, results) + nested)
        }
        Value::Array(values) => values
            .iter()
            .map(|value| fill_json(value, results))
            .collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), fill_json(value, results)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn fill_text(text: &str, results: &[&str]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        filled.push_str(before);
        let Some((inner, behind)) = after.split_once(CLOSE) else {
            filled.push_str(OPEN);
            rest = after;
            continue;
        };
        match Reference::parse(inner.trim()) {
            Some(reference) => {
                filled.push_str(&reference.resolve(results));
                rest = behind;
            }
            // Not a template: keep the braces and look on behind them.
            None => {
                filled.push_str(OPEN);
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// What a template refers to: `1`, `1.taskId`, `last`, `last.summary`, `1.tasks.0.taskId`.
struct Reference<'a> {
    /// As written, for the text that stands in for something missing.
    word: &'a str,
    /// Counted from 1; `None` is the last one.
    number: Option<usize>,
    /// Names and indices on the way to the field. `None`: the whole text.
    path: Option<&'a str>,
}

impl<'a> Reference<'a> {
    fn parse(inner: &'a str) -> Option<Self> {
        let (word, path) = match inner.split_once('.') {
            Some((_, "")) => return None,
            Some((word, path)) => (word, Some(path)),
            None => (inner, None),
        };
        let number = match word {
            "last" => None,
            _ => Some(word.parse::<usize>().ok().filter(|number| *number > 0)?),
        };
        Some(Self { word, number, path })
    }

    fn resolve(&self, results: &[&str]) -> String {
        let word = self.word;
        let found = match self.number {
            Some(number) => results.get(number - 1),
            None => results.last(),
        };
        let Some(result) = found else {
            return match self.number {
                Some(_) => format!("(no result {word})"),
                None => "(no result)".to_owned(),
            };
        };
        let Some(path) = self.path else {
            return (*result).to_owned();
        };
        match find_json(result)
            .as_ref()
            .and_then(|json| field(json, path))
        {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => format!("(no {path} in result {word})"),
        }
    }
}

fn field<'a>(json: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(json, |value, key| match value {
        Value::Object(fields) => fields.get(key),
        Value::Array(values) => values.get(key.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// The JSON object or array in a result. Agents hand a tool's JSON to the model behind lines of their
/// own (`Wall time: ...`), so it need not be the whole text.
fn find_json(result: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(result) {
        return Some(value);
    }
    result
        .match_indices(['{', '['])
        .take(JSON_STARTS_MAX)
        .filter_map(|(start, _)| {
            let text = result.get(start..)?;
            serde_json::Deserializer::from_str(text)
                .into_iter::<Value>()
                .next()?
                .ok()
        })
        .next()
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
