//! A small host: a store, a clock, and short words for what tests say again and again.

use std::collections::BTreeMap;

use crate::command::*;
use crate::decide::{Decision, Moment, decide};
use crate::effect::Effect;
use crate::error::{Denial, DenialCode};
use crate::event::Event;
use crate::ids::*;
use crate::item::{ItemHead, ItemKind, ItemStatus};
use crate::message::Provenance;
use crate::modes::{InteractionMode, Modes, RuntimeMode};
use crate::provider::{ModelSelection, Steering};
use crate::provider_event::*;
use crate::request::Prompt;
use crate::run::RunStatus;
use crate::task::WakePolicy;
use crate::time::Timestamp;

use super::invariants::{check_event, check_state};
use super::map_view::MapView;

pub(super) const INSTANCE: &str = "codex";
pub(super) const SESSION: &str = "session-1";
pub(super) const BROADEST: Modes = Modes {
    runtime: RuntimeMode::FullAccess,
    interaction: InteractionMode::Default,
};

#[derive(Debug)]
pub(super) struct World {
    pub(super) view: MapView,
    pub(super) journal: Vec<Event>,
    pub(super) effects: Vec<Effect>,
    /// For each task the wakes that reached a provider.
    pub(super) told: BTreeMap<TaskId, Vec<MessageId>>,
    pub(super) project: ProjectId,
    now: u64,
    seed: u128,
}

/// A thread and a run of it.
#[derive(Clone, Debug)]
pub(super) struct Talk {
    pub(super) thread: ThreadId,
    pub(super) run: RunId,
}

/// A delegated task.
#[derive(Clone, Debug)]
pub(super) struct Child {
    pub(super) task: TaskId,
    pub(super) thread: ThreadId,
    pub(super) run: RunId,
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "commands are written where they are given"
)]
impl World {
    pub(super) fn new() -> Self {
        Self::seeded(1)
    }

    /// Ids differ with the seed, and so does their order.
    pub(super) fn seeded(seed: u128) -> Self {
        let mut world = Self {
            view: MapView::default(),
            journal: Vec::new(),
            effects: Vec::new(),
            told: BTreeMap::new(),
            project: ProjectId::new("none"),
            now: 1_000,
            seed,
        };
        let add = AddProject {
            name: "weft".to_owned(),
            root: "/src/weft".to_owned(),
        };
        let Answer::Project { project_id } = world.run(Command::AddProject(add)).answer else {
            panic!("no Project")
        };
        world.project = project_id;
        world
    }

    // ------------------------------------------------------------ commands

    pub(super) fn try_run(&mut self, command: &Command) -> Result<Decision, Denial> {
        self.now += 1;
        self.seed = self
            .seed
            .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
            .wrapping_add(7);
        let moment = Moment::new(Timestamp::from_millis(self.now), self.seed);
        let Ok(ruled) = decide(&self.view, command, moment);
        let decision = ruled?;
        for event in &decision.events {
            check_event(&self.view, event);
            self.note_told(event);
            self.view.apply(event);
        }
        check_state(&self.view);
        self.journal.extend(decision.events.iter().cloned());
        self.effects.extend(decision.effects.iter().cloned());
        Ok(decision)
    }

    fn note_told(&mut self, event: &Event) {
        let Event::RunUpdated(run) = event else {
            return;
        };
        if self.view.runs[&run.id].status == RunStatus::Starting && run.status == RunStatus::Running
        {
            let message = self.view.messages[&run.message_id].clone();
            for id in message.wakes.into_iter().flat_map(|wake| wake.task_ids) {
                self.told.entry(id).or_default().push(message.id.clone());
            }
        }
    }

    pub(super) fn run(&mut self, command: Command) -> Decision {
        match self.try_run(&command) {
            Ok(decision) => decision,
            Err(denial) => panic!("{command:?} was refused: {denial:?}"),
        }
    }

    /// The code of the refusal; a refusal changes nothing.
    pub(super) fn deny(&mut self, command: Command) -> DenialCode {
        let denial = self.denial(command);
        assert!(!denial.message.is_empty());
        denial.code
    }

    pub(super) fn denial(&mut self, command: Command) -> Denial {
        match self.try_run(&command) {
            Ok(decision) => panic!("{command:?} was taken: {decision:?}"),
            Err(denial) => denial,
        }
    }

    pub(super) fn report(&mut self, event: ProviderEvent) -> Decision {
        self.report_from(SESSION, event)
    }

