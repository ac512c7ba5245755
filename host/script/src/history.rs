use crate::error::ScriptError;
use crate::limits::{HEARD_CHARS_MAX, RESULT_CHARS_MAX};
use crate::parse::Script;
use crate::step::{Consumer, Step};
use crate::template::fill_step;

/// What somebody who was given no script says.
const NO_SCRIPT: &str =
    "No script was given. Put one into the prompt, for example `script: say hello`.";

/// One entry of a conversation, as far as a script's position depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A message to the agent: a prompt, a steered text or a wake.
    User(String),
    /// The result of a step that has one.
    Result(String),
    /// The agent's own message.
    Message,
    /// A step without a result that is done (`noise`, `flood`).
    Passed,
    /// A turn ended without a message: it was interrupted or failed.
    TurnOver,
}

/// Where a conversation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// This step of the script is next, counted from 1.
    At(usize),
    /// Every step is done.
    PastEnd,
    /// No message of the conversation holds a script.
    NoScript,
}

/// What to do next, with its templates filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Next {
    /// The step to play.
    pub step: Step,
    /// Where it stands.
    pub position: Position,
}

/// Finds the step that a conversation has come to.
///
/// The last message with a script counts; each step that is finished since then moves on by one. A step
/// is finished when its result or its message stands in the history. One that leaves no trace when cut
/// short (`slow`, `hang`, `fail`, `cut`) is finished when its turn is over or the next message comes; a
/// message right after a result is taken to have come during the step that follows the result.
///
/// # Errors
/// The script can't be read, or holds a step that `consumer` doesn't play.
pub fn next_step(history: &[Entry], consumer: Consumer) -> Result<Next, ScriptError> {
    let found = history
        .iter()
        .enumerate()
        .rev()
        .find_map(|(index, entry)| match entry {
            Entry::User(text) => Script::find(text).map(|script| (index, script)),
            _ => None,
        });
    let Some((index, script)) = found else {
        return Ok(Next {
            step: Step::Say(NO_SCRIPT.to_owned()),
            position: Position::NoScript,
        });
    };
    let script = script?;
    script.check(consumer)?;

    let mut walk = Walk::default();
    for entry in history.iter().skip(index + 1) {
        walk.take(entry, script.steps());
    }
    Ok(match script.steps().get(walk.finished) {
        Some(step) => Next {
            step: fill_step(step, &walk.results),
            position: Position::At(walk.finished + 1),
        },
        None => Next {
            step: Step::Say(walk.closing_sentence()),
            position: Position::PastEnd,
        },
    })
}

/// What is known after a part of the history.
#[derive(Debug, Default)]
struct Walk<'a> {
    finished: usize,
    results: Vec<&'a str>,
    /// Messages that came into the running turn.
    heard: Vec<&'a str>,
    /// No turn runs: the next message begins one.
    turn_over: bool,
}

impl<'a> Walk<'a> {
    fn take(&mut self, entry: &'a Entry, steps: &[Step]) {
        match entry {
            Entry::Result(text) => {
                self.results.push(text);
                self.finished += 1;
            }
            Entry::Passed => self.finished += 1,
            Entry::Message => {
                self.finished += 1;
                self.end_turn();
            }
            Entry::TurnOver => {
                self.end_traceless(steps);
                self.end_turn();
            }
            Entry::User(_) if self.turn_over => self.turn_over = false,
            Entry::User(text) => {
                self.end_traceless(steps);
                self.heard.push(text);
            }
        }
    }

    fn end_turn(&mut self) {
        self.turn_over = true;
        self.heard.clear();
    }

    fn end_traceless(&mut self, steps: &[Step]) {
        if !self.turn_over && steps.get(self.finished).is_some_and(Step::leaves_no_trace) {
            self.finished += 1;
        }
    }

    fn closing_sentence(&self) -> String {
        let result = self.results.last().copied().unwrap_or("none");
        let mut sentence = format!("Result: {}", first_chars(result, RESULT_CHARS_MAX));
        if !self.heard.is_empty() {
            let heard = self.heard.join(" | ");
            let heard = first_chars(&heard, HEARD_CHARS_MAX);
            sentence.push_str(&format!(" [also heard: {heard}]"));
        }
        sentence
    }
}

fn first_chars(text: &str, chars_max: usize) -> &str {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
