//! A turn from `start-turn` to `turn-ended`.
#![forbid(unsafe_code)]

use driver_sdk::failure;
use driver_sdk::jsonrpc::RpcError;
use driver_sdk::types::{
    Attachment, EffectOutcome, Event, Failure, ModelSelection, OptionValue, StartTurn, Steer,
    TurnEnded, TurnOutcome, TurnStarted,
};
use serde_json::{Map, Value, json};

use crate::core::{Call, Codex};
use crate::describe::{EFFORT_OPTION, IMAGE_TYPES};
use crate::errors;
use crate::limits::CALL_MS;
use crate::policy::Policy;
use crate::thread::{McpState, Phase, Thread, ThreadKey, Turn};
use crate::timers::Purpose;
use crate::views;

/// Effort of a planning turn where none is chosen, as Codex's own list of modes has it.
const PLAN_EFFORT: &str = "medium";

impl Codex {
    /// `start-turn`
    pub(crate) fn start_turn(&mut self, start: StartTurn) {
        self.effects.begin(&start.effect_id);
        let Some(key) = self.key_of(&start.thread_id) else {
            self.refuse_unknown_thread(&start.effect_id);
            return;
        };
        let refusal = if self.thread(key).is_some_and(|thread| thread.turn.is_some()) {
            Some("The thread runs a turn already.".to_owned())
        } else {
            self.unknown_option(&start.model)
                .or_else(|| unusable_attachment(&start.attachments))
        };
        if let Some(message) = refusal {
            self.end_effect(
                &start.effect_id,
                EffectOutcome::Refused(failure::validation(&message)),
            );
            return;
        }
        if let Some(thread) = self.thread(key) {
            thread.modes = start.modes.clone();
            thread.selection = start.model.clone();
            thread.meter.reset();
            thread.turn = Some(Turn::new(start));
            if thread.native.is_none() {
                self.ask_open(key);
            }
        }
        self.try_start(key);
    }

    /// Sends a held turn, once its thread is open and its MCP server reported.
    pub(crate) fn try_start(&mut self, key: ThreadKey) {
        let Some(thread) = self.thread(key) else {
            return;
        };
        let (Some(native), true) = (thread.native.clone(), thread.mcp_state != McpState::Waiting)
        else {
            return;
        };
        let Some(start) = thread.turn.as_mut().and_then(|turn| turn.held.take()) else {
            return;
        };
        let proven = thread.mcp_state == McpState::Ready;
        let params = match turn_params(thread, &native, &start, proven) {
            Ok(params) => params,
            Err(message) => {
                thread.turn = None;
                self.end_effect(
                    &start.effect_id,
                    EffectOutcome::Refused(failure::validation(&message)),
                );
                return;
            }
        };
        if let Some(turn) = thread.turn.as_mut() {
            turn.phase = Phase::Asked;
        }
        self.effects.sent(&start.effect_id);
        if !self.call("turn/start", &params, Call::StartTurn(key), CALL_MS) {
            if let Some(thread) = self.thread(key) {
                thread.turn = None;
            }
            let failure =
                failure::validation("The prompt is longer than one frame may be. Send less text.");
            self.end_effect(&start.effect_id, EffectOutcome::Refused(failure));
        }
    }

    /// The answer to `turn/start`.
    pub(crate) fn turn_answered(
        &mut self,
        key: ThreadKey,
        answer: Result<Option<&str>, RpcError<'_>>,
    ) {
        match answer {
            Ok(Some(native)) => self.turn_named(key, native),
            // The turn runs and its name comes with `turn/started`.
            Ok(None) => {}
            Err(error) => {
                let Some(thread) = self.thread(key) else {
                    return;
                };
                let Some(turn) = thread.turn.take_if(|turn| !turn.announced) else {
                    return;
                };
                self.stop_timer(Purpose::Interrupt(key));
                let failure = errors::of_call("to start the turn", &error);
                self.end_effect(&turn.start_effect, EffectOutcome::Refused(failure.clone()));
                self.finish_interrupt_of(&turn, &failure);
            }
        }
    }

    /// `turn/started`: from here on Codex takes a stop or further text; between its answer and this it refuses both.
    pub(crate) fn turn_started(&mut self, native_thread: &str, native_turn: &str) {
        let Some(key) = self.key_of_native(native_thread) else {
            return;
        };
        self.turn_named(key, native_turn);
        let Some(turn) = self
            .thread(key)
            .and_then(|thread| thread.turn_named(native_turn))
        else {
            return;
        };
        if turn.phase != Phase::Named {
            return;
        }
        turn.phase = Phase::Running;
        for steer in std::mem::take(&mut turn.held_steers) {
            self.send_steer(key, &steer);
        }
        self.send_interrupt(key);
    }

