//! The session: its process, its threads, and which input goes where.
#![forbid(unsafe_code)]

use driver_sdk::Driver;
use driver_sdk::effects::Effects;
use driver_sdk::failure;
use driver_sdk::limits::OUTBOX_TIMER;
use driver_sdk::outbox::Outbox;
use driver_sdk::stream::{Noise, Tail};
use driver_sdk::types::{
    Action, DriverError, DriverInfo, EffectOutcome, Event, Failure, Input, RequestClosed,
    SessionConfig, SessionEnded, Snapshot, Spawn, TurnEnded, TurnOutcome,
};

use crate::describe;
use crate::settings::Settings;
use crate::state::{OpenRequest, Thread, Turn};
use crate::waits::{Wait, Waits};
use crate::wire::Op;

/// The agent's process.
pub(crate) const AGENT_PROCESS: u32 = 1;

/// One provider session with `weft scripted-agent`.
#[derive(Debug)]
pub struct Scripted {
    pub(crate) config: SessionConfig,
    pub(crate) settings: Settings,
    pub(crate) out: Outbox,
    pub(crate) effects: Effects,
    pub(crate) waits: Waits,
    pub(crate) noise: Noise,
    pub(crate) tail: Tail,
    pub(crate) process: Process,
    /// The last line of standard output was cut off.
    pub(crate) cut: bool,
    pub(crate) version: Option<String>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) requests: Vec<OpenRequest>,
    pub(crate) purpose: Purpose,
    pub(crate) stage: Stage,
}

/// What the session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Session,
    Probe,
}

/// How far the session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// `begin` is still to come.
    New,
    Open,
    /// The host asked for the end.
    Closing,
    /// Nothing more is said.
    Over,
}

/// Where the agent's process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    None,
    /// Started, `hello` not answered.
    Greeting,
    Ready,
    /// Ended.
    Gone,
    /// It never ran.
    Missing,
}

impl Driver for Scripted {
    fn describe() -> DriverInfo {
        describe::driver_info()
    }

    fn open(config: SessionConfig) -> Result<Self, DriverError> {
        let purpose = match config.purpose.as_str() {
            "session" => Purpose::Session,
            "probe" => Purpose::Probe,
            other => {
                return Err(DriverError::InvalidConfig(format!(
                    "purpose: `{other}` is unknown"
                )));
            }
        };
        Ok(Self {
            settings: Settings::parse(&config.settings_json)?,
            out: Outbox::new(&config.limits),
            waits: Waits::new(&config.limits),
            config,
            effects: Effects::default(),
            noise: Noise::default(),
            tail: Tail::default(),
            process: Process::None,
            cut: false,
            version: None,
            threads: Vec::new(),
            requests: Vec::new(),
            purpose,
            stage: Stage::New,
        })
    }

    fn handle(&mut self, inputs: Vec<Input>) -> Result<Vec<Action>, DriverError> {
        for input in inputs {
            self.input(input)?;
        }
        Ok(self.out.take())
    }
}

impl Scripted {
    fn input(&mut self, input: Input) -> Result<(), DriverError> {
        match (self.stage, &input) {
            (_, Input::Timer(OUTBOX_TIMER)) => return Ok(()),
            (Stage::New, Input::Begin) => {
                self.begin();
                return Ok(());
            }
            (Stage::New, _) => {
                return Err(DriverError::InvalidInput(
                    "the first input must be begin".to_owned(),
                ));
            }
            (_, Input::Begin) => {
                return Err(DriverError::InvalidInput("begin comes once".to_owned()));
            }
            (Stage::Over | Stage::Closing, input) => {
                if let Some(effect_id) = effect_of(input) {
                    self.refuse(effect_id, "This provider session is over.");
                    return Ok(());
                }
                if self.stage == Stage::Over {
                    return Ok(());
                }
            }
            (Stage::Open, _) => {}
        }
        match input {
            Input::Line(line) => self.line(&line),
            Input::OpenThread(open) => self.open_thread(open),
            Input::StartTurn(start) => self.start_turn(start),
            Input::Steer(steer) => self.steer(&steer),
            Input::Interrupt(interrupt) => self.interrupt(&interrupt),
            Input::Answer(answer) => self.answer(&answer),
            Input::SetModes(set) => self.set_modes(&set),
            Input::SetModel(set) => self.set_model(&set),
            Input::Fork(fork) => {
                self.refuse(
                    &fork.effect_id,
                    "The scripted agent can't copy a conversation.",
                );
            }
            Input::Rollback(rollback) => {
                self.refuse(
                    &rollback.effect_id,
                    "The scripted agent can't shorten a conversation.",
                );
            }
            Input::CloseThread(close) => self.close_thread(&close),
            Input::Close(_) => self.close(),
            Input::Exited(exited) => self.exited(&exited),
            Input::Timer(timer_id) => self.timer(timer_id),
            // Either handled above or named in no feature of this driver.
            Input::Begin | Input::Extension(_) => {}
        }
        Ok(())
    }

