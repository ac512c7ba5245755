//! One turn: steps of the script, until one of them ends it.

use std::future::{Future, pending};
use std::process;
use std::time::Duration;

use script::{Consumer, Entry, Next, Position, Step, next_step};
use serde_json::Value;

use super::super::limits::{PIECE_WORDS, usage};
use super::super::output::{HostGone, Output};
use super::super::protocol::{
    ClosedReason, Decision, Event, ItemId, Question, Reply, RequestId, Tool, ToolStatus, TurnId,
    TurnOutcome, Usage,
};
use super::super::tools::{self, Called, Tools};
use super::Thread;
use super::wait::{Happened, Listen};

/// What `failonce` says when it is played again.
const RECOVERED: &str = "Recovered after one failure.";

/// What the script sees as the result of a step that was interrupted.
const INTERRUPTED: &str = "(interrupted)";

/// The only question of an `ask`.
const QUESTION_ID: &str = "answer";

/// Whether the turn goes on after a step.
#[derive(Debug)]
enum Flow {
    GoOn,
    End(TurnOutcome, Option<String>),
}

impl Thread {
    /// Plays one turn to its end.
    pub(super) async fn play(&mut self, turn: TurnId, text: String) -> Result<(), HostGone> {
        self.output
            .emit(&Event::TurnStarted { turn: turn.clone() })
            .await?;
        self.hear(text);
        let (outcome, message) = loop {
            let flow = match next_step(&self.history, Consumer::ScriptedAgent) {
                Ok(next) => self.step(&turn, next).await?,
                Err(error) => self.fail(error.to_string()),
            };
            if let Flow::End(outcome, message) = flow {
                break (outcome, message);
            }
        };
        self.shared.remove_turn(&turn);
        self.output
            .emit(&Event::TurnEnded {
                turn,
                outcome,
                message,
            })
            .await
    }

    async fn step(&mut self, turn: &TurnId, next: Next) -> Result<Flow, HostGone> {
        match next.step {
            Step::Say(text) => self.say(turn, None, &text).await,
            Step::Think { reasoning, text } => self.say(turn, Some(&reasoning), &text).await,
            Step::Slow { chunks, pause } => self.slow(turn, chunks, pause).await,
            Step::Call { tool, arguments } => self.call(turn, tool, arguments).await,
            Step::Fail { status } => Ok(self.fail(format!("scripted {status}"))),
            Step::FailOnce { status } => {
                if self
                    .failed_once
                    .insert((self.scripts, place(next.position)))
                {
                    Ok(self.fail(format!("scripted {status}")))
                } else {
                    self.say(turn, None, RECOVERED).await
                }
            }
            Step::Approve { title } => {
                let request = self.output.next_request();
                let asked = Event::Approval {
                    turn: turn.clone(),
                    request: request.clone(),
                    title,
                };
                self.ask(turn, request, asked).await
            }
            Step::Ask { text, options } => {
                let request = self.output.next_request();
                let questions = vec![Question {
                    id: QUESTION_ID.to_owned(),
                    header: "Question".to_owned(),
                    text,
                    options,
                }];
                let asked = Event::Question {
                    turn: turn.clone(),
                    request: request.clone(),
                    questions,
                };
                self.ask(turn, request, asked).await
            }
            Step::Hang => match self.during(turn, Listen::Steers, pending::<()>()).await? {
                Happened::Interrupted => Ok(self.interrupted(None)),
                _ => Ok(Flow::GoOn),
            },
            Step::Noise { lines } => {
                let output = self.output.clone();
                self.write(turn, noise(output, lines)).await
            }
            Step::Flood { bytes } => {
                let output = self.output.clone();
                self.write(turn, async move { output.flood(bytes).await })
                    .await
            }
            Step::Cut => self.cut(turn).await,
            Step::Exit { code } => {
                self.output.flushed().await?;
                process::exit(code.into())
            }
            Step::Crash => {
                self.output.flushed().await?;
                process::abort()
            }
            // `next_step` refuses what this consumer doesn't play.
            step @ (Step::Custom { .. } | Step::Shell(_)) => Ok(self.fail(format!(
                "`{}` isn't played by the scripted agent",
                step.name()
            ))),
        }
    }

