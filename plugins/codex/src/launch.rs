//! Command line and environment of the process, and the version it reports.
#![forbid(unsafe_code)]

use driver_sdk::types::{EnvironmentVariable, McpEndpoint, SessionConfig};
use serde_json::{Value, json};

use crate::describe::{API_KEY_VARIABLE, MINIMUM_VERSION, TOKEN_VARIABLE};
use crate::settings::Settings;

/// Words after `app-server`: `-c` and a value for each setting, and for `mcp` where it travels this way.
pub(crate) fn words(
    config: &SessionConfig,
    settings: &Settings,
    mcp: Option<&McpEndpoint>,
) -> Vec<String> {
    let mut values = settings.config_overrides.clone();
    if let Some(mcp) = mcp {
        let server = toml_key(&mcp.server_name);
        values.push(format!("mcp_servers.{server}.url={}", toml_text(&mcp.url)));
        values.push(format!(
            "mcp_servers.{server}.bearer_token_env_var={}",
            toml_text(TOKEN_VARIABLE)
        ));
    }
    let hidden = hidden_variables(config, settings, mcp.is_some());
    if !hidden.is_empty() {
        let names = hidden
            .iter()
            .map(|name| toml_text(name))
            .collect::<Vec<_>>()
            .join(",");
        values.push(format!("shell_environment_policy.exclude=[{names}]"));
        // Up to 0.150 the snapshot of the shell brings back what the policy leaves out, and is a file.
        values.push("features.shell_snapshot=false".to_owned());
    }
    values
        .into_iter()
        .flat_map(|value| ["-c".to_owned(), value])
        .collect()
}

/// Variables commands run by the model must not see: what carries a secret into the process.
fn hidden_variables(config: &SessionConfig, settings: &Settings, token: bool) -> Vec<String> {
    let mut hidden = Vec::new();
    if token {
        hidden.push("T3_*".to_owned());
    }
    if api_key(config).is_some() {
        hidden.push(API_KEY_VARIABLE.to_owned());
    }
    hidden.extend(settings.shell_environment_exclude.iter().cloned());
    hidden
}

/// Environment of the process. Holds placeholders alone.
pub(crate) fn environment(
    config: &SessionConfig,
    mcp: Option<&McpEndpoint>,
) -> Vec<EnvironmentVariable> {
    let mut variables = vec![variable("RUST_LOG", "error")];
    if let Some(placeholder) = api_key(config) {
        variables.push(variable(API_KEY_VARIABLE, placeholder));
    }
    if let Some(mcp) = mcp {
        variables.push(variable(TOKEN_VARIABLE, &mcp.authorization));
    }
    variables
}

/// Placeholder of the API key, where the instance has one.
pub(crate) fn api_key(config: &SessionConfig) -> Option<&str> {
    let secret = config
        .secrets
        .iter()
        .find(|secret| secret.name == API_KEY_VARIABLE)?;
    Some(&secret.placeholder)
}

