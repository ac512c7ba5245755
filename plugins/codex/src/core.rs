//! The session: its process, its threads, and which input goes where.
#![forbid(unsafe_code)]

use driver_sdk::Driver;
use driver_sdk::effects::Effects;
use driver_sdk::failure;
use driver_sdk::jsonrpc::Calls;
use driver_sdk::limits::OUTBOX_TIMER;
use driver_sdk::outbox::Outbox;
use driver_sdk::stream::{Noise, Tail};
use driver_sdk::types::{
    Action, DriverError, DriverInfo, EffectOutcome, Event, Failure, Input, McpEndpoint,
    SessionConfig, SessionEnded, Spawn, TurnOutcome,
};

use crate::describe;
use crate::history::{Copy, Cut, Search};
use crate::launch;
use crate::limits::HANDSHAKE_MS;
use crate::mcp::EarlyReport;
use crate::probe::Probe;
use crate::requests::OpenRequest;
use crate::settings::{McpInjection, Settings};
use crate::thread::{Thread, ThreadKey};
use crate::timers::{Purpose, Timers};

/// The app-server.
pub(crate) const APP_PROCESS: u32 = 1;
/// `codex --version`, when a probe needs it.
pub(crate) const VERSION_PROCESS: u32 = 2;

/// One provider session with `codex app-server`.
#[derive(Debug)]
pub struct Codex {
    pub(crate) config: SessionConfig,
    pub(crate) settings: Settings,
    pub(crate) out: Outbox,
    pub(crate) effects: Effects,
    pub(crate) calls: Calls<Call>,
    pub(crate) timers: Timers,
    pub(crate) noise: Noise,
    pub(crate) tail: Tail,
    pub(crate) process: Process,
    /// The last line of standard output was cut off.
    pub(crate) cut: bool,
    pub(crate) version: Option<String>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) early_reports: Vec<EarlyReport>,
    pub(crate) requests: Vec<OpenRequest>,
    /// Set while a probe runs.
    pub(crate) probe: Option<Probe>,
    pub(crate) next_thread: u32,
    pub(crate) next_item: u64,
    pub(crate) next_request: u64,
    stage: Stage,
}

/// How far the session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// `begin` is still to come.
    New,
    Open,
    /// The host asked for the end.
    Closing,
    /// Nothing more is said.
    Over,
}

/// Where the app-server stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Process {
    None,
    /// Started, `initialize` not answered.
    Greeting,
    Ready,
    Gone {
        started: bool,
    },
}

/// A request that is out, with what its answer is for.
#[derive(Debug)]
pub(crate) enum Call {
    Initialize,
    Account,
    Models,
    OpenThread(ThreadKey),
    StartTurn(ThreadKey),
    /// Holds the effect.
    Steer(String),
    Interrupt(ThreadKey),
    ListTerminals(ThreadKey),
    Terminate(ThreadKey),
    CleanTerminals(ThreadKey),
    Fork(Copy),
    CheckFork(Copy),
    ListTurns(Search),
    ReadTurns(Search),
    Revert(Cut),
    /// Holds the effect.
    Rollback(String),
    /// Holds the effect.
    CloseThread(String),
    /// Nobody waits for it.
    Forget,
}

impl Driver for Codex {
    fn describe() -> DriverInfo {
        describe::driver_info()
    }

