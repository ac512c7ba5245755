//! Settings of one provider instance.

use driver_sdk::types::DriverError;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::limits::{THREADS_PER_SESSION_DEFAULT, THREADS_PER_SESSION_MAX};

/// What the operator may set.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) threads_per_session: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threads_per_session: THREADS_PER_SESSION_DEFAULT,
        }
    }
}

impl Settings {
    pub(crate) fn parse(json: &str) -> Result<Self, DriverError> {
        if json.trim().is_empty() {
            return Ok(Self::default());
        }
        let settings: Self = serde_json::from_str(json)
            .map_err(|error| DriverError::InvalidConfig(format!("settings: {error}")))?;
        if !(1..=THREADS_PER_SESSION_MAX).contains(&settings.threads_per_session) {
            return Err(DriverError::InvalidConfig(format!(
                "threads_per_session must be 1 to {THREADS_PER_SESSION_MAX}"
            )));
        }
        Ok(settings)
    }
}

/// JSON Schema of the settings.
pub(crate) fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "threads_per_session": {
                "description": "Threads one process holds.",
                "type": "integer",
                "minimum": 1,
                "maximum": THREADS_PER_SESSION_MAX,
                "default": THREADS_PER_SESSION_DEFAULT
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Settings, THREADS_PER_SESSION_DEFAULT};

    #[test]
    fn settings_are_read_or_refused_with_the_field() {
        for (json, threads) in [
            ("", THREADS_PER_SESSION_DEFAULT),
            ("{}", THREADS_PER_SESSION_DEFAULT),
            (r#"{"threads_per_session":1}"#, 1),
            (r#"{"threads_per_session":1024}"#, 1_024),
        ] {
            assert_eq!(Settings::parse(json).unwrap().threads_per_session, threads);
        }
        for (json, word) in [
            (r#"{"threads_per_session":0}"#, "threads_per_session"),
            (r#"{"threads_per_session":1025}"#, "threads_per_session"),
            (r#"{"thread_per_session":2}"#, "thread_per_session"),
            ("[", "settings"),
        ] {
            let error = Settings::parse(json).unwrap_err();
            assert!(format!("{error:?}").contains(word), "{json}: {error:?}");
        }
    }
}
