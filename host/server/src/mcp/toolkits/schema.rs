//! Schemas of tools. Clients drop a whole server for one schema they do not like, so every root is an object
//! and nothing refers to anything else.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Value, json};

/// Schema of a tool's arguments.
pub(super) fn input<T: JsonSchema>() -> Arc<JsonObject> {
    root::<T>(Contract::Deserialize)
}

/// Schema of a tool's answer.
pub(super) fn output<T: JsonSchema>() -> Arc<JsonObject> {
    root::<T>(Contract::Serialize)
}

fn root<T: JsonSchema>(contract: Contract) -> Arc<JsonObject> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.contract = contract;
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
    for noise in ["title", "description"] {
        schema.remove(noise);
    }
    schema.insert("type".to_owned(), json!("object"));
    // An object without arguments is written with an empty list of them.
    schema.entry("properties").or_insert_with(|| json!({}));
    Arc::new(schema)
}
