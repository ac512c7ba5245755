//! Mode words of the wire. Docs of types become descriptions in schemas, so these have none.

use domain::modes::{InteractionMode, RuntimeMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// A runtime mode or the caller's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RuntimeModeChoice {
    #[default]
    Inherit,
    ApprovalRequired,
    AutoAcceptEdits,
    FullAccess,
}

impl RuntimeModeChoice {
    pub(super) const fn explicit(self) -> Option<RuntimeMode> {
        match self {
            Self::Inherit => None,
            Self::ApprovalRequired => Some(RuntimeMode::ApprovalRequired),
            Self::AutoAcceptEdits => Some(RuntimeMode::AutoAcceptEdits),
            Self::FullAccess => Some(RuntimeMode::FullAccess),
        }
    }
}

// A runtime mode of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RuntimeModeWord {
    ApprovalRequired,
    AutoAcceptEdits,
    FullAccess,
}

impl From<RuntimeMode> for RuntimeModeWord {
    fn from(mode: RuntimeMode) -> Self {
        match mode {
            RuntimeMode::ApprovalRequired => Self::ApprovalRequired,
            RuntimeMode::AutoAcceptEdits => Self::AutoAcceptEdits,
            RuntimeMode::FullAccess => Self::FullAccess,
        }
    }
}

// An interaction mode or the caller's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum InteractionModeChoice {
    #[default]
    Inherit,
    Plan,
    Default,
}

impl InteractionModeChoice {
    pub(super) const fn explicit(self) -> Option<InteractionMode> {
        match self {
            Self::Inherit => None,
            Self::Plan => Some(InteractionMode::Plan),
            Self::Default => Some(InteractionMode::Default),
        }
    }
}

// An interaction mode of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum InteractionModeWord {
    Plan,
    Default,
}

impl From<InteractionMode> for InteractionModeWord {
    fn from(mode: InteractionMode) -> Self {
        match mode {
            InteractionMode::Plan => Self::Plan,
            InteractionMode::Default => Self::Default,
        }
    }
}
