//! What a driver says about itself, checked once when it is loaded.

use std::collections::BTreeSet;

use domain::ids::DriverKind;
use domain::modes::{InteractionMode, RuntimeMode};
use domain::provider::Steering;
use serde_json::Value;

use crate::bindings::v0_1::types as wit;
use crate::limits;
use crate::load_error::LoadError;

/// Word of a template that stands for any number of arguments.
pub(crate) const REST: &str = "{...}";

/// Mark in a word of a template that stands for one argument.
pub(crate) const HOLE: &str = "{}";

/// Logical program that is the command of the provider instance.
pub(crate) const AGENT_PROGRAM: &str = "agent";

/// A driver's own description.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    kind: DriverKind,
    display_name: String,
    driver_version: String,
    interface_version: String,
    features: Vec<String>,
    capabilities: Capabilities,
    settings_schema: Value,
    templates: Vec<SpawnTemplate>,
    environment: Vec<EnvironmentNeed>,
    tested_versions: Vec<String>,
    minimum_version: Option<String>,
}

/// What a provider can do, as far as the host acts on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether one session holds several threads.
    pub threads: ThreadsHeld,
    /// How text reaches a running turn.
    pub steering: Steering,
    /// When changed modes take effect.
    pub mode_switch: Switch,
    /// When a changed model takes effect.
    pub model_switch: Switch,
    /// Runtime modes offered, most careful first.
    pub runtime_modes: Vec<RuntimeMode>,
    /// Interaction modes offered.
    pub interaction_modes: Vec<InteractionMode>,
    /// Longest time, in milliseconds, its MCP client surely waits for one call.
    pub mcp_wait_ms_max: Option<u32>,
}

/// Whether one session holds several threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadsHeld {
    /// One thread a session.
    One,
    /// Several threads of one instance.
    Many,
}

/// When a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// With the next turn, in the same process.
    Session,
    /// In a new process.
    Process,
}

/// One command line shape a driver may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnTemplate {
    /// Its name.
    pub name: String,
    /// `agent`, or the name of another program.
    pub program: String,
    /// Words with holes.
    pub arguments: Vec<String>,
    /// What it is for.
    pub purpose: String,
}

/// One environment variable a driver wants to pass on or set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentNeed {
    /// Variable name.
    pub name: String,
    /// Where its value comes from.
    pub source: EnvironmentSource,
    /// Why.
    pub purpose: String,
}

/// Where the value of an environment variable comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvironmentSource {
    /// The driver sets it.
    Driver,
    /// The host passes its own on.
    Host,
    /// A named secret of the instance.
    Secret,
}

impl Manifest {
    pub(crate) fn check(info: wit::DriverInfo) -> Result<Self, LoadError> {
        check_sizes(&info)?;
        let settings_schema: Value = serde_json::from_str(&info.settings_schema_json)
            .map_err(|e| bad("settings-schema-json", format!("is not JSON: {e}")))?;
        if settings_schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(bad(
                "settings-schema-json",
                "must have the root type `object`",
            ));
        }
        if !is_word(&info.kind) {
            return Err(bad("kind", "must be a word of letters, digits and `-`"));
        }
        if info.interface_version != crate::inspect::INTERFACE_VERSION {
            return Err(bad(
                "interface-version",
                format!("must be `{}`", crate::inspect::INTERFACE_VERSION),
            ));
        }
        let capabilities = Capabilities::read(&info.capabilities);
        if capabilities.runtime_modes.is_empty() {
            return Err(bad(
                "capabilities.runtime-modes",
                "names no mode this host knows",
            ));
        }
        if capabilities.interaction_modes.is_empty() {
            return Err(bad(
                "capabilities.interaction-modes",
                "names no mode this host knows",
            ));
        }
        Ok(Self {
            kind: DriverKind::new(info.kind),
            display_name: crate::text::one_line(&info.display_name, 128),
            driver_version: crate::text::one_line(&info.driver_version, 64),
            interface_version: info.interface_version,
            features: info.features,
            capabilities,
            settings_schema,
            templates: check_templates(info.spawn_templates)?,
            environment: check_environment(info.environment)?,
            tested_versions: info.tested_versions,
            minimum_version: info.minimum_version,
        })
    }

    /// Stable word of the driver.
    #[must_use]
    pub fn kind(&self) -> &DriverKind {
        &self.kind
    }

    /// For people.
    #[must_use]
    pub fn display_name(&self) -> &str {
        &self.display_name
    }

    /// Version of the driver.
    #[must_use]
    pub fn driver_version(&self) -> &str {
        &self.driver_version
    }

    /// Interface version it was built against.
    #[must_use]
    pub fn interface_version(&self) -> &str {
        &self.interface_version
    }

    /// Names of the extension inputs it understands.
    #[must_use]
    pub fn features(&self) -> &[String] {
        &self.features
    }

    /// What the provider can do.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// JSON Schema of its settings.
    #[must_use]
    pub fn settings_schema(&self) -> &Value {
        &self.settings_schema
    }

    /// Every command line it may ask for.
    #[must_use]
    pub fn templates(&self) -> &[SpawnTemplate] {
        &self.templates
    }

    /// Environment variables it wants.
    #[must_use]
    pub fn environment(&self) -> &[EnvironmentNeed] {
        &self.environment
    }

    /// Provider versions it was tested with, oldest first.
    #[must_use]
    pub fn tested_versions(&self) -> &[String] {
        &self.tested_versions
    }

    /// Oldest provider version known to work.
    #[must_use]
    pub fn minimum_version(&self) -> Option<&str> {
        self.minimum_version.as_deref()
    }
}

