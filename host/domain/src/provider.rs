//! Models, capabilities and what the host knows of a provider instance.

use serde::{Deserialize, Serialize};

use crate::ids::{DriverKind, ProviderInstanceId};
use crate::modes::{InteractionMode, RuntimeMode};

/// A model of a provider and its options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSelection {
    /// The provider's name for the model. `None`: the provider's own default.
    pub model: Option<String>,
    /// Options, in the caller's order.
    pub options: Vec<ModelOption>,
}

/// One option of a model, for example `effort` = `high`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOption {
    /// The option's id.
    pub id: String,
    /// Its value.
    pub value: OptionValue,
}

/// A model option is a choice or a switch, nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    /// A switch.
    Toggle(bool),
    /// A choice.
    Text(String),
}

/// One model a provider offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The provider's name for it.
    pub id: String,
    /// For people.
    pub label: Option<String>,
    /// The provider's own default.
    pub preferred: bool,
    /// Options it takes. Empty: none published.
    pub options: Vec<ModelOptionInfo>,
}

/// One option of a model: a choice if `choices` has entries, else a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOptionInfo {
    /// The option's id.
    pub id: String,
    /// For people.
    pub label: Option<String>,
    /// Values of a choice; empty for a switch.
    pub choices: Vec<String>,
    /// What holds when nothing is given.
    pub default_value: Option<OptionValue>,
}

/// How text reaches a running turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Steering {
    /// Natively.
    Native,
    /// Only by interrupting and starting again.
    Restart,
    /// Not at all.
    None,
}

/// What the host knows of one provider instance at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderSnapshot {
    /// The operator's name for it.
    pub instance_id: ProviderInstanceId,
    /// Which driver it uses.
    pub driver_kind: DriverKind,
    /// For people.
    pub display_name: Option<String>,
    /// Models it offers. Empty: none published, any name is passed on.
    pub models: Vec<ModelInfo>,
    /// Runtime modes it offers, most careful first.
    pub runtime_modes: Vec<RuntimeMode>,
    /// Interaction modes it offers.
    pub interaction_modes: Vec<InteractionMode>,
    /// How text reaches a running turn.
    pub steering: Steering,
    /// Longest wait, in milliseconds, its MCP client surely bears for one call. `None`: no limit known.
    pub mcp_wait_ms_max: Option<u64>,
    /// Version of the provider as it prints it.
    pub version: Option<String>,
    /// Why it can't be used: sentences that say what to do. Empty: usable.
    pub constraints: Vec<String>,
    /// What is known so far.
    pub readiness: Readiness,
}

/// How far a provider instance has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Its driver is still being compiled or its first probe runs; work is taken and waits.
    Starting,
    /// Probed and usable.
    Ready,
    /// Not usable; `constraints` say why.
    Unusable,
}

impl ProviderSnapshot {
    /// The model with this name, where the instance publishes models.
    #[must_use]
    pub fn model(&self, id: &str) -> Option<&ModelInfo> {
        self.models.iter().find(|model| model.id == id)
    }
}
