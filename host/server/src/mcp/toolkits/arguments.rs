//! Reading a tool's arguments: types, bounds, and the digest that tells a retry from another call.

use std::fmt::Write as _;

use domain::error::{Denial, DenialCode};
use domain::limits::REQUEST_KEY_UNITS_MAX;
use domain::text::utf16_len;
use rmcp::model::JsonObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use threads::service::CallKey;

/// Decodes arguments. A refusal names the field and what was expected there. A null is a field left out: some
/// clients write every field.
pub(super) fn decode<T: DeserializeOwned>(
    tool: &str,
    mut arguments: JsonObject,
) -> Result<T, Denial> {
    arguments.retain(|_, value| !value.is_null());
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." {
            String::new()
        } else {
            format!("`{path}`: ")
        };
        invalid(format!("{tool}: {place}{}", error.inner()))
    })
}

/// A refusal of arguments.
pub(super) fn invalid(message: impl Into<String>) -> Denial {
    Denial::new(DenialCode::InvalidRequest, message)
}

/// Checks a text's length in UTF-16 units.
pub(super) fn check_text(field: &str, text: &str, least: usize, most: usize) -> Result<(), Denial> {
    let length = utf16_len(text);
    if (least..=most).contains(&length) {
        return Ok(());
    }
    let bound = if length < least {
        format!("at least {least}")
    } else {
        format!("at most {most}")
    };
    Err(invalid(format!(
        "`{field}` has {length} characters (UTF-16 units); {bound} are allowed"
    )))
}

/// Checks a text that may be absent.
pub(super) fn check_optional(
    field: &str,
    text: Option<&str>,
    least: usize,
    most: usize,
) -> Result<(), Denial> {
    text.map_or(Ok(()), |text| check_text(field, text, least, most))
}

/// The key of a call, with a digest of `normalised`: the arguments with their defaults filled in and without
/// the key itself.
pub(super) fn call_key(
    tool: &str,
    key: Option<String>,
    normalised: &impl Serialize,
) -> Result<CallKey, Denial> {
    check_optional("clientRequestId", key.as_deref(), 1, REQUEST_KEY_UNITS_MAX)?;
    let arguments = serde_json::to_value(normalised).map_err(|error| {
        Denial::new(
            DenialCode::OrchestrationError,
            format!("{tool}: arguments can't be kept: {error}"),
        )
    })?;
    Ok(CallKey {
        key,
        digest: digest(tool, &arguments),
    })
}

/// Hex SHA-256 of a tool's name and its arguments with every object's fields in order.
fn digest(tool: &str, arguments: &Value) -> String {
    let mut text = format!("{tool}\n");
    write_sorted(&mut text, arguments);
    Sha256::digest(text.as_bytes())
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a String can't fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

fn write_sorted(out: &mut String, value: &Value) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            out.push('{');
            for (name, value) in fields {
                let _ = write!(out, "{}:", Value::from(name.as_str()));
                write_sorted(out, value);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_sorted(out, item);
                out.push(',');
            }
            out.push(']');
        }
        simple => {
            let _ = write!(out, "{simple}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_digest_does_not_depend_on_the_order_of_fields() {
        let one = digest(
            "t",
            &serde_json::from_str(r#"{"a":1,"b":{"c":[1,2],"d":"x"}}"#).expect("json"),
        );
        let two = digest(
            "t",
            &serde_json::from_str(r#"{"b":{"d":"x","c":[1,2]},"a":1}"#).expect("json"),
        );
        assert_eq!(one, two);
        assert_eq!(one.len(), 64);
    }

    #[test]
    fn a_digest_depends_on_everything_else() {
        let base = digest("t", &json!({ "a": "x", "b": [1, 2] }));
        for other in [
            digest("u", &json!({ "a": "x", "b": [1, 2] })),
            digest("t", &json!({ "a": "y", "b": [1, 2] })),
            digest("t", &json!({ "a": "x", "b": [2, 1] })),
            digest("t", &json!({ "a": "x", "b": [1, 2], "c": null })),
            digest("t", &json!({ "a": "x", "b": [[1], 2] })),
            digest("t", &json!({ "a": "x\",b:[1,2,],", "b": [] })),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn texts_are_counted_in_utf_16_units() {
        for (text, least, most, fits) in [
            ("", 1, 3, false),
            ("", 0, 3, true),
            ("ab", 1, 3, true),
            ("abc", 1, 3, true),
            ("abcd", 1, 3, false),
            ("a\u{1F600}", 1, 3, true),
            ("\u{1F600}\u{1F600}", 1, 3, false),
        ] {
            assert_eq!(
                check_text("title", text, least, most).is_ok(),
                fits,
                "{text:?}"
            );
        }
    }
}
