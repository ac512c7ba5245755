//! Work for threads becomes inputs for the driver.

use domain::ids::{MessageId, RequestId, RunId, ThreadId};
use domain::provider_event::TurnOutcome;
use domain::request::Prompt;
use threads::ports::{ProviderWork, ThreadOpening};
use tokio::time::Instant;

use super::{
    Effects, Interrupted, Ledger, LiveTurn, Owed, Phase, TurnPhase, steer_too_late, turn_ended,
};
use crate::bindings::convert;
use crate::bindings::v0_1::types as wit;
use crate::manifest::ThreadsHeld;

impl Ledger {
    pub(super) fn start_turn(
        &mut self,
        opening: ThreadOpening,
        run_id: RunId,
        text: String,
        now: Instant,
        effects: &mut Effects,
    ) {
        if self.turns.contains_key(&run_id) || self.turns_over.contains(&run_id) {
            tracing::error!(run = %run_id, "a turn was handed out twice; the second time is ignored");
            return;
        }
        let thread_id = opening.thread_id.clone();
        let work = ProviderWork::StartTurn {
            thread: opening,
            run_id,
            text,
        };
        let taken = !self.threads.is_empty() || self.is_spent();
        if let Some(thread) = self.threads.get_mut(&thread_id) {
            thread.queue.push_back(work);
        } else if self.held == ThreadsHeld::One && taken {
            effects.handed_back.push(work);
            return;
        } else {
            self.take_thread(thread_id.clone(), work, now, effects);
        }
        self.pump(&thread_id, now, effects);
    }

    /// Starts the next turn of a thread, if it can start one.
    pub(super) fn pump(&mut self, thread_id: &ThreadId, now: Instant, effects: &mut Effects) {
        loop {
            let Some(thread) = self.threads.get_mut(thread_id) else {
                return;
            };
            let Some(ProviderWork::StartTurn {
                thread: opening, ..
            }) = thread.queue.front()
            else {
                // A steer behind a turn that is over by now.
                let Some(work) = thread.queue.pop_front() else {
                    return;
                };
                let more = self.work(work, now);
                effects.reports.extend(more.reports);
                effects.inputs.extend(more.inputs);
                continue;
            };
            if thread.live.is_some() || matches!(thread.phase, Phase::Opening { .. }) {
                return;
            }
            let opening = opening.clone();
            if self.must_reopen(thread_id, &opening) {
                self.reopen(thread_id, opening, now, effects);
                return;
            }
            let Some(thread) = self.threads.get_mut(thread_id) else {
                return;
            };
            let Some(ProviderWork::StartTurn {
                thread: opening,
                run_id,
                text,
            }) = thread.queue.pop_front()
            else {
                return;
            };
            self.submit_turn(&opening, &run_id, text, now, effects);
            self.pass_on_behind_turn(thread_id, now, effects);
            return;
        }
    }

    /// Steers that were queued behind the turn just submitted go with it.
    fn pass_on_behind_turn(&mut self, thread_id: &ThreadId, now: Instant, effects: &mut Effects) {
        while let Some(thread) = self.threads.get_mut(thread_id) {
            match thread.queue.front() {
                None | Some(ProviderWork::StartTurn { .. }) => return,
                Some(_) => {}
            }
            let Some(work) = thread.queue.pop_front() else {
                return;
            };
            let more = self.work(work, now);
            effects.reports.extend(more.reports);
            effects.inputs.extend(more.inputs);
        }
    }

    pub(super) fn submit_turn(
        &mut self,
        opening: &ThreadOpening,
        run_id: &RunId,
        text: String,
        now: Instant,
        effects: &mut Effects,
    ) {
        let thread_id = opening.thread_id.clone();
        let effect_id = self.owe(Owed::Start(run_id.clone()));
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        thread.live = Some(run_id.clone());
        thread.last_active = now;
        thread.opened_with = (opening.model.clone(), opening.modes);
        let instructions = match opening.conversation {
            threads::ports::Conversation::New => thread.instructions.take(),
            threads::ports::Conversation::Begun => None,
        };
        self.turns.insert(
            run_id.clone(),
            LiveTurn {
                thread: thread_id.clone(),
                phase: TurnPhase::Submitted { since: now },
                interrupted: None,
                steers: Vec::new(),
            },
        );
        self.identity
            .credentials
            .turn_started(&thread_id, &self.identity.session);
        effects.inputs.push(wit::Input::StartTurn(wit::StartTurn {
            effect_id,
            thread_id: thread_id.to_string(),
            turn_id: run_id.to_string(),
            text,
            attachments: Vec::new(),
            model: convert::model_to_guest(&opening.model),
            modes: convert::modes_to_guest(opening.modes),
            instructions,
            context_transfer: None,
            extra: None,
        }));
    }

