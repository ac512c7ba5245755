//! Taking threads into the session and letting them go.

use std::collections::VecDeque;

use domain::ids::ThreadId;
use domain::provider_event::{Failure, FailureClass, ProviderEvent, TurnOutcome};
use threads::ports::{CredentialRequest, ProviderWork, ThreadOpening, ToolAccess};
use tokio::time::Instant;

use super::{Effects, HeldThread, Ledger, Owed, Phase, steer_too_late, turn_ended};
use crate::bindings::convert::{self, host_failure};
use crate::bindings::v0_1::types as wit;
use crate::manifest::{Switch, ThreadsHeld};

impl Ledger {
    /// Takes a thread for the first time.
    pub(super) fn take_thread(
        &mut self,
        thread_id: ThreadId,
        work: ProviderWork,
        now: Instant,
        effects: &mut Effects,
    ) {
        let ProviderWork::StartTurn {
            thread: opening, ..
        } = &work
        else {
            return;
        };
        let opening = opening.clone();
        self.threads_over.remove(&thread_id);
        effects.reports.push(ProviderEvent::ThreadAttached {
            thread_id: thread_id.clone(),
        });
        self.threads.insert(
            thread_id,
            HeldThread {
                phase: Phase::Opening { since: now },
                queue: VecDeque::from([work]),
                live: None,
                background: false,
                last_active: now,
                opened_with: (opening.model.clone(), opening.modes),
                instructions: None,
                native_id: opening.native.as_ref().map(|native| native.id.clone()),
            },
        );
        self.open_thread(opening, now, effects);
    }

    /// Whether the next turn needs the conversation opened again.
    pub(super) fn must_reopen(&self, thread_id: &ThreadId, opening: &ThreadOpening) -> bool {
        let Some(thread) = self.threads.get(thread_id) else {
            return false;
        };
        let (model, modes) = &thread.opened_with;
        thread.phase == Phase::Broken
            || (self.identity.mode_switch == Switch::Process && *modes != opening.modes)
            || (self.identity.model_switch == Switch::Process && *model != opening.model)
            || self
                .identity
                .credentials
                .is_overdue(thread_id, &self.identity.session)
    }

    /// Closes a conversation and opens it again. A session for one thread cannot: a new session does it.
    pub(super) fn reopen(
        &mut self,
        thread_id: &ThreadId,
        opening: ThreadOpening,
        now: Instant,
        effects: &mut Effects,
    ) {
        let Some(thread) = self.threads.get_mut(thread_id) else {
            return;
        };
        if self.held == ThreadsHeld::One {
            effects.handed_back.extend(thread.queue.drain(..));
            return;
        }
        thread.phase = Phase::Opening { since: now };
        self.close_at_driver(thread_id, "mode-change", effects);
        self.open_thread(opening, now, effects);
    }

    fn open_thread(&mut self, opening: ThreadOpening, now: Instant, effects: &mut Effects) {
        let thread_id = opening.thread_id.clone();
        let mcp = match self.mint(&thread_id) {
            Ok(mcp) => mcp,
            Err(reason) => {
                let failure = host_failure(FailureClass::Unknown, "credential", reason);
                self.opening_failed(&thread_id, &failure, effects);
                return;
            }
        };
        let effect_id = self.owe(Owed::Open(thread_id.clone()));
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        thread.opened_with = (opening.model.clone(), opening.modes);
        thread.last_active = now;
        // A conversation opened again in this session is known better here than in the opening.
        let native_thread_id = thread
            .native_id
            .clone()
            .or(opening.native.map(|native| native.id));
        let (mcp, instructions) = mcp.unzip();
        thread.instructions = instructions;
        effects.inputs.push(wit::Input::OpenThread(wit::OpenThread {
            effect_id,
            thread_id: thread_id.to_string(),
            native_thread_id,
            workspace_path: opening.workspace_path,
            model: convert::model_to_guest(&opening.model),
            modes: convert::modes_to_guest(opening.modes),
            mcp,
            extra: None,
        }));
    }

