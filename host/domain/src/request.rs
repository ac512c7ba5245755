//! Questions and approvals.

use serde::{Deserialize, Serialize};

use crate::ids::{ProviderSessionId, RequestId, RunId, ThreadId};
use crate::provider_event::Blocking;
use crate::time::Timestamp;

/// A question or approval waiting for, or having had, an answer. The id of an approval is its `approvalId`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Its id.
    pub id: RequestId,
    /// Its thread.
    pub thread_id: ThreadId,
    /// Its run.
    pub run_id: Option<RunId>,
    /// Session that waits for the answer.
    pub session_id: ProviderSessionId,
    /// Whether the provider stands still.
    pub blocking: Blocking,
    /// What is asked.
    pub prompt: Prompt,
    /// JSON object with whatever else helps a person decide.
    pub detail_json: String,
    /// State.
    pub status: RequestStatus,
    /// When it opened.
    pub created_at: Timestamp,
    /// When it ended.
    pub resolved_at: Option<Timestamp>,
}

/// State of a request. Approvals never expire by time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// Open.
    Pending,
    /// Answered.
    Resolved(Reply),
    /// No longer answerable; why.
    Invalidated(String),
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// May the agent do this? For people alone.
    Approval(Approval),
    /// Structured questions; an agent may answer them too.
    Questions(Vec<Question>),
}

/// May the agent do this?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// `command`, `file-read`, `file-change`, `mcp-elicitation`, `permission` or `plan-exit`.
    pub kind: String,
    /// One line for people: the command, the file, the tool.
    pub title: String,
    /// Reason given by the provider.
    pub reason: Option<String>,
    /// Answers the provider takes.
    pub choices: Vec<Choice>,
    /// The provider's own options, where it has some.
    pub options: Vec<ChoiceOption>,
}

/// An answer to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Choice {
    /// This once.
    Accept,
    /// This and its like for the session.
    AcceptForSession,
    /// From now on.
    AcceptAlways,
    /// No; the turn goes on.
    Decline,
    /// No; the turn ends.
    Cancel,
}

impl Choice {
    /// The word of every contract.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::AcceptForSession => "acceptForSession",
            Self::AcceptAlways => "acceptAlways",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [
            Self::Accept,
            Self::AcceptForSession,
            Self::AcceptAlways,
            Self::Decline,
            Self::Cancel,
        ]
        .into_iter()
        .find(|choice| choice.word() == word)
    }
}

/// One option a provider offers by its own id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceOption {
    /// The provider's id.
    pub option_id: String,
    /// For people.
    pub label: String,
    /// What it amounts to.
    pub choice: Choice,
}

/// One structured question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its id within the request.
    pub question_id: String,
    /// Short heading.
    pub header: String,
    /// The question.
    pub text: String,
    /// Prepared answers.
    pub options: Vec<QuestionOption>,
    /// More than one may be chosen.
    pub multi_select: bool,
    /// Free text is taken.
    pub custom_answer: bool,
    /// The answer is a secret: it is not stored and not shown.
    pub secret: bool,
    /// It must be answered.
    pub required: bool,
}

/// One prepared answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    /// What is sent.
    pub value: String,
    /// What is shown.
    pub label: String,
    /// More about it.
    pub description: Option<String>,
}

/// What a person, or for questions an agent, replied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// To an approval.
    Decision {
        /// The answer.
        choice: Choice,
        /// Told to the agent with a refusal.
        message: Option<String>,
    },
    /// To questions.
    Answers(Vec<QuestionAnswer>),
    /// Nobody will answer; why.
    Dismissed(String),
}

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionAnswer {
    /// Which question.
    pub question_id: String,
    /// Chosen values or free text.
    pub values: Vec<String>,
}

impl Request {
    /// Open and standing in the provider's way.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.status == RequestStatus::Pending
    }

    /// An open question that its provider waits for.
    #[must_use]
    pub fn is_blocking_question(&self) -> bool {
        self.is_pending()
            && self.blocking == Blocking::Blocking
            && matches!(self.prompt, Prompt::Questions(_))
    }
}
