//! What comes from the process: events, silence and the end.
#![forbid(unsafe_code)]

use driver_sdk::clip;
use driver_sdk::failure::{self, Class};
use driver_sdk::limits::TITLE_BYTES_MAX;
use driver_sdk::logging::{self, LogLevel};
use driver_sdk::types::{
    Approval, EffectOutcome, Event, ExitCause, Exited, Failure, Item, ItemHead, ItemStatus, Line,
    LineState, Output, Prompt, Question, QuestionOption, Request, ThreadReady, TurnOutcome,
    TurnStarted, Usage,
};
use serde_json::{Value, json};

use crate::core::{AGENT_PROCESS, Process, Purpose, Scripted, Stage};
use crate::describe::MODEL;
use crate::limits::APPROVAL_TITLE_BYTES_MAX;
use crate::state::{OpenRequest, RequestKind};
use crate::waits::Wait;
use crate::wire::{self, Read, Said};

/// Decisions the agent takes.
const DECISIONS: [&str; 5] = [
    "accept",
    "acceptForSession",
    "acceptAlways",
    "decline",
    "cancel",
];

impl Scripted {
    /// One line of either output.
    pub(crate) fn line(&mut self, line: &Line) {
        if line.output == Output::Stderr {
            self.tail.push(&line.text);
            return;
        }
        match line.state {
            LineState::Whole => self.read(&line.text),
            // Even if it parses it may be half of something else.
            LineState::Unterminated => self.cut = true,
            LineState::OverLimit => {
                let bytes_max = self.config.limits.line_bytes_max;
                let message = format!(
                    "The scripted agent sent a line longer than {bytes_max} bytes. Raise the limit for lines, or let \
                     the script say less at once."
                );
                self.end_session(Some(failure::with_code(
                    Class::Transport,
                    &message,
                    "line-too-long",
                )));
            }
        }
    }

    fn read(&mut self, text: &str) {
        match wire::read(text) {
            Read::Said(said) => self.said(said),
            Read::Misshapen(why) => {
                let message = format!(
                    "The scripted agent speaks another version of its protocol ({why}). Use the `weft` this driver came \
                     with as the command of this provider instance."
                );
                self.end_session(Some(failure::with_code(
                    Class::Transport,
                    &message,
                    "protocol",
                )));
            }
            Read::Noise => {
                if let Err(shown) = self.noise.observe(text) {
                    let message = format!(
                        "The scripted agent prints something that is not its protocol: `{shown}`. Check the command of \
                         this provider instance."
                    );
                    self.end_session(Some(failure::with_code(
                        Class::Transport,
                        &message,
                        "protocol",
                    )));
                }
            }
        }
    }

    fn said(&mut self, said: Said<'_>) {
        match said {
            Said::Hello { version } => self.greeted(version),
            Said::Opened { thread, native } => self.opened(&thread, native),
            Said::OpenFailed { thread, message } => {
                self.stop_waiting(&Wait::Open(thread.clone()));
                self.drop_thread(&thread, &message);
            }
            Said::Closed { thread } => self.closed(&thread),
            Said::TurnStarted { turn } => self.started(&turn),
            Said::TurnRefused { turn, message } => self.turn_refused(&turn, &message),
            Said::Text(text) => self.appended(&text, "message"),
            Said::TextEnded(text) => self.text_ended(&text, "message"),
            Said::Reasoning(text) => self.appended(&text, "reasoning"),
            Said::ReasoningEnded(text) => self.text_ended(&text, "reasoning"),
            Said::Tool(tool) => self.tool(&tool),
            Said::Approval {
                turn,
                request,
                title,
            } => {
                let prompt = approval(&title);
                self.asked(turn, request, RequestKind::Approval, prompt);
            }
            Said::Question {
                turn,
                request,
                questions,
            } => {
                let prompt = Prompt::Questions(questions.into_iter().map(question).collect());
                self.asked(turn, request, RequestKind::Questions, prompt);
            }
            Said::RequestClosed { request, reason } => self.request_closed(request, &reason),
            Said::AnswerRefused { request, message } => self.reopen_request(&request, &message),
            Said::Steered { turn } => self.steered(&turn, EffectOutcome::Done),
            Said::SteerRefused { turn, message } => {
                let refused = EffectOutcome::Refused(failure::validation(&message));
                self.steered(&turn, refused);
            }
            Said::InterruptRefused { turn, message } => self.interrupt_refused(&turn, &message),
            Said::Usage(usage) => self.used(usage),
            Said::TurnEnded {
                turn,
                outcome,
                message,
            } => self.turn_ended(&turn, &outcome, message),
            Said::Error { message } => {
                logging::write(LogLevel::Warn, &format!("the agent complains: {message}"));
            }
            Said::Unknown => logging::write(LogLevel::Debug, "an event of a newer agent"),
        }
    }

