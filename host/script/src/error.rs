use crate::step::{Consumer, STEP_NAMES};

/// Why a script can't be played. The text is for the person who wrote the script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The word is no step of the language.
    #[error("step {number}: unknown step `{name}`; the known steps are {known}", known = STEP_NAMES.join(", "))]
    UnknownStep {
        /// Place in the script, counted from 1.
        number: usize,
        /// The word found.
        name: String,
    },
    /// The step exists, but this consumer can't play it.
    #[error(
        "step {number}: `{name}` can't be played by {consumer}; it plays {known}",
        known = consumer.step_names().join(", ")
    )]
    UnsupportedStep {
        /// Place in the script, counted from 1.
        number: usize,
        /// The step.
        name: &'static str,
        /// Who was asked to play it.
        consumer: Consumer,
    },
    /// What follows the step's name is not what it takes.
    #[error("step {number}: `{name}` {problem}")]
    BadArgument {
        /// Place in the script, counted from 1.
        number: usize,
        /// The step.
        name: &'static str,
        /// What is wrong, and what is expected.
        problem: String,
    },
    /// Nothing stands between two `;;`, or nothing follows `script:`.
    #[error("step {number}: there is no step; the known steps are {known}", known = STEP_NAMES.join(", "))]
    EmptyStep {
        /// Place in the script, counted from 1.
        number: usize,
    },
    /// The script is longer than any script is.
    #[error("a script has at most {max} steps", max = crate::limits::STEPS_MAX)]
    TooManySteps,
}
