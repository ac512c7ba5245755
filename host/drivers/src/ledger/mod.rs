//! What one provider session holds: its threads, turns, requests and the answers it still owes. Work becomes inputs for
//! the driver, events become reports for the journal, and both are refused where they are not legal now.
//!
//! Nothing here waits, runs a process or calls a guest, so every rule is tested by itself.

mod ends;
mod events;
mod openings;
mod work;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::ids::{MessageId, ProviderInstanceId, ProviderSessionId, RequestId, RunId, ThreadId};
use domain::modes::Modes;
use domain::provider::ModelSelection;
use domain::provider_event::{Blocking, FailureClass, ProviderEvent, TurnOutcome};
use domain::request::Prompt;
use threads::ports::{CredentialPort, ProviderWork};
use tokio::time::Instant;

use crate::bindings::convert::{Measure, Unfit, host_failure};
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
    /// Silence allowed between work and any sign of the provider.
    pub(crate) start_silence_max: Duration,
    /// Longest time from an interrupt to the turn's end.
    pub(crate) interrupt_time_max: Duration,
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
}

/// What an effect id stands for.
enum Owed {
    Open(ThreadId),
    Start(RunId),
    Steer(RunId, MessageId),
    Interrupt(RunId),
    Answer(String),
    CloseThread,
}

struct OpenRequest {
    id: RequestId,
    thread: ThreadId,
    run: Option<RunId>,
    blocking: Blocking,
    prompt: Prompt,
    detail_json: String,
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
