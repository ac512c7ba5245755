//! Opening, closing and setting up threads.
#![forbid(unsafe_code)]

use driver_sdk::failure;
use driver_sdk::jsonrpc::RpcError;
use driver_sdk::types::{
    Capabilities, CloseThread, EffectOutcome, Event, Failure, OpenThread, SetModel, SetModes,
    ThreadReady,
};
use serde_json::{Map, Value, json};

use crate::core::{Call, Codex};
use crate::describe;
use crate::errors;
use crate::limits::{MCP_READY_MS, THREAD_OPEN_MS};
use crate::mcp;
use crate::policy::Policy;
use crate::settings::McpInjection;
use crate::thread::{McpState, Thread, ThreadKey};
use crate::timers::Purpose;
use crate::views::Opened;

impl Codex {
    /// `open-thread`
    pub(crate) fn open_thread(&mut self, open: OpenThread) {
        self.effects.begin(&open.effect_id);
        let refusal = if self
            .threads
            .iter()
            .any(|thread| thread.host_id == open.thread_id)
        {
            Some("This session holds the thread already.".to_owned())
        } else if self.threads.len() >= self.settings.threads_max() {
            let max = self.settings.threads_max();
            Some(format!(
                "This session holds as many threads as it may: {max}."
            ))
        } else {
            self.unknown_option(&open.model)
        };
        if let Some(message) = refusal {
            self.end_effect(
                &open.effect_id,
                EffectOutcome::Refused(failure::validation(&message)),
            );
            return;
        }
        let key = ThreadKey(self.next_thread);
        self.next_thread += 1;
        self.threads.push(Thread::new(key, open));
        if self.settings.mcp_injection == McpInjection::Environment {
            // The token is part of the environment, so the process starts with its thread.
            let mcp = self.thread(key).and_then(|thread| thread.mcp.clone());
            self.start_process(mcp.as_ref());
        }
        self.ask_open(key);
    }

    /// Asks Codex to open a thread, once it greeted.
    pub(crate) fn ask_open(&mut self, key: ThreadKey) {
        if !self.is_ready() {
            return;
        }
        let injection = self.settings.mcp_injection;
        let Some(thread) = self.thread(key).filter(|thread| !thread.asked) else {
            return;
        };
        thread.asked = true;
        let effect_id = thread.open_effect.clone();
        let policy = Policy::of(&thread.modes);
        let mut params = Map::new();
        params.insert("cwd".to_owned(), json!(thread.workspace));
        params.insert("approvalPolicy".to_owned(), json!(policy.approval));
        params.insert("sandbox".to_owned(), json!(policy.sandbox.word()));
        if let Some(model) = &thread.selection.model {
            params.insert("model".to_owned(), json!(model));
        }
        if let Some(endpoint) = &thread.mcp {
            params.insert("config".to_owned(), mcp::thread_config(endpoint, injection));
        }
        let method = match &thread.resume {
            Some(native) => {
                params.insert("threadId".to_owned(), json!(native));
                // The host has the history; loading it again costs time and a deprecation notice.
                params.insert("excludeTurns".to_owned(), json!(true));
                "thread/resume"
            }
            None => "thread/start",
        };
        self.effects.sent(&effect_id);
        self.call(
            method,
            &Value::Object(params),
            Call::OpenThread(key),
            THREAD_OPEN_MS,
        );
    }

    /// The answer to `thread/start` or `thread/resume`.
    pub(crate) fn thread_opened(
        &mut self,
        key: ThreadKey,
        answer: Result<Option<Opened>, RpcError<'_>>,
    ) {
        let opened = match answer {
            Ok(Some(opened)) => opened,
            Ok(None) => {
                let failure = failure::transport("Codex opened the thread without naming it.");
                self.drop_thread(key, EffectOutcome::Failed(failure));
                return;
            }
            Err(error) => {
                let failure = errors::of_call("to open the thread", &error);
                self.drop_thread(key, EffectOutcome::Refused(failure));
                return;
            }
        };
        let single = self.settings.mcp_injection == McpInjection::Environment;
        let Some(thread) = self.thread(key) else {
            return;
        };
        let native = opened.thread.id.to_string();
        thread.native = Some(native.clone());
        thread.model = opened.model.map(|model| model.to_string());
        thread.effort = opened.reasoning_effort.map(|effort| effort.to_string());
        let effect_id = thread.open_effect.clone();
        let waits = thread.mcp_state == McpState::Waiting;
        let ready = ThreadReady {
            thread_id: thread.host_id.clone(),
            native_thread_id: native.clone(),
            resumable: true,
            capabilities: single.then(single_thread),
            model: thread.model.clone(),
            extra: None,
        };
        // A thread Codex had let go of by itself is opened again without another word to the host.
        if self.effects.settle(&effect_id).is_some() {
            self.out.emit(Event::ThreadReady(ready));
        }
        if waits {
            self.arm(Purpose::McpReady(key), MCP_READY_MS);
            self.take_early_reports(key, &native);
        }
        self.try_start(key);
    }

