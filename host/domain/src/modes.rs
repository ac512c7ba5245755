//! How freely an agent works, and the order of the modes.

use serde::{Deserialize, Serialize};

/// What the agent may do without asking. Ordered from careful to broad.
///
/// ```
/// use domain::modes::RuntimeMode;
///
/// assert!(RuntimeMode::AutoAcceptEdits < RuntimeMode::FullAccess);
/// assert_eq!(RuntimeMode::from_word("full-access"), Some(RuntimeMode::FullAccess));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuntimeMode {
    /// Every command and edit asks a person.
    ApprovalRequired,
    /// Edits in the workspace go through; other actions ask.
    AutoAcceptEdits,
    /// Nothing asks.
    FullAccess,
}

impl RuntimeMode {
    /// All modes, most careful first.
    pub const ALL: [Self; 3] = [
        Self::ApprovalRequired,
        Self::AutoAcceptEdits,
        Self::FullAccess,
    ];

    /// The mode's word in every contract.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ApprovalRequired => "approval-required",
            Self::AutoAcceptEdits => "auto-accept-edits",
            Self::FullAccess => "full-access",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// Whether the agent works or plans. Ordered from careful to broad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InteractionMode {
    /// Plans only.
    Plan,
    /// Works.
    Default,
}

impl InteractionMode {
    /// All modes, most careful first.
    pub const ALL: [Self; 2] = [Self::Plan, Self::Default];

    /// The mode's word in every contract.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Default => "default",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// Both modes of a thread: the ceiling for whatever it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    /// What needs asking.
    pub runtime: RuntimeMode,
    /// Work or plan.
    pub interaction: InteractionMode,
}
