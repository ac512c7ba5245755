//! Random lives of a small host. What holds after every command is checked by the world itself; here is
//! what holds in the end, and what holds below a stop.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;

use crate::command::{Command, SendMode};
use crate::ids::{RunId, TaskId, ThreadId};
use crate::item::ItemStatus;
use crate::modes::{InteractionMode, Modes, RuntimeMode};
use crate::provider::Steering;
use crate::provider_event::{ProviderEvent, SessionEnd, TurnOutcome};
use crate::request::{Choice, Reply};
use crate::run::{EndReason, RunPurpose};
use crate::task::{DeliveryState, WakePolicy};

use super::respond::approval;
use super::world::{World, failed, started};

const DEPTH_MAX: u32 = 3;
const CASES: u32 = 192;

/// One step of a life. An [`Index`] picks among what there is at that moment.
#[derive(Clone, Debug)]
enum Step {
    Create(Modes),
    Send(Index, SendMode, Steering),
    Delegate(
        Index,
        WakePolicy,
        Option<RuntimeMode>,
        Option<InteractionMode>,
    ),
    Begin(Index),
    Say(Index),
    End(Index, TurnOutcome),
    /// About any run, whatever became of it.
    EndLate(Index, TurnOutcome),
    Background(Index, bool),
    Ask(Index),
    Answer(Index),
    RefuseSteer(Index),
    Attach(Index),
    SessionEnds,
    Acknowledge(Index),
    WakeAlways(Index),
    Cancel(Index),
    Stop(Index),
    Recover,
}

fn outcome() -> impl Strategy<Value = TurnOutcome> {
    prop_oneof![
        4 => Just(TurnOutcome::Completed),
        1 => Just(TurnOutcome::Interrupted),
        1 => Just(failed("broken")),
    ]
}

fn runtime() -> impl Strategy<Value = RuntimeMode> {
    prop::sample::select(&RuntimeMode::ALL)
}

fn interaction() -> impl Strategy<Value = InteractionMode> {
    prop::sample::select(&InteractionMode::ALL)
}

fn at() -> impl Strategy<Value = Index> {
    any::<Index>()
}

/// What sessions and agents do by themselves.
fn report() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => at().prop_map(Step::Begin),
        2 => at().prop_map(Step::Say),
        6 => (at(), outcome()).prop_map(|(at, outcome)| Step::End(at, outcome)),
        1 => (at(), outcome()).prop_map(|(at, outcome)| Step::EndLate(at, outcome)),
        1 => (at(), any::<bool>()).prop_map(|(at, on)| Step::Background(at, on)),
        1 => at().prop_map(Step::Ask),
        1 => at().prop_map(Step::RefuseSteer),
        1 => at().prop_map(Step::Attach),
        1 => Just(Step::SessionEnds),
        1 => Just(Step::Recover),
    ]
}

/// What agents ask the host for.
fn tool() -> impl Strategy<Value = Step> {
    let wake = prop_oneof![Just(WakePolicy::Always), Just(WakePolicy::SettledOnly)];
    prop_oneof![
        6 => (at(), wake, prop::option::weighted(0.2, runtime()), prop::option::weighted(0.1, interaction()))
            .prop_map(|(at, wake, runtime, interaction)| Step::Delegate(at, wake, runtime, interaction)),
        2 => at().prop_map(Step::Acknowledge),
        1 => at().prop_map(Step::WakeAlways),
        1 => at().prop_map(Step::Cancel),
    ]
}

/// What people do.
fn person() -> impl Strategy<Value = Step> {
    let mode = prop::sample::select(vec![SendMode::Auto, SendMode::Queue, SendMode::Steer]);
    let steering = prop::sample::select(vec![Steering::Native, Steering::Restart, Steering::None]);
    prop_oneof![
        2 => (runtime(), interaction())
            .prop_map(|(runtime, interaction)| Step::Create(Modes { runtime, interaction })),
        4 => (at(), mode, steering).prop_map(|(at, mode, how)| Step::Send(at, mode, how)),
        1 => at().prop_map(Step::Answer),
        1 => at().prop_map(Step::Stop),
    ]
}

