//! What goes to and comes from the process: frames, answers, silence and the end.
#![forbid(unsafe_code)]

use driver_sdk::failure::{self, Class};
use driver_sdk::jsonrpc::{self, Dialect, Frame, RpcError};
use driver_sdk::logging::{self, LogLevel};
use driver_sdk::types::{EffectOutcome, ExitCause, Exited, Failure, Line, LineState, Output};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::core::{APP_PROCESS, Call, Codex, Process, VERSION_PROCESS};
use crate::errors;
use crate::launch::{self, Version};
use crate::limits::{CALL_MS, HANDSHAKE_MS};
use crate::timers::Purpose;
use crate::views::{self, Greeting, Started, View, view};
use crate::wire::{self, Delta};

type Outcome<'a> = Result<&'a RawValue, RpcError<'a>>;

impl Codex {
    /// Sends a request that must be answered in time. `false`: it is longer than a frame may be, and nothing was sent.
    pub(crate) fn call(
        &mut self,
        method: &str,
        params: &Value,
        call: Call,
        answer_ms: u32,
    ) -> bool {
        let id = self.calls.begin(call);
        let frame = Dialect::Bare.request(id, method, params);
        if !self.out.frame_fits(&frame) {
            self.calls.end(id);
            return false;
        }
        self.write_frame(frame);
        self.arm(Purpose::Call(id), answer_ms);
        true
    }

    /// Sends a short request.
    pub(crate) fn call_default(&mut self, method: &str, params: &Value, call: Call) {
        self.call(method, params, call, CALL_MS);
    }

    pub(crate) fn write_frame(&mut self, frame: String) {
        self.out.write(APP_PROCESS, frame);
    }

    /// One line of either output.
    pub(crate) fn line(&mut self, line: &Line) {
        match (line.process_id, line.output) {
            (APP_PROCESS, Output::Stdout) => match line.state {
                LineState::Whole => self.frame(&line.text),
                // Even if it parses it may be half of something else.
                LineState::Unterminated => self.cut = true,
                LineState::OverLimit => self.line_too_long(&line.text),
            },
            (VERSION_PROCESS, Output::Stdout) => self.version_line(&line.text),
            _ => self.tail.push(&line.text),
        }
    }

    fn frame(&mut self, text: &str) {
        match jsonrpc::parse(text) {
            Some(Frame::Notification { method, params }) => self.told(&method, params),
            Some(Frame::Request { id, method, params }) => self.asked(id, &method, params),
            Some(Frame::Response { id, outcome }) => self.answered(id, outcome),
            None => {
                if let Err(shown) = self.noise.observe(text) {
                    let message = format!(
                        "Codex prints something that is not its protocol: `{shown}`. Check the command of this provider instance."
                    );
                    self.end_session(Some(failure::with_code(
                        Class::Transport,
                        &message,
                        "protocol",
                    )));
                }
            }
        }
    }

    /// A line longer than the host takes was dropped. What only shows something can be missed; an answer, a question or
    /// the end of a turn can't.
    fn line_too_long(&mut self, start: &str) {
        let method = start
            .strip_prefix("{\"method\":\"")
            .and_then(|rest| rest.split('"').next());
        let shows = method.is_some_and(|method| {
            let asks = method.ends_with("/requestApproval")
                || method.ends_with("/requestUserInput")
                || method.ends_with("/call");
            (method.starts_with("item/") && !asks) || method.starts_with("turn/diff/")
        });
        let bytes_max = self.config.limits.line_bytes_max;
        if shows {
            let text =
                format!("Codex sent more than {bytes_max} bytes at once; that part is not shown.");
            self.notice_everywhere("Something was too long to show", &text, "line-too-long");
            return;
        }
        let message = format!(
            "Codex sent a line longer than {bytes_max} bytes that cannot be left out. Raise the limit for lines."
        );
        self.end_session(Some(failure::with_code(
            Class::Transport,
            &message,
            "line-too-long",
        )));
    }

