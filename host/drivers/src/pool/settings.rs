//! An instance's settings against its driver's JSON Schema: the part of the language that settings need.

use serde_json::{Map, Value};

/// Setting that bounds the threads of one session.
const THREADS: &str = "threads_per_session";

/// Deepest nesting of a schema that is followed.
const DEPTH_MAX: u32 = 16;

/// Checks settings and returns them as one JSON object, or a sentence that names what to change.
///
/// `threads` is the operator's number of threads of a session. A driver that knows the setting is told it: it counts too,
/// and must not refuse a thread that the pool gives it.
pub(super) fn check(
    schema: &Value,
    settings_json: &str,
    threads: Option<u32>,
) -> Result<Map<String, Value>, String> {
    let text = if settings_json.trim().is_empty() {
        "{}"
    } else {
        settings_json
    };
    let mut settings: Value = serde_json::from_str(text)
        .map_err(|error| format!("Its settings are not JSON: {error}."))?;
    let Value::Object(object) = &mut settings else {
        return Err("Its settings are not a table.".to_owned());
    };
    let known = schema.get("properties").and_then(|all| all.get(THREADS));
    if let (Some(threads), Some(_)) = (threads, known) {
        object.insert(THREADS.to_owned(), threads.into());
    }
    let object = object.clone();
    check_value(schema, &settings, "settings", 0)?;
    Ok(object)
}

/// Threads one session may hold by the settings, else by the driver's default.
pub(super) fn threads_per_session(schema: &Value, settings: &Map<String, Value>) -> Option<u32> {
    let default = || schema.get("properties")?.get(THREADS)?.get("default");
    let value = settings.get(THREADS).or_else(default)?;
    value.as_u64().and_then(|count| u32::try_from(count).ok())
}

fn check_value(schema: &Value, value: &Value, path: &str, depth: u32) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("`{path}` is nested too deeply."));
    }
    check_type(schema, value, path)?;
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let words: Vec<String> = allowed.iter().map(Value::to_string).collect();
        return Err(format!(
            "`{path}` is {value}; allowed are {}.",
            words.join(", ")
        ));
    }
    check_bounds(schema, value, path)?;
    match value {
        Value::Object(object) => check_object(schema, object, path, depth),
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .try_for_each(|(place, entry)| match schema.get("items") {
                    Some(items) => {
                        check_value(items, entry, &format!("{path}[{place}]"), depth + 1)
                    }
                    None => Ok(()),
                })
        }
        _ => Ok(()),
    }
}

fn check_type(schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    let wanted: Vec<&str> = match schema.get("type") {
        None => return Ok(()),
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        Some(_) => return Ok(()),
    };
    let fits = wanted.iter().any(|word| match *word {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => true,
    });
    if fits {
        Ok(())
    } else {
        Err(format!("`{path}` must be of type {}.", wanted.join(" or ")))
    }
}

fn check_bounds(schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let (size, what) = match value {
        Value::Number(number) => (number.as_f64(), ("minimum", "maximum", "")),
        Value::String(text) => (
            count(text.chars().count()),
            ("minLength", "maxLength", " characters"),
        ),
        Value::Array(list) => (count(list.len()), ("minItems", "maxItems", " entries")),
        _ => return Ok(()),
    };
    let (low, high, unit) = what;
    let Some(size) = size else { return Ok(()) };
    match (bound(low), bound(high)) {
        (Some(low), _) if size < low => Err(format!("`{path}` must be at least {low}{unit}.")),
        (_, Some(high)) if size > high => Err(format!("`{path}` must be at most {high}{unit}.")),
        _ => Ok(()),
    }
}

fn count(count: usize) -> Option<f64> {
    u32::try_from(count).ok().map(f64::from)
}

fn check_object(
    schema: &Value,
    object: &Map<String, Value>,
    path: &str,
    depth: u32,
) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, value) in object {
        let inner = format!("{path}.{name}");
        match (
            properties.and_then(|known| known.get(name)),
            schema.get("additionalProperties"),
        ) {
            (Some(known), _) => check_value(known, value, &inner, depth + 1)?,
            (None, Some(Value::Bool(false))) => return Err(unknown(&inner, name, properties)),
            (None, Some(rest @ Value::Object(_))) => check_value(rest, value, &inner, depth + 1)?,
            (None, _) => {}
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            return Err(format!("`{path}.{name}` is missing."));
        }
    }
    Ok(())
}

