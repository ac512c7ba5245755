//! Messages and where they came from.

use serde::{Deserialize, Serialize};

use crate::ids::{MessageId, ProviderInstanceId, RequestId, RunId, TaskId, ThreadId};
use crate::time::Timestamp;

/// A text authored by a person, an agent, the host or a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Thread it stands in.
    pub thread_id: ThreadId,
    /// Run it started or joined.
    pub run_id: Option<RunId>,
    /// Whose turn it was.
    pub role: Role,
    /// The text.
    pub text: String,
    /// Who wrote it and by which way it came in.
    pub provenance: Provenance,
    /// Delegated tasks this message tells the end of, when it is a wake.
    pub wakes: Option<Wake>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// A child's question this message tells of.
    pub asks: Option<ChildQuestion>,
}

/// A child's question told to its parent. It never carries the question itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildQuestion {
    /// The child.
    pub thread_id: ThreadId,
    /// Its request.
    pub request_id: RequestId,
}

/// Whose turn a message was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// To the provider.
    User,
    /// From the provider.
    Assistant,
}

/// A message that tells a thread which of its delegated tasks ended. It never carries a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wake {
    /// Tasks told about.
    pub task_ids: Vec<TaskId>,
}

/// Who wrote a message and by which way it came in. Never recomputed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Who.
    pub created_by: CreatedBy,
    /// By which way.
    pub creation_source: CreationSource,
    /// Thread whose agent wrote it.
    pub source_thread_id: Option<ThreadId>,
    /// Run in which that agent wrote it.
    pub source_run_id: Option<RunId>,
    /// Provider instance of that agent, or of the assistant that wrote this.
    pub source_provider_instance_id: Option<ProviderInstanceId>,
    /// Model that wrote it, for assistant messages.
    pub source_model: Option<String>,
}

/// Who wrote something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreatedBy {
    /// A person.
    User,
    /// An agent.
    Agent,
    /// The host.
    System,
}

/// By which way something came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreationSource {
    /// The console.
    Web,
    /// The command line.
    Cli,
    /// An MCP tool of an agent.
    Mcp,
    /// The provider itself.
    Provider,
    /// The host itself.
    Server,
    /// A paired integration.
    External,
}

impl Provenance {
    /// Written by a person at the command line.
    #[must_use]
    pub const fn person_at_command_line() -> Self {
        Self::plain(CreatedBy::User, CreationSource::Cli)
    }

    /// Written by the host.
    #[must_use]
    pub const fn host() -> Self {
        Self::plain(CreatedBy::Agent, CreationSource::Server)
    }

    const fn plain(created_by: CreatedBy, creation_source: CreationSource) -> Self {
        Self {
            created_by,
            creation_source,
            source_thread_id: None,
            source_run_id: None,
            source_provider_instance_id: None,
            source_model: None,
        }
    }
}
