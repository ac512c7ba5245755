//! Who is calling. Built by the server alone, from a credential or a socket, never from a call's arguments.

use serde::{Deserialize, Serialize};

use crate::ids::{ProviderInstanceId, ProviderSessionId, ThreadId};

/// A caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    /// A person at the host.
    Human(HumanEntry),
    /// An agent inside a provider session.
    Agent(AgentAuthority),
}

/// By which way a person came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HumanEntry {
    /// The local socket.
    CommandLine,
    /// The console.
    Console,
}

/// An agent's identity: the thread and session its credential was minted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAuthority {
    /// Its thread.
    pub thread_id: ThreadId,
    /// Its provider instance.
    pub instance_id: ProviderInstanceId,
    /// Its provider session: the namespace of its request keys.
    pub session_id: ProviderSessionId,
    /// What the credential grants.
    pub capabilities: Vec<Capability>,
}

/// A toolkit a credential grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// The orchestration toolkit.
    Orchestration,
    /// The thread-control toolkit.
    ThreadControl,
}
