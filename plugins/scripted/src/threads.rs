//! What the host asks for: threads, turns, added text, stops and answers.
#![forbid(unsafe_code)]

use driver_sdk::failure;
use driver_sdk::types::{
    Answer, CloseThread, EffectOutcome, Interrupt, ModelSelection, OpenThread, Reply, SetModel,
    SetModes, StartTurn, Steer, TurnOutcome,
};

use crate::core::{Process, Scripted};
use crate::describe::MODEL;
use crate::state::{RequestKind, Thread, Turn};
use crate::waits::Wait;
use crate::wire::{self, Mcp, Op};

/// Why something that doesn't fit a line can't be sent.
const TOO_LONG: &str = "The text is longer than a line to the agent may be.";
const UNKNOWN_THREAD: &str = "This session does not hold the thread.";
const NOT_RUNNING: &str = "This turn is not running.";
const TEXT_ALONE: &str = "The scripted agent takes text alone.";

impl Scripted {
    /// `open-thread`
    pub(crate) fn open_thread(&mut self, open: OpenThread) {
        let threads_max = usize::try_from(self.settings.threads_per_session).unwrap_or(usize::MAX);
        let refusal = if self.thread(&open.thread_id).is_some() {
            Some("This session holds the thread already.".to_owned())
        } else if self.threads.len() >= threads_max {
            Some(format!(
                "This session holds as many threads as it may: {threads_max}."
            ))
        } else {
            wrong_model(&open.model)
        };
        if let Some(message) = refusal {
            self.refuse(&open.effect_id, &message);
            return;
        }
        self.effects.begin(&open.effect_id);
        let thread_id = open.thread_id.clone();
        self.threads.push(Thread::new(open));
        self.ask_open(&thread_id);
    }

    /// Tells the agent to open every thread that waits for it.
    pub(crate) fn ask_open_all(&mut self) {
        let waiting: Vec<String> = self
            .threads
            .iter()
            .map(|thread| thread.host_id.clone())
            .collect();
        for thread_id in waiting {
            self.ask_open(&thread_id);
        }
    }

    fn ask_open(&mut self, thread_id: &str) {
        if self.process != Process::Ready {
            return;
        }
        let Some(open) = self.thread(thread_id).and_then(|thread| thread.held.take()) else {
            return;
        };
        let op = Op::Open {
            thread: thread_id,
            native: open.native_thread_id.as_deref(),
            mcp: open.mcp.as_ref().map(|mcp| Mcp {
                url: &mcp.url,
                authorization: &mcp.authorization,
                server_name: &mcp.server_name,
                protocol_version: &mcp.protocol_version,
            }),
        };
        if self.say(&op) {
            self.effects.sent(&open.effect_id);
            self.wait(Wait::Open(thread_id.to_owned()));
        } else {
            self.drop_thread(thread_id, TOO_LONG);
        }
    }

    /// Lets go of a thread that could not be opened, and answers for it and for a turn held for it.
    pub(crate) fn drop_thread(&mut self, thread_id: &str, message: &str) {
        let Some(position) = self
            .threads
            .iter()
            .position(|thread| thread.host_id == thread_id)
        else {
            return;
        };
        let thread = self.threads.remove(position);
        if let Some(turn) = &thread.turn {
            self.refuse_open(&turn.start_effect, message);
        }
        self.refuse_open(&thread.open_effect, message);
        if let Some(effect_id) = &thread.close_effect {
            self.stop_waiting(&Wait::Close(thread_id.to_owned()));
            self.end_effect(effect_id, EffectOutcome::Done);
        }
    }

    /// `close-thread`
    pub(crate) fn close_thread(&mut self, close: &CloseThread) {
        let ready = self.process == Process::Ready;
        let Some(thread) = self.thread(&close.thread_id) else {
            self.refuse(&close.effect_id, UNKNOWN_THREAD);
            return;
        };
        if thread.close_effect.is_some() {
            self.refuse(&close.effect_id, "The thread is being closed already.");
            return;
        }
        thread.close_effect = Some(close.effect_id.clone());
        self.effects.begin(&close.effect_id);
        if ready {
            self.say(&Op::Close {
                thread: &close.thread_id,
            });
            self.effects.sent(&close.effect_id);
            self.wait(Wait::Close(close.thread_id.clone()));
        } else {
            // The agent was told nothing of it yet.
            self.drop_thread(&close.thread_id, "The thread was closed.");
        }
    }

    /// `set-modes`: the agent has none of its own, and asks whenever its script says so.
    pub(crate) fn set_modes(&mut self, set: &SetModes) {
        if self.thread(&set.thread_id).is_none() {
            self.refuse(&set.effect_id, UNKNOWN_THREAD);
            return;
        }
        self.effects.begin(&set.effect_id);
        self.end_effect(&set.effect_id, EffectOutcome::Done);
    }

    /// `set-model`: there is one.
    pub(crate) fn set_model(&mut self, set: &SetModel) {
        let refusal = match self.thread(&set.thread_id) {
            None => Some(UNKNOWN_THREAD.to_owned()),
            Some(_) => wrong_model(&set.model),
        };
        if let Some(message) = refusal {
            self.refuse(&set.effect_id, &message);
            return;
        }
        self.effects.begin(&set.effect_id);
        self.end_effect(&set.effect_id, EffectOutcome::Done);
    }

