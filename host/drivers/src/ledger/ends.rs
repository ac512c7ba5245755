//! Ends: of turns, of requests, of the whole session, and of patience.

use domain::ids::RunId;
use domain::provider_event::{Failure, FailureClass, ProviderEvent, TurnOutcome};
use threads::ports::ProviderWork;
use tokio::time::Instant;

use super::{Effects, Ledger, OpenRequest, Owed, Phase, TurnPhase, steer_too_late, turn_ended};
use crate::bindings::convert::host_failure;
use crate::limits;

/// How a session is over for what it still holds.
#[derive(Clone, Debug)]
pub(crate) enum Broken {
    /// It failed.
    Failed(Failure),
    /// It was stopped.
    Stopped,
}

/// The provider took too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Overdue(pub(crate) Failure);

impl Ledger {
    /// Ends a live turn, whatever its phase, and what belongs to it.
    pub(super) fn end_turn(
        &mut self,
        run_id: &RunId,
        outcome: TurnOutcome,
        native_point: Option<String>,
        effects: &mut Effects,
    ) {
        let Some(turn) = self.turns.remove(run_id) else {
            return;
        };
        self.turns_over.insert(run_id.clone());
        if let Some(thread) = self.threads.get_mut(&turn.thread) {
            thread.live = None;
        }
        for (message_id, _) in turn.steers {
            effects
                .reports
                .push(steer_too_late(run_id.clone(), message_id));
        }
        let owed: Vec<String> = self
            .effects
            .iter()
            .filter(|(_, owed)| match owed {
                Owed::Start(id) | Owed::Steer(id, _) => id == run_id,
                _ => false,
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in owed {
            if let Some(Owed::Steer(_, message_id)) = self.effects.remove(&id) {
                effects
                    .reports
                    .push(steer_too_late(run_id.clone(), message_id));
            }
        }
        self.close_requests("turn-ended", effects, |open| {
            open.run.as_ref() == Some(run_id)
        });
        self.items
            .retain(|_, item| item.run.as_ref() != Some(run_id));
        self.identity
            .credentials
            .turn_over(&turn.thread, &self.identity.session);
        effects.reports.push(ProviderEvent::TurnEnded {
            run_id: run_id.clone(),
            outcome,
            native_point,
        });
    }

    pub(super) fn close_request(&mut self, driver_id: &str, reason: &str, effects: &mut Effects) {
        if let Some(open) = self.requests.remove(driver_id) {
            effects.reports.push(ProviderEvent::RequestClosed {
                request_id: open.id,
                reason: reason.to_owned(),
            });
        }
    }

    pub(super) fn close_requests(
        &mut self,
        reason: &str,
        effects: &mut Effects,
        which: impl Fn(&OpenRequest) -> bool,
    ) {
        let matching: Vec<String> = self
            .requests
            .iter()
            .filter(|(_, open)| which(open))
            .map(|(id, _)| id.clone())
            .collect();
        for id in matching {
            self.close_request(&id, reason, effects);
        }
    }

    /// Ends everything the session still holds. Afterwards it holds nothing.
    pub(crate) fn end_all(&mut self, how: &Broken) -> Vec<ProviderEvent> {
        let mut effects = Effects::default();
        let live: Vec<RunId> = self.turns.keys().cloned().collect();
        for run_id in live {
            let asked = self
                .turns
                .get(&run_id)
                .is_some_and(|turn| turn.interrupted.is_some());
            let outcome = match how {
                Broken::Failed(failure) if !asked => TurnOutcome::Failed(failure.clone()),
                Broken::Failed(_) | Broken::Stopped => TurnOutcome::Interrupted,
            };
            self.end_turn(&run_id, outcome, None, &mut effects);
        }
        let outcome = match how {
            Broken::Failed(failure) => TurnOutcome::Failed(failure.clone()),
            Broken::Stopped => TurnOutcome::Interrupted,
        };
        let threads: Vec<_> = self.threads.keys().cloned().collect();
        for thread_id in threads {
            self.end_queue(&thread_id, &outcome, &mut effects);
            self.identity
                .credentials
                .revoke(&thread_id, &self.identity.session);
            self.threads.remove(&thread_id);
            self.threads_over.insert(thread_id);
        }
        self.close_requests("process-ended", &mut effects, |_| true);
        self.items.clear();
        self.effects.clear();
        effects.reports
    }

    /// Ends work that never reached a driver.
    pub(crate) fn refuse(work: ProviderWork, how: &Broken) -> Vec<ProviderEvent> {
        match work {
            ProviderWork::StartTurn { run_id, .. } => vec![turn_ended(
                run_id,
                match how {
                    Broken::Failed(failure) => TurnOutcome::Failed(failure.clone()),
                    Broken::Stopped => TurnOutcome::Interrupted,
                },
            )],
            ProviderWork::Steer {
                run_id, message_id, ..
            } => {
                vec![steer_too_late(run_id, message_id)]
            }
            ProviderWork::Interrupt { .. }
            | ProviderWork::Answer { .. }
            | ProviderWork::Release { .. } => Vec::new(),
        }
    }

    /// A request is open: not the provider, a person is what the session waits for.
    pub(crate) fn waits_for_a_person(&self) -> bool {
        !self.requests.is_empty()
    }

    /// When patience ends, if nothing happens before.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.waits().map(|(deadline, _)| deadline).min()
    }

    /// What took too long by now.
    pub(crate) fn overdue(&self, now: Instant) -> Option<Overdue> {
        let (_, wait) = self
            .waits()
            .filter(|(deadline, _)| *deadline <= now)
            .min_by_key(|w| w.0)?;
        let failure = match wait {
            Wait::Silence => host_failure(
                FailureClass::TransportError,
                "provider_silent",
                format!(
                    "The agent gave no sign of life within {} s of being given work. Start it by hand in the same \
                     folder to see what it waits for.",
                    self.identity.start_silence_max.as_secs()
                ),
            ),
            Wait::Start => host_failure(
                FailureClass::TransportError,
                "start_timeout",
                format!(
                    "The agent did not start the turn within {} s. Try again; if it stays so, start it by hand in \
                     the same folder.",
                    limits::START_TIME_MAX.as_secs()
                ),
            ),
            Wait::Interrupt => host_failure(
                FailureClass::TransportError,
                "interrupt_timeout",
                format!(
                    "The agent did not stop within {} s of being interrupted, so its process was ended.",
                    self.identity.interrupt_time_max.as_secs()
                ),
            ),
        };
        Some(Overdue(failure))
    }

    fn waits(&self) -> impl Iterator<Item = (Instant, Wait)> {
        let opening = self
            .threads
            .values()
            .filter_map(|thread| match thread.phase {
                Phase::Opening { since } => Some(since),
                Phase::Open | Phase::Broken => None,
            });
        let starting = self.turns.values().filter_map(|turn| match turn.phase {
            TurnPhase::Submitted { since } => Some(since),
            TurnPhase::Started => None,
        });
        let last_sign = self.last_sign;
        let silence_max = self.identity.start_silence_max;
        let interrupt_max = self.identity.interrupt_time_max;
        let starts = opening.chain(starting).flat_map(move |since| {
            [
                (since.max(last_sign) + silence_max, Wait::Silence),
                (since + limits::START_TIME_MAX, Wait::Start),
            ]
        });
        let interrupts = self.turns.values().filter_map(move |turn| {
            let asked = turn.interrupted.as_ref()?;
            Some((asked.since + interrupt_max, Wait::Interrupt))
        });
        starts.chain(interrupts)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Silence,
    Start,
    Interrupt,
}
