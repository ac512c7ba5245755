//! Work to do after a commit, stored with the events that caused it.

use serde::{Deserialize, Serialize};

use crate::ids::{MessageId, RequestId, RunId, ThreadId};
use crate::request::Reply;

/// Work for a provider session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Effect {
    /// Hand a run's prompt to the provider.
    StartTurn {
        /// Its thread.
        thread_id: ThreadId,
        /// The run.
        run_id: RunId,
    },
    /// Add a message to the running turn.
    Steer {
        /// Its thread.
        thread_id: ThreadId,
        /// The run.
        run_id: RunId,
        /// The message.
        message_id: MessageId,
    },
    /// End the running turn.
    Interrupt {
        /// Its thread.
        thread_id: ThreadId,
        /// The run.
        run_id: RunId,
        /// For people.
        reason: String,
    },
    /// Answer a request.
    Respond {
        /// Its thread.
        thread_id: ThreadId,
        /// The request.
        request_id: RequestId,
        /// The answer. It lives in memory alone: it may hold a secret, and after a crash no effect is
        /// handed over again.
        #[serde(skip, default = "forgotten")]
        reply: Reply,
    },
}

fn forgotten() -> Reply {
    Reply::Dismissed("the host restarted before the answer was handed over".to_owned())
}

impl Effect {
    /// The thread whose effects are done in order.
    #[must_use]
    pub const fn thread_id(&self) -> &ThreadId {
        match self {
            Self::StartTurn { thread_id, .. }
            | Self::Steer { thread_id, .. }
            | Self::Interrupt { thread_id, .. }
            | Self::Respond { thread_id, .. } => thread_id,
        }
    }
}