    /// Codex named the turn, which it does twice: say so once.
    fn turn_named(&mut self, key: ThreadKey, native: &str) {
        let Some(turn) = self.thread(key).and_then(|thread| thread.turn.as_mut()) else {
            return;
        };
        if turn.phase != Phase::Asked {
            return;
        }
        turn.native = Some(native.to_owned());
        turn.announced = true;
        turn.phase = Phase::Named;
        let started = TurnStarted {
            turn_id: turn.host_id.clone(),
            native_turn_id: turn.native.clone(),
        };
        let effect_id = turn.start_effect.clone();
        self.effects.settle(&effect_id);
        self.out.emit(Event::TurnStarted(started));
    }

    /// `steer`
    pub(crate) fn steer(&mut self, steer: Steer) {
        self.effects.begin(&steer.effect_id);
        let refused = |message: &str| EffectOutcome::Refused(failure::validation(message));
        if let Some(message) = unusable_attachment(&steer.attachments) {
            self.end_effect(&steer.effect_id, refused(&message));
            return;
        }
        let Some(key) = self.key_of_turn(&steer.turn_id) else {
            self.end_effect(&steer.effect_id, refused("This turn is not running."));
            return;
        };
        let Some(turn) = self.thread(key).and_then(|thread| thread.turn.as_mut()) else {
            return;
        };
        match turn.phase {
            Phase::Held | Phase::Asked | Phase::Named if turn.interrupt.is_none() => {
                turn.held_steers.push(steer);
            }
            Phase::Running if turn.interrupt.is_none() => self.send_steer(key, &steer),
            _ => self.end_effect(&steer.effect_id, refused("This turn is ending.")),
        }
    }

    fn send_steer(&mut self, key: ThreadKey, steer: &Steer) {
        let Some(thread) = self.thread(key) else {
            return;
        };
        let native_turn = thread.turn.as_ref().and_then(|turn| turn.native.clone());
        let (Some(native), Some(native_turn)) = (thread.native.clone(), native_turn) else {
            return;
        };
        let params = json!({
            "threadId": native,
            "expectedTurnId": native_turn,
            "clientUserMessageId": steer.effect_id,
            "input": user_input(&[Some(&steer.text)], &steer.attachments),
        });
        self.effects.sent(&steer.effect_id);
        if !self.call(
            "turn/steer",
            &params,
            Call::Steer(steer.effect_id.clone()),
            CALL_MS,
        ) {
            let failure = failure::validation("The text is longer than one frame may be.");
            self.end_effect(&steer.effect_id, EffectOutcome::Refused(failure));
        }
    }

    /// `turn/completed`
    pub(crate) fn turn_completed(&mut self, notice: &views::TurnNotice) {
        let native = notice.turn.id.as_str();
        // A turn may be over before its start was answered.
        self.turn_started(&notice.thread_id, native);
        let Some(thread) = self.thread_native(&notice.thread_id) else {
            return;
        };
        let key = thread.key;
        let Some(turn) = thread.turn_named(native) else {
            return;
        };
        let outcome = match notice.turn.status.as_deref().unwrap_or_default() {
            "completed" => TurnOutcome::Completed,
            "interrupted" => TurnOutcome::Interrupted,
            status => {
                let told = notice.turn.error.as_ref().map(errors::of_turn);
                let failure = told.or_else(|| turn.failure.take());
                TurnOutcome::Failed(failure.unwrap_or_else(|| {
                    let message = format!("Codex ended the turn as `{status}` without a reason.");
                    failure::new(failure::Class::Provider, &message)
                }))
            }
        };
        self.turn_over(key, outcome);
    }

    /// Reports the end of a turn: every open item, request and effect of it first, then `turn-ended`, once.
    pub(crate) fn end_turn(&mut self, key: ThreadKey, outcome: TurnOutcome, thread_state: &str) {
        self.stop_timer(Purpose::Interrupt(key));
        self.stop_timer(Purpose::InterruptAgain(key));
        self.stop_timer(Purpose::BackgroundEnd(key));
        self.close_requests_of(key, "turn-ended");
        self.close_items(key, &outcome);
        let Some(turn) = self.thread(key).and_then(|thread| thread.turn.take()) else {
            return;
        };
        if let Some(interrupt) = &turn.interrupt {
            self.effects.settle(&interrupt.effect_id);
        }
        let over = failure::validation("The turn ended before.");
        for steer in &turn.held_steers {
            self.fail_effect(&steer.effect_id, &over);
        }
        self.out.emit(Event::TurnEnded(TurnEnded {
            turn_id: turn.host_id,
            outcome,
            native_point: turn.native,
            native_thread_state: thread_state.to_owned(),
            extra: None,
        }));
    }