    pub(super) fn report_from(&mut self, session: &str, event: ProviderEvent) -> Decision {
        self.run(Command::Report(ProviderReport {
            session_id: ProviderSessionId::new(session),
            instance_id: ProviderInstanceId::new(INSTANCE),
            event,
        }))
    }

    // ------------------------------------------------------------ threads and turns

    pub(super) fn create(&self, prompt: Option<&str>) -> CreateThread {
        CreateThread {
            project_id: self.project.clone(),
            title: None,
            provider_instance_id: ProviderInstanceId::new(INSTANCE),
            model: ModelSelection {
                model: Some("gpt".to_owned()),
                options: Vec::new(),
            },
            modes: BROADEST,
            provenance: Provenance::person_at_command_line(),
            prompt: prompt.map(str::to_owned),
        }
    }

    pub(super) fn idle_thread(&mut self) -> ThreadId {
        let Answer::Thread {
            thread_id,
            run_id: None,
        } = self.run(Command::CreateThread(self.create(None))).answer
        else {
            panic!("no idle thread")
        };
        thread_id
    }

    /// A top-level thread whose first run is `starting`.
    pub(super) fn starting(&mut self) -> Talk {
        self.starting_in(BROADEST)
    }

    pub(super) fn starting_in(&mut self, modes: Modes) -> Talk {
        let create = CreateThread {
            modes,
            ..self.create(Some("Do it."))
        };
        let Answer::Thread {
            thread_id,
            run_id: Some(run),
        } = self.run(Command::CreateThread(create)).answer
        else {
            panic!("no first run")
        };
        Talk {
            thread: thread_id,
            run,
        }
    }

    /// A top-level thread whose first run is `running`.
    pub(super) fn running(&mut self) -> Talk {
        let talk = self.starting();
        self.start(&talk.run);
        talk
    }

    pub(super) fn start(&mut self, run: &RunId) -> Decision {
        let (run_id, native_turn_id) = (run.clone(), Some(format!("native of {run}")));
        self.report(ProviderEvent::TurnStarted {
            run_id,
            native_turn_id,
        })
    }

    pub(super) fn end(&mut self, run: &RunId, outcome: TurnOutcome) -> Decision {
        self.report(ProviderEvent::TurnEnded {
            run_id: run.clone(),
            outcome,
            native_point: None,
        })
    }

    pub(super) fn complete(&mut self, run: &RunId) -> Decision {
        self.end(run, TurnOutcome::Completed)
    }

    /// The run from wherever it is to `completed`, having said this.
    pub(super) fn finish(&mut self, run: &RunId, text: &str) -> Decision {
        self.start(run);
        self.say(run, text);
        self.complete(run)
    }

    pub(super) fn item(&self, run: &RunId, id: &str, status: ItemStatus) -> ProviderItem {
        ProviderItem {
            driver_item_id: id.to_owned(),
            thread_id: self.view.runs[run].thread_id.clone(),
            run_id: Some(run.clone()),
            parent_driver_item_id: None,
            kind: ItemKind::AssistantMessage,
            status,
            title: None,
            text: None,
            head: ItemHead::default(),
            body_json: "{}".to_owned(),
        }
    }

    pub(super) fn say(&mut self, run: &RunId, text: &str) -> Decision {
        let id = format!("said-{}", self.now);
        let mut item = self.item(run, &id, ItemStatus::Completed);
        item.text = Some(text.to_owned());
        self.report(ProviderEvent::Item(item))
    }

    pub(super) fn background(&mut self, thread: &ThreadId, tasks: &[&str]) -> Decision {
        let (thread_id, tasks) = (
            thread.clone(),
            tasks.iter().map(|&task| task.to_owned()).collect(),
        );
        self.report(ProviderEvent::Background { thread_id, tasks })
    }

    pub(super) fn attach(&mut self, thread: &ThreadId) -> Decision {
        self.report(ProviderEvent::ThreadAttached {
            thread_id: thread.clone(),
        })
    }

    pub(super) fn ask(&mut self, id: &str, run: &RunId, prompt: Prompt) -> RequestId {
        let request_id = RequestId::new(id);
        self.report(ProviderEvent::RequestOpened {
            request_id: request_id.clone(),
            thread_id: self.view.runs[run].thread_id.clone(),
            run_id: Some(run.clone()),
            blocking: Blocking::Blocking,
            prompt,
            detail_json: "{}".to_owned(),
        });
        request_id
    }

    pub(super) fn message_to(&self, thread: &ThreadId, text: &str, mode: SendMode) -> SendMessage {
        SendMessage {
            thread_id: thread.clone(),
            text: text.to_owned(),
            provenance: Provenance::person_at_command_line(),
            mode,
            steering: Steering::Native,
            caller: crate::command::Caller::Person,
        }
    }