    fn told(&mut self, method: &str, params: Option<&RawValue>) {
        match method {
            "item/agentMessage/delta" => self.delta(params, "message"),
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
                self.delta(params, "reasoning");
            }
            "item/commandExecution/outputDelta" => self.delta(params, "command"),
            "item/plan/delta" => self.delta(params, "plan"),
            "item/started" => self.read_then(params, |codex, notice| codex.item_started(&notice)),
            "item/completed" => {
                self.read_then(params, |codex, notice| codex.item_completed(&notice));
            }
            "turn/started" => self.view_then(params, |codex, notice: views::TurnNotice| {
                codex.turn_started(&notice.thread_id, &notice.turn.id);
            }),
            "turn/completed" => {
                self.view_then(params, |codex, notice| codex.turn_completed(&notice));
            }
            "turn/plan/updated" => {
                self.view_then(params, |codex, notice| codex.plan_updated(&notice));
            }
            "thread/tokenUsage/updated" => {
                self.view_then(params, |codex, notice| codex.usage_updated(&notice));
            }
            "error" => self.view_then(params, |codex, notice| codex.error_notice(&notice)),
            "warning" | "guardianWarning" => {
                self.view_then(params, |codex, notice| codex.warning(&notice));
            }
            "serverRequest/resolved" => {
                self.view_then(params, |codex, notice: views::Resolved| {
                    codex.request_resolved(&notice.request_id);
                });
            }
            "mcpServer/startupStatus/updated" => {
                self.view_then(params, |codex, notice| codex.mcp_report(&notice));
            }
            "codex/event/mcp_startup_update" => {
                self.view_then(params, |codex, notice: views::OldMcpNotice| {
                    codex.mcp_report(&notice.into());
                });
            }
            "thread/closed" => self.view_then(params, |codex, notice: views::ThreadNotice| {
                codex.thread_closed(&notice.thread_id);
            }),
            // Everything else tells of things the host does not show, or of newer things.
            _ => {}
        }
    }

    fn delta(&mut self, params: Option<&RawValue>, kind: &str) {
        match wire::read::<Delta<'_>>(params) {
            Some(delta) => self.item_delta(&delta, kind),
            None => unread("a piece of an item"),
        }
    }

    fn read_then<'a, T: serde::Deserialize<'a>>(
        &mut self,
        params: Option<&'a RawValue>,
        then: impl FnOnce(&mut Self, T),
    ) {
        match wire::read::<T>(params) {
            Some(notice) => then(self, notice),
            None => unread("a notification"),
        }
    }

    fn view_then<T: View>(&mut self, params: Option<&RawValue>, then: impl FnOnce(&mut Self, T)) {
        match view::<T>(params) {
            Some(notice) => then(self, notice),
            None => unread("a notification"),
        }
    }

    fn answered(&mut self, id: Option<u64>, outcome: Outcome<'_>) {
        let Some((id, call)) = id.and_then(|id| Some((id, self.calls.end(id)?))) else {
            logging::write(LogLevel::Debug, "an answer nobody waits for");
            return;
        };
        self.stop_timer(Purpose::Call(id));
        match call {
            Call::Initialize => self.greeted(outcome),
            Call::Account => self.account_read(outcome.map(|json| view(Some(json)))),
            Call::Models => self.models_listed(outcome.map(|json| view(Some(json)))),
            Call::OpenThread(key) => {
                self.thread_opened(key, outcome.map(|json| view(Some(json))));
            }
            Call::StartTurn(key) => {
                let started = outcome.map(|json| view::<Started>(Some(json)));
                let native = started
                    .as_ref()
                    .map(|started| started.as_ref().map(|started| started.turn.id.as_ref()));
                self.turn_answered(key, native.map_err(Clone::clone));
            }
            Call::Steer(effect_id) => {
                let outcome = match outcome {
                    Ok(_) => EffectOutcome::Done,
                    Err(error) => EffectOutcome::Refused(errors::of_call("the added text", &error)),
                };
                self.end_effect(&effect_id, outcome);
            }
            Call::ListTerminals(key) => {
                let list = outcome.map(|json| view(Some(json)));
                self.terminals_listed(key, list.ok().flatten().as_ref());
            }
            Call::CleanTerminals(key) => self.stop_is_done(key),
            Call::Terminate(key) => self.terminal_ended(key),
            Call::Fork(copy) => self.forked(copy, outcome.map(|json| view(Some(json)))),
            Call::CheckFork(copy) => {
                self.fork_checked(copy, outcome.map(|json| view(Some(json))));
            }
            Call::ListTurns(search) => {
                self.turns_listed(search, outcome.map(|json| view(Some(json))));
            }
            Call::ReadTurns(search) => {
                self.turns_read(search, outcome.map(|json| view(Some(json))));
            }
            Call::Revert(cut) => self.reverted(cut, outcome.map(drop)),
            Call::Rollback(effect_id) => self.rolled_back(&effect_id, outcome.map(drop)),
            Call::CloseThread(effect_id) => self.end_effect(&effect_id, EffectOutcome::Done),
            Call::Interrupt(key) => {
                if outcome.is_err() {
                    self.interrupt_refused(key);
                }
            }
            Call::Forget => {}
        }
    }

    fn greeted(&mut self, outcome: Outcome<'_>) {
        let greeting = match outcome {
            Ok(json) => view::<Greeting>(Some(json)),
            Err(error) => {
                self.end_session(Some(errors::of_call("the greeting", &error)));
                return;
            }
        };
        let agent = greeting
            .and_then(|greeting| greeting.user_agent)
            .unwrap_or_default();
        self.version = launch::version_in_user_agent(&agent).map(str::to_owned);
        if let Some(version) = self
            .version
            .as_deref()
            .filter(|version| !Version::suffices(version))
        {
            let failure = errors::too_old(version);
            self.end_session(Some(failure));
            return;
        }
        self.process = Process::Ready;
        self.write_frame(Dialect::Bare.notification("initialized", None));
        if self.probe.is_some() {
            self.probe_greeted();
            return;
        }
        for key in self.keys() {
            self.ask_open(key);
        }
    }

    /// A timer ran out.
    pub(crate) fn timer(&mut self, timer_id: u32) {
        match self.timers.ran_out(timer_id) {
            Some(Purpose::Handshake) => self.version_asked(),
            Some(Purpose::Call(id)) => {
                if let Some(call) = self.calls.end(id) {
                    self.unanswered(call);
                }
            }
            Some(Purpose::McpReady(key)) => self.mcp_silent(key),
            Some(Purpose::Interrupt(key)) => self.interrupt_ignored(key),
            Some(Purpose::InterruptAgain(key)) => self.send_interrupt(key),
            Some(Purpose::BackgroundEnd(key)) => {
                logging::write(
                    LogLevel::Warn,
                    "what a stopped turn left running did not end in time",
                );
                self.stop_is_done(key);
            }
            None => {}
        }
    }

    /// A request was not answered in time.
    fn unanswered(&mut self, call: Call) {
        let silent = |what: &str| errors::silent(what, CALL_MS);
        match call {
            Call::Initialize => {
                let mut failure = errors::silent("its greeting", HANDSHAKE_MS);
                failure.message = format!(
                    "{} Run `codex app-server` by hand to see why. {}",
                    failure.message,
                    errors::install_hint()
                );
                self.end_session(Some(failure));
            }
            Call::Account | Call::Models => {
                self.finish_probe(Some(&silent("a question about itself")));
            }
            Call::OpenThread(key) => self.thread_open_failed(key, silent("to open the thread")),
            Call::StartTurn(key) => {
                let started = self
                    .thread(key)
                    .and_then(|t| t.turn.as_ref())
                    .is_none_or(|turn| turn.announced);
                if !started {
                    // It may run or not; only the end of the process makes that certain.
                    self.end_session(Some(silent("to the start of a turn")));
                }
            }
            Call::ListTerminals(key) => self.terminals_listed(key, None),
            Call::Terminate(key) => self.terminal_ended(key),
            Call::CleanTerminals(key) => self.stop_is_done(key),
            Call::Steer(effect_id) | Call::Rollback(effect_id) | Call::CloseThread(effect_id) => {
                self.fail_effect(&effect_id, &silent("in time"));
            }
            Call::Fork(copy) | Call::CheckFork(copy) => {
                self.fail_effect(&copy.effect_id, &silent("to a copy"));
            }
            Call::ListTurns(search) | Call::ReadTurns(search) => {
                self.fail_effect(&search.effect_id, &silent("to a search"));
            }
            Call::Revert(cut) => self.fail_effect(&cut.effect_id, &silent("to a rollback")),
            // The end of the stop has a timer of its own.
            Call::Interrupt(_) | Call::Forget => {}
        }
    }

    /// A process is gone.
    pub(crate) fn exited(&mut self, exited: &Exited) {
        if exited.process_id == VERSION_PROCESS {
            self.version_asked();
            return;
        }
        if exited.process_id != APP_PROCESS || matches!(self.process, Process::Gone { .. }) {
            return;
        }
        let greeted = self.process == Process::Ready;
        let started = !matches!(exited.cause, ExitCause::NotStarted(_));
        self.process = Process::Gone { started };
        // No answer comes any more; the effects behind the calls are answered with the session's end.
        self.calls = jsonrpc::Calls::default();
        let failure = self.end_failure(&exited.cause, greeted);
        if self.probe.is_some() {
            for action in self.timers.stop_all() {
                self.out.push(action);
            }
            self.probe_failed(failure, Some(&exited.cause));
        } else if self.is_closing() {
            self.end_session(None);
        } else {
            self.end_session(Some(failure));
        }
    }

    fn end_failure(&self, cause: &ExitCause, greeted: bool) -> Failure {
        errors::of_exit(cause, greeted, self.tail.text().as_deref(), self.cut)
    }
}

fn unread(what: &str) {
    logging::write(
        LogLevel::Debug,
        &format!("{what} of another shape than this driver knows"),
    );
}
