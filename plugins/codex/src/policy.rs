//! Runtime and interaction modes as Codex policies.
//!
//! Seen with 0.171.0: `untrusted` asks even for reading commands; `never` outside full access makes MCP calls fail. Plan
//! mode is a matter of the prompt alone at the provider, so it is always paired with a read-only sandbox.
#![forbid(unsafe_code)]

use driver_sdk::types::Modes;
use serde_json::{Value, json};

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// `approvalPolicy` of a thread and a turn.
    pub(crate) approval: &'static str,
    pub(crate) sandbox: Sandbox,
    /// Whether the turn plans.
    pub(crate) plan: bool,
}

/// What commands and patches may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sandbox {
    ReadOnly,
    WorkspaceWrite,
    FullAccess,
}

impl Policy {
    /// The row for these modes. An unknown word reads as the most careful one.
    pub(crate) fn of(modes: &Modes) -> Self {
        let plan = modes.interaction_mode != "default";
        let (approval, sandbox) = match modes.runtime_mode.as_str() {
            "full-access" => ("never", Sandbox::FullAccess),
            "auto-accept-edits" => ("on-request", Sandbox::WorkspaceWrite),
            _ => ("untrusted", Sandbox::ReadOnly),
        };
        if !plan {
            return Self {
                approval,
                sandbox,
                plan,
            };
        }
        let approval = if approval == "untrusted" {
            "untrusted"
        } else {
            "on-request"
        };
        Self {
            approval,
            sandbox: Sandbox::ReadOnly,
            plan,
        }
    }
}

impl Sandbox {
    /// As `thread/start` and `thread/resume` take it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::FullAccess => "danger-full-access",
        }
    }

    /// As `turn/start` takes it.
    pub(crate) fn policy(self) -> Value {
        match self {
            Self::ReadOnly => json!({ "type": "readOnly", "networkAccess": false }),
            Self::WorkspaceWrite => json!({
                "type": "workspaceWrite",
                "writableRoots": [],
                "networkAccess": false,
                "excludeTmpdirEnvVar": false,
                "excludeSlashTmp": false,
            }),
            Self::FullAccess => json!({ "type": "dangerFullAccess" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, Sandbox};
    use driver_sdk::types::Modes;

    #[test]
    fn each_mode_has_its_row_and_plan_never_writes() {
        for (runtime_mode, interaction_mode, approval, sandbox, plan) in [
            (
                "approval-required",
                "default",
                "untrusted",
                Sandbox::ReadOnly,
                false,
            ),
            (
                "auto-accept-edits",
                "default",
                "on-request",
                Sandbox::WorkspaceWrite,
                false,
            ),
            (
                "full-access",
                "default",
                "never",
                Sandbox::FullAccess,
                false,
            ),
            (
                "approval-required",
                "plan",
                "untrusted",
                Sandbox::ReadOnly,
                true,
            ),
            (
                "auto-accept-edits",
                "plan",
                "on-request",
                Sandbox::ReadOnly,
                true,
            ),
            ("full-access", "plan", "on-request", Sandbox::ReadOnly, true),
            (
                "something-new",
                "default",
                "untrusted",
                Sandbox::ReadOnly,
                false,
            ),
            (
                "full-access",
                "something-new",
                "on-request",
                Sandbox::ReadOnly,
                true,
            ),
        ] {
            let modes = Modes {
                runtime_mode: runtime_mode.to_owned(),
                interaction_mode: interaction_mode.to_owned(),
            };
            let expected = Policy {
                approval,
                sandbox,
                plan,
            };
            assert_eq!(
                Policy::of(&modes),
                expected,
                "{runtime_mode}, {interaction_mode}"
            );
        }
    }
}
