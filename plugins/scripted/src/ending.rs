//! How it ends: silence, the end of the process, and turns that fail.
#![forbid(unsafe_code)]

use driver_sdk::failure::{self, Class};
use driver_sdk::types::{ExitCause, Exited, Failure};

use crate::core::{AGENT_PROCESS, Process, Scripted, Stage};

impl Scripted {
    /// A timer ran out.
    pub(crate) fn timer(&mut self, timer_id: u32) {
        let Some(wait) = self.waits.ran_out(timer_id) else {
            return;
        };
        let seconds = wait.answer_ms() / 1_000;
        let message = format!(
            "The scripted agent did not answer within {seconds} s: {} is missing. Check the command of this provider \
             instance: it must be `weft`.",
            wait.what()
        );
        self.end_session(Some(failure::with_code(
            Class::Transport,
            &message,
            "silent",
        )));
    }

    /// The process is gone.
    pub(crate) fn exited(&mut self, exited: &Exited) {
        if exited.process_id != AGENT_PROCESS {
            return;
        }
        let greeting = self.process == Process::Greeting;
        self.process = match exited.cause {
            ExitCause::NotStarted(_) => Process::Missing,
            ExitCause::Code(_) | ExitCause::Signal(_) => Process::Gone,
        };
        if self.stage == Stage::Closing {
            self.end_session(None);
        } else {
            let failure = self.exit_failure(&exited.cause, greeting);
            self.end_session(Some(failure));
        }
    }

    fn exit_failure(&self, cause: &ExitCause, greeting: bool) -> Failure {
        let (how, code) = match cause {
            ExitCause::NotStarted(why) => {
                let message = format!(
                    "The scripted agent could not be started: {why}. It is part of `weft`: check the command of this \
                     provider instance."
                );
                return failure::with_code(Class::Transport, &message, "not-started");
            }
            ExitCause::Code(code) => (format!("with exit code {code}"), format!("exit-{code}")),
            ExitCause::Signal(signal) => {
                (format!("by signal {signal}"), format!("signal-{signal}"))
            }
        };
        let mut message = format!("The scripted agent ended {how}");
        if self.cut {
            message.push_str(" in the middle of a line");
        }
        message.push_str(if greeting {
            " before it answered. Check the command of this provider instance: it must be `weft`."
        } else {
            ". Send a message to go on in a new process."
        });
        if let Some(tail) = self.tail.text() {
            message.push_str(&format!(" It printed last: {tail}"));
        }
        failure::with_code(Class::Transport, &message, &code)
    }
}

/// A failed turn: `scripted 429` fails like a provider that answers with this status.
pub(crate) fn turn_failure(message: Option<String>) -> Failure {
    let message = message.unwrap_or_else(|| "The scripted agent gave no reason.".to_owned());
    let status: Option<u16> = message
        .strip_prefix("scripted ")
        .and_then(|status| status.parse().ok());
    match status {
        Some(status) => {
            let class = match status {
                401 | 403 => Class::Permission,
                429 => Class::UsageLimit,
                400..=499 => Class::Validation,
                _ => Class::Provider,
            };
            failure::with_code(class, &message, &status.to_string())
        }
        None => failure::validation(&message),
    }
}
