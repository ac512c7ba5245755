//! Settings of one provider instance.
#![forbid(unsafe_code)]

use driver_sdk::types::DriverError;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::limits::{
    CONFIG_OVERRIDE_BYTES_MAX, CONFIG_OVERRIDES_MAX, HIDDEN_VARIABLE_BYTES_MAX,
    HIDDEN_VARIABLES_MAX, THREADS_PER_SESSION_DEFAULT, THREADS_PER_SESSION_MAX,
};

/// How the host's MCP server reaches Codex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum McpInjection {
    /// In `config` of `thread/start` and `thread/resume`, over standard input: in no argument, environment or file.
    #[default]
    Frames,
    /// Two `-c` words and the token in the process's environment. One process then holds one thread.
    Environment,
}

/// What the operator may set.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) mcp_injection: McpInjection,
    pub(crate) threads_per_session: u32,
    pub(crate) config_overrides: Vec<String>,
    pub(crate) shell_environment_exclude: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mcp_injection: McpInjection::default(),
            threads_per_session: THREADS_PER_SESSION_DEFAULT,
            config_overrides: Vec::new(),
            shell_environment_exclude: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads the settings and checks what a schema cannot say.
    pub(crate) fn parse(json: &str) -> Result<Self, DriverError> {
        if json.trim().is_empty() {
            return Ok(Self::default());
        }
        let settings: Self = serde_json::from_str(json)
            .map_err(|error| DriverError::InvalidConfig(format!("settings: {error}")))?;
        settings.check().map_err(DriverError::InvalidConfig)?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), String> {
        if !(1..=THREADS_PER_SESSION_MAX).contains(&self.threads_per_session) {
            return Err(format!(
                "threads_per_session must be 1 to {THREADS_PER_SESSION_MAX}"
            ));
        }
        if self.config_overrides.len() > CONFIG_OVERRIDES_MAX {
            return Err(format!(
                "config_overrides holds more than {CONFIG_OVERRIDES_MAX} entries"
            ));
        }
        let hidden = &self.shell_environment_exclude;
        let fits = |name: &String| !name.is_empty() && name.len() <= HIDDEN_VARIABLE_BYTES_MAX;
        if hidden.len() > HIDDEN_VARIABLES_MAX || !hidden.iter().all(fits) {
            return Err(format!(
                "shell_environment_exclude holds at most {HIDDEN_VARIABLES_MAX} names of 1 to {HIDDEN_VARIABLE_BYTES_MAX} bytes"
            ));
        }
        for word in &self.config_overrides {
            if word.len() > CONFIG_OVERRIDE_BYTES_MAX || word.contains(['\0', '\n', '\r']) {
                return Err(
                    "config_overrides holds an entry that is too long or has more than one line"
                        .to_owned(),
                );
            }
            match word.split_once('=') {
                Some((key, _)) if !key.trim().is_empty() => {}
                _ => {
                    return Err(format!(
                        "config_overrides: `{word}` is not of the form key=value"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Most threads one session takes.
    pub(crate) fn threads_max(&self) -> usize {
        match self.mcp_injection {
            McpInjection::Frames => usize::try_from(self.threads_per_session).unwrap_or(usize::MAX),
            McpInjection::Environment => 1,
        }
    }
}

/// JSON Schema of the settings.
pub(crate) fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "mcp_injection": {
                "description": "How the host's MCP server reaches Codex. `frames`: over standard input, so that the token is in no argument, environment or file. `environment`: two -c words and the token in the environment; one process then holds one thread.",
                "enum": ["frames", "environment"],
                "default": "frames"
            },
            "threads_per_session": {
                "description": "Threads one process holds. With mcp_injection = environment always 1.",
                "type": "integer",
                "minimum": 1,
                "maximum": THREADS_PER_SESSION_MAX,
                "default": THREADS_PER_SESSION_DEFAULT
            },
            "config_overrides": {
                "description": "Configuration values handed to Codex as -c words, each key=value with a TOML value. They are visible in the process list: no secrets here.",
                "type": "array",
                "items": { "type": "string", "minLength": 3, "maxLength": CONFIG_OVERRIDE_BYTES_MAX },
                "maxItems": CONFIG_OVERRIDES_MAX,
                "default": []
            },
            "shell_environment_exclude": {
                "description": "Further environment variables, as Codex patterns, that commands the model runs do not see.",
                "type": "array",
                "items": { "type": "string", "minLength": 1, "maxLength": HIDDEN_VARIABLE_BYTES_MAX },
                "maxItems": HIDDEN_VARIABLES_MAX,
                "default": []
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{McpInjection, Settings};

    #[test]
    fn the_schema_tells_the_defaults_in_use() {
        let schema = super::schema();
        let properties = schema["properties"].as_object().unwrap();
        let defaults: serde_json::Map<_, _> = properties
            .iter()
            .map(|(name, property)| (name.clone(), property["default"].clone()))
            .collect();
        let told = serde_json::Value::Object(defaults).to_string();
        assert_eq!(Settings::parse(&told).unwrap(), Settings::default());
    }

    #[test]
    fn settings_are_read_or_refused_with_the_field() {
        assert_eq!(Settings::parse("").unwrap(), Settings::default());
        assert_eq!(Settings::parse("{}").unwrap(), Settings::default());
        let set =
            Settings::parse(r#"{"mcp_injection":"environment","threads_per_session":4}"#).unwrap();
        assert_eq!(
            (set.mcp_injection, set.threads_max()),
            (McpInjection::Environment, 1)
        );
        for (json, word) in [
            (r#"{"mcp_injection":"argv"}"#, "argv"),
            (r#"{"threads_per_session":0}"#, "threads_per_session"),
            (r#"{"threads_per_session":33}"#, "threads_per_session"),
            (r#"{"config_overrides":["model"]}"#, "model"),
            (r#"{"config_overrides":["a=1\nb=2"]}"#, "config_overrides"),
            (
                r#"{"shell_environment_exclude":[""]}"#,
                "shell_environment_exclude",
            ),
            (r#"{"thread_per_session":2}"#, "thread_per_session"),
            ("[", "settings"),
        ] {
            let error = Settings::parse(json).unwrap_err();
            assert!(format!("{error:?}").contains(word), "{json}: {error:?}");
        }
    }
}
