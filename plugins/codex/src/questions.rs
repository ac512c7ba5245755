//! Structured questions: Codex's own, and simple forms of MCP servers.
#![forbid(unsafe_code)]

use driver_sdk::types::{Question, QuestionAnswer, QuestionOption};
use serde_json::{Map, Value, json};

use crate::limits::{FORM_FIELDS_MAX, ID_BYTES_MAX};
use crate::views;

/// One question of `item/tool/requestUserInput`.
pub(crate) fn of_user_input(question: &views::Question) -> Question {
    let options: Vec<QuestionOption> = question
        .options
        .iter()
        .flatten()
        .map(option_of_choice)
        .collect();
    Question {
        question_id: question.id.clone(),
        header: question.header.clone().unwrap_or_default(),
        text: question.question.clone().unwrap_or_default(),
        custom_answer: question.is_other || options.is_empty(),
        options,
        multi_select: false,
        secret: question.is_secret,
        required: true,
    }
}

fn option_of_choice(choice: &views::Choice) -> QuestionOption {
    QuestionOption {
        value: choice.label.clone(),
        label: choice.label.clone(),
        description: choice.description.clone(),
    }
}

/// The result of `item/tool/requestUserInput`.
pub(crate) fn user_input_result(answers: &[QuestionAnswer]) -> Value {
    let answers: Map<String, Value> = answers
        .iter()
        .map(|answer| {
            (
                answer.question_id.clone(),
                json!({ "answers": answer.values }),
            )
        })
        .collect();
    json!({ "answers": answers })
}

/// One field of a form, as its answer must be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormField {
    name: String,
    kind: FieldKind,
    required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Text,
    Integer,
    Number,
    Toggle,
    /// Several of a list.
    Several,
}

/// A form's fields as questions. `None`: it is not flat, too long or of a type a question cannot hold.
pub(crate) fn of_form(
    message: &str,
    schema: Option<&Value>,
) -> Option<(Vec<Question>, Vec<FormField>)> {
    let schema = schema?;
    let properties = schema.get("properties")?.as_object()?;
    if properties.is_empty() || properties.len() > FORM_FIELDS_MAX {
        return None;
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut questions = Vec::new();
    let mut fields = Vec::new();
    for (name, property) in properties {
        if name.len() > ID_BYTES_MAX {
            return None;
        }
        let required = required.contains(&name.as_str());
        let (kind, options) = field(property)?;
        let text = |key: &str| property.get(key).and_then(Value::as_str);
        questions.push(Question {
            question_id: name.clone(),
            header: text("title").unwrap_or(name).to_owned(),
            text: text("description").unwrap_or(message).to_owned(),
            custom_answer: options.is_empty(),
            options,
            multi_select: kind == FieldKind::Several,
            secret: false,
            required,
        });
        fields.push(FormField {
            name: name.clone(),
            kind,
            required,
        });
    }
    Some((questions, fields))
}

fn field(property: &Value) -> Option<(FieldKind, Vec<QuestionOption>)> {
    match property.get("type")?.as_str()? {
        "string" => Some((FieldKind::Text, listed(property))),
        "integer" => Some((FieldKind::Integer, Vec::new())),
        "number" => Some((FieldKind::Number, Vec::new())),
        "boolean" => Some((
            FieldKind::Toggle,
            vec![option("true", "Yes"), option("false", "No")],
        )),
        "array" => {
            let options = listed(property.get("items")?);
            (!options.is_empty()).then_some((FieldKind::Several, options))
        }
        _ => None,
    }
}

/// The values a field lists: `enum` with `enumNames`, or titled constants.
fn listed(property: &Value) -> Vec<QuestionOption> {
    let entries = |key: &str| property.get(key).and_then(Value::as_array);
    if let Some(values) = entries("enum") {
        let names = entries("enumNames");
        return values
            .iter()
            .enumerate()
            .filter_map(|(at, value)| {
                let value = value.as_str()?;
                let name = names
                    .and_then(|names| names.get(at))
                    .and_then(Value::as_str);
                Some(option(value, name.unwrap_or(value)))
            })
            .collect();
    }
    let titled = entries("oneOf").or_else(|| entries("anyOf"));
    titled
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let value = entry.get("const")?.as_str()?;
            Some(option(
                value,
                entry.get("title").and_then(Value::as_str).unwrap_or(value),
            ))
        })
        .collect()
}