    /// A credential for the thread, and the instructions that go with it. `None`: tools are switched off.
    fn mint(&self, thread_id: &ThreadId) -> Result<Option<(wit::McpEndpoint, String)>, String> {
        let identity = &self.identity;
        let request = CredentialRequest {
            thread_id: thread_id.clone(),
            instance_id: identity.instance.clone(),
            session_id: identity.session.clone(),
        };
        let Some(minted) = identity.credentials.mint(&request) else {
            return Ok(None);
        };
        let authorization = identity
            .secrets
            .hold("mcp-token", &minted.token)
            .map_err(|error| {
                format!("The credential for the host's tools cannot be used: {error}")
            })?;
        let tools = minted
            .tools
            .into_iter()
            .map(|tool| wit::McpTool {
                name: tool.name,
                read_only: tool.access == ToolAccess::ReadOnly,
            })
            .collect();
        let endpoint = wit::McpEndpoint {
            server_name: minted.server_name,
            url: minted.url,
            protocol_version: minted.protocol_version,
            authorization,
            call_ms_max: identity.call_ms_max,
            tools,
        };
        Ok(Some((endpoint, minted.instructions)))
    }

    /// The provider did not take the thread: everything that waited for it ends.
    pub(super) fn opening_failed(
        &mut self,
        thread_id: &ThreadId,
        failure: &Failure,
        effects: &mut Effects,
    ) {
        self.end_queue(thread_id, &TurnOutcome::Failed(failure.clone()), effects);
        self.forget_thread(thread_id, failure.message.clone(), effects);
    }

    /// Lets go of a thread because the host wants so. What still runs on it ends as interrupted.
    pub(super) fn let_go(&mut self, thread_id: &ThreadId, reason: &str, effects: &mut Effects) {
        let Some(thread) = self.threads.get(thread_id) else {
            return;
        };
        reason.clone_into(&mut self.last_release);
        if let Some(run_id) = thread.live.clone() {
            let started = self
                .turns
                .get(&run_id)
                .is_some_and(|turn| turn.phase == super::TurnPhase::Started);
            if started {
                self.send_interrupt(&run_id, reason.to_owned(), effects);
            }
            self.end_turn(&run_id, TurnOutcome::Interrupted, None, effects);
        }
        self.end_queue(thread_id, &TurnOutcome::Interrupted, effects);
        self.close_at_driver(thread_id, reason, effects);
        self.forget_thread(thread_id, reason.to_owned(), effects);
    }

    fn close_at_driver(&mut self, thread_id: &ThreadId, reason: &str, effects: &mut Effects) {
        let effect_id = self.owe(Owed::CloseThread);
        effects
            .inputs
            .push(wit::Input::CloseThread(wit::CloseThread {
                effect_id,
                thread_id: thread_id.to_string(),
                reason: reason.to_owned(),
            }));
    }

    /// Ends every turn that waits behind the live one or for the thread to open.
    pub(super) fn end_queue(
        &mut self,
        thread_id: &ThreadId,
        outcome: &TurnOutcome,
        effects: &mut Effects,
    ) {
        let Some(thread) = self.threads.get_mut(thread_id) else {
            return;
        };
        for work in std::mem::take(&mut thread.queue) {
            match work {
                ProviderWork::StartTurn { run_id, .. } => {
                    self.turns_over.insert(run_id.clone());
                    effects.reports.push(turn_ended(run_id, outcome.clone()));
                }
                ProviderWork::Steer {
                    run_id, message_id, ..
                } => {
                    effects.reports.push(steer_too_late(run_id, message_id));
                }
                _ => {}
            }
        }
    }

    fn forget_thread(&mut self, thread_id: &ThreadId, reason: String, effects: &mut Effects) {
        self.close_requests("withdrawn", effects, |open| open.thread == *thread_id);
        self.items.retain(|_, item| item.thread != *thread_id);
        self.identity
            .credentials
            .revoke(thread_id, &self.identity.session);
        if self.threads.remove(thread_id).is_some() {
            self.threads_over.insert(thread_id.clone());
            effects.reports.push(ProviderEvent::ThreadDetached {
                thread_id: thread_id.clone(),
                reason,
            });
        }
    }
}
