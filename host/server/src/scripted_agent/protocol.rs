//! The lines between host and agent. `docs/scripted-agent.md` describes them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Declares an id: text that is only compared.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub(super) struct $name(pub(super) String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A thread, named by the host.
    ThreadId
);
id!(
    /// A thread, named by the agent.
    NativeId
);
id!(
    /// A turn, named by the host.
    TurnId
);
id!(
    /// A request to a person, named by the agent.
    RequestId
);
id!(
    /// An entry of a turn, named by the agent.
    ItemId
);

/// A line from the host.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub(super) enum Op {
    Hello,
    Open {
        thread: ThreadId,
        native: Option<NativeId>,
        mcp: Option<Mcp>,
    },
    Turn {
        thread: ThreadId,
        turn: TurnId,
        text: String,
    },
    Steer {
        turn: TurnId,
        text: String,
    },
    Interrupt {
        turn: TurnId,
    },
    Answer {
        request: RequestId,
        decision: Option<Decision>,
        answers: Option<BTreeMap<String, Vec<String>>>,
        dismissed: Option<String>,
    },
    Close {
        thread: ThreadId,
    },
}

/// Where the tools of a thread are.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Mcp {
    pub(super) url: String,
    pub(super) authorization: Token,
    pub(super) server_name: String,
    pub(super) protocol_version: String,
}

/// A bearer token. It is kept in memory and never printed.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct Token(pub(super) String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// A person's answer to an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Decision {
    Accept,
    AcceptForSession,
    AcceptAlways,
    Decline,
    /// No, and the turn ends.
    Cancel,
}

/// An answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    Decision(Decision),
    Answers(BTreeMap<String, Vec<String>>),
    /// Nobody will answer: why.
    Dismissed(String),
}

impl Reply {
    /// The reply of an `answer` line: exactly one of the three fields.
    pub(super) fn of(
        decision: Option<Decision>,
        answers: Option<BTreeMap<String, Vec<String>>>,
        dismissed: Option<String>,
    ) -> Option<Self> {
        match (decision, answers, dismissed) {
            (Some(decision), None, None) => Some(Self::Decision(decision)),
            (None, Some(answers), None) => Some(Self::Answers(answers)),
            (None, None, Some(reason)) => Some(Self::Dismissed(reason)),
            _ => None,
        }
    }

    /// What the script sees as the step's result.
    pub(super) fn to_result(&self) -> String {
        match self {
            Self::Decision(decision) => json!({ "decision": decision }),
            Self::Answers(answers) => json!({ "answers": answers }),
            Self::Dismissed(reason) => json!({ "dismissed": reason }),
        }
        .to_string()
    }
}

/// A line to the host.
#[derive(Debug, Serialize)]
#[serde(
    tag = "event",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub(super) enum Event {
    Hello {
        version: &'static str,
    },
    Opened {
        thread: ThreadId,
        native: NativeId,
    },
    OpenFailed {
        thread: ThreadId,
        message: String,
    },
    Closed {
        thread: ThreadId,
    },
    TurnStarted {
        turn: TurnId,
    },
    TurnRefused {
        turn: TurnId,
        message: String,
    },
    Text {
        turn: TurnId,
        item: ItemId,
        text: String,
    },
    TextEnded {
        turn: TurnId,
        item: ItemId,
        text: String,
    },
    Reasoning {
        turn: TurnId,
        item: ItemId,
        text: String,
    },
    ReasoningEnded {
        turn: TurnId,
        item: ItemId,
        text: String,
    },
    Tool(Tool),
    Approval {
        turn: TurnId,
        request: RequestId,
        title: String,
    },
    Question {
        turn: TurnId,
        request: RequestId,
        questions: Vec<Question>,
    },
    RequestClosed {
        request: RequestId,
        reason: ClosedReason,
    },
    AnswerRefused {
        request: RequestId,
        message: String,
    },
    Steered {
        turn: TurnId,
    },
    SteerRefused {
        turn: TurnId,
        message: String,
    },
    InterruptRefused {
        turn: TurnId,
        message: String,
    },
    Usage(Usage),
    TurnEnded {
        turn: TurnId,
        outcome: TurnOutcome,
        message: Option<String>,
    },
    Error {
        message: String,
    },
}

/// State of a tool call; sent when it begins and when it ends.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Tool {
    pub(super) turn: TurnId,
    pub(super) item: ItemId,
    /// MCP server the tool belongs to.
    pub(super) server: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) status: ToolStatus,
    /// What the script sees as the step's result. `None` while it runs.
    pub(super) result: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ToolStatus {
    Running,
    Completed,
    Failed,
    Interrupted,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Question {
    pub(super) id: String,
    pub(super) header: String,
    pub(super) text: String,
    /// Prepared answers; none of them need be taken.
    pub(super) options: Vec<String>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ClosedReason {
    Answered,
    /// The turn ended with the request open.
    TurnEnded,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Usage {
    pub(super) turn: TurnId,
    pub(super) input_tokens: u64,
    pub(super) cached_input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) reasoning_tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TurnOutcome {
    Completed,
    Interrupted,
    Failed,
}