    /// `start-turn`
    pub(crate) fn start_turn(&mut self, start: StartTurn) {
        let refusal = match self.thread(&start.thread_id) {
            None => Some(UNKNOWN_THREAD.to_owned()),
            Some(thread) if thread.close_effect.is_some() => {
                Some("The thread is being closed.".to_owned())
            }
            Some(thread) if thread.turn.is_some() => {
                Some("The thread runs another turn.".to_owned())
            }
            Some(_) if !start.attachments.is_empty() => Some(TEXT_ALONE.to_owned()),
            Some(_) => wrong_model(&start.model),
        };
        if let Some(message) = refusal {
            self.refuse(&start.effect_id, &message);
            return;
        }
        self.effects.begin(&start.effect_id);
        let thread_id = start.thread_id.clone();
        if let Some(thread) = self.thread(&thread_id) {
            thread.turn = Some(Turn::new(start));
        }
        self.try_start(&thread_id);
    }

    /// Starts the turn of a thread, once the thread is open.
    pub(crate) fn try_start(&mut self, thread_id: &str) {
        let Some(start) = self
            .thread(thread_id)
            .filter(|thread| thread.open)
            .and_then(|thread| thread.turn.as_mut())
            .and_then(|turn| turn.held.take())
        else {
            return;
        };
        let op = Op::Turn {
            thread: thread_id,
            turn: &start.turn_id,
            text: &start.text,
            instructions: start.instructions.as_deref(),
            context: start.context_transfer.as_deref(),
        };
        if self.say(&op) {
            self.effects.sent(&start.effect_id);
            self.wait(Wait::Start(start.turn_id));
        } else {
            self.take_turn(&start.turn_id);
            self.refuse_open(&start.effect_id, TOO_LONG);
        }
    }

    /// `steer`
    pub(crate) fn steer(&mut self, steer: &Steer) {
        let running = self
            .turn(&steer.turn_id)
            .is_some_and(|turn| turn.held.is_none());
        let refusal = match running {
            false => Some(NOT_RUNNING),
            true if !steer.attachments.is_empty() => Some(TEXT_ALONE),
            true => None,
        };
        if let Some(message) = refusal {
            self.refuse(&steer.effect_id, message);
            return;
        }
        self.effects.begin(&steer.effect_id);
        let op = Op::Steer {
            turn: &steer.turn_id,
            text: &steer.text,
        };
        if !self.say(&op) {
            self.refuse_open(&steer.effect_id, TOO_LONG);
            return;
        }
        self.effects.sent(&steer.effect_id);
        if let Some(turn) = self.turn(&steer.turn_id) {
            turn.steers.push_back(steer.effect_id.clone());
        }
    }

    /// `interrupt`. The agent leaves nothing in the background.
    pub(crate) fn interrupt(&mut self, interrupt: &Interrupt) {
        let Some(turn) = self.turn(&interrupt.turn_id) else {
            self.refuse(&interrupt.effect_id, NOT_RUNNING);
            return;
        };
        if turn.interrupt.is_some() {
            self.refuse(&interrupt.effect_id, "The turn is being stopped already.");
            return;
        }
        let held = turn.held.is_some();
        turn.interrupt = Some(interrupt.effect_id.clone());
        self.effects.begin(&interrupt.effect_id);
        if held {
            // The agent was told nothing of it yet.
            if let Some(turn) = self.take_turn(&interrupt.turn_id) {
                let stopped = failure::validation("The turn was stopped before it started.");
                self.finish_turn(turn, TurnOutcome::Interrupted, "reusable", &stopped);
            }
            return;
        }
        self.say(&Op::Interrupt {
            turn: &interrupt.turn_id,
        });
        self.effects.sent(&interrupt.effect_id);
        self.wait(Wait::Interrupt(interrupt.turn_id.clone()));
    }

    /// `answer`
    pub(crate) fn answer(&mut self, answer: &Answer) {
        let request = self
            .requests
            .iter_mut()
            .find(|open| open.request_id == answer.request_id && open.answer_effect.is_none());
        let Some(request) = request else {
            self.refuse(&answer.effect_id, "This request is no longer open.");
            return;
        };
        let reply = match (request.kind, &answer.reply) {
            (RequestKind::Approval, Reply::Decision(decision)) => {
                wire::Reply::Decision(&decision.choice)
            }
            (RequestKind::Questions, Reply::Answers(answers)) => wire::Reply::Answers(
                answers
                    .iter()
                    .map(|answer| (answer.question_id.as_str(), answer.values.as_slice()))
                    .collect(),
            ),
            (_, Reply::Dismissed(reason)) => wire::Reply::Dismissed(reason),
            (RequestKind::Approval, Reply::Answers(_)) => {
                self.refuse(&answer.effect_id, "An approval takes a decision.");
                return;
            }
            (RequestKind::Questions, Reply::Decision(_)) => {
                self.refuse(&answer.effect_id, "A question takes answers.");
                return;
            }
        };
        request.answer_effect = Some(answer.effect_id.clone());
        self.effects.begin(&answer.effect_id);
        let op = Op::Answer {
            request: &answer.request_id,
            reply,
        };
        if self.say(&op) {
            self.effects.sent(&answer.effect_id);
        } else {
            self.reopen_request(&answer.request_id, TOO_LONG);
        }
    }

    /// An answer did not get through: the request stays open.
    pub(crate) fn reopen_request(&mut self, request_id: &str, message: &str) {
        let effect_id = self
            .requests
            .iter_mut()
            .find(|open| open.request_id == request_id)
            .and_then(|open| open.answer_effect.take());
        if let Some(effect_id) = effect_id {
            self.refuse_open(&effect_id, message);
        }
    }
}

/// Why a model can't be chosen.
fn wrong_model(selection: &ModelSelection) -> Option<String> {
    match (&selection.model, selection.options.first()) {
        (Some(model), _) if model != MODEL => Some(format!(
            "The scripted agent has one model, `{MODEL}`, not `{model}`."
        )),
        (_, Some(option)) => Some(format!(
            "The model `{MODEL}` has no option `{}`.",
            option.id
        )),
        (_, None) => None,
    }
}
