//! What one provider session holds: its threads, turns, requests and the answers it still owes. Work becomes inputs for
//! the driver, events become reports for the journal, and both are refused where they are not legal now.
//!
//! Nothing here waits, runs a process or calls a guest, so every rule is tested by itself.

mod ends;
mod events;
mod openings;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use domain::ids::{MessageId, ProviderInstanceId, ProviderSessionId, RequestId, RunId, ThreadId};
use domain::modes::Modes;
use domain::provider::ModelSelection;
use domain::provider_event::{FailureClass, ProviderEvent, TurnOutcome};
use domain::request::ChoiceOption;
use threads::ports::{CredentialPort, ProviderWork, ThreadOpening};
use tokio::time::Instant;

use crate::bindings::convert::{self, Measure, Unfit, host_failure};
use crate::bindings::v0_1::types as wit;
use crate::manifest::{Switch, ThreadsHeld};
use crate::random::NoRandomness;
use crate::secrets::SessionSecrets;

pub(crate) use ends::{Broken, Overdue};

/// Something a driver may not say, or not now. Ends the session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Violation {
    #[error("it spoke of a thread that is not its own, in `{event}`")]
    ForeignThread { event: &'static str },
    #[error("it spoke of a turn that is not its own, in `{event}`")]
    ForeignTurn { event: &'static str },
    #[error("it answered something it was not asked")]
    UnknownEffect,
    #[error("it sent `{event}`, which is not legal now: {why}")]
    NotNow {
        event: &'static str,
        why: &'static str,
    },
    #[error("it opened more than {max} {what}")]
    TooMany { what: &'static str, max: usize },
    #[error("an event is too large: {0}")]
    Unfit(#[from] Unfit),
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

/// Who a session is and what it needs from outside.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) session: ProviderSessionId,
    pub(crate) instance: ProviderInstanceId,
    pub(crate) held: ThreadsHeld,
    pub(crate) mode_switch: Switch,
    pub(crate) model_switch: Switch,
    /// Longest wait of one tool call, milliseconds.
    pub(crate) call_ms_max: u32,
    pub(crate) credentials: Arc<dyn CredentialPort>,
    pub(crate) secrets: SessionSecrets,
    pub(crate) measure: Measure,
}

/// What came of a piece of work or an event.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// For the journal, in order.
    pub(crate) reports: Vec<ProviderEvent>,
    /// For the driver, in order.
    pub(crate) inputs: Vec<wit::Input>,
    /// The provider as the session now knows it.
    pub(crate) snapshot: Option<wit::Snapshot>,
    /// The driver says that the session is over.
    pub(crate) ended: Option<Option<domain::provider_event::Failure>>,
    /// Work this session can't do any more; a new session can. The session ends.
    pub(crate) handed_back: Vec<ProviderWork>,
}

/// The session's books.
pub(crate) struct Ledger {
    identity: Identity,
    threads: BTreeMap<ThreadId, HeldThread>,
    turns: BTreeMap<RunId, LiveTurn>,
    /// Late words about these are dropped, not punished.
    turns_over: BTreeSet<RunId>,
    threads_over: BTreeSet<ThreadId>,
    effects: BTreeMap<String, Owed>,
    effects_made: u64,
    /// By the driver's id.
    requests: BTreeMap<String, OpenRequest>,
    /// By the driver's id.
    items: BTreeMap<String, OpenItem>,
    last_sign: Instant,
    /// Why the last thread was let go.
    last_release: String,
    /// A session that turns out to hold one thread takes no second one.
    held: ThreadsHeld,
}

struct HeldThread {
    phase: Phase,
    queue: VecDeque<ProviderWork>,
    live: Option<RunId>,
    background: bool,
    last_active: Instant,
    opened_with: (ModelSelection, Modes),
    instructions: Option<String>,
    native_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Opening {
        since: Instant,
    },
    Open,
    /// The provider's conversation must be opened again before the next turn.
    Broken,
}

struct LiveTurn {
    thread: ThreadId,
    phase: TurnPhase,
    interrupted: Option<Interrupted>,
    /// Steers that wait for the turn to start.
    steers: Vec<(MessageId, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnPhase {
    Submitted { since: Instant },
    Started,
}

struct Interrupted {
    since: Instant,
    reason: String,
}

/// What an effect id stands for.
enum Owed {
    Open(ThreadId),
    Start(RunId),
    Steer(RunId, MessageId),
    Interrupt,
    Answer(String),
    CloseThread,
}

struct OpenRequest {
    id: RequestId,
    thread: ThreadId,
    run: Option<RunId>,
    options: Vec<ChoiceOption>,
}

struct OpenItem {
    thread: ThreadId,
    run: Option<RunId>,
}

/// How busy a thread is, for those who let idle ones go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Activity {
    pub(crate) busy: bool,
    pub(crate) last_active: Instant,
}

impl Ledger {
    pub(crate) fn new(identity: Identity, now: Instant) -> Self {
        let held = identity.held;
        Self {
            identity,
            threads: BTreeMap::new(),
            turns: BTreeMap::new(),
            turns_over: BTreeSet::new(),
            threads_over: BTreeSet::new(),
            effects: BTreeMap::new(),
            effects_made: 0,
            requests: BTreeMap::new(),
            items: BTreeMap::new(),
            last_sign: now,
            last_release: "stopped".to_owned(),
            held,
        }
    }

    /// The provider gave a sign of life.
    pub(crate) fn sign(&mut self, now: Instant) {
        self.last_sign = now;
    }

    /// How many threads this session can hold, as known now.
    pub(crate) fn held(&self) -> ThreadsHeld {
        self.held
    }

    /// A session made for one thread, which has let it go, serves nobody.
    pub(crate) fn is_spent(&self) -> bool {
        self.threads.is_empty() && !self.threads_over.is_empty()
    }

    /// Why the last thread was let go, as the interface says it.
    pub(crate) fn last_release(&self) -> String {
        self.last_release.clone()
    }

    /// How busy each thread is.
    pub(crate) fn activity(&self) -> BTreeMap<ThreadId, Activity> {
        self.threads
            .iter()
            .map(|(id, thread)| {
                let busy = thread.live.is_some()
                    || thread.background
                    || !thread.queue.is_empty()
                    || self.requests.values().any(|open| open.thread == *id)
                    || matches!(thread.phase, Phase::Opening { .. });
                (
                    id.clone(),
                    Activity {
                        busy,
                        last_active: thread.last_active,
                    },
                )
            })
            .collect()
    }

    /// Takes a piece of work.
    pub(crate) fn work(&mut self, work: ProviderWork, now: Instant) -> Effects {
        let mut effects = Effects::default();
        match work {
            ProviderWork::StartTurn {
                thread,
                run_id,
                text,
            } => {
                self.start_turn(thread, run_id, text, now, &mut effects);
            }
            ProviderWork::Steer {
                thread_id,
                run_id,
                message_id,
                text,
            } => {
                self.steer(thread_id, run_id, message_id, text, &mut effects);
            }
            ProviderWork::Interrupt {
                thread_id,
                run_id,
                reason,
            } => {
                self.interrupt(&thread_id, &run_id, reason, now, &mut effects);
            }
            ProviderWork::Answer {
                request_id, reply, ..
            } => {
                self.answer(&request_id, reply, &mut effects);
            }
            ProviderWork::Release { thread_id, reason } => {
                self.let_go(&thread_id, &reason, &mut effects);
            }
        }
        effects
    }

    fn start_turn(
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
    fn pump(&mut self, thread_id: &ThreadId, now: Instant, effects: &mut Effects) {
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

    fn submit_turn(
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

    fn steer(
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

    fn send_steer(
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

    fn interrupt(
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
            turn.interrupted = Some(Interrupted {
                since: now,
                reason: reason.clone(),
            });
            if turn.phase == TurnPhase::Started {
                self.send_interrupt(run_id, reason, effects);
            }
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

    fn send_interrupt(&mut self, run_id: &RunId, reason: String, effects: &mut Effects) {
        let effect_id = self.owe(Owed::Interrupt);
        effects.inputs.push(wit::Input::Interrupt(wit::Interrupt {
            effect_id,
            turn_id: run_id.to_string(),
            reason,
            background: "end".to_owned(),
            extra: None,
        }));
    }

    fn answer(
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
        let reply = convert::reply_to_guest(reply, &open.options);
        let driver_id = driver_id.clone();
        let effect_id = self.owe(Owed::Answer(driver_id.clone()));
        effects.inputs.push(wit::Input::Answer(wit::Answer {
            effect_id,
            request_id: driver_id,
            reply,
            extra: None,
        }));
    }

    fn owe(&mut self, owed: Owed) -> String {
        self.effects_made += 1;
        let id = format!("effect-{}", self.effects_made);
        self.effects.insert(id.clone(), owed);
        id
    }
}

fn turn_ended(run_id: RunId, outcome: TurnOutcome) -> ProviderEvent {
    ProviderEvent::TurnEnded {
        run_id,
        outcome,
        native_point: None,
    }
}

fn steer_too_late(run_id: RunId, message_id: MessageId) -> ProviderEvent {
    let refusal = host_failure(
        FailureClass::ValidationError,
        "turn_over",
        "The turn was over before the text could join it.",
    );
    ProviderEvent::SteerEnded {
        run_id,
        message_id,
        refusal: Some(refusal),
    }
}

#[cfg(test)]
mod tests;
