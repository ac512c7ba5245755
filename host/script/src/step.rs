use std::fmt;
use std::time::Duration;

use serde_json::Value;

/// One step of a script.
///
/// A step that writes a message (`say`, `think`, `slow`) ends the turn, as a message without a tool call
/// does with every agent; the next message of the conversation goes on with the step after it.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// `say TEXT`: an answer.
    Say(String),
    /// `think TEXT :: TEXT`: reasoning, then an answer.
    Think { reasoning: String, text: String },
    /// `slow N MS`: an answer of `chunks` pieces of text with a pause after each.
    Slow { chunks: u64, pause: Duration },
    /// `call TOOL JSON`: a tool call. Without JSON the arguments are an empty object.
    Call { tool: String, arguments: Value },
    /// `custom TOOL TEXT`: a tool call whose input is plain text, such as a patch.
    Custom { tool: String, input: String },
    /// `shell COMMAND`: a call of the agent's own shell tool.
    Shell(String),
    /// `fail STATUS`: an error instead of an answer, every time.
    Fail { status: u16 },
    /// `failonce STATUS`: an error the first time, an answer from then on.
    FailOnce { status: u16 },
    /// `cut`: the answer breaks off in the middle.
    Cut,
    /// `approve TITLE`: asks a person for approval; the decision is the step's result.
    Approve { title: String },
    /// `ask TEXT :: OPTION | OPTION`: a structured question; the answer is the step's result.
    Ask { text: String, options: Vec<String> },
    /// `hang`: nothing at all, until interrupted or steered.
    Hang,
    /// `noise N`: lines on standard output that aren't JSON.
    Noise { lines: u64 },
    /// `exit CODE`: the process ends.
    Exit { code: u8 },
    /// `crash`: the process aborts.
    Crash,
    /// `flood BYTES`: one line of this many bytes on standard output.
    Flood { bytes: u64 },
}

/// Every step name, in the order of the documentation.
pub(crate) const STEP_NAMES: &[&str] = &[
    "say", "think", "slow", "call", "custom", "shell", "fail", "failonce", "cut", "approve", "ask",
    "hang", "noise", "exit", "crash", "flood",
];

/// Who plays a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Consumer {
    /// The scripted model server of the tests: it plays the model behind a real agent CLI.
    ModelServer,
    /// `weft scripted-agent`: it plays agent and model in one.
    ScriptedAgent,
}

impl Consumer {
    /// Steps this consumer plays.
    #[must_use]
    pub fn step_names(self) -> &'static [&'static str] {
        match self {
            Self::ModelServer => &[
                "say", "think", "slow", "call", "custom", "shell", "fail", "failonce", "cut",
                "hang",
            ],
            Self::ScriptedAgent => &[
                "say", "think", "slow", "call", "fail", "failonce", "cut", "approve", "ask",
                "hang", "noise", "exit", "crash", "flood",
            ],
        }
    }
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ModelServer => "the scripted model server",
            Self::ScriptedAgent => "the scripted agent",
        })
    }
}

impl Step {
    /// The word the step is written with.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Say(_) => "say",
            Self::Think { .. } => "think",
            Self::Slow { .. } => "slow",
            Self::Call { .. } => "call",
            Self::Custom { .. } => "custom",
            Self::Shell(_) => "shell",
            Self::Fail { .. } => "fail",
            Self::FailOnce { .. } => "failonce",
            Self::Cut => "cut",
            Self::Approve { .. } => "approve",
            Self::Ask { .. } => "ask",
            Self::Hang => "hang",
            Self::Noise { .. } => "noise",
            Self::Exit { .. } => "exit",
            Self::Crash => "crash",
            Self::Flood { .. } => "flood",
        }
    }

    /// Whether a conversation shows nothing of the step when it was cut short. Such a step is over when
    /// its turn ends or somebody speaks; otherwise it would be played again for ever.
    pub(crate) fn leaves_no_trace(&self) -> bool {
        matches!(
            self,
            Self::Slow { .. } | Self::Hang | Self::Fail { .. } | Self::Cut
        )
    }
}