    /// Ends the turn as failed.
    fn fail(&mut self, message: String) -> Flow {
        self.history.push(Entry::TurnOver);
        Flow::End(TurnOutcome::Failed, Some(message))
    }

    /// Ends the turn as interrupted. A step that has a result is over with it, or it would be played again.
    fn interrupted(&mut self, result: Option<&str>) -> Flow {
        self.history.push(Entry::TurnOver);
        self.history
            .extend(result.map(|text| Entry::Result(text.to_owned())));
        Flow::End(TurnOutcome::Interrupted, None)
    }

    async fn say(
        &mut self,
        turn: &TurnId,
        reasoning: Option<&str>,
        text: &str,
    ) -> Result<Flow, HostGone> {
        let turn = || turn.clone();
        if let Some(reasoning) = reasoning {
            let item = self.output.next_item();
            for text in pieces(reasoning) {
                let item = item.clone();
                self.output
                    .emit(&Event::Reasoning {
                        turn: turn(),
                        item,
                        text,
                    })
                    .await?;
            }
            let text = reasoning.to_owned();
            self.output
                .emit(&Event::ReasoningEnded {
                    turn: turn(),
                    item,
                    text,
                })
                .await?;
        }
        let item = self.output.next_item();
        for text in pieces(text) {
            let item = item.clone();
            self.output
                .emit(&Event::Text {
                    turn: turn(),
                    item,
                    text,
                })
                .await?;
        }
        self.end_text(turn(), item, text.to_owned()).await?;
        let reasoning_tokens = if reasoning.is_some() {
            usage::REASONING
        } else {
            0
        };
        self.complete(turn(), reasoning_tokens).await
    }

    async fn slow(
        &mut self,
        turn: &TurnId,
        chunks: u64,
        pause: Duration,
    ) -> Result<Flow, HostGone> {
        let item = self.output.next_item();
        let mut whole = String::new();
        for number in 1..=chunks {
            let text = format!("tick {number} ");
            whole.push_str(&text);
            let (turn_id, item_id) = (turn.clone(), item.clone());
            self.output
                .emit(&Event::Text {
                    turn: turn_id,
                    item: item_id,
                    text,
                })
                .await?;
            let paused = tokio::time::sleep(pause);
            match self.during(turn, Listen::Steers, paused).await? {
                Happened::Done(()) | Happened::Answered(_) => {}
                Happened::Steered => {
                    self.end_text(turn.clone(), item, whole).await?;
                    return Ok(Flow::GoOn);
                }
                Happened::Interrupted => {
                    self.end_text(turn.clone(), item, whole).await?;
                    return Ok(self.interrupted(None));
                }
            }
        }
        self.end_text(turn.clone(), item, whole).await?;
        self.complete(turn.clone(), 0).await
    }

    async fn end_text(&self, turn: TurnId, item: ItemId, text: String) -> Result<(), HostGone> {
        self.output
            .emit(&Event::TextEnded { turn, item, text })
            .await
    }

    /// Ends the turn after its message.
    async fn complete(&mut self, turn: TurnId, reasoning_tokens: u64) -> Result<Flow, HostGone> {
        let usage = Usage {
            turn,
            input_tokens: usage::INPUT,
            cached_input_tokens: usage::CACHED,
            output_tokens: usage::OUTPUT,
            reasoning_tokens,
        };
        self.output.emit(&Event::Usage(usage)).await?;
        self.history.push(Entry::Message);
        Ok(Flow::End(TurnOutcome::Completed, None))
    }

