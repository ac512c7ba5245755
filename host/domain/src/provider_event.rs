//! What happened at a provider, in the host's words: the same facts the driver interface carries,
//! with its growing word sets read into types. A word nobody knows becomes its most cautious reading.

use serde::{Deserialize, Serialize};

use crate::ids::{MessageId, ProviderInstanceId, ProviderSessionId, RequestId, RunId, ThreadId};
use crate::item::{ItemHead, ItemKind, ItemStatus};
use crate::request::Prompt;

/// A report from a provider session to the host's journal, in the order things happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderReport {
    /// Who reports.
    pub session_id: ProviderSessionId,
    /// Its instance.
    pub instance_id: ProviderInstanceId,
    /// What happened.
    pub event: ProviderEvent,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderEvent {
    /// The session exists and has taken this thread; comes before anything else about the thread.
    ThreadAttached {
        /// The thread taken.
        thread_id: ThreadId,
    },
    /// A process of the session runs. Stored, so that a stray is found after a crash of the host.
    ProcessStarted {
        /// Operating system's process id.
        pid: u32,
        /// Start time in clock ticks since boot, from the process table: tells a reused pid apart.
        start_ticks: u64,
    },
    /// A process of the session is gone and reaped.
    ProcessEnded {
        /// Operating system's process id.
        pid: u32,
    },
    /// The conversation is open at the provider.
    ThreadReady {
        /// The thread.
        thread_id: ThreadId,
        /// The provider's name for the conversation.
        native_thread_id: String,
        /// It can be taken up again after this process ended.
        resume: Resume,
        /// Model in use, as the provider names it.
        model: Option<String>,
    },
    /// The provider accepted the turn of this run.
    TurnStarted {
        /// The run; the driver's `turn-id`.
        run_id: RunId,
        /// The provider's name for the turn.
        native_turn_id: Option<String>,
    },
    /// The turn is over. Exactly one per turn handed to the session, also when it could not start.
    TurnEnded {
        /// The run.
        run_id: RunId,
        /// How.
        outcome: TurnOutcome,
        /// The provider's name for this place in the conversation.
        native_point: Option<String>,
    },
    /// A steer was taken or refused.
    SteerEnded {
        /// The run steered.
        run_id: RunId,
        /// The message that was to join it.
        message_id: MessageId,
        /// `None`: taken. Otherwise nothing changed, and why.
        refusal: Option<Failure>,
    },
    /// An item opened, changed its head, or closed.
    Item(ProviderItem),
    /// Text appended to an open item.
    Text {
        /// Thread of the item.
        thread_id: ThreadId,
        /// The driver's id of the item.
        driver_item_id: String,
        /// What to append.
        appended: String,
    },
    /// The provider waits for, or would like, an answer.
    RequestOpened {
        /// The host's id, made by the session.
        request_id: RequestId,
        /// Thread it belongs to.
        thread_id: ThreadId,
        /// Run it belongs to.
        run_id: Option<RunId>,
        /// Whether the provider stands still until it is answered.
        blocking: Blocking,
        /// What is asked.
        prompt: Prompt,
        /// JSON object with whatever else helps a person decide.
        detail_json: String,
    },
    /// A request is no longer open at the provider.
    RequestClosed {
        /// The host's id.
        request_id: RequestId,
        /// Why: `answered`, `withdrawn`, `turn-ended`, `process-ended` or `superseded`.
        reason: String,
    },
    /// Tokens of a turn so far. Later values replace earlier ones.
    Usage {
        /// The run.
        run_id: RunId,
        /// The numbers.
        usage: Usage,
    },
    /// Work that outlives the turn. Replaces the list sent before.
    Background {
        /// The thread.
        thread_id: ThreadId,
        /// One description each; empty ends it.
        tasks: Vec<String>,
    },
    /// The session let go of one thread, or never took it.
    ThreadDetached {
        /// The thread.
        thread_id: ThreadId,
        /// Why, for people.
        reason: String,
    },
    /// The session is over; every turn of it has had its `TurnEnded` before this.
    SessionEnded {
        /// Why, for people.
        reason: String,
        /// Whether it ended well.
        end: SessionEnd,
    },
}

/// Whether a conversation survives its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resume {
    /// It can be taken up again.
    Possible,
    /// A new process starts an empty conversation.
    Impossible,
}

/// Whether the provider stands still until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blocking {
    /// It stands still.
    Blocking,
    /// It goes on.
    NonBlocking,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionEnd {
    /// Idle, stopped or shut down.
    Stopped,
    /// The process, the driver or the protocol failed.
    Failed,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnOutcome {
    /// The agent finished.
    Completed,
    /// Somebody stopped it.
    Interrupted,
    /// It failed.
    Failed(Failure),
}

/// Why something failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of cause.
    pub class: FailureClass,
    /// For people: what happened and what to do. At most 4,096 bytes.
    pub message: String,
    /// The provider's own code. At most 128 bytes.
    pub code: Option<String>,
    /// Trying again may help; `None` when unknown.
    pub retryable: Option<bool>,
}

/// The kind of cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The account's limit is reached.
    UsageLimit,
    /// The provider answered with an error.
    ProviderError,
    /// The provider or its process could not be reached.
    TransportError,
    /// Not logged in or not allowed.
    PermissionError,
    /// What was asked is not valid.
    ValidationError,
    /// Anything else.
    Unknown,
}

impl FailureClass {
    /// Reads the interface's word; an unknown one reads as `Unknown`.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word {
            "usage_limit" => Self::UsageLimit,
            "provider_error" => Self::ProviderError,
            "transport_error" => Self::TransportError,
            "permission_error" => Self::PermissionError,
            "validation_error" => Self::ValidationError,
            _ => Self::Unknown,
        }
    }
}

/// An item as the provider tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderItem {
    /// The driver's id of the item, unique within the session.
    pub driver_item_id: String,
    /// Thread it belongs to.
    pub thread_id: ThreadId,
    /// Run it belongs to; `None`: the thread.
    pub run_id: Option<RunId>,
    /// Item it stands under.
    pub parent_driver_item_id: Option<String>,
    /// Kind.
    pub kind: ItemKind,
    /// State.
    pub status: ItemStatus,
    /// One line for people.
    pub title: Option<String>,
    /// Whole text so far, where it is authoritative; `None`: what was appended stays.
    pub text: Option<String>,
    /// Typed fields that lists and policies read.
    pub head: ItemHead,
    /// JSON object by kind.
    pub body_json: String,
}

/// Tokens of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Of those, from a cache.
    pub cached_input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Of those, reasoning.
    pub reasoning_tokens: u64,
    /// Tokens in the context window now, where known.
    pub context_tokens: Option<u64>,
    /// Size of the context window, where known.
    pub context_tokens_max: Option<u64>,
}