fn option(value: &str, label: &str) -> QuestionOption {
    QuestionOption {
        value: value.to_owned(),
        label: label.to_owned(),
        description: None,
    }
}

/// The filled form, or which answer does not fit its field.
pub(crate) fn form_content(
    fields: &[FormField],
    answers: &[QuestionAnswer],
) -> Result<Value, String> {
    let mut content = Map::new();
    for field in fields {
        let values = answers
            .iter()
            .find(|answer| answer.question_id == field.name)
            .map_or(&[][..], |answer| &answer.values);
        match values.first() {
            None if field.required => return Err(format!("`{}` must be answered.", field.name)),
            None => {}
            Some(first) => {
                let value = typed(field.kind, first, values)
                    .ok_or_else(|| format!("`{}`: `{first}` has the wrong type.", field.name))?;
                content.insert(field.name.clone(), value);
            }
        }
    }
    Ok(Value::Object(content))
}

fn typed(kind: FieldKind, first: &str, all: &[String]) -> Option<Value> {
    match kind {
        FieldKind::Text => Some(json!(first)),
        FieldKind::Integer => first.trim().parse::<i64>().ok().map(Value::from),
        FieldKind::Number => first
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
            .map(Value::from),
        FieldKind::Toggle => first.trim().parse::<bool>().ok().map(Value::from),
        FieldKind::Several => Some(json!(all)),
    }
}

#[cfg(test)]
mod tests {
    use super::{form_content, of_form};
    use driver_sdk::types::QuestionAnswer;
    use serde_json::json;

    fn answer(id: &str, values: &[&str]) -> QuestionAnswer {
        QuestionAnswer {
            question_id: id.to_owned(),
            values: values.iter().map(|v| (*v).to_owned()).collect(),
        }
    }

    #[test]
    fn a_flat_form_becomes_questions_and_comes_back_typed() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "title": "Your name" },
                "size": { "type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"] },
                "count": { "type": "integer" },
                "ratio": { "type": "number" },
                "sure": { "type": "boolean" },
                "tags": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } },
            },
            "required": ["name"],
        });
        let (questions, fields) = of_form("Tell me", Some(&schema)).unwrap();
        assert_eq!(questions.len(), 6);
        let size = questions.iter().find(|q| q.question_id == "size").unwrap();
        assert_eq!(size.options[1].label, "Large");
        assert!(
            questions
                .iter()
                .find(|q| q.question_id == "tags")
                .unwrap()
                .multi_select
        );
        let answers = [
            answer("name", &["Ada"]),
            answer("size", &["l"]),
            answer("count", &["3"]),
            answer("ratio", &["0.5"]),
            answer("sure", &["true"]),
            answer("tags", &["a", "b"]),
        ];
        let content = form_content(&fields, &answers).unwrap();
        let expected = json!({ "name": "Ada", "size": "l", "count": 3, "ratio": 0.5, "sure": true, "tags": ["a", "b"] });
        assert_eq!(content, expected);
        assert!(form_content(&fields, &[]).unwrap_err().contains("name"));
        let wrong = [answer("name", &["Ada"]), answer("count", &["three"])];
        assert!(form_content(&fields, &wrong).unwrap_err().contains("count"));
    }

    #[test]
    fn a_form_no_question_can_hold_is_none() {
        for json in [
            json!({ "type": "object", "properties": {} }),
            json!({ "type": "object", "properties": { "a": { "type": "object" } } }),
            json!({ "type": "object" }),
        ] {
            assert!(of_form("m", Some(&json)).is_none(), "{json}");
        }
        assert!(of_form("m", None).is_none());
    }
}