    /// Starts the agent and greets it.
    fn begin(&mut self) {
        self.stage = Stage::Open;
        self.process = Process::Greeting;
        self.out.push(Action::Spawn(Spawn {
            process_id: AGENT_PROCESS,
            template: describe::AGENT.to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
        }));
        self.say(&Op::Hello);
        self.wait(Wait::Hello);
    }

    /// `close`: standard input ends, and the agent with it.
    fn close(&mut self) {
        self.stage = Stage::Closing;
        match self.process {
            Process::Greeting | Process::Ready => {
                self.out.push(Action::CloseStdin(AGENT_PROCESS));
            }
            Process::None | Process::Gone | Process::Missing => self.end_session(None),
        }
    }

    /// Ends the session: every turn, request and effect gets its one end, then the session its own.
    pub(crate) fn end_session(&mut self, failure: Option<Failure>) {
        let lost = failure
            .clone()
            .unwrap_or_else(|| failure::transport("The session was closed."));
        for request in std::mem::take(&mut self.requests) {
            self.report_closed(request.request_id, "process-ended");
        }
        for turn in self.take_turns() {
            let outcome = if failure.is_none() || turn.interrupt.is_some() {
                TurnOutcome::Interrupted
            } else {
                TurnOutcome::Failed(lost.clone())
            };
            self.finish_turn(turn, outcome, "broken", &lost);
        }
        for event in self.effects.fail_all(&lost) {
            self.out.emit(event);
        }
        match self.purpose {
            Purpose::Probe => self.show_snapshot(failure.as_ref()),
            Purpose::Session => self.out.emit(Event::SessionEnded(SessionEnded { failure })),
        }
        self.finish();
    }

    /// Says nothing more, and leaves nothing running.
    pub(crate) fn finish(&mut self) {
        if let Some(action) = self.waits.end_all() {
            self.out.push(action);
        }
        if matches!(self.process, Process::Greeting | Process::Ready) {
            self.out.push(Action::Stop(AGENT_PROCESS));
        }
        self.stage = Stage::Over;
    }

    /// The answer to a probe.
    pub(crate) fn show_snapshot(&mut self, failure: Option<&Failure>) {
        let (installation, status) = match (self.process, failure) {
            (Process::Missing, _) => ("missing", "error"),
            (_, Some(_)) => ("installed", "error"),
            (_, None) => ("installed", "ready"),
        };
        self.out.emit(Event::Snapshot(Snapshot {
            installation: installation.to_owned(),
            version: self.version.clone(),
            // There is no account.
            authentication: "authenticated".to_owned(),
            status: status.to_owned(),
            models: vec![describe::model()],
            runtime_modes: Vec::new(),
            interaction_modes: Vec::new(),
            reason: failure.map(|failure| failure.message.clone()),
            extra: None,
        }));
    }

    // ------------------------------------------------------------- small parts

    /// Writes a line to the agent. `false`: it is longer than a frame may be, and nothing was sent.
    pub(crate) fn say(&mut self, op: &Op<'_>) -> bool {
        match serde_json::to_string(op) {
            Ok(frame) if self.out.frame_fits(&frame) => {
                self.out.write(AGENT_PROCESS, frame);
                true
            }
            _ => false,
        }
    }

    pub(crate) fn wait(&mut self, wait: Wait) {
        let action = self.waits.begin(wait);
        self.out.push(action);
    }

    pub(crate) fn stop_waiting(&mut self, wait: &Wait) {
        if let Some(action) = self.waits.end(wait) {
            self.out.push(action);
        }
    }