    pub(super) fn steer(
        &mut self,
        thread_id: ThreadId,
        run_id: RunId,
        message_id: MessageId,
        text: String,
        effects: &mut Effects,
    ) {
        if let Some(turn) = self.turns.get_mut(&run_id) {
            match turn.phase {
                TurnPhase::Submitted { .. } => turn.steers.push((message_id, text)),
                TurnPhase::Started => self.send_steer(&run_id, message_id, text, effects),
            }
            return;
        }
        let queued = self.threads.get_mut(&thread_id).filter(|thread| {
            thread.queue.iter().any(
                |work| matches!(work, ProviderWork::StartTurn { run_id: queued, .. } if *queued == run_id),
            )
        });
        match queued {
            Some(thread) => {
                thread.queue.push_back(ProviderWork::Steer {
                    thread_id,
                    run_id,
                    message_id,
                    text,
                });
            }
            None => effects.reports.push(steer_too_late(run_id, message_id)),
        }
    }

    pub(super) fn send_steer(
        &mut self,
        run_id: &RunId,
        message_id: MessageId,
        text: String,
        effects: &mut Effects,
    ) {
        let effect_id = self.owe(Owed::Steer(run_id.clone(), message_id));
        effects.inputs.push(wit::Input::Steer(wit::Steer {
            effect_id,
            turn_id: run_id.to_string(),
            text,
            attachments: Vec::new(),
            extra: None,
        }));
    }

    pub(super) fn interrupt(
        &mut self,
        thread_id: &ThreadId,
        run_id: &RunId,
        reason: String,
        now: Instant,
        effects: &mut Effects,
    ) {
        if let Some(turn) = self.turns.get_mut(run_id) {
            if turn.interrupted.is_some() {
                return;
            }
            turn.interrupted = Some(Interrupted { since: now });
            self.send_interrupt(run_id, reason, effects);
            return;
        }
        let Some(thread) = self.threads.get_mut(thread_id) else {
            return;
        };
        let before = thread.queue.len();
        let mut steers = Vec::new();
        thread.queue.retain(|work| match work {
            ProviderWork::StartTurn { run_id: queued, .. } => queued != run_id,
            ProviderWork::Steer {
                run_id: queued,
                message_id,
                ..
            } if queued == run_id => {
                steers.push(message_id.clone());
                false
            }
            _ => true,
        });
        if thread.queue.len() == before {
            return;
        }
        self.turns_over.insert(run_id.clone());
        for message_id in steers {
            effects
                .reports
                .push(steer_too_late(run_id.clone(), message_id));
        }
        effects
            .reports
            .push(turn_ended(run_id.clone(), TurnOutcome::Interrupted));
    }

    pub(super) fn send_interrupt(&mut self, run_id: &RunId, reason: String, effects: &mut Effects) {
        let effect_id = self.owe(Owed::Interrupt(run_id.clone()));
        effects.inputs.push(wit::Input::Interrupt(wit::Interrupt {
            effect_id,
            turn_id: run_id.to_string(),
            reason,
            background: "end".to_owned(),
            extra: None,
        }));
    }

    pub(super) fn answer(
        &mut self,
        request_id: &RequestId,
        reply: domain::request::Reply,
        effects: &mut Effects,
    ) {
        let open = self
            .requests
            .iter()
            .find(|(_, open)| open.id == *request_id);
        let Some((driver_id, open)) = open else {
            tracing::debug!(request = %request_id, "an answer came too late for its request");
            return;
        };
        let options = match &open.prompt {
            Prompt::Approval(approval) => approval.options.as_slice(),
            Prompt::Questions(_) => &[],
        };
        let reply = convert::reply_to_guest(reply, options);
        let driver_id = driver_id.clone();
        let effect_id = self.owe(Owed::Answer(driver_id.clone()));
        effects.inputs.push(wit::Input::Answer(wit::Answer {
            effect_id,
            request_id: driver_id,
            reply,
            extra: None,
        }));
    }

    pub(super) fn owe(&mut self, owed: Owed) -> String {
        self.effects_made += 1;
        let id = format!("effect-{}", self.effects_made);
        self.effects.insert(id.clone(), owed);
        id
    }
}