impl Capabilities {
    pub(crate) fn read(words: &wit::Capabilities) -> Self {
        let switch = |word: &str| match word {
            "session" => Switch::Session,
            _ => Switch::Process,
        };
        Self {
            threads: match words.threads.as_str() {
                "many" => ThreadsHeld::Many,
                _ => ThreadsHeld::One,
            },
            steering: match words.steering.as_str() {
                "native" => Steering::Native,
                "restart" => Steering::Restart,
                _ => Steering::None,
            },
            mode_switch: switch(&words.mode_switch),
            model_switch: switch(&words.model_switch),
            runtime_modes: runtime_modes(&words.runtime_modes),
            interaction_modes: interaction_modes(&words.interaction_modes),
            mcp_wait_ms_max: words.mcp_wait_ms_max,
        }
    }
}

/// The known modes among `words`, most careful first.
pub(crate) fn runtime_modes(words: &[String]) -> Vec<RuntimeMode> {
    let modes: BTreeSet<_> = words
        .iter()
        .filter_map(|word| RuntimeMode::from_word(word))
        .collect();
    modes.into_iter().collect()
}

/// The known modes among `words`, most careful first.
pub(crate) fn interaction_modes(words: &[String]) -> Vec<InteractionMode> {
    let modes: BTreeSet<_> = words
        .iter()
        .filter_map(|word| InteractionMode::from_word(word))
        .collect();
    modes.into_iter().collect()
}

fn check_templates(templates: Vec<wit::SpawnTemplate>) -> Result<Vec<SpawnTemplate>, LoadError> {
    let mut names = BTreeSet::new();
    templates
        .into_iter()
        .map(|template| {
            let field = format!(
                "spawn-templates.{}",
                crate::text::one_line(&template.name, 64)
            );
            if !is_word(&template.name) || !is_word(&template.program) {
                return Err(bad(
                    field,
                    "needs a name and a program made of letters, digits and `-`",
                ));
            }
            if !names.insert(template.name.clone()) {
                return Err(bad(field, "stands twice"));
            }
            let fixed = template
                .arguments
                .split_last()
                .map_or(&[][..], |(_, rest)| rest);
            if fixed.iter().any(|word| word == REST) {
                return Err(bad(field, "may hold `{...}` as the last word only"));
            }
            if template
                .arguments
                .iter()
                .any(|word| word.contains(['\0', '\n', '\r']))
            {
                return Err(bad(field, "may not hold NUL or line ends"));
            }
            Ok(SpawnTemplate {
                name: template.name,
                program: template.program,
                arguments: template.arguments,
                purpose: crate::text::one_line(&template.purpose, 400),
            })
        })
        .collect()
}

fn check_environment(needs: Vec<wit::EnvironmentNeed>) -> Result<Vec<EnvironmentNeed>, LoadError> {
    needs
        .into_iter()
        .map(|need| {
            let field = format!("environment.{}", crate::text::one_line(&need.name, 64));
            if let Err(reason) = crate::grants::check_environment_name(&need.name) {
                return Err(bad(field, reason));
            }
            let source = match need.source.as_str() {
                "driver" => EnvironmentSource::Driver,
                "host" => EnvironmentSource::Host,
                "secret" => EnvironmentSource::Secret,
                other => {
                    let other = crate::text::one_line(other, 32);
                    return Err(bad(field, format!("has the unknown source `{other}`")));
                }
            };
            Ok(EnvironmentNeed {
                name: need.name,
                source,
                purpose: crate::text::one_line(&need.purpose, 400),
            })
        })
        .collect()
}

fn check_sizes(info: &wit::DriverInfo) -> Result<(), LoadError> {
    let lists = [
        ("features", info.features.len()),
        ("spawn-templates", info.spawn_templates.len()),
        ("environment", info.environment.len()),
        ("tested-versions", info.tested_versions.len()),
        ("runtime-modes", info.capabilities.runtime_modes.len()),
        (
            "interaction-modes",
            info.capabilities.interaction_modes.len(),
        ),
    ];
    for (field, len) in lists {
        if len > limits::MANIFEST_LIST_MAX {
            return Err(bad(
                field,
                format!("has more than {} entries", limits::MANIFEST_LIST_MAX),
            ));
        }
    }
    let words = info.spawn_templates.iter().flat_map(|template| {
        template
            .arguments
            .iter()
            .chain([&template.name, &template.program, &template.purpose])
    });
    let needs = info
        .environment
        .iter()
        .flat_map(|need| [&need.name, &need.source, &need.purpose]);
    let texts = [
        &info.kind,
        &info.display_name,
        &info.driver_version,
        &info.interface_version,
        &info.settings_schema_json,
    ];
    let all = texts
        .into_iter()
        .chain(words)
        .chain(needs)
        .chain(&info.features);
    for text in all
        .chain(&info.tested_versions)
        .chain(&info.minimum_version)
    {
        if text.len() > limits::MANIFEST_TEXT_BYTES_MAX {
            return Err(bad(
                "describe",
                format!(
                    "returns a text of more than {} bytes",
                    limits::MANIFEST_TEXT_BYTES_MAX
                ),
            ));
        }
    }
    Ok(())
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn bad(field: impl Into<String>, reason: impl Into<String>) -> LoadError {
    LoadError::BadManifest {
        field: field.into(),
        reason: reason.into(),
    }
}