    /// Ends a turn that Codex will not end any more: the process is gone, or the thread is let go of.
    pub(crate) fn lose_turn(&mut self, key: ThreadKey, failure: &Failure) {
        let Some(turn) = self.thread(key).and_then(|thread| thread.turn.as_ref()) else {
            return;
        };
        if !turn.announced {
            self.stop_timer(Purpose::Interrupt(key));
            let Some(turn) = self.thread(key).and_then(|thread| thread.turn.take()) else {
                return;
            };
            self.fail_effect(&turn.start_effect, failure);
            self.finish_interrupt_of(&turn, failure);
            return;
        }
        let outcome = match &turn.phase {
            Phase::Ending(outcome) => outcome.clone(),
            _ if turn.interrupt.is_some() => TurnOutcome::Interrupted,
            _ => TurnOutcome::Failed(failure.clone()),
        };
        self.end_turn(key, outcome, "broken");
    }

    /// Answers what was asked of a turn that never started: stopping it worked, adding to it did not.
    pub(crate) fn finish_interrupt_of(&mut self, turn: &Turn, failure: &Failure) {
        if let Some(interrupt) = &turn.interrupt {
            self.end_effect(&interrupt.effect_id, EffectOutcome::Done);
        }
        for steer in &turn.held_steers {
            self.fail_effect(&steer.effect_id, failure);
        }
    }
}

/// Parameters of `turn/start`, or why there can be none.
fn turn_params(
    thread: &mut Thread,
    native: &str,
    start: &StartTurn,
    mcp_proven: bool,
) -> Result<Value, String> {
    let policy = Policy::of(&start.modes);
    let effort = effort_of(&start.model);
    // The instructions speak of the host's tools, so they are given only where these are there. They are a part of the
    // first message, because the thread is opened before the host has them and `developerInstructions` can't follow.
    let instructions = start.instructions.as_deref().filter(|_| mcp_proven);
    let parts = [
        instructions,
        start.context_transfer.as_deref(),
        Some(start.text.as_str()),
    ];
    let mut params = Map::new();
    params.insert("threadId".to_owned(), json!(native));
    params.insert("clientUserMessageId".to_owned(), json!(start.turn_id));
    params.insert("input".to_owned(), user_input(&parts, &start.attachments));
    params.insert("approvalPolicy".to_owned(), json!(policy.approval));
    params.insert("sandboxPolicy".to_owned(), policy.sandbox.policy());
    if let Some(model) = &start.model.model {
        params.insert("model".to_owned(), json!(model));
    }
    if let Some(effort) = effort {
        params.insert("effort".to_owned(), json!(effort));
    }
    if policy.plan || thread.planning != Some(false) {
        let Some(model) = start.model.model.as_ref().or(thread.model.as_ref()) else {
            return Err(
                "Codex did not say which model it uses, and plan mode needs one. Choose a model."
                    .to_owned(),
            );
        };
        let fallback = if policy.plan {
            Some(PLAN_EFFORT)
        } else {
            thread.effort.as_deref()
        };
        let mode = if policy.plan { "plan" } else { "default" };
        params.insert(
            "collaborationMode".to_owned(),
            json!({
                "mode": mode,
                "settings": {
                    "model": model,
                    "reasoning_effort": effort.or(fallback),
                    "developer_instructions": null,
                },
            }),
        );
    }
    thread.planning = Some(policy.plan);
    Ok(Value::Object(params))
}

fn effort_of(selection: &ModelSelection) -> Option<&str> {
    let option = selection
        .options
        .iter()
        .find(|option| option.id == EFFORT_OPTION)?;
    match &option.value {
        OptionValue::Text(effort) => Some(effort),
        OptionValue::Toggle(_) => None,
    }
}

/// A message as Codex takes it: texts in order, then images by path.
fn user_input(texts: &[Option<&str>], attachments: &[Attachment]) -> Value {
    let texts = texts
        .iter()
        .flatten()
        .map(|text| json!({ "type": "text", "text": text, "text_elements": [] }));
    let images = attachments
        .iter()
        .map(|file| json!({ "type": "localImage", "path": file.path }));
    Value::Array(texts.chain(images).collect())
}

fn unusable_attachment(attachments: &[Attachment]) -> Option<String> {
    let file = attachments
        .iter()
        .find(|file| !IMAGE_TYPES.contains(&file.media_type.as_str()))?;
    Some(format!(
        "Codex takes images alone; `{}` is {}.",
        file.name, file.media_type
    ))
}
