//! Waiting inside a turn, while the host may speak.

use std::future::Future;

use super::super::output::HostGone;
use super::super::protocol::{Event, Reply, RequestId, TurnId};
use super::super::shared::Command;
use super::{Thread, refuse};

/// What ended a wait.
#[derive(Debug)]
pub(super) enum Happened<T> {
    Done(T),
    Answered(Reply),
    Interrupted,
    /// The text is in the conversation already.
    Steered,
}

/// What a wait listens to besides the end of its work.
#[derive(Debug, Clone, Copy)]
pub(super) enum Listen<'a> {
    /// Steered text waits for the next step.
    Interrupts,
    /// Steered text ends the wait.
    Steers,
    /// An answer to this request ends the wait.
    Answers(&'a RequestId),
}

impl Thread {
    /// Waits for `work` and follows what the host says meanwhile.
    pub(super) async fn during<T>(
        &mut self,
        turn: &TurnId,
        listen: Listen<'_>,
        work: impl Future<Output = T>,
    ) -> Result<Happened<T>, HostGone> {
        tokio::pin!(work);
        loop {
            let command = tokio::select! {
                done = &mut work => return Ok(Happened::Done(done)),
                command = self.inbox.recv() => command,
            };
            match (command, listen) {
                (None | Some(Command::Close), _) => {
                    self.closing = true;
                    return Ok(Happened::Interrupted);
                }
                (Some(Command::Interrupt { turn: named }), _) if named == *turn => {
                    return Ok(Happened::Interrupted);
                }
                (Some(Command::Steer { turn: named, text }), _) if named == *turn => {
                    self.hear(text);
                    self.output.emit(&Event::Steered { turn: named }).await?;
                    if matches!(listen, Listen::Steers) {
                        return Ok(Happened::Steered);
                    }
                }
                (Some(Command::Answer { request, reply }), Listen::Answers(wanted))
                    if request == *wanted =>
                {
                    return Ok(Happened::Answered(reply));
                }
                (Some(command), _) => {
                    refuse(
                        command,
                        "another turn is running",
                        &self.output,
                        &self.shared,
                    )
                    .await?;
                }
            }
        }
    }
}