    async fn call(
        &mut self,
        turn: &TurnId,
        name: String,
        arguments: Value,
    ) -> Result<Flow, HostGone> {
        let tool = Tool {
            turn: turn.clone(),
            item: self.output.next_item(),
            server: self
                .tools
                .as_ref()
                .map(|tools| tools.server_name().to_owned()),
            name: tools::bare(&name).to_owned(),
            arguments: arguments.clone(),
            status: ToolStatus::Running,
            result: None,
        };
        self.output.emit(&Event::Tool(tool.clone())).await?;
        let caller = self.tools.as_ref().map(Tools::caller);
        let called = async move {
            match caller {
                Some(caller) => caller.call(name, arguments).await,
                None => tools::no_server(),
            }
        };
        // Leaving the wait drops the call, which cancels it at the server.
        let Called { status, text } = match self.during(turn, Listen::Interrupts, called).await? {
            Happened::Done(called) => called,
            _ => Called {
                status: ToolStatus::Interrupted,
                text: INTERRUPTED.to_owned(),
            },
        };
        let ended = Tool {
            status,
            result: Some(text.clone()),
            ..tool
        };
        self.output.emit(&Event::Tool(ended)).await?;
        if status == ToolStatus::Interrupted {
            return Ok(self.interrupted(Some(INTERRUPTED)));
        }
        self.history.push(Entry::Result(text));
        Ok(Flow::GoOn)
    }

    /// Asks a person and waits for the answer.
    async fn ask(
        &mut self,
        turn: &TurnId,
        request: RequestId,
        asked: Event,
    ) -> Result<Flow, HostGone> {
        self.shared.add_request(request.clone(), self.id.clone());
        self.output.emit(&asked).await?;
        let wait = self
            .during(turn, Listen::Answers(&request), pending::<()>())
            .await?;
        self.shared.remove_request(&request);
        let (reason, flow) = match wait {
            Happened::Answered(Reply::Decision(Decision::Cancel)) => {
                let result = Reply::Decision(Decision::Cancel).to_result();
                (ClosedReason::Answered, self.interrupted(Some(&result)))
            }
            Happened::Answered(reply) => {
                self.history.push(Entry::Result(reply.to_result()));
                (ClosedReason::Answered, Flow::GoOn)
            }
            _ => (ClosedReason::TurnEnded, self.interrupted(Some(INTERRUPTED))),
        };
        self.output
            .emit(&Event::RequestClosed { request, reason })
            .await?;
        Ok(flow)
    }

    /// Plays a step that only writes.
    async fn write(
        &mut self,
        turn: &TurnId,
        work: impl Future<Output = Result<(), HostGone>>,
    ) -> Result<Flow, HostGone> {
        match self.during(turn, Listen::Interrupts, work).await? {
            Happened::Done(written) => {
                written?;
                self.history.push(Entry::Passed);
                Ok(Flow::GoOn)
            }
            _ => {
                let flow = self.interrupted(None);
                self.history.push(Entry::Passed);
                Ok(flow)
            }
        }
    }

    /// Writes half an event and ends the process.
    async fn cut(&mut self, turn: &TurnId) -> Result<Flow, HostGone> {
        let item = self.output.next_item();
        let text = "This line breaks off".to_owned();
        let event = Event::Text {
            turn: turn.clone(),
            item,
            text,
        };
        let line = serde_json::to_string(&event).unwrap_or_default();
        let half = line.chars().take(line.chars().count() / 2).collect();
        self.output.part(half).await?;
        self.output.flushed().await?;
        process::exit(0)
    }
}

/// Step number of a place, 0 outside a script.
fn place(position: Position) -> usize {
    match position {
        Position::At(number) => number,
        Position::PastEnd | Position::NoScript => 0,
    }
}

async fn noise(output: Output, lines: u64) -> Result<(), HostGone> {
    for number in 1..=lines {
        output
            .line(format!("noise {number}: this line is no JSON"))
            .await?;
    }
    Ok(())
}

/// Pieces of some words each, which together are the text.
fn pieces(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    words.chunks(PIECE_WORDS).map(<[&str]>::concat).collect()
}
