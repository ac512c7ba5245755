//! The pure core: testable natively, no boundary code.
#![forbid(unsafe_code)]

use driver_sdk::Driver;
use driver_sdk::types::{Action, Capabilities, DriverError, DriverInfo, Input, SessionConfig};

/// One provider session.
#[derive(Debug)]
pub struct Scripted {
    #[allow(dead_code, reason = "read once the driver speaks")]
    config: SessionConfig,
}

impl Driver for Scripted {
    fn describe() -> DriverInfo {
        DriverInfo {
            kind: "scripted".to_owned(),
            display_name: "Scripted".to_owned(),
            driver_version: env!("CARGO_PKG_VERSION").to_owned(),
            interface_version: "0.1.0".to_owned(),
            features: Vec::new(),
            capabilities: Capabilities {
                threads: "one".to_owned(),
                steering: "none".to_owned(),
                fork: "none".to_owned(),
                resume: "none".to_owned(),
                rollback: "none".to_owned(),
                questions: "none".to_owned(),
                plans: "none".to_owned(),
                approvals: "none".to_owned(),
                model_switch: "none".to_owned(),
                mode_switch: "none".to_owned(),
                mode_enforcement: "client".to_owned(),
                runtime_modes: Vec::new(),
                interaction_modes: Vec::new(),
                attachment_media_types: Vec::new(),
                mcp_wait_ms_max: None,
                extra: None,
            },
            settings_schema_json: r#"{"type":"object","additionalProperties":false}"#.to_owned(),
            spawn_templates: Vec::new(),
            environment: Vec::new(),
            tested_versions: Vec::new(),
            minimum_version: None,
            extra: None,
        }
    }

    fn open(config: SessionConfig) -> Result<Self, DriverError> {
        Ok(Self { config })
    }

    fn handle(&mut self, _inputs: Vec<Input>) -> Result<Vec<Action>, DriverError> {
        Err(DriverError::Unsupported(
            "this driver is not written yet".to_owned(),
        ))
    }
}
