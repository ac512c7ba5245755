//! The one thing a guest may call: lines for the operator's log.

use std::time::{Duration, Instant};

use crate::bindings::v0_1::types::LogLevel;
use crate::guest::Scrub;
use crate::limits;

/// Writes a guest's lines to `tracing`: bounded in size and rate, inert, without secrets.
pub(crate) struct GuestLog {
    context: String,
    scrub: Option<Scrub>,
    rate: Rate,
    last_error: Option<String>,
}

impl GuestLog {
    /// A log for one session. `context` names driver and session.
    pub(crate) fn new(context: String, scrub: Scrub) -> Self {
        Self {
            context,
            scrub: Some(scrub),
            rate: Rate::default(),
            last_error: None,
        }
    }

    /// A log for the trial at load, when there are no secrets yet.
    pub(crate) fn for_describe() -> Self {
        Self {
            context: "describe".to_owned(),
            scrub: None,
            rate: Rate::default(),
            last_error: None,
        }
    }

    pub(crate) fn write(&mut self, level: LogLevel, message: &str) {
        match self.rate.admit(Instant::now()) {
            Admission::Dropped => return,
            Admission::FirstDropped => {
                tracing::warn!(
                    target: "driver",
                    session = %self.context,
                    "the driver logs more than {} lines a second; the rest of this second is dropped",
                    limits::LOG_LINES_PER_SECOND_MAX
                );
                return;
            }
            Admission::Taken => {}
        }
        // Cut before scrubbing would split a secret in two and let its start through.
        let scrubbed = match &self.scrub {
            Some(scrub) => scrub(message),
            None => message.to_owned(),
        };
        let line = crate::text::one_line(&scrubbed, limits::LOG_LINE_BYTES_MAX);
        let session = self.context.as_str();
        match level {
            LogLevel::Trace => tracing::trace!(target: "driver", session, "{line}"),
            LogLevel::Debug => tracing::debug!(target: "driver", session, "{line}"),
            LogLevel::Info => tracing::info!(target: "driver", session, "{line}"),
            LogLevel::Warn => tracing::warn!(target: "driver", session, "{line}"),
            LogLevel::Error => {
                tracing::error!(target: "driver", session, "{line}");
                self.last_error = Some(line);
            }
        }
    }

    /// The newest error line: a panic hook writes one just before the trap.
    pub(crate) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Admission {
    Taken,
    FirstDropped,
    Dropped,
}

/// Counts lines of the present second.
#[derive(Default)]
struct Rate {
    second_begun: Option<Instant>,
    lines: u32,
}

impl Rate {
    fn admit(&mut self, now: Instant) -> Admission {
        let fresh = self
            .second_begun
            .is_none_or(|begun| now.saturating_duration_since(begun) >= Duration::from_secs(1));
        if fresh {
            self.second_begun = Some(now);
            self.lines = 0;
        }
        self.lines = self.lines.saturating_add(1);
        match self.lines {
            n if n <= limits::LOG_LINES_PER_SECOND_MAX => Admission::Taken,
            n if n == limits::LOG_LINES_PER_SECOND_MAX + 1 => Admission::FirstDropped,
            _ => Admission::Dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_once_and_dropped_until_the_second_is_over() {
        let mut rate = Rate::default();
        let begun = Instant::now();
        let max = limits::LOG_LINES_PER_SECOND_MAX;
        let in_second: Vec<_> = (0..max + 5).map(|_| rate.admit(begun)).collect();
        let taken = in_second.iter().filter(|a| **a == Admission::Taken).count();
        assert_eq!(taken, usize::try_from(max).unwrap());
        assert_eq!(
            in_second
                .iter()
                .filter(|a| **a == Admission::FirstDropped)
                .count(),
            1
        );
        assert_eq!(rate.admit(begun + Duration::from_secs(1)), Admission::Taken);
    }
}
