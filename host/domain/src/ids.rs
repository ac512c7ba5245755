//! Ids. Every id is an opaque, non-empty string, compared byte for byte. One type each, so that a
//! run can never be passed where a thread is meant.

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The word ids of this kind begin with when the host makes them.
            pub const PREFIX: &'static str = $prefix;

            /// Takes an id as it was stored or sent.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// Makes an id from 128 random bits.
            #[must_use]
            pub fn from_random(bits: u128) -> Self {
                Self(format!("{}-{bits:032x}", $prefix))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// A registered Project.
    ProjectId = "project";
    /// A durable conversation.
    ThreadId = "thread";
    /// One durable unit of requested work on a thread.
    RunId = "run";
    /// A message of a user, an agent or a provider.
    MessageId = "message";
    /// One entry of a thread's timeline.
    ItemId = "item";
    /// A question or approval waiting for an answer.
    RequestId = "request";
    /// A delegated task; on the wire also the parent's node id.
    TaskId = "task";
    /// A stored hand-over of text between threads.
    TransferId = "transfer";
    /// A configured use of a driver, named by the operator.
    ProviderInstanceId = "instance";
    /// One live connection to an agent process.
    ProviderSessionId = "session";
    /// A known checkout of a Project.
    WorktreeId = "worktree";
    /// The files of a workspace as a run left them.
    CheckpointId = "checkpoint";
    /// An effect in the outbox.
    EffectId = "effect";
}

/// Stable word of a driver, for example `codex`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct DriverKind(String);

impl From<String> for DriverKind {
    fn from(word: String) -> Self {
        Self::new(word)
    }
}

impl DriverKind {
    /// Takes the word; the wire's older spelling of Claude's is folded into the present one.
    pub fn new(word: impl Into<String>) -> Self {
        let word = word.into();
        if word == "claudeAgent" {
            Self("claude".to_owned())
        } else {
            Self(word)
        }
    }

    /// The word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for DriverKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Identifies one call of one caller, so that a retry finds the first answer.
///
/// `namespace` is the caller's durable identity, `key` the caller's own word or a random one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestKey {
    /// Durable identity of the caller: a provider session, or the person's socket.
    pub namespace: String,
    /// The caller's word for this call.
    pub key: String,
}
