//! What this driver says about itself.
#![forbid(unsafe_code)]

use driver_sdk::types::{Capabilities, DriverInfo, EnvironmentNeed, SpawnTemplate};

use crate::limits::MCP_WAIT_MS_MAX;
use crate::settings;

/// Template of the app-server.
pub(crate) const APP_SERVER: &str = "app-server";
/// Template that prints the version, asked where the app-server could not say it.
pub(crate) const VERSION: &str = "version";
/// Variable the token travels in with `mcp_injection = "environment"`.
pub(crate) const TOKEN_VARIABLE: &str = "T3_MCP_BEARER_TOKEN";
/// Secret and variable of an API key.
pub(crate) const API_KEY_VARIABLE: &str = "OPENAI_API_KEY";
/// Oldest Codex with everything used here.
pub(crate) const MINIMUM_VERSION: &str = "0.113.0";
/// Model option that sets the reasoning effort.
pub(crate) const EFFORT_OPTION: &str = "effort";

/// Media types Codex takes as local images.
pub(crate) const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(crate) fn driver_info() -> DriverInfo {
    DriverInfo {
        kind: "codex".to_owned(),
        display_name: "Codex".to_owned(),
        driver_version: env!("CARGO_PKG_VERSION").to_owned(),
        interface_version: driver_sdk::INTERFACE_VERSION.to_owned(),
        features: Vec::new(),
        capabilities: capabilities(),
        settings_schema_json: settings::schema().to_string(),
        spawn_templates: vec![
            template(
                APP_SERVER,
                &["app-server", "{...}"],
                "Runs the agent. The further words are -c with configuration values.",
            ),
            template(
                VERSION,
                &["--version"],
                "Asks for the version when the agent does not start.",
            ),
        ],
        environment: environment(),
        tested_versions: words(&["0.113.0", "0.128.0", "0.150.1", "0.162.0", "0.171.0"]),
        minimum_version: Some(MINIMUM_VERSION.to_owned()),
        extra: None,
    }
}

pub(crate) fn capabilities() -> Capabilities {
    Capabilities {
        threads: "many".to_owned(),
        steering: "native".to_owned(),
        fork: "any-point".to_owned(),
        resume: "native".to_owned(),
        rollback: "any-point".to_owned(),
        questions: "native".to_owned(),
        plans: "native".to_owned(),
        approvals: "native".to_owned(),
        model_switch: "session".to_owned(),
        mode_switch: "session".to_owned(),
        mode_enforcement: "native".to_owned(),
        runtime_modes: words(&["approval-required", "auto-accept-edits", "full-access"]),
        interaction_modes: words(&["plan", "default"]),
        attachment_media_types: words(&IMAGE_TYPES),
        mcp_wait_ms_max: Some(MCP_WAIT_MS_MAX),
        extra: None,
    }
}

fn environment() -> Vec<EnvironmentNeed> {
    vec![
        need(
            "RUST_LOG",
            "driver",
            "required",
            "Keeps standard error small.",
        ),
        need(
            TOKEN_VARIABLE,
            "driver",
            "optional",
            "Carries the MCP token with mcp_injection = environment.",
        ),
        need(
            API_KEY_VARIABLE,
            "secret",
            "optional",
            "API key, for an account without `codex login`.",
        ),
        need(
            "HOME",
            "host",
            "optional",
            "Where Codex finds its login and configuration.",
        ),
        need(
            "CODEX_HOME",
            "host",
            "optional",
            "Another place for login and configuration.",
        ),
        need("HTTPS_PROXY", "host", "optional", "Proxy to the provider."),
        need("HTTP_PROXY", "host", "optional", "Proxy to the provider."),
        need(
            "NO_PROXY",
            "host",
            "optional",
            "Addresses reached without the proxy; must name the host's MCP address where a proxy is set.",
        ),
        need(
            "SSL_CERT_FILE",
            "host",
            "optional",
            "Own certificate authorities.",
        ),
    ]
}

fn template(name: &str, arguments: &[&str], purpose: &str) -> SpawnTemplate {
    SpawnTemplate {
        name: name.to_owned(),
        program: "agent".to_owned(),
        arguments: words(arguments),
        purpose: purpose.to_owned(),
    }
}

fn need(name: &str, source: &str, presence: &str, purpose: &str) -> EnvironmentNeed {
    EnvironmentNeed {
        name: name.to_owned(),
        source: source.to_owned(),
        presence: presence.to_owned(),
        purpose: purpose.to_owned(),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{MINIMUM_VERSION, driver_info};
    use crate::launch::Version;

    #[test]
    fn the_description_is_constant_and_holds_together() {
        let info = driver_info();
        assert_eq!(info, driver_info());
        let schema: serde_json::Value = serde_json::from_str(&info.settings_schema_json).unwrap();
        assert_eq!(schema["type"], "object");
        let versions: Vec<_> = info
            .tested_versions
            .iter()
            .map(|version| Version::parse(version).unwrap())
            .collect();
        assert!(versions.is_sorted());
        assert_eq!(versions.first(), Version::parse(MINIMUM_VERSION).as_ref());
        for need in &info.environment {
            assert!(
                ["driver", "host", "secret"].contains(&need.source.as_str()),
                "{need:?}"
            );
            assert!(
                ["required", "optional"].contains(&need.presence.as_str()),
                "{need:?}"
            );
        }
    }
}