    fn greeted(&mut self, version: String) {
        self.stop_waiting(&Wait::Hello);
        if self.process != Process::Greeting {
            return;
        }
        self.process = Process::Ready;
        self.version = Some(version);
        match self.purpose {
            Purpose::Probe => {
                self.show_snapshot(None);
                self.finish();
            }
            Purpose::Session => self.ask_open_all(),
        }
    }

    fn opened(&mut self, thread_id: &str, native: String) {
        self.stop_waiting(&Wait::Open(thread_id.to_owned()));
        let Some(thread) = self.thread(thread_id) else {
            return;
        };
        thread.open = true;
        let effect_id = thread.open_effect.clone();
        if self.effects.settle(&effect_id).is_some() {
            self.out.emit(Event::ThreadReady(ThreadReady {
                thread_id: thread_id.to_owned(),
                native_thread_id: native,
                resumable: true,
                capabilities: None,
                model: Some(MODEL.to_owned()),
                extra: None,
            }));
        }
        self.try_start(thread_id);
    }

    fn closed(&mut self, thread_id: &str) {
        self.stop_waiting(&Wait::Close(thread_id.to_owned()));
        let Some(position) = self
            .threads
            .iter()
            .position(|thread| thread.host_id == thread_id && thread.close_effect.is_some())
        else {
            return;
        };
        let thread = self.threads.remove(position);
        if let Some(turn) = thread.turn {
            let lost = failure::validation("The thread was closed.");
            self.finish_turn(turn, TurnOutcome::Interrupted, "broken", &lost);
        }
        if let Some(effect_id) = &thread.close_effect {
            self.end_effect(effect_id, EffectOutcome::Done);
        }
    }

    fn started(&mut self, turn_id: &str) {
        self.stop_waiting(&Wait::Start(turn_id.to_owned()));
        let Some(turn) = self.turn(turn_id).filter(|turn| !turn.announced) else {
            return;
        };
        turn.announced = true;
        let effect_id = turn.start_effect.clone();
        self.effects.settle(&effect_id);
        self.out.emit(Event::TurnStarted(TurnStarted {
            turn_id: turn_id.to_owned(),
            native_turn_id: None,
        }));
    }

    fn turn_refused(&mut self, turn_id: &str, message: &str) {
        let never_started = self.turn(turn_id).is_some_and(|turn| !turn.announced);
        if !never_started {
            return;
        }
        if let Some(turn) = self.take_turn(turn_id) {
            self.refuse_open(&turn.start_effect, message);
            let lost = failure::validation(message);
            self.finish_turn(turn, TurnOutcome::Interrupted, "reusable", &lost);
        }
    }

    fn turn_ended(&mut self, turn_id: &str, outcome: &str, message: Option<String>) {
        let started = self.turn(turn_id).is_some_and(|turn| turn.announced);
        if !started {
            return;
        }
        let (mine, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.requests)
            .into_iter()
            .partition(|open| open.turn == turn_id);
        self.requests = others;
        for request in mine {
            if let Some(effect_id) = &request.answer_effect {
                self.refuse_open(effect_id, "The turn ended before.");
            }
            self.report_closed(request.request_id, "turn-ended");
        }
        let outcome = match outcome {
            "completed" => TurnOutcome::Completed,
            "interrupted" => TurnOutcome::Interrupted,
            _ => TurnOutcome::Failed(turn_failure(message)),
        };
        if let Some(turn) = self.take_turn(turn_id) {
            let lost = failure::transport("The turn ended without having started.");
            self.finish_turn(turn, outcome, "reusable", &lost);
        }
    }