fn unknown(path: &str, name: &str, known: Option<&Map<String, Value>>) -> String {
    let near = known
        .into_iter()
        .flat_map(Map::keys)
        .map(|word| (strsim::jaro_winkler(name, word), word))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match near {
        Some((_, word)) => format!("`{path}` is not known; did you mean `{word}`?"),
        None => {
            let words: Vec<&str> = known
                .into_iter()
                .flat_map(Map::keys)
                .map(String::as_str)
                .collect();
            format!("`{path}` is not known; known are: {}.", words.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["place"],
            "properties": {
                "place": { "enum": ["stdin", "environment"] },
                "threads_per_session": { "type": "integer", "minimum": 1, "maximum": 64, "default": 8 },
                "words": { "type": "array", "maxItems": 2, "items": { "type": "string", "minLength": 1 } },
                "free": { "type": "object", "additionalProperties": { "type": "boolean" } }
            }
        })
    }

    #[test]
    fn good_settings_pass_and_bad_ones_name_the_field() {
        let place = r#""place":"stdin""#;
        for (settings, expected) in [
            (format!("{{{place}}}"), None),
            (
                format!(r#"{{{place},"threads_per_session":4,"words":["a"],"free":{{"x":true}}}}"#),
                None,
            ),
            ("{}".to_owned(), Some("`settings.place` is missing")),
            (String::new(), Some("`settings.place` is missing")),
            ("[]".to_owned(), Some("not a table")),
            ("{".to_owned(), Some("not JSON")),
            (
                r#"{"place":"disk"}"#.to_owned(),
                Some(r#"allowed are "stdin", "environment""#),
            ),
            (
                format!(r#"{{{place},"thread_per_session":1}}"#),
                Some("did you mean `threads_per_session`"),
            ),
            (format!(r#"{{{place},"zzz":1}}"#), Some("known are")),
            (
                format!(r#"{{{place},"threads_per_session":0}}"#),
                Some("at least 1"),
            ),
            (
                format!(r#"{{{place},"threads_per_session":65}}"#),
                Some("at most 64"),
            ),
            (
                format!(r#"{{{place},"threads_per_session":1.5}}"#),
                Some("of type integer"),
            ),
            (
                format!(r#"{{{place},"words":["a","b","c"]}}"#),
                Some("at most 2 entries"),
            ),
            (
                format!(r#"{{{place},"words":[""]}}"#),
                Some("`settings.words[0]` must be at least 1"),
            ),
            (
                format!(r#"{{{place},"free":{{"x":1}}}}"#),
                Some("`settings.free.x` must be of type boolean"),
            ),
        ] {
            let result = check(&schema(), &settings, None).map(|_| ());
            match expected {
                None => assert_eq!(result, Ok(()), "{settings}"),
                Some(part) => assert!(
                    result.clone().unwrap_err().contains(part),
                    "{settings}: {result:?}"
                ),
            }
        }
    }

    #[test]
    fn the_operators_number_of_threads_reaches_a_driver_that_knows_the_setting() {
        let own = r#"{"place":"stdin","threads_per_session":4}"#;
        let told = check(&schema(), own, Some(16)).unwrap();
        assert_eq!(threads_per_session(&schema(), &told), Some(16));
        let refused = check(&schema(), own, Some(65)).unwrap_err();
        assert!(
            refused.contains("threads_per_session") && refused.contains("at most 64"),
            "{refused}"
        );
        let unaware = json!({ "type": "object", "additionalProperties": false });
        assert_eq!(check(&unaware, "{}", Some(16)), Ok(Map::new()));
    }

    #[test]
    fn threads_come_from_the_settings_else_from_the_default() {
        let set = |json: Value| threads_per_session(&schema(), json.as_object().unwrap());
        assert_eq!(set(json!({"threads_per_session": 3})), Some(3));
        assert_eq!(set(json!({})), Some(8));
        assert_eq!(
            threads_per_session(&json!({"type": "object"}), &Map::new()),
            None
        );
    }
}