    /// A message that starts or queues a run.
    pub(super) fn send(&mut self, thread: &ThreadId) -> RunId {
        let send = self.message_to(thread, "And this.", SendMode::Queue);
        match self.run(Command::SendMessage(send)).answer {
            Answer::Sent { run_id, .. } => run_id,
            other => panic!("{other:?}"),
        }
    }

    /// A message that joins the running turn.
    pub(super) fn steer(&mut self, thread: &ThreadId) -> MessageId {
        let send = self.message_to(thread, "Rather this.", SendMode::Steer);
        match self.run(Command::SendMessage(send)).answer {
            Answer::Sent { message_id, .. } => message_id,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn refuse_steer(&mut self, run: &RunId, message: &MessageId) -> Decision {
        self.report(ProviderEvent::SteerEnded {
            run_id: run.clone(),
            message_id: message.clone(),
            refusal: Some(failure("too late")),
        })
    }

    pub(super) fn stop(&mut self, thread: &ThreadId) -> u32 {
        let stop = Command::StopThread {
            thread_id: thread.clone(),
            reason: "enough".to_owned(),
        };
        match self.run(stop).answer {
            Answer::Stopped { runs } => runs,
            other => panic!("{other:?}"),
        }
    }

    // ------------------------------------------------------------ delegation

    pub(super) fn wanted(&self, parent: &ThreadId, wake: WakePolicy) -> Delegate {
        Delegate {
            parent_thread_id: parent.clone(),
            caller_instance_id: ProviderInstanceId::new(INSTANCE),
            task: "Look into it.".to_owned(),
            title: None,
            role: None,
            target: Ok(ResolvedTarget {
                instance_id: ProviderInstanceId::new(INSTANCE),
                model: ModelSelection::default(),
                runtime_modes: Vec::new(),
                interaction_modes: Vec::new(),
            }),
            runtime_mode: None,
            interaction_mode: None,
            wake,
            depth_max: crate::limits::DELEGATION_DEPTH_DEFAULT,
        }
    }

    pub(super) fn delegated(&mut self, wanted: Delegate) -> Child {
        match self.run(Command::Delegate(wanted)).answer {
            Answer::Delegated {
                task_id,
                child_thread_id,
                child_run_id,
            } => Child {
                task: task_id,
                thread: child_thread_id,
                run: child_run_id,
            },
            other => panic!("{other:?}"),
        }
    }

    /// A task whose caller does not wait.
    pub(super) fn delegate(&mut self, parent: &ThreadId) -> Child {
        self.delegated(self.wanted(parent, WakePolicy::Always))
    }

    /// A task whose caller waits.
    pub(super) fn delegate_and_wait(&mut self, parent: &ThreadId) -> Child {
        self.delegated(self.wanted(parent, WakePolicy::SettledOnly))
    }

    pub(super) fn acknowledge(&mut self, child: &Child) -> Decision {
        self.run(Command::AcknowledgeTask {
            task_id: child.task.clone(),
        })
    }

    pub(super) fn cancel_command(&self, parent: &ThreadId, task: &TaskId) -> Command {
        Command::CancelTask(CancelTask {
            parent_thread_id: parent.clone(),
            task_id: task.clone(),
            reason: None,
        })
    }

    pub(super) fn cancel(&mut self, parent: &ThreadId, child: &Child) -> CancelOutcome {
        match self.run(self.cancel_command(parent, &child.task)).answer {
            Answer::Cancelled { outcome } => outcome,
            other => panic!("{other:?}"),
        }
    }
}

pub(super) fn failure(message: &str) -> Failure {
    Failure {
        class: FailureClass::ProviderError,
        message: message.to_owned(),
        code: None,
        retryable: None,
    }
}

pub(super) fn failed(message: &str) -> TurnOutcome {
    TurnOutcome::Failed(failure(message))
}

/// The runs of the `start-turn` effects, in order.
pub(super) fn started(effects: &[Effect]) -> Vec<RunId> {
    let run = |effect: &Effect| match effect {
        Effect::StartTurn { run_id, .. } => Some(run_id.clone()),
        _ => None,
    };
    effects.iter().filter_map(run).collect()
}

/// The runs of the `interrupt` effects, in order.
pub(super) fn interrupted(effects: &[Effect]) -> Vec<RunId> {
    let run = |effect: &Effect| match effect {
        Effect::Interrupt { run_id, .. } => Some(run_id.clone()),
        _ => None,
    };
    effects.iter().filter_map(run).collect()
}
