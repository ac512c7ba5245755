//! One credential and when it is good.

use std::time::Duration;

use domain::authority::{AgentAuthority, Capability};
use domain::ids::{ProviderInstanceId, ProviderSessionId, ThreadId};
use domain::time::Timestamp;

/// Name of a credential for logs and for the MCP sessions bound to it. Says nothing about its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CredentialId(uuid::Uuid);

impl CredentialId {
    pub(super) fn random() -> Self {
        Self(uuid::Uuid::new_v4())
    }
}

impl std::fmt::Display for CredentialId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Durable id of the data folder a host serves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EnvironmentId(String);

impl EnvironmentId {
    /// Takes the id as it was stored.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a credential is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialScope {
    /// Host it was minted by.
    pub environment_id: EnvironmentId,
    /// Calling thread.
    pub thread_id: ThreadId,
    /// Provider instance of the thread.
    pub instance_id: ProviderInstanceId,
    /// Provider session that holds the thread.
    pub session_id: ProviderSessionId,
    /// Toolkits.
    pub capabilities: Vec<Capability>,
}

impl CredentialScope {
    /// The caller this credential makes.
    #[must_use]
    pub fn authority(&self) -> AgentAuthority {
        AgentAuthority {
            thread_id: self.thread_id.clone(),
            instance_id: self.instance_id.clone(),
            session_id: self.session_id.clone(),
            capabilities: self.capabilities.clone(),
        }
    }

    pub(super) fn is_of(&self, thread: &ThreadId, session: &ProviderSessionId) -> bool {
        self.thread_id == *thread && self.session_id == *session
    }
}

/// Whether the session has a live turn: then nothing expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Live,
    None,
}

/// How long credentials are good.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lifetimes {
    pub(super) idle: Duration,
    pub(super) life: Duration,
}

/// A credential as it is kept: without its token.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) id: CredentialId,
    pub(super) scope: CredentialScope,
    pub(super) issued_at: Timestamp,
    pub(super) seen_at: Timestamp,
    pub(super) turn: Turn,
}

impl Record {
    /// Takes a sign of life. A clock that jumps back never makes a credential look older than it is.
    pub(super) fn touch(&mut self, now: Timestamp) {
        self.seen_at = self.seen_at.max(now);
    }

    /// Good while no age is over its limit. A turn in flight keeps it good until the turn ends.
    pub(super) fn is_good(&self, now: Timestamp, limits: Lifetimes) -> bool {
        self.turn == Turn::Live
            || (!is_over(self.seen_at, now, limits.idle) && !self.is_overdue(now, limits))
    }

    /// Past its maximum life, whether or not a turn still holds it.
    pub(super) fn is_overdue(&self, now: Timestamp, limits: Lifetimes) -> bool {
        is_over(self.issued_at, now, limits.life)
    }
}

/// An age equal to the limit is still allowed.
fn is_over(since: Timestamp, now: Timestamp, limit: Duration) -> bool {
    u128::from(now.since(since)) > limit.as_millis()
}