fn life(longest: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![5 => report(), 4 => tool(), 2 => person()];
    prop::collection::vec(step, 1..longest)
}

fn pick<T: Clone>(at: Index, from: &[T]) -> Option<T> {
    (!from.is_empty()).then(|| at.get(from).clone())
}

impl World {
    fn thread_ids(&self) -> Vec<ThreadId> {
        self.view.threads.keys().cloned().collect()
    }

    fn active_runs(&self) -> Vec<RunId> {
        let active = self.view.runs.values().filter(|run| run.status.is_active());
        active.map(|run| run.id.clone()).collect()
    }

    fn task_ids(&self) -> Vec<TaskId> {
        self.view.tasks.keys().cloned().collect()
    }

    /// Takes a step if there is something to take it on. Refusals are part of life.
    fn step(&mut self, step: Step) {
        let command = match step {
            Step::Create(modes) => {
                self.starting_in(modes);
                return;
            }
            Step::Begin(at) => {
                return drop(pick(at, &self.active_runs()).map(|run| self.start(&run)));
            }
            Step::Say(at) => {
                return drop(pick(at, &self.active_runs()).map(|run| self.say(&run, "Hm.")));
            }
            Step::End(at, how) => {
                return drop(pick(at, &self.active_runs()).map(|run| self.end(&run, how)));
            }
            Step::EndLate(at, how) => {
                let runs: Vec<RunId> = self.view.runs.keys().cloned().collect();
                return drop(pick(at, &runs).map(|run| self.end(&run, how)));
            }
            Step::Background(at, on) => {
                let tasks: &[&str] = if on { &["watch"] } else { &[] };
                return drop(pick(at, &self.thread_ids()).map(|it| self.background(&it, tasks)));
            }
            Step::Attach(at) => {
                return drop(pick(at, &self.thread_ids()).map(|it| self.attach(&it)));
            }
            Step::Ask(at) => {
                let id = format!("request-{}", self.view.requests.len());
                return drop(
                    pick(at, &self.active_runs()).map(|run| self.ask(&id, &run, approval(&[]))),
                );
            }
            Step::SessionEnds => {
                let (reason, end) = ("crash".to_owned(), SessionEnd::Failed);
                self.report(ProviderEvent::SessionEnded { reason, end });
                return;
            }
            Step::RefuseSteer(at) => {
                let messages: Vec<_> = self.view.messages.values().cloned().collect();
                let Some(message) = pick(at, &messages) else {
                    return;
                };
                let Some(run) = message.run_id else { return };
                // Only what joined a turn without having started it was steered.
                if self.view.runs[&run].message_id != message.id
                    && message.role == crate::message::Role::User
                {
                    self.refuse_steer(&run, &message.id);
                }
                return;
            }
            Step::Send(at, mode, steering) => pick(at, &self.thread_ids()).map(|thread| {
                let send = self.message_to(&thread, "And this.", mode);
                Command::SendMessage(crate::command::SendMessage { steering, ..send })
            }),
            Step::Delegate(at, wake, runtime_mode, interaction_mode) => {
                pick(at, &self.thread_ids()).map(|thread| {
                    Command::Delegate(crate::command::Delegate {
                        runtime_mode,
                        interaction_mode,
                        depth_max: DEPTH_MAX,
                        ..self.wanted(&thread, wake)
                    })
                })
            }
            Step::Answer(at) => {
                let requests: Vec<_> = self.view.requests.keys().cloned().collect();
                pick(at, &requests).map(|request_id| Command::Respond {
                    request_id,
                    reply: Reply::Decision {
                        choice: Choice::Accept,
                        message: None,
                    },
                    answered_by: crate::command::AnsweredBy::Person,
                })
            }
            Step::Acknowledge(at) => {
                pick(at, &self.task_ids()).map(|task_id| Command::AcknowledgeTask { task_id })
            }
            Step::WakeAlways(at) => {
                pick(at, &self.task_ids()).map(|task_id| Command::WakeAlways { task_id })
            }
            Step::Cancel(at) => pick(at, &self.task_ids())
                .map(|task| self.cancel_command(&self.view.tasks[&task].parent_thread_id, &task)),
            Step::Stop(at) => pick(at, &self.thread_ids()).map(|thread_id| Command::StopThread {
                thread_id,
                reason: "enough".to_owned(),
            }),
            Step::Recover => Some(Command::Recover),
        };
        if let Some(command) = command {
            let before = self.view.clone();
            if self.try_run(&command).is_err() {
                assert!(self.view == before, "a refusal changed something");
            }
        }
    }

