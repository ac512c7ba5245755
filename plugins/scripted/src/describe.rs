//! What this driver says about itself.

use driver_sdk::types::{Capabilities, DriverInfo, ModelInfo, SpawnTemplate};

use crate::settings;

/// Template of the agent.
pub(crate) const AGENT: &str = "agent";
/// The only model.
pub(crate) const MODEL: &str = "scripted";

pub(crate) fn driver_info() -> DriverInfo {
    DriverInfo {
        kind: "scripted".to_owned(),
        display_name: "Scripted".to_owned(),
        driver_version: env!("CARGO_PKG_VERSION").to_owned(),
        interface_version: "0.1.0".to_owned(),
        features: Vec::new(),
        capabilities: capabilities(),
        settings_schema_json: settings::schema().to_string(),
        spawn_templates: vec![SpawnTemplate {
            name: AGENT.to_owned(),
            program: "agent".to_owned(),
            arguments: words(&["scripted-agent"]),
            purpose: "Runs the scripted agent, which is part of weft itself.".to_owned(),
        }],
        environment: Vec::new(),
        tested_versions: words(&[env!("CARGO_PKG_VERSION")]),
        minimum_version: None,
        extra: None,
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        threads: "many".to_owned(),
        steering: "native".to_owned(),
        fork: "none".to_owned(),
        resume: "native".to_owned(),
        rollback: "none".to_owned(),
        questions: "native".to_owned(),
        plans: "none".to_owned(),
        approvals: "native".to_owned(),
        model_switch: "session".to_owned(),
        mode_switch: "session".to_owned(),
        // The agent touches nothing but the host's tools; what it may do there the host decides.
        mode_enforcement: "client".to_owned(),
        runtime_modes: words(&["approval-required", "auto-accept-edits", "full-access"]),
        interaction_modes: words(&["default"]),
        attachment_media_types: Vec::new(),
        // The agent waits for a tool as long as it takes.
        mcp_wait_ms_max: None,
        extra: None,
    }
}

pub(crate) fn model() -> ModelInfo {
    ModelInfo {
        id: MODEL.to_owned(),
        label: Some("Scripted".to_owned()),
        preferred: true,
        options: Vec::new(),
        context_tokens_max: None,
        extra: None,
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
