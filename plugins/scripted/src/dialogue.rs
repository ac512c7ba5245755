//! What the agent says.
#![forbid(unsafe_code)]

use driver_sdk::failure::{self, Class};
use driver_sdk::logging::{self, LogLevel};
use driver_sdk::types::{
    EffectOutcome, Event, Line, LineState, Output, Prompt, ThreadReady, TurnOutcome, TurnStarted,
    Usage,
};

use crate::core::{Process, Purpose, Scripted};
use crate::describe::MODEL;
use crate::ending::turn_failure;
use crate::requests::{approval, question};
use crate::state::RequestKind;
use crate::waits::Wait;
use crate::wire::{self, Read, Said};

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
}
