use serde_json::Value;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::input::Line;
use super::limits::{COMMANDS_QUEUED_MAX, LINE_BYTES_MAX, THREADS_MAX};
use super::output::{HostGone, Output};
use super::protocol::{Event, Mcp, NativeId, Op, Reply, RequestId, ThreadId, TurnId};
use super::shared::{Command, Shared};
use super::thread;

/// Takes the host's lines to the threads.
#[derive(Debug)]
pub(super) struct Agent {
    output: Output,
    shared: Shared,
}

impl Agent {
    pub(super) fn new(output: Output) -> Self {
        Self {
            output,
            shared: Shared::default(),
        }
    }

    /// Runs until the input ends or the host is gone. The threads end with the runtime.
    pub(super) async fn run(self, mut input: mpsc::Receiver<Line>) {
        loop {
            let line = tokio::select! {
                line = input.recv() => line,
                () = self.output.closed() => None,
            };
            let Some(line) = line else { return };
            if self.take(line).await == Err(HostGone) {
                return;
            }
        }
    }

    async fn take(&self, line: Line) -> Result<(), HostGone> {
        let line = match line {
            Line::Whole(line) if line.trim().is_empty() => return Ok(()),
            Line::Whole(line) => line,
            Line::TooLong => {
                let message = format!("a line has at most {LINE_BYTES_MAX} bytes");
                return self.error(message).await;
            }
            Line::NotText => return self.error("a line is UTF-8".to_owned()).await,
        };
        match serde_json::from_str(&line) {
            Ok(op) => self.perform(op).await,
            Err(error) => self.error(why_unreadable(&line, &error)).await,
        }
    }

    async fn perform(&self, op: Op) -> Result<(), HostGone> {
        match op {
            Op::Hello => {
                self.output
                    .emit(&Event::Hello {
                        version: env!("CARGO_PKG_VERSION"),
                    })
                    .await
            }
            Op::Open {
                thread,
                native,
                mcp,
            } => self.open(thread, native, mcp).await,
            Op::Turn { thread, turn, text } => self.turn(thread, turn, text).await,
            Op::Steer { turn, text } => {
                let commands = self.shared.thread_of_turn(&turn);
                let command = Command::Steer {
                    turn: turn.clone(),
                    text,
                };
                match deliver(commands, command) {
                    Ok(()) => Ok(()),
                    Err(why) => {
                        self.output
                            .emit(&Event::SteerRefused { turn, message: why })
                            .await
                    }
                }
            }
            Op::Interrupt { turn } => {
                let commands = self.shared.thread_of_turn(&turn);
                match deliver(commands, Command::Interrupt { turn: turn.clone() }) {
                    Ok(()) => Ok(()),
                    Err(message) => {
                        self.output
                            .emit(&Event::InterruptRefused { turn, message })
                            .await
                    }
                }
            }
            Op::Answer {
                request,
                decision,
                answers,
                dismissed,
            } => {
                self.answer(request, Reply::of(decision, answers, dismissed))
                    .await
            }
            Op::Close { thread } => match deliver(self.shared.thread(&thread), Command::Close) {
                Ok(()) => Ok(()),
                // Closing what isn't open is done already.
                Err(_) => self.output.emit(&Event::Closed { thread }).await,
            },
        }
    }

    async fn open(
        &self,
        thread: ThreadId,
        native: Option<NativeId>,
        mcp: Option<Mcp>,
    ) -> Result<(), HostGone> {
        let refusal = if self.shared.has_thread(&thread) {
            Some(format!("thread {thread} is open already"))
        } else if self.shared.thread_count() >= THREADS_MAX {
            Some(format!("at most {THREADS_MAX} threads can be open"))
        } else {
            None
        };
        if let Some(message) = refusal {
            return self
                .output
                .emit(&Event::OpenFailed { thread, message })
                .await;
        }
        let (commands, inbox) = mpsc::channel(COMMANDS_QUEUED_MAX);
        self.shared.add_thread(thread.clone(), commands);
        let (output, shared) = (self.output.clone(), self.shared.clone());
        tokio::spawn(thread::run(thread, native, mcp, inbox, output, shared));
        Ok(())
    }

    async fn turn(&self, thread: ThreadId, turn: TurnId, text: String) -> Result<(), HostGone> {
        if self.shared.has_turn(&turn) {
            let message = format!("turn {turn} exists already");
            return self
                .output
                .emit(&Event::TurnRefused { turn, message })
                .await;
        }
        let commands = self.shared.thread(&thread);
        if commands.is_some() {
            self.shared.add_turn(turn.clone(), thread);
        }
        match deliver(
            commands,
            Command::Turn {
                turn: turn.clone(),
                text,
            },
        ) {
            Ok(()) => Ok(()),
            Err(message) => {
                self.shared.remove_turn(&turn);
                self.output
                    .emit(&Event::TurnRefused { turn, message })
                    .await
            }
        }
    }

    async fn answer(&self, request: RequestId, reply: Option<Reply>) -> Result<(), HostGone> {
        let sent = match reply {
            None => Err("an answer has one of decision, answers and dismissed".to_owned()),
            Some(reply) => {
                let commands = self.shared.thread_of_request(&request);
                deliver(
                    commands,
                    Command::Answer {
                        request: request.clone(),
                        reply,
                    },
                )
            }
        };
        match sent {
            Ok(()) => Ok(()),
            Err(message) => {
                self.output
                    .emit(&Event::AnswerRefused { request, message })
                    .await
            }
        }
    }

    async fn error(&self, message: String) -> Result<(), HostGone> {
        self.output.emit(&Event::Error { message }).await
    }
}

/// Hands a command to a thread, or says why not.
fn deliver(commands: Option<mpsc::Sender<Command>>, command: Command) -> Result<(), String> {
    let commands = commands.ok_or("it isn't running")?;
    commands.try_send(command).map_err(|error| match error {
        TrySendError::Full(_) => format!("the thread has {COMMANDS_QUEUED_MAX} commands waiting"),
        TrySendError::Closed(_) => "it isn't running".to_owned(),
    })
}

/// What is wrong with a line, without repeating what stands in it: it may hold a token.
fn why_unreadable(line: &str, error: &serde_json::Error) -> String {
    match serde_json::from_str::<Value>(line) {
        Err(_) => format!(
            "a line is one JSON object; column {} is wrong",
            error.column()
        ),
        Ok(value) => match value.get("op").and_then(Value::as_str) {
            Some(op) => format!("the op `{op}` is unknown or has a wrong field"),
            None => "a line has a field `op`".to_owned(),
        },
    }
}