    fn open(config: SessionConfig) -> Result<Self, DriverError> {
        let probe = match config.purpose.as_str() {
            "session" => None,
            "probe" => Some(Probe::default()),
            other => {
                return Err(DriverError::InvalidConfig(format!(
                    "purpose: `{other}` is unknown"
                )));
            }
        };
        Ok(Self {
            settings: Settings::parse(&config.settings_json)?,
            out: Outbox::new(&config.limits),
            timers: Timers::new(&config.limits),
            config,
            effects: Effects::default(),
            calls: Calls::default(),
            noise: Noise::default(),
            tail: Tail::default(),
            process: Process::None,
            cut: false,
            version: None,
            threads: Vec::new(),
            early_reports: Vec::new(),
            requests: Vec::new(),
            probe,
            next_thread: 1,
            next_item: 1,
            next_request: 1,
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

impl Codex {
    fn input(&mut self, input: Input) -> Result<(), DriverError> {
        match (self.stage, &input) {
            (_, Input::Timer(OUTBOX_TIMER)) => return Ok(()),
            (Stage::New, Input::Begin) => {
                self.stage = Stage::Open;
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
                    self.effects.begin(effect_id);
                    let failure = failure::transport("This provider session is over.");
                    self.fail_effect(effect_id, &failure);
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
            Input::Steer(steer) => self.steer(steer),
            Input::Interrupt(interrupt) => self.interrupt(&interrupt),
            Input::Answer(answer) => self.answer(&answer),
            Input::SetModes(set) => self.set_modes(set),
            Input::SetModel(set) => self.set_model(set),
            Input::Fork(fork) => self.fork(fork),
            Input::Rollback(rollback) => self.rollback(rollback),
            Input::CloseThread(close) => self.close_thread(&close),
            Input::Close(_) => self.close(),
            Input::Exited(exited) => self.exited(&exited),
            Input::Timer(timer_id) => self.timer(timer_id),
            // Either handled above or named in no feature of this driver.
            Input::Begin | Input::Extension(_) => {}
        }
        Ok(())
    }

    fn begin(&mut self) {
        if self.probe.is_some() || self.settings.mcp_injection == McpInjection::Frames {
            self.start_process(None);
        }
    }

    /// Starts the app-server and greets it.
    pub(crate) fn start_process(&mut self, mcp: Option<&McpEndpoint>) {
        if self.process != Process::None {
            return;
        }
        self.process = Process::Greeting;
        self.out.push(Action::Spawn(Spawn {
            process_id: APP_PROCESS,
            template: describe::APP_SERVER.to_owned(),
            arguments: launch::words(&self.config, &self.settings, mcp),
            environment: launch::environment(&self.config, mcp),
        }));
        self.call(
            "initialize",
            &launch::greeting(),
            Call::Initialize,
            HANDSHAKE_MS,
        );
    }

    /// `close`: standard input ends, and Codex with it.
    fn close(&mut self) {
        self.stage = Stage::Closing;
        match self.process {
            Process::Greeting | Process::Ready => self.out.push(Action::CloseStdin(APP_PROCESS)),
            Process::None | Process::Gone { .. } => self.end_session(None),
        }
    }

    /// Ends the session: every turn, request and effect gets its one end, then the session its own.
    pub(crate) fn end_session(&mut self, failure: Option<Failure>) {
        let lost = failure
            .clone()
            .unwrap_or_else(|| failure::transport("The session was closed."));
        for key in self.keys() {
            self.close_requests_of(key, "process-ended");
            let announced = self
                .thread(key)
                .and_then(|thread| thread.turn.as_ref())
                .is_some_and(|turn| turn.announced);
            if failure.is_none() && announced {
                self.end_turn(key, TurnOutcome::Interrupted, "broken");
            } else {
                self.lose_turn(key, &lost);
            }
        }
        for event in self.effects.fail_all(&lost) {
            self.out.emit(event);
        }
        if self.probe.is_some() {
            self.finish_probe(failure.as_ref());
            return;
        }
        self.out.emit(Event::SessionEnded(SessionEnded { failure }));
        self.finish();
    }

    /// Says nothing more, and leaves nothing running.
    pub(crate) fn finish(&mut self) {
        for action in self.timers.stop_all() {
            self.out.push(action);
        }
        if matches!(self.process, Process::Greeting | Process::Ready) {
            self.out.push(Action::Stop(APP_PROCESS));
        }
        self.stage = Stage::Over;
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.stage == Stage::Closing
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.process == Process::Ready
    }

    // ------------------------------------------------------------- small parts

    pub(crate) fn arm(&mut self, purpose: Purpose, delay_ms: u32) {
        let action = self.timers.start(purpose, delay_ms);
        self.out.push(action);
    }

    pub(crate) fn stop_timer(&mut self, purpose: Purpose) {
        if let Some(action) = self.timers.stop(purpose) {
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

    pub(crate) fn refuse_unknown_thread(&mut self, effect_id: &str) {
        let failure = failure::validation("This session does not hold the thread.");
        self.end_effect(effect_id, EffectOutcome::Refused(failure));
    }

    pub(crate) fn new_item_id(&mut self) -> String {
        let number = self.next_item;
        self.next_item += 1;
        format!("item-{number}")
    }

    pub(crate) fn keys(&self) -> Vec<ThreadKey> {
        self.threads.iter().map(|thread| thread.key).collect()
    }

    pub(crate) fn thread(&mut self, key: ThreadKey) -> Option<&mut Thread> {
        self.threads.iter_mut().find(|thread| thread.key == key)
    }

    /// The thread Codex calls `native`.
    pub(crate) fn thread_native(&mut self, native: &str) -> Option<&mut Thread> {
        self.threads
            .iter_mut()
            .find(|thread| thread.native.as_deref() == Some(native))
    }

    pub(crate) fn key_of(&self, host_id: &str) -> Option<ThreadKey> {
        self.threads
            .iter()
            .find(|thread| thread.host_id == host_id)
            .map(|thread| thread.key)
    }

    pub(crate) fn key_of_native(&self, native: &str) -> Option<ThreadKey> {
        let named = |thread: &&Thread| thread.native.as_deref() == Some(native);
        self.threads.iter().find(named).map(|thread| thread.key)
    }

    /// The thread that runs the host's turn.
    pub(crate) fn key_of_turn(&self, turn_id: &str) -> Option<ThreadKey> {
        let runs = |thread: &&Thread| {
            thread
                .turn
                .as_ref()
                .is_some_and(|turn| turn.host_id == turn_id)
        };
        self.threads.iter().find(runs).map(|thread| thread.key)
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
