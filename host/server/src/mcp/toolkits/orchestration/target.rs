//! Where a child is to run, as it is written on the wire.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::error::Denial;
use domain::ids::{DriverKind, ProviderInstanceId};
use domain::provider::{ModelOption, OptionValue};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use threads::service::TargetRequest;

use super::super::arguments::invalid;

/// Where to run; every field that is left out is the caller's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Target {
    /// Exactly this provider instance.
    #[serde(default)]
    provider_instance_id: Option<String>,
    /// Any usable instance of this driver.
    #[serde(default)]
    driver_kind: Option<String>,
    /// Exactly this model.
    #[serde(default)]
    model: Option<String>,
    /// Model options: a map from option id to value, or a list of {id, value}.
    #[serde(default)]
    options: Option<Options>,
}

impl Target {
    /// The same target in the one form the service and the digest of a call use.
    pub(super) fn normalised(mut self) -> Result<Self, Denial> {
        for (field, value) in [
            ("target.providerInstanceId", &mut self.provider_instance_id),
            ("target.driverKind", &mut self.driver_kind),
            ("target.model", &mut self.model),
        ] {
            let Some(text) = value else { continue };
            let trimmed = text.trim();
            if trimmed.is_empty() {
                return Err(invalid(format!(
                    "`{field}` is blank; leave it out to inherit it"
                )));
            }
            *text = trimmed.to_owned();
        }
        // The older spelling of a driver's word is the same target.
        self.driver_kind = self
            .driver_kind
            .map(|kind| DriverKind::new(kind).as_str().to_owned());
        self.options = self.options.map(Options::into_list);
        Ok(self)
    }

    /// The target as the service takes it.
    pub(super) fn request(&self) -> TargetRequest {
        TargetRequest {
            instance_id: self
                .provider_instance_id
                .clone()
                .map(ProviderInstanceId::new),
            driver_kind: self.driver_kind.clone().map(DriverKind::new),
            model: self.model.clone(),
            options: self.options.as_ref().map(Options::entries),
        }
    }
}

/// Model options in either spelling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a map from option id to a string or boolean, or a list of {id, value}"
)]
enum Options {
    List(Vec<Entry>),
    Map(BTreeMap<String, OptionValue>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    value: OptionValue,
}

impl Options {
    /// A list in order of the ids. Doubled ids stay for the service to refuse.
    fn into_list(self) -> Self {
        let mut list = match self {
            Self::List(list) => list,
            Self::Map(map) => map
                .into_iter()
                .map(|(id, value)| Entry { id, value })
                .collect(),
        };
        list.sort_by(|one, other| one.id.cmp(&other.id));
        Self::List(list)
    }

    fn entries(&self) -> Vec<ModelOption> {
        match self {
            Self::List(list) => list
                .iter()
                .map(|entry| ModelOption {
                    id: entry.id.clone(),
                    value: entry.value.clone(),
                })
                .collect(),
            Self::Map(map) => map
                .iter()
                .map(|(id, value)| ModelOption {
                    id: id.clone(),
                    value: value.clone(),
                })
                .collect(),
        }
    }
}

impl JsonSchema for Options {
    fn schema_name() -> Cow<'static, str> {
        "Options".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let value = || json_schema!({ "type": ["string", "boolean"] });
        json_schema!({
            "anyOf": [
                { "type": "object", "additionalProperties": value() },
                { "type": "array", "items": {
                    "type": "object",
                    "properties": { "id": { "type": "string" }, "value": value() },
                    "required": ["id", "value"],
                    "additionalProperties": false,
                } },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> Result<Target, String> {
        let target: Target = serde_json::from_value(value).map_err(|error| error.to_string())?;
        target.normalised().map_err(|denial| denial.message)
    }

    #[test]
    fn options_are_the_same_as_a_map_and_as_a_list() {
        let map = read(json!({ "options": { "fast": true, "effort": "high" } })).expect("a map");
        let list = read(json!({ "options": [
            { "id": "fast", "value": true }, { "id": "effort", "value": "high" },
        ] }));
        assert_eq!(Ok(map.clone()), list);
        let options = map.request().options.expect("options");
        assert_eq!(
            options,
            [
                ModelOption {
                    id: "effort".to_owned(),
                    value: OptionValue::Text("high".to_owned())
                },
                ModelOption {
                    id: "fast".to_owned(),
                    value: OptionValue::Toggle(true)
                },
            ]
        );
    }

    #[test]
    fn doubled_options_reach_the_service() {
        let doubled =
            json!({ "options": [{ "id": "a", "value": "1" }, { "id": "a", "value": "2" }] });
        assert_eq!(
            read(doubled)
                .expect("decoded")
                .request()
                .options
                .expect("options")
                .len(),
            2
        );
    }

    #[test]
    fn other_values_are_refused_with_what_is_allowed() {
        for wrong in [
            json!({ "options": { "effort": 3 } }),
            json!({ "options": { "effort": null } }),
            json!({ "options": ["effort"] }),
            json!({ "options": [{ "id": "effort" }] }),
            json!({ "options": [{ "id": "effort", "value": "high", "more": 1 }] }),
            json!({ "options": "effort" }),
        ] {
            let message = read(wrong.clone()).expect_err("refused");
            assert!(
                message.contains("a map from option id"),
                "{wrong}: {message}"
            );
        }
    }

    #[test]
    fn names_are_trimmed_and_not_blank() {
        let target = read(json!({ "model": " gpt ", "driverKind": "claudeAgent" })).expect("good");
        assert_eq!(
            target,
            read(json!({ "model": "gpt", "driverKind": "claude" })).expect("good")
        );
        for field in ["providerInstanceId", "driverKind", "model"] {
            let message = read(json!({ field: "  " })).expect_err("blank");
            assert!(message.contains(field), "{message}");
        }
    }
}
