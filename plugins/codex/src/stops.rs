//! Stopping a turn, and ending what it left running.
//!
//! `turn/interrupt` ends the turn within milliseconds but leaves its shell commands alive (seen with 0.171.0). So a stop
//! is the interrupt, then ending each listed command, and only then is the turn reported as over: the next turn must not
//! lose a command of its own to the previous stop.
#![forbid(unsafe_code)]

use driver_sdk::clip;
use driver_sdk::failure;
use driver_sdk::limits::TITLE_BYTES_MAX;
use driver_sdk::types::{Background, BackgroundTask, EffectOutcome, Event, TurnOutcome};
use serde_json::json;

use crate::core::{Call, Codex};
use crate::errors;
use crate::limits::{
    BACKGROUND_END_MS, CALL_MS, INTERRUPT_AGAIN_MS, INTERRUPT_MS, LIST_ENTRIES_MAX,
};
use crate::thread::{Interrupt, Phase, ThreadKey};
use crate::timers::Purpose;
use crate::views::Terminals;

impl Codex {
    /// `interrupt`
    pub(crate) fn interrupt(&mut self, request: &driver_sdk::types::Interrupt) {
        self.effects.begin(&request.effect_id);
        let Some(key) = self.key_of_turn(&request.turn_id) else {
            let failure = failure::validation("This turn is not running.");
            self.end_effect(&request.effect_id, EffectOutcome::Refused(failure));
            return;
        };
        let Some(thread) = self.thread(key) else {
            return;
        };
        let Some(turn) = thread.turn.as_mut() else {
            return;
        };
        if turn.interrupt.is_some() {
            // Asked twice: the first is on its way, and the turn's end answers both.
            self.end_effect(&request.effect_id, EffectOutcome::Done);
            return;
        }
        turn.interrupt = Some(Interrupt {
            effect_id: request.effect_id.clone(),
            ends_background: request.background != "keep",
            sent: false,
        });
        if turn.phase == Phase::Held {
            let Some(turn) = thread.turn.take() else {
                return;
            };
            let stopped = failure::with_code(
                failure::Class::Validation,
                "The turn was stopped before it started.",
                "interrupted",
            );
            self.end_effect(&turn.start_effect, EffectOutcome::Refused(stopped.clone()));
            self.finish_interrupt_of(&turn, &stopped);
            return;
        }
        self.arm(Purpose::Interrupt(key), INTERRUPT_MS);
        self.send_interrupt(key);
    }

    /// Passes a stop on, once Codex named the turn.
    pub(crate) fn send_interrupt(&mut self, key: ThreadKey) {
        let Some(thread) = self.thread(key) else {
            return;
        };
        let Some(turn) = thread.turn.as_mut().filter(|turn| turn.is_running()) else {
            return;
        };
        let Some(interrupt) = turn.interrupt.as_mut().filter(|interrupt| !interrupt.sent) else {
            return;
        };
        interrupt.sent = true;
        let params = json!({ "threadId": thread.native, "turnId": turn.native });
        self.call(
            "turn/interrupt",
            &params,
            Call::Interrupt(key),
            INTERRUPT_MS,
        );
    }

    /// Codex refused a stop. If the turn goes on it was too early, and is asked again.
    pub(crate) fn interrupt_refused(&mut self, key: ThreadKey) {
        let Some(turn) = self.thread(key).and_then(|thread| thread.turn.as_mut()) else {
            return;
        };
        if !turn.is_running() {
            return;
        }
        if let Some(interrupt) = turn.interrupt.as_mut() {
            interrupt.sent = false;
            self.arm(Purpose::InterruptAgain(key), INTERRUPT_AGAIN_MS);
        }
    }

    /// The turn did not end although it was stopped.
    pub(crate) fn interrupt_ignored(&mut self, key: ThreadKey) {
        let waits = self
            .thread(key)
            .and_then(|thread| thread.turn.as_ref())
            .is_some_and(|turn| {
                turn.interrupt.is_some() && !matches!(turn.phase, Phase::Ending(_))
            });
        if waits {
            let failure = errors::silent("to a stop", INTERRUPT_MS);
            self.end_session(Some(failure));
        }
    }

    /// The turn is over at Codex.
    pub(crate) fn turn_over(&mut self, key: ThreadKey, outcome: TurnOutcome) {
        self.stop_timer(Purpose::Interrupt(key));
        self.stop_timer(Purpose::InterruptAgain(key));
        let Some(thread) = self.thread(key) else {
            return;
        };
        let has_commands = thread.items.iter().any(|open| open.item.kind == "command");
        let Some(turn) = thread.turn.as_mut().filter(|turn| turn.is_running()) else {
            return;
        };
        let stops = turn
            .interrupt
            .as_ref()
            .is_some_and(|interrupt| interrupt.ends_background);
        if stops {
            turn.phase = Phase::Ending(outcome);
            self.arm(Purpose::BackgroundEnd(key), BACKGROUND_END_MS);
            self.list_terminals(key);
            return;
        }
        self.end_turn(key, outcome, "reusable");
        if has_commands {
            self.list_terminals(key);
        }
    }