    /// Lets go of a thread that could not be opened, and answers for it and a turn held for it.
    fn drop_thread(&mut self, key: ThreadKey, outcome: EffectOutcome) {
        let Some(position) = self.threads.iter().position(|thread| thread.key == key) else {
            return;
        };
        let thread = self.threads.remove(position);
        if let Some(turn) = &thread.turn {
            let failure = match &outcome {
                EffectOutcome::Refused(failure) | EffectOutcome::Failed(failure) => failure.clone(),
                EffectOutcome::Done | EffectOutcome::Forked(_) => {
                    failure::transport("The thread is not open.")
                }
            };
            self.fail_effect(&turn.start_effect, &failure);
        }
        self.end_effect(&thread.open_effect, outcome);
    }

    /// `thread/start` or `thread/resume` was not answered.
    pub(crate) fn thread_open_failed(&mut self, key: ThreadKey, failure: Failure) {
        self.drop_thread(key, EffectOutcome::Failed(failure));
    }

    /// `close-thread`
    pub(crate) fn close_thread(&mut self, close: &CloseThread) {
        self.effects.begin(&close.effect_id);
        let Some(key) = self.key_of(&close.thread_id) else {
            self.refuse_unknown_thread(&close.effect_id);
            return;
        };
        if self.thread(key).is_some_and(|thread| thread.turn.is_some()) {
            self.abandon_turn(key);
        }
        self.stop_timer(Purpose::McpReady(key));
        self.close_requests_of(key, "withdrawn");
        let Some(position) = self.threads.iter().position(|thread| thread.key == key) else {
            return;
        };
        let thread = self.threads.remove(position);
        if let Some(failure) = thread
            .native
            .is_none()
            .then(|| failure::validation("The thread was closed."))
        {
            self.fail_effect(&thread.open_effect, &failure);
        }
        match thread.native {
            Some(native) if self.is_ready() => {
                self.effects.sent(&close.effect_id);
                let params = json!({ "threadId": native });
                let call = Call::CloseThread(close.effect_id.clone());
                self.call_default("thread/unsubscribe", &params, call);
            }
            _ => self.end_effect(&close.effect_id, EffectOutcome::Done),
        }
    }

    /// `set-modes`: they go with the next turn.
    pub(crate) fn set_modes(&mut self, set: SetModes) {
        self.effects.begin(&set.effect_id);
        match self.key_of(&set.thread_id).and_then(|key| self.thread(key)) {
            Some(thread) => {
                thread.modes = set.modes;
                self.end_effect(&set.effect_id, EffectOutcome::Done);
            }
            None => self.refuse_unknown_thread(&set.effect_id),
        }
    }

    /// `set-model`: it goes with the next turn.
    pub(crate) fn set_model(&mut self, set: SetModel) {
        self.effects.begin(&set.effect_id);
        if let Some(message) = self.unknown_option(&set.model) {
            self.end_effect(
                &set.effect_id,
                EffectOutcome::Refused(failure::validation(&message)),
            );
            return;
        }
        match self.key_of(&set.thread_id).and_then(|key| self.thread(key)) {
            Some(thread) => {
                thread.selection = set.model;
                self.end_effect(&set.effect_id, EffectOutcome::Done);
            }
            None => self.refuse_unknown_thread(&set.effect_id),
        }
    }

    /// `thread/closed`: Codex let go of a thread by itself, which it does to idle ones.
    pub(crate) fn thread_closed(&mut self, native: &str) {
        let Some(thread) = self.thread_native(native) else {
            return;
        };
        if thread.turn.is_some() {
            return;
        }
        // Taken up again with the next turn.
        thread.resume = thread.native.take();
        thread.asked = false;
        thread.planning = None;
        if thread.mcp.is_some() {
            thread.mcp_state = McpState::Waiting;
        }
    }

    /// What is wrong with a model selection's options. `None`: nothing.
    pub(crate) fn unknown_option(
        &self,
        selection: &driver_sdk::types::ModelSelection,
    ) -> Option<String> {
        let unknown = selection
            .options
            .iter()
            .find(|option| option.id != describe::EFFORT_OPTION)?;
        let id = &unknown.id;
        Some(format!(
            "Codex has no model option `{id}`; it has `{}`.",
            describe::EFFORT_OPTION
        ))
    }
}

/// What a thread offers whose process can hold no other.
fn single_thread() -> Capabilities {
    Capabilities {
        threads: "one".to_owned(),
        ..describe::capabilities()
    }
}
