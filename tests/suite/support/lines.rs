//! Lines of JSON as they come, and the waiting for the one a test is after.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use serde_json::Value;

use super::PATIENCE;

/// Lines that somebody else writes, in order.
#[derive(Debug)]
pub(crate) struct Lines {
    coming: Receiver<Value>,
    seen: Vec<Value>,
}

/// Why a wanted line is not there, with everything that was.
#[derive(Debug)]
pub(crate) struct Missing(String);

impl std::fmt::Display for Missing {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl Lines {
    pub(crate) fn new(coming: Receiver<Value>) -> Self {
        Self {
            coming,
            seen: Vec::new(),
        }
    }

    /// Everything seen so far.
    pub(crate) fn seen(&self) -> &[Value] {
        &self.seen
    }

    /// The first line, seen or coming, that is wanted.
    pub(crate) fn wait_for(
        &mut self,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value, Missing> {
        if let Some(line) = self.seen.iter().find(|line| wanted(line)) {
            return Ok(line.clone());
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.coming.recv_timeout(left) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if wanted(&line) {
                        return Ok(line);
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Err(self.missing(what, "in time")),
                Err(RecvTimeoutError::Disconnected) => return Err(self.missing(what, "at all")),
            }
        }
    }

    fn missing(&self, what: &str, when: &str) -> Missing {
        let lines: Vec<String> = self.seen.iter().map(Value::to_string).collect();
        Missing(format!(
            "{what} did not come {when}; seen:\n{}",
            lines.join("\n")
        ))
    }
}

/// Whether a line tells a change of this kind that is wanted.
pub(crate) fn is_change(line: &Value, kind: &str, wanted: impl Fn(&Value) -> bool) -> bool {
    line["change"]["type"] == kind && wanted(&line["change"])
}
