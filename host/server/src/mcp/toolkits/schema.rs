//! Schemas of tools. Clients drop a whole server for one schema they do not like, so every root is an object
//! and nothing refers to anything else.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Value, json};

/// Schema of a tool's arguments.
pub(super) fn input<T: JsonSchema>() -> Arc<JsonObject> {
    root::<T>(&Contract::Deserialize)
}

/// Schema of a tool's answer.
pub(super) fn output<T: JsonSchema>() -> Arc<JsonObject> {
    root::<T>(&Contract::Serialize)
}

fn root<T: JsonSchema>(contract: &Contract) -> Arc<JsonObject> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.contract = contract.clone();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = match settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
    {
        Value::Object(schema) => schema,
        // `true` and `false` are schemas too; no tool has one.
        _ => JsonObject::new(),
    };
    schema.remove("description");
    tidy(&mut schema, contract);
    schema.insert("type".to_owned(), json!("object"));
    // An object without arguments is written with an empty list of them.
    schema.entry("properties").or_insert_with(|| json!({}));
    Arc::new(schema)
}

/// Takes out what only costs tokens. Arguments may be null where they may be left out; that is not said,
/// because a client that reads it sends nulls for everything.
fn tidy(schema: &mut JsonObject, contract: &Contract) {
    schema.remove("title");
    schema.remove("format");
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    if matches!(contract, Contract::Deserialize) {
        forget_null(schema);
    }
    for (keyword, value) in schema.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                fields
                    .values_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(|field| tidy(field, contract));
            }
            ("items" | "additionalProperties", Value::Object(inner)) => tidy(inner, contract),
            ("anyOf", Value::Array(branches)) => {
                branches
                    .iter_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(|one| tidy(one, contract));
            }
            _ => {}
        }
    }
}

fn forget_null(schema: &mut JsonObject) {
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        branches.retain(|branch| *branch != json!({ "type": "null" }));
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            for (keyword, value) in only {
                schema.entry(keyword).or_insert(value);
            }
        }
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tidied(contract: &Contract, schema: Value) -> Value {
        let Value::Object(mut schema) = schema else {
            panic!("an object")
        };
        tidy(&mut schema, contract);
        Value::Object(schema)
    }

    #[test]
    fn arguments_do_not_speak_of_null_and_answers_do() {
        let inner = json!({ "type": ["string", "null"], "default": null, "description": "a\nb" });
        let choice =
            json!({ "anyOf": [{ "type": "string", "enum": ["x", null] }, { "type": "null" }] });
        let schema =
            json!({ "type": "object", "title": "T", "properties": { "a": inner, "b": choice } });
        assert_eq!(
            tidied(&Contract::Deserialize, schema.clone()),
            json!({ "type": "object", "properties": {
                "a": { "type": "string", "description": "a b" },
                "b": { "type": "string", "enum": ["x"] },
            } })
        );
        let answer = tidied(&Contract::Serialize, schema);
        assert_eq!(answer["properties"]["a"]["type"], json!(["string", "null"]));
    }

    #[test]
    fn a_field_may_bear_the_name_of_a_keyword() {
        let schema = json!({ "properties": { "title": { "type": "string", "title": "T" } } });
        let expected = json!({ "properties": { "title": { "type": "string" } } });
        assert_eq!(tidied(&Contract::Deserialize, schema), expected);
    }
}