    /// Tasks of wakes that their provider was tried with and never accepted.
    fn tasks_of_failed_wakes(&self) -> BTreeSet<TaskId> {
        let failed = self.view.runs.values().filter(|run| {
            run.purpose == RunPurpose::Wake
                && run.status.is_terminal()
                && run.started_at.is_none()
                && run.reason != Some(EndReason::HostRestarted)
        });
        let wakes = failed.filter_map(|run| self.message_of(&run.id).wakes.clone());
        wakes.flat_map(|wake| wake.task_ids).collect()
    }

    fn is_below(&self, thread: &ThreadId, top: &ThreadId) -> bool {
        let mut at = Some(thread.clone());
        while let Some(id) = at {
            if id == *top {
                return true;
            }
            at = self.view.threads[&id]
                .lineage
                .parent
                .clone()
                .map(|link| link.thread_id);
        }
        false
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_wake_is_lost_and_none_comes_twice(seed: u64, steps in life(80)) {
        let mut world = World::seeded(u128::from(seed));
        world.starting();
        for step in steps {
            world.step(step);
        }
        world.run_dry();

        let untold = world.tasks_of_failed_wakes();
        for task in world.view.tasks.values() {
            prop_assert!(task.result.is_some(), "never ended: {task:?}");
            let state = task.delivery.as_ref().map(|delivery| delivery.state);
            let told = world.told.get(&task.id).map_or(0, Vec::len);
            prop_assert!(told <= 1, "told {told} times: {task:?}");
            match state {
                Some(DeliveryState::Delivered) => {
                    prop_assert!(told == 1 || untold.contains(&task.id), "lost: {task:?}");
                }
                Some(DeliveryState::Acknowledged | DeliveryState::Disposed) => {}
                Some(DeliveryState::Pending | DeliveryState::Claimed) | None => {
                    prop_assert!(false, "still owed: {task:?}");
                }
            }
        }
        for item in world.view.items.values() {
            prop_assert!(item.status != ItemStatus::Running, "never closed: {item:?}");
        }
    }

    #[test]
    fn the_journal_alone_rebuilds_the_state(seed: u64, steps in life(60)) {
        let mut world = World::seeded(u128::from(seed));
        world.starting();
        for step in steps {
            world.step(step);
        }
        prop_assert!(world.replayed() == world.view);
        let stored = serde_json::to_vec(&world.journal).expect("events are JSON");
        let read: Vec<crate::event::Event> = serde_json::from_slice(&stored).expect("and back");
        prop_assert!(read == world.journal);
    }

    #[test]
    fn no_run_starts_below_a_stop_until_a_person_says_so(
        seed: u64,
        steps in life(50),
        stopped in at(),
        after in prop::collection::vec(prop_oneof![3 => report(), 2 => tool()], 1..30),
    ) {
        let mut world = World::seeded(u128::from(seed));
        world.starting();
        for step in steps {
            world.step(step);
        }
        let top = pick(stopped, &world.thread_ids()).expect("a thread");
        world.stop(&top);
        let effects = world.effects.len();
        for step in after {
            // A turn that completes in spite of the stop has nothing to hold a late steer by.
            if !matches!(step, Step::RefuseSteer(_)) {
                world.step(step);
            }
        }
        world.run_dry();
        for run in started(&world.effects[effects..]) {
            let run = world.run_at(&run);
            prop_assert!(!world.is_below(&run.thread_id, &top), "started after the stop: {run:?}");
        }
    }
}