    fn list_terminals(&mut self, key: ThreadKey) {
        let Some(native) = self.thread(key).and_then(|thread| thread.native.clone()) else {
            return;
        };
        let params = json!({ "threadId": native });
        self.call(
            "thread/backgroundTerminals/list",
            &params,
            Call::ListTerminals(key),
            CALL_MS,
        );
    }

    /// The answer to `thread/backgroundTerminals/list`. `None`: this version has no such list.
    pub(crate) fn terminals_listed(&mut self, key: ThreadKey, list: Option<&Terminals>) {
        let Some(thread) = self.thread(key) else {
            return;
        };
        let native = thread.native.clone();
        let Some(turn) = thread
            .turn
            .as_mut()
            .filter(|turn| matches!(turn.phase, Phase::Ending(_)))
        else {
            if let Some(list) = list {
                self.report_background(key, list);
            }
            return;
        };
        let Some(list) = list else {
            // Versions without the list have a request that ends all of the thread's commands.
            let params = json!({ "threadId": native });
            let call = Call::CleanTerminals(key);
            self.call("thread/backgroundTerminals/clean", &params, call, CALL_MS);
            return;
        };
        turn.ending_calls = u32::try_from(list.data.len()).unwrap_or(u32::MAX);
        for terminal in &list.data {
            let params = json!({ "threadId": native, "processId": terminal.process_id });
            self.call(
                "thread/backgroundTerminals/terminate",
                &params,
                Call::Terminate(key),
                CALL_MS,
            );
        }
        if list.data.is_empty() {
            self.stop_is_done(key);
        }
    }

    /// One command was ended, or was gone already.
    pub(crate) fn terminal_ended(&mut self, key: ThreadKey) {
        let Some(turn) = self.thread(key).and_then(|thread| thread.turn.as_mut()) else {
            return;
        };
        turn.ending_calls = turn.ending_calls.saturating_sub(1);
        if turn.ending_calls == 0 {
            self.stop_is_done(key);
        }
    }

    /// Reports the end of a stopped turn, also when not all could be ended in time.
    pub(crate) fn stop_is_done(&mut self, key: ThreadKey) {
        let Some(turn) = self.thread(key).and_then(|thread| thread.turn.as_ref()) else {
            return;
        };
        if let Phase::Ending(outcome) = &turn.phase {
            let outcome = outcome.clone();
            self.end_turn(key, outcome, "reusable");
        }
    }

    /// Says which commands outlive their turn.
    fn report_background(&mut self, key: ThreadKey, list: &Terminals) {
        let Some(thread) = self.thread(key) else {
            return;
        };
        let task = |terminal: &crate::views::Terminal| {
            let native = terminal.item_id.as_deref().unwrap_or_default();
            let known = thread.late.iter().find(|late| late.native == native);
            BackgroundTask {
                task_id: known.map_or_else(|| native.to_owned(), |late| late.item.item_id.clone()),
                kind: "command".to_owned(),
                description: terminal
                    .command
                    .as_deref()
                    .map(|command| clip::one_line(command, TITLE_BYTES_MAX)),
            }
        };
        let tasks: Vec<BackgroundTask> =
            list.data.iter().take(LIST_ENTRIES_MAX).map(task).collect();
        if tasks.is_empty() && thread.background.is_empty() {
            return;
        }
        thread.background.clone_from(&tasks);
        let thread_id = thread.host_id.clone();
        self.out
            .emit(Event::Background(Background { thread_id, tasks }));
    }

    /// A command that outlived its turn is over.
    pub(crate) fn background_ended(&mut self, key: ThreadKey, item_id: &str) {
        let Some(thread) = self.thread(key) else {
            return;
        };
        let before = thread.background.len();
        thread.background.retain(|task| task.task_id != item_id);
        if thread.background.len() != before {
            let (thread_id, tasks) = (thread.host_id.clone(), thread.background.clone());
            self.out
                .emit(Event::Background(Background { thread_id, tasks }));
        }
    }

    /// Stops a turn whose thread is let go of.
    pub(crate) fn abandon_turn(&mut self, key: ThreadKey) {
        let Some(thread) = self.thread(key) else {
            return;
        };
        let native = thread.native.clone();
        let named = thread.turn.as_ref().filter(|turn| turn.native.is_some());
        if let Some(turn) = named {
            let params = json!({ "threadId": native, "turnId": turn.native });
            self.call(
                "turn/interrupt",
                &params,
                Call::Interrupt(key),
                INTERRUPT_MS,
            );
        }
        let announced = self
            .thread(key)
            .and_then(|thread| thread.turn.as_ref())
            .is_some_and(|turn| turn.announced);
        if announced {
            self.end_turn(key, TurnOutcome::Interrupted, "broken");
        } else {
            self.lose_turn(key, &failure::validation("The thread was closed."));
        }
    }
}