    fn steered(&mut self, turn_id: &str, outcome: EffectOutcome) {
        // One that the end of its turn answered is not waited for any more.
        if let Some(effect_id) = self.turn(turn_id).and_then(|turn| turn.steers.pop_front()) {
            self.end_effect(&effect_id, outcome);
        }
    }

    fn interrupt_refused(&mut self, turn_id: &str, message: &str) {
        self.stop_waiting(&Wait::Interrupt(turn_id.to_owned()));
        if let Some(effect_id) = self.turn(turn_id).and_then(|turn| turn.interrupt.take()) {
            self.refuse_open(&effect_id, message);
        }
    }

    fn used(&mut self, usage: wire::Usage) {
        if self.turn(&usage.turn).is_none() {
            return;
        }
        self.out.emit(Event::Usage(Usage {
            turn_id: usage.turn,
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            context_tokens: None,
            context_tokens_max: None,
            extra: None,
        }));
    }

    // ------------------------------------------------------------- items

    /// Opens an item of a turn, unless it is open. `false`: the turn is not running.
    fn open_item(&mut self, turn_id: &str, item_id: &str, kind: &str) -> bool {
        let Some(thread) = self.thread_of_turn(turn_id) else {
            return false;
        };
        let item = Item {
            item_id: item_id.to_owned(),
            thread_id: thread.host_id.clone(),
            turn_id: Some(turn_id.to_owned()),
            parent_item_id: None,
            kind: kind.to_owned(),
            status: ItemStatus::Running,
            title: None,
            text: None,
            head: blank_head(),
            body_json: "{}".to_owned(),
            extra: None,
        };
        let Some(turn) = self.turn(turn_id).filter(|turn| turn.announced) else {
            return false;
        };
        if turn.items.iter().all(|open| open.item_id != item_id) {
            turn.items.push(item.clone());
            self.out.emit(Event::Item(item));
        }
        true
    }

    /// Takes an item out of its turn: what is sent next about it is the last.
    fn take_item(&mut self, turn_id: &str, item_id: &str) -> Option<Item> {
        let turn = self.turn(turn_id)?;
        let position = turn.items.iter().position(|open| open.item_id == item_id)?;
        Some(turn.items.remove(position))
    }

    fn appended(&mut self, text: &wire::Text<'_>, kind: &str) {
        if self.open_item(&text.turn, &text.item, kind) {
            self.out.text(&text.item, &text.text);
        }
    }

    fn text_ended(&mut self, text: &wire::Text<'_>, kind: &str) {
        if !self.open_item(&text.turn, &text.item, kind) {
            return;
        }
        let stopped = self
            .turn(&text.turn)
            .is_some_and(|turn| turn.interrupt.is_some());
        let text_bytes_max = self.out.text_bytes_max();
        if let Some(mut item) = self.take_item(&text.turn, &text.item) {
            item.status = if stopped {
                ItemStatus::Interrupted
            } else {
                ItemStatus::Completed
            };
            // A longer one came in pieces, and those stay.
            item.text = (text.text.len() <= text_bytes_max).then(|| text.text.to_string());
            self.out.emit(Event::Item(item));
        }
    }