    pub(crate) fn end_effect(&mut self, effect_id: &str, outcome: EffectOutcome) {
        if let Some(event) = self.effects.end(effect_id, outcome) {
            self.out.emit(event);
        }
    }

    pub(crate) fn fail_effect(&mut self, effect_id: &str, failure: &Failure) {
        if let Some(event) = self.effects.fail(effect_id, failure) {
            self.out.emit(event);
        }
    }

    /// Answers an effect that can't be had.
    pub(crate) fn refuse(&mut self, effect_id: &str, message: &str) {
        self.effects.begin(effect_id);
        self.refuse_open(effect_id, message);
    }

    /// The same for an effect that was begun.
    pub(crate) fn refuse_open(&mut self, effect_id: &str, message: &str) {
        let failure = failure::validation(message);
        self.end_effect(effect_id, EffectOutcome::Refused(failure));
    }

    pub(crate) fn report_closed(&mut self, request_id: String, reason: &str) {
        let reason = reason.to_owned();
        self.out
            .emit(Event::RequestClosed(RequestClosed { request_id, reason }));
    }

    pub(crate) fn thread(&mut self, host_id: &str) -> Option<&mut Thread> {
        self.threads
            .iter_mut()
            .find(|thread| thread.host_id == host_id)
    }

    pub(crate) fn turn(&mut self, turn_id: &str) -> Option<&mut Turn> {
        self.threads
            .iter_mut()
            .filter_map(|thread| thread.turn.as_mut())
            .find(|turn| turn.host_id == turn_id)
    }

    /// The thread that runs a turn.
    pub(crate) fn thread_of_turn(&self, turn_id: &str) -> Option<&Thread> {
        let runs = |thread: &&Thread| {
            thread
                .turn
                .as_ref()
                .is_some_and(|turn| turn.host_id == turn_id)
        };
        self.threads.iter().find(runs)
    }

    /// Takes a turn out of its thread: it is over.
    pub(crate) fn take_turn(&mut self, turn_id: &str) -> Option<Turn> {
        let thread_id = self.thread_of_turn(turn_id)?.host_id.clone();
        self.thread(&thread_id)?.turn.take()
    }

    fn take_turns(&mut self) -> Vec<Turn> {
        self.threads
            .iter_mut()
            .filter_map(|thread| thread.turn.take())
            .collect()
    }

    /// Reports the end of a turn and answers what was asked of it. One that never started is answered by the failure.
    pub(crate) fn finish_turn(
        &mut self,
        turn: Turn,
        outcome: TurnOutcome,
        thread_state: &str,
        lost: &Failure,
    ) {
        for wait in [
            Wait::Start(turn.host_id.clone()),
            Wait::Interrupt(turn.host_id.clone()),
        ] {
            self.stop_waiting(&wait);
        }
        if !turn.announced {
            self.fail_effect(&turn.start_effect, lost);
            if let Some(effect_id) = &turn.interrupt {
                self.end_effect(effect_id, EffectOutcome::Done);
            }
        } else if let Some(effect_id) = &turn.interrupt {
            // The end of the turn is the answer.
            self.effects.settle(effect_id);
        }
        for effect_id in &turn.steers {
            self.refuse_open(effect_id, "The turn ended before.");
        }
        if turn.announced {
            self.out.emit(Event::TurnEnded(TurnEnded {
                turn_id: turn.host_id,
                outcome,
                native_point: None,
                native_thread_state: thread_state.to_owned(),
                extra: None,
            }));
        }
    }
}

/// The effect an input asks an answer for.
fn effect_of(input: &Input) -> Option<&str> {
    match input {
        Input::OpenThread(input) => Some(&input.effect_id),
        Input::StartTurn(input) => Some(&input.effect_id),
        Input::Steer(input) => Some(&input.effect_id),
        Input::Interrupt(input) => Some(&input.effect_id),
        Input::Answer(input) => Some(&input.effect_id),
        Input::SetModes(input) => Some(&input.effect_id),
        Input::SetModel(input) => Some(&input.effect_id),
        Input::Fork(input) => Some(&input.effect_id),
        Input::Rollback(input) => Some(&input.effect_id),
        Input::CloseThread(input) => Some(&input.effect_id),
        Input::Begin
        | Input::Close(_)
        | Input::Line(_)
        | Input::Exited(_)
        | Input::Timer(_)
        | Input::Extension(_) => None,
    }
}
