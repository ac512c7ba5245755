//! What this crate needs from outside and what it hands out. Nothing here waits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use domain::ids::{MessageId, ProviderInstanceId, ProviderSessionId, RequestId, RunId, ThreadId};
use domain::modes::Modes;
use domain::provider::{ModelSelection, ProviderSnapshot};
use domain::provider_event::ProviderReport;
use domain::request::Reply;
use domain::thread::NativeThread;
use tokio::sync::mpsc;

/// A boxed future, for ports that are used as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The agents, as the service sees them.
pub trait ProviderPort: Send + Sync + fmt::Debug {
    /// Every configured provider instance, usable or not, in the operator's order.
    fn snapshots(&self) -> Vec<ProviderSnapshot>;

    /// Looks at one instance again, now. Returns when the new snapshot stands.
    fn reprobe<'a>(&'a self, instance: &'a ProviderInstanceId) -> BoxFuture<'a, ()>;

    /// Takes work for a thread. Never blocks; work of one thread is done in the order it is given.
    ///
    /// Each [`ProviderWork::StartTurn`] is answered by exactly one
    /// [`TurnEnded`](domain::provider_event::ProviderEvent::TurnEnded) report, whatever happens.
    fn submit(&self, work: ProviderWork);
}

/// Work for the provider session of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderWork {
    /// Run one turn; the thread is opened first if no session holds it.
    StartTurn {
        /// The thread to hold.
        thread: ThreadOpening,
        /// The run; the driver's `turn-id`.
        run_id: RunId,
        /// The prompt.
        text: String,
    },
    /// Add text to the running turn.
    Steer {
        /// Thread.
        thread_id: ThreadId,
        /// Run to steer.
        run_id: RunId,
        /// The message: named again when the steer was taken or refused.
        message_id: MessageId,
        /// The text.
        text: String,
    },
    /// End the running turn, also one that has not started yet, and what it started.
    Interrupt {
        /// Thread.
        thread_id: ThreadId,
        /// Run to end.
        run_id: RunId,
        /// For people.
        reason: String,
    },
    /// Answer an open request.
    Answer {
        /// Thread.
        thread_id: ThreadId,
        /// The request.
        request_id: RequestId,
        /// The answer.
        reply: Reply,
    },
    /// Let go of a thread.
    Release {
        /// Thread.
        thread_id: ThreadId,
        /// `idle`, `stopped`, `archived`, `mode-change` or `host-shutdown`.
        reason: String,
    },
}

/// What a session needs to take a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadOpening {
    /// The thread.
    pub thread_id: ThreadId,
    /// Its provider instance.
    pub instance_id: ProviderInstanceId,
    /// Conversation to take up again.
    pub native: Option<NativeThread>,
    /// Absolute path of the folder the agent works in.
    pub workspace_path: String,
    /// Model and options.
    pub model: ModelSelection,
    /// Modes.
    pub modes: Modes,
    /// Whether the conversation has had a turn before: the first one carries the shared instructions.
    pub conversation: Conversation,
}

/// Whether a conversation has had a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversation {
    /// This is its first turn.
    New,
    /// It has had turns.
    Begun,
}

/// Where provider sessions report to. Reports are applied in order; a full queue makes the sender wait.
#[derive(Clone, Debug)]
pub struct Reports(mpsc::Sender<ProviderReport>);

impl Reports {
    /// A queue of `capacity` reports and its reading end.
    #[must_use]
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<ProviderReport>) {
        let (sender, receiver) = mpsc::channel(capacity);
        (Self(sender), receiver)
    }

    /// Hands over a report, waiting while the queue is full.
    ///
    /// # Errors
    /// [`JournalGone`] when the host is going down and nobody reads any more.
    pub async fn send(&self, report: ProviderReport) -> Result<(), JournalGone> {
        self.0.send(report).await.map_err(|_| JournalGone)
    }
}

/// Nobody reads reports any more: the host is going down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal takes no more reports: the host is going down")]
pub struct JournalGone;

/// Mints and revokes the credentials agents reach the host's tools with.
pub trait CredentialPort: Send + Sync + fmt::Debug {
    /// A new credential for one thread in one session; older ones of that pair end. `None`: tools are switched off.
    fn mint(&self, request: &CredentialRequest) -> Option<MintedCredential>;

    /// A sign of life: the session has a live turn until `turn_over`.
    fn turn_started(&self, thread: &ThreadId, session: &ProviderSessionId);

    /// The turn is over; the idle time counts again.
    fn turn_over(&self, thread: &ThreadId, session: &ProviderSessionId);

    /// Whether this session's credential has passed its maximum life and must be renewed at an idle point.
    fn is_overdue(&self, thread: &ThreadId, session: &ProviderSessionId) -> bool;

    /// Ends the credential of one thread in one session.
    fn revoke(&self, thread: &ThreadId, session: &ProviderSessionId);
}

/// Whom a credential is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialRequest {
    /// The thread.
    pub thread_id: ThreadId,
    /// Its provider instance.
    pub instance_id: ProviderInstanceId,
    /// Its provider session.
    pub session_id: ProviderSessionId,
}

/// A credential and where it is good for.
#[derive(Clone, Debug)]
pub struct MintedCredential {
    /// Server key the agent sees, for example `t3-code`.
    pub server_name: String,
    /// For example `http://127.0.0.1:7420/mcp`.
    pub url: String,
    /// MCP protocol version an own client of a driver sends.
    pub protocol_version: String,
    /// The bare bearer token.
    pub token: Secret,
    /// Tools it will be shown: name, and whether it changes nothing.
    pub tools: Vec<OfferedTool>,
    /// The shared instructions for the first turn.
    pub instructions: String,
}

/// A tool a credential is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// What it does to the world.
    pub access: ToolAccess,
}

/// Whether a tool changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolAccess {
    /// Changes nothing.
    ReadOnly,
    /// Changes something.
    Changes,
}

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the one place that must write it out.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}