fn variable(name: &str, value: &str) -> EnvironmentVariable {
    EnvironmentVariable {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// A TOML string. JSON's escapes are a subset of TOML's.
fn toml_text(text: &str) -> String {
    Value::from(text).to_string()
}

/// A TOML key, bare where that is allowed.
fn toml_key(key: &str) -> String {
    let bare = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if bare { key.to_owned() } else { toml_text(key) }
}

/// Parameters of `initialize`.
pub(crate) fn greeting() -> Value {
    json!({
        "clientInfo": { "name": "weft", "title": "Weft", "version": env!("CARGO_PKG_VERSION") },
        "capabilities": { "experimentalApi": true },
    })
}

/// A Codex version that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32, u32);

impl Version {
    /// Reads `0.171.0` or `0.171.0-alpha.2`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let release = text.split(['-', '+']).next()?;
        let mut parts = release.split('.').map(|part| part.parse().ok());
        let version = Self(parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(version)
    }

    /// Whether everything used here is there. A version that cannot be read is given the benefit of the doubt.
    pub(crate) fn suffices(text: &str) -> bool {
        match (Self::parse(text), Self::parse(MINIMUM_VERSION)) {
            (Some(version), Some(minimum)) => version >= minimum,
            _ => true,
        }
    }
}

/// The version in `weft/0.171.0 (Debian 12.0.0; x86_64) …`, the user agent `initialize` answers with.
pub(crate) fn version_in_user_agent(user_agent: &str) -> Option<&str> {
    let after = user_agent.split_once('/')?.1;
    after
        .split_whitespace()
        .next()
        .filter(|version| !version.is_empty())
}

/// The version in `codex-cli 0.171.0`, which `--version` prints.
pub(crate) fn version_in_line(line: &str) -> Option<&str> {
    line.split_whitespace()
        .find(|word| Version::parse(word).is_some())
}

#[cfg(test)]
mod tests {
    use super::{Version, environment, version_in_line, version_in_user_agent, words};
    use crate::settings::Settings;
    use driver_sdk::harness::session_config;
    use driver_sdk::types::{McpEndpoint, Secret};
    use serde_json::json;

    #[test]
    fn versions_are_read_where_codex_prints_them() {
        let agent = "weft/0.171.0 (Debian 12.0.0; x86_64) unknown (weft; 0.1.0)";
        assert_eq!(version_in_user_agent(agent), Some("0.171.0"));
        assert_eq!(version_in_user_agent("nothing"), None);
        assert_eq!(version_in_line("codex-cli 0.171.0"), Some("0.171.0"));
        assert_eq!(version_in_line("hello"), None);
        for (version, suffices) in [
            ("0.113.0", true),
            ("0.112.9", false),
            ("0.171.0-alpha.2", true),
            ("1.0.0", true),
            ("0.9.0", false),
            ("nightly", true),
        ] {
            assert_eq!(Version::suffices(version), suffices, "{version}");
        }
    }

    #[test]
    fn the_token_is_in_the_environment_alone_and_hidden_from_commands() {
        let mut config = session_config("session", &json!({}));
        config.secrets.push(Secret {
            name: "OPENAI_API_KEY".to_owned(),
            placeholder: "{{secret:OPENAI_API_KEY}}".to_owned(),
        });
        let mcp = McpEndpoint {
            server_name: "t3-code".to_owned(),
            url: "http://127.0.0.1:7420/mcp".to_owned(),
            protocol_version: "2025-06-18".to_owned(),
            authorization: "{{mcp:1}}".to_owned(),
            call_ms_max: 840_000,
            tools: Vec::new(),
        };
        let settings = Settings {
            config_overrides: vec!["model=\"x\"".to_owned()],
            ..Settings::default()
        };
        assert_eq!(
            words(&config, &settings, Some(&mcp)),
            [
                "-c",
                "model=\"x\"",
                "-c",
                "mcp_servers.t3-code.url=\"http://127.0.0.1:7420/mcp\"",
                "-c",
                "mcp_servers.t3-code.bearer_token_env_var=\"T3_MCP_BEARER_TOKEN\"",
                "-c",
                "shell_environment_policy.exclude=[\"T3_*\",\"OPENAI_API_KEY\"]",
                "-c",
                "features.shell_snapshot=false",
            ]
        );
        let variables: Vec<_> = environment(&config, Some(&mcp))
            .into_iter()
            .map(|variable| (variable.name, variable.value))
            .collect();
        let expected = [
            ("RUST_LOG", "error"),
            ("OPENAI_API_KEY", "{{secret:OPENAI_API_KEY}}"),
            ("T3_MCP_BEARER_TOKEN", "{{mcp:1}}"),
        ];
        assert_eq!(
            variables,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn without_a_secret_no_word_is_added() {
        let config = session_config("session", &json!({}));
        assert!(words(&config, &Settings::default(), None).is_empty());
    }
}
