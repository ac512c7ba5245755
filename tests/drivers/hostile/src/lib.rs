//! A driver that misbehaves on request.

mod acts;
mod well_behaved;

use driver_sdk::Driver;
use driver_sdk::types::{
    Action, Capabilities, DriverError, DriverInfo, EnvironmentNeed, Input, SessionConfig,
    SpawnTemplate,
};
use serde_json::Value;

/// Tests overwrite the last byte in the file: `n` normal, `p` panics, `l` never returns, `s` says nonsense.
static DESCRIBE: [u8; 16] = *b"DESCRIBE-MODE: n";

/// The state of one session.
pub struct Guest {
    pub(crate) config: SessionConfig,
    pub(crate) act: String,
    pub(crate) settings: Value,
    pub(crate) authorization: Option<String>,
    pub(crate) thread: Option<String>,
    pub(crate) turn: Option<String>,
    pub(crate) process: u32,
    pub(crate) calls: u32,
}

impl Driver for Guest {
    fn describe() -> DriverInfo {
        match std::hint::black_box(&DESCRIBE)[15] {
            b'p' => panic!("describe panics as told"),
            b'l' => acts::spin(),
            b's' => DriverInfo {
                kind: "no word!".to_owned(),
                ..info()
            },
            _ => info(),
        }
    }

    fn open(config: SessionConfig) -> Result<Self, DriverError> {
        let settings: Value = serde_json::from_str(&config.settings_json)
            .map_err(|error| DriverError::InvalidConfig(error.to_string()))?;
        let act = settings["act"].as_str().unwrap_or_default().to_owned();
        match act.as_str() {
            "open-refuses" => {
                return Err(DriverError::InvalidConfig("`act` says so".to_owned()));
            }
            "open-panics" => panic!("open panics as told"),
            "open-spins" => {
                acts::spin();
            }
            _ => {}
        }
        Ok(Self {
            config,
            act,
            settings,
            authorization: None,
            thread: None,
            turn: None,
            process: 0,
            calls: 0,
        })
    }

    fn handle(&mut self, inputs: Vec<Input>) -> Result<Vec<Action>, DriverError> {
        let mut actions = Vec::new();
        for input in inputs {
            self.input(input, &mut actions)?;
        }
        Ok(actions)
    }
}

fn info() -> DriverInfo {
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let text = |text: &str| text.to_owned();
    DriverInfo {
        kind: text("hostile"),
        display_name: text("Hostile"),
        driver_version: text("0.1.0"),
        interface_version: text("0.1.0"),
        features: Vec::new(),
        capabilities: Capabilities {
            threads: text("many"),
            steering: text("native"),
            fork: text("none"),
            resume: text("native"),
            rollback: text("none"),
            questions: text("native"),
            plans: text("none"),
            approvals: text("native"),
            model_switch: text("session"),
            mode_switch: text("session"),
            mode_enforcement: text("client"),
            runtime_modes: words(&["approval-required", "full-access"]),
            interaction_modes: words(&["default"]),
            attachment_media_types: Vec::new(),
            mcp_wait_ms_max: Some(50_000),
            extra: None,
        },
        settings_schema_json: text(
            r#"{"type":"object","properties":{"act":{"type":"string"},"threads_per_session":{"type":"integer","default":4}}}"#,
        ),
        spawn_templates: vec![
            SpawnTemplate {
                name: text("shell"),
                program: text("agent"),
                arguments: words(&["-c", "{}"]),
                purpose: text("Runs what the prompt says."),
            },
            SpawnTemplate {
                name: text("other"),
                program: text("node"),
                arguments: Vec::new(),
                purpose: text("A program nobody granted."),
            },
        ],
        environment: vec![EnvironmentNeed {
            name: text("HOSTILE_TOKEN"),
            source: text("driver"),
            presence: text("optional"),
            purpose: text("Carries a token for a test."),
        }],
        tested_versions: Vec::new(),
        minimum_version: None,
        extra: None,
    }
}

#[allow(unsafe_code, reason = "the export glue")]
mod exports {
    driver_sdk::export_driver!(crate::Guest);
}