    fn tool(&mut self, tool: &wire::Tool<'_>) {
        let Some(thread) = self.thread_of_turn(&tool.turn) else {
            return;
        };
        let status = match tool.status.as_str() {
            "completed" => ItemStatus::Completed,
            "failed" => ItemStatus::Failed,
            "interrupted" => ItemStatus::Interrupted,
            _ => ItemStatus::Running,
        };
        let text_bytes_max = self.out.text_bytes_max();
        let (kind, title) = match &tool.server {
            Some(server) => ("mcp-tool", format!("{server}: {}", tool.name)),
            None => ("tool", tool.name.clone()),
        };
        let item = Item {
            item_id: tool.item.to_string(),
            thread_id: thread.host_id.clone(),
            turn_id: Some(tool.turn.to_string()),
            parent_item_id: None,
            kind: kind.to_owned(),
            status,
            title: Some(clip::one_line(&title, TITLE_BYTES_MAX)),
            text: None,
            head: ItemHead {
                name: Some(tool.name.clone()),
                server_name: tool.server.clone(),
                ..blank_head()
            },
            body_json: tool_body(tool, text_bytes_max),
            extra: None,
        };
        self.take_item(&tool.turn, &tool.item);
        if status == ItemStatus::Running
            && let Some(turn) = self.turn(&tool.turn)
        {
            turn.items.push(item.clone());
        }
        self.out.emit(Event::Item(item));
    }

    // ------------------------------------------------------------- requests

    fn asked(&mut self, turn_id: String, request_id: String, kind: RequestKind, prompt: Prompt) {
        let Some(thread) = self.thread_of_turn(&turn_id) else {
            return;
        };
        let request = Request {
            request_id: request_id.clone(),
            thread_id: thread.host_id.clone(),
            turn_id: Some(turn_id.clone()),
            item_id: None,
            blocking: true,
            prompt,
            detail_json: "{}".to_owned(),
            extra: None,
        };
        self.requests.push(OpenRequest {
            request_id,
            turn: turn_id,
            kind,
            answer_effect: None,
        });
        self.out.emit(Event::Request(request));
    }

    fn request_closed(&mut self, request_id: String, reason: &str) {
        let Some(position) = self
            .requests
            .iter()
            .position(|open| open.request_id == request_id)
        else {
            return;
        };
        let request = self.requests.remove(position);
        if let Some(effect_id) = &request.answer_effect {
            match reason {
                // The request's end is the answer.
                "answered" => {
                    self.effects.settle(effect_id);
                }
                _ => self.refuse_open(effect_id, "The turn ended before."),
            }
        }
        let reason = match reason {
            "answered" | "turn-ended" => reason,
            _ => "withdrawn",
        };
        self.report_closed(request_id, reason);
    }

    // ------------------------------------------------------------- silence and the end

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

fn blank_head() -> ItemHead {
    ItemHead {
        name: None,
        server_name: None,
        path: None,
        exit_code: None,
        lines_added: None,
        lines_removed: None,
        native_item_id: None,
    }
}

/// Arguments and result of a call, within the host's bound: what does not fit is left out.
fn tool_body(tool: &wire::Tool<'_>, bytes_max: usize) -> String {
    let result = tool.result.as_deref().map(|text| {
        // A result that is JSON is shown as such.
        serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
    });
    let body = json!({ "arguments": tool.arguments, "result": result });
    let body = body.to_string();
    if body.len() <= bytes_max {
        return body;
    }
    json!({ "omitted": format!("{} bytes", body.len()) }).to_string()
}

fn approval(title: &str) -> Prompt {
    Prompt::Approval(Approval {
        kind: "permission".to_owned(),
        title: clip::shortened(title, APPROVAL_TITLE_BYTES_MAX),
        reason: None,
        choices: DECISIONS.iter().map(|word| (*word).to_owned()).collect(),
        options: Vec::new(),
    })
}

fn question(asked: wire::Question) -> Question {
    let option = |value: String| QuestionOption {
        label: value.clone(),
        value,
        description: None,
    };
    Question {
        question_id: asked.id,
        header: asked.header,
        text: asked.text,
        options: asked.options.into_iter().map(option).collect(),
        multi_select: false,
        custom_answer: true,
        secret: false,
        required: true,
    }
}

/// A failed turn: `scripted 429` fails like a provider that answers with this status.
fn turn_failure(message: Option<String>) -> Failure {
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
