//! The lines between driver and agent.
#![forbid(unsafe_code)]

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A line to the agent.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub(crate) enum Op<'a> {
    Hello,
    Open {
        thread: &'a str,
        native: Option<&'a str>,
        mcp: Option<Mcp<'a>>,
    },
    Turn {
        thread: &'a str,
        turn: &'a str,
        text: &'a str,
        instructions: Option<&'a str>,
        context: Option<&'a str>,
    },
    Steer {
        turn: &'a str,
        text: &'a str,
    },
    Interrupt {
        turn: &'a str,
    },
    Answer {
        request: &'a str,
        #[serde(flatten)]
        reply: Reply<'a>,
    },
    Close {
        thread: &'a str,
    },
}

/// The host's MCP server. `authorization` is a placeholder.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Mcp<'a> {
    pub(crate) url: &'a str,
    pub(crate) authorization: &'a str,
    pub(crate) server_name: &'a str,
    pub(crate) protocol_version: &'a str,
}

/// An answer to a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reply<'a> {
    Decision(&'a str),
    #[serde(serialize_with = "answers")]
    Answers(Vec<(&'a str, &'a [String])>),
    Dismissed(&'a str),
}

fn answers<S: serde::Serializer>(
    answers: &[(&str, &[String])],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(answers.iter().copied())
}

/// A line of the agent.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Said<'a> {
    Hello {
        version: String,
    },
    Opened {
        thread: String,
        native: String,
    },
    OpenFailed {
        thread: String,
        message: String,
    },
    Closed {
        thread: String,
    },
    TurnStarted {
        turn: String,
    },
    TurnRefused {
        turn: String,
        message: String,
    },
    #[serde(borrow)]
    Text(Text<'a>),
    #[serde(borrow)]
    TextEnded(Text<'a>),
    #[serde(borrow)]
    Reasoning(Text<'a>),
    #[serde(borrow)]
    ReasoningEnded(Text<'a>),
    #[serde(borrow)]
    Tool(Tool<'a>),
    Approval {
        turn: String,
        request: String,
        title: String,
    },
    Question {
        turn: String,
        request: String,
        questions: Vec<Question>,
    },
    RequestClosed {
        request: String,
        reason: String,
    },
    AnswerRefused {
        request: String,
        message: String,
    },
    Steered {
        turn: String,
    },
    SteerRefused {
        turn: String,
        message: String,
    },
    InterruptRefused {
        turn: String,
        message: String,
    },
    Usage(Usage),
    TurnEnded {
        turn: String,
        outcome: String,
        message: Option<String>,
    },
    Error {
        message: String,
    },
    /// Invented after this driver.
    #[serde(other)]
    Unknown,
}

/// A piece of a message or of reasoning, or all of it.
#[derive(Debug, Deserialize)]
pub(crate) struct Text<'a> {
    #[serde(borrow)]
    pub(crate) turn: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) item: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) text: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Tool<'a> {
    #[serde(borrow)]
    pub(crate) turn: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) item: Cow<'a, str>,
    pub(crate) server: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: Option<serde_json::Value>,
    pub(crate) status: String,
    pub(crate) result: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) header: String,
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) options: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Usage {
    pub(crate) turn: String,
    pub(crate) input_tokens: u64,
    pub(crate) cached_input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) reasoning_tokens: u64,
}

/// What a line of the agent turns out to be.
#[derive(Debug)]
pub(crate) enum Read<'a> {
    Said(Said<'a>),
    /// An event whose fields aren't as expected. Holds why.
    Misshapen(String),
    /// No event at all.
    Noise,
}

/// What every event has.
#[derive(Debug, Deserialize)]
struct Head<'a> {
    #[serde(borrow, rename = "event")]
    _event: &'a RawValue,
}

pub(crate) fn read(line: &str) -> Read<'_> {
    match serde_json::from_str::<Said<'_>>(line) {
        Ok(said) => Read::Said(said),
        Err(error) if serde_json::from_str::<Head<'_>>(line).is_ok() => {
            Read::Misshapen(error.to_string())
        }
        Err(_) => Read::Noise,
    }
}
