//! A guest with its hands: the part that real sessions and probes share.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use domain::provider_event::{Failure, FailureClass, ProviderEvent};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::SessionParts;
use super::actions::{Hands, Refused};
use super::recording::Recording;
use crate::bindings::convert::host_failure;
use crate::bindings::v0_1::types as wit;
use crate::guest::{GaveUp, GuestError, GuestSession};
use crate::guest_log::GuestLog;
use crate::limits;
use crate::process::{LineState, Outlet, ProcessEvent, Stream, exit_cause};
use crate::random;
use crate::secrets::SessionSecrets;

/// Lines of standard error kept to explain an end.
const TAIL_LINES: usize = 5;

/// Bytes of one such line.
const TAIL_LINE_BYTES: usize = 240;

/// What one step of a driver led to.
pub(crate) enum Step {
    /// Tell the journal.
    Report(ProviderEvent),
    /// Tell the driver, in the next call.
    Input(wit::Input),
    /// Look at this event.
    Event(wit::Event),
    /// Nothing more.
    Nothing,
}

pub(crate) struct Body {
    kind: String,
    guest: Option<GuestSession>,
    pub(crate) hands: Hands,
    pub(crate) events: mpsc::Receiver<ProcessEvent>,
    pub(crate) secrets: SessionSecrets,
    recording: Recording,
    folder: PathBuf,
    /// Trees that are on their way out.
    leaving: JoinSet<()>,
    stderr_tail: VecDeque<String>,
    started_a_process: bool,
    actions_max: u32,
}

impl Body {
    /// Makes the session folder and opens the guest. Nothing runs yet.
    pub(crate) fn open(parts: &SessionParts, purpose: &str) -> Result<Self, Failure> {
        let kind = parts.driver.manifest().kind().to_string();
        let folder_failed = |error: std::io::Error| Refused::FileSystem(error).failure(&kind);
        crate::files::private_folder(&parts.folder).map_err(folder_failed)?;
        let folder = parts.folder.canonicalize().map_err(folder_failed)?;
        let secrets = SessionSecrets::default();
        let held = parts
            .secrets
            .iter()
            .map(|secret| {
                let placeholder = secrets.hold(secret.name(), secret.value())?;
                Ok(wit::Secret {
                    name: secret.name().to_owned(),
                    placeholder,
                })
            })
            .collect::<Result<Vec<_>, crate::secrets::HoldError>>()
            .map_err(|error| {
                host_failure(FailureClass::ValidationError, "secret", format!("{error}"))
            })?;
        let working_folder = parts.workspace.clone().unwrap_or_else(|| folder.clone());
        let config = session_config(parts, purpose, &working_folder, &folder, held)?;
        let mut recording = Recording::open(parts.recordings.as_deref(), parts.id.as_str());
        recording.opened(&config);
        let scrub = {
            let secrets = secrets.clone();
            Arc::new(move |text: &str| secrets.scrub(text).into_owned())
        };
        let log = GuestLog::new(format!("{kind} {}", parts.id), scrub);
        let guest = GuestSession::open(&parts.driver, &config, &parts.limits, log)
            .map_err(|error| guest_failure(&kind, &error))?;
        let (outlet, events) = Outlet::new();
        let hands = Hands::new(parts, working_folder, secrets.clone(), outlet);
        Ok(Self {
            kind,
            guest: Some(guest),
            hands,
            events,
            secrets,
            recording,
            folder,
            leaving: JoinSet::new(),
            stderr_tail: VecDeque::new(),
            started_a_process: false,
            actions_max: parts.limits.actions_max,
        })
    }

    /// One call of the guest.
    pub(crate) async fn call(
        &mut self,
        inputs: Vec<wit::Input>,
    ) -> Result<Vec<wit::Action>, Failure> {
        self.recording.inputs(&inputs);
        let Some(mut guest) = self.guest.take() else {
            return Err(guest_failure(&self.kind, &GuestError::Discarded));
        };
        let (guest, result) = if guest.is_slow() {
            let moved = tokio::task::spawn_blocking(move || {
                let result = guest.handle(&inputs);
                (guest, result)
            });
            match moved.await {
                Ok((guest, result)) => (Some(guest), result),
                Err(error) => (None, Err(GuestError::Trap(error.to_string()))),
            }
        } else {
            let result = guest.handle(&inputs);
            (Some(guest), result)
        };
        self.guest = guest;
        match result {
            Ok(actions) if actions.len() <= self.actions_max as usize => {
                self.recording.actions(&actions);
                Ok(actions)
            }
            Ok(actions) => Err(self.violation(format!(
                "it returned {} actions at once; the most is {}",
                actions.len(),
                self.actions_max
            ))),
            Err(error) => {
                self.recording.failed(&error.to_string());
                Err(guest_failure(&self.kind, &error))
            }
        }
    }

    /// Does one action.
    pub(crate) fn perform(&mut self, action: wit::Action, now: Instant) -> Result<Step, Failure> {
        let hands = &mut self.hands;
        let done = match action {
            wit::Action::Emit(event) => return Ok(Step::Event(event)),
            wit::Action::Spawn(wish) => match hands.spawn(&wish) {
                Ok(done) => {
                    self.started_a_process = true;
                    return Ok(match (done.report, done.input) {
                        (Some(report), _) => Step::Report(report),
                        (None, Some(input)) => Step::Input(input),
                        (None, None) => Step::Nothing,
                    });
                }
                Err(refused) => Err(refused),
            },
            wit::Action::Write(write) => hands.write(&write),
            wit::Action::CloseStdin(process_id) => hands.close_stdin(process_id),
            wit::Action::Stop(process_id) => hands.stop(process_id),
            wit::Action::SetTimer(timer) => hands.set_timer(timer, now),
            wit::Action::ClearTimer(timer_id) => {
                hands.clear_timer(timer_id);
                Ok(())
            }
            wit::Action::WriteFile(file) => hands.write_file(&file),
            wit::Action::Extension(extension) => {
                let name = crate::text::one_line(&extension.name, 64);
                tracing::debug!(
                    name,
                    "the driver asked for an extension this host does not know"
                );
                Ok(())
            }
        };
        match done {
            Ok(()) => Ok(Step::Nothing),
            Err(refused) => Err(self.scrubbed(refused.failure(&self.kind))),
        }
    }

    /// Turns what a process did into an input, and an end into a report besides.
    pub(crate) fn input(&mut self, event: ProcessEvent) -> (wit::Input, Option<ProviderEvent>) {
        match event {
            ProcessEvent::Line {
                process_id,
                stream,
                text,
                state,
                ..
            } => {
                if stream == Stream::Stderr {
                    self.remember_stderr(&text);
                }
                let line = wit::Line {
                    process_id,
                    output: match stream {
                        Stream::Stdout => wit::Output::Stdout,
                        Stream::Stderr => wit::Output::Stderr,
                    },
                    text,
                    state: match state {
                        LineState::Whole => wit::LineState::Whole,
                        LineState::Unterminated => wit::LineState::Unterminated,
                        LineState::OverLimit => wit::LineState::OverLimit,
                    },
                };
                (wit::Input::Line(line), None)
            }
            ProcessEvent::Exited {
                process_id,
                pid,
                status,
            } => {
                if let Some(process) = self.hands.exited(process_id) {
                    self.leaving.spawn(process.ended());
                }
                while self.leaving.try_join_next().is_some() {}
                let exited = wit::Exited {
                    process_id,
                    cause: exit_cause(status),
                };
                (
                    wit::Input::Exited(exited),
                    Some(ProviderEvent::ProcessEnded { pid }),
                )
            }
        }
    }

    fn remember_stderr(&mut self, text: &str) {
        let line = crate::text::one_line(text, TAIL_LINE_BYTES);
        if line.is_empty() {
            return;
        }
        if self.stderr_tail.len() >= TAIL_LINES {
            self.stderr_tail.pop_front();
        }
        self.stderr_tail.push_back(line);
    }

    /// With no process, no timer and nobody asked, a driver can never speak again.
    pub(crate) fn is_mute(&self) -> bool {
        self.started_a_process && !self.hands.has_processes() && self.hands.next_timer().is_none()
    }

    /// The failure of a driver that said or did what it may not.
    pub(crate) fn violation(&self, what: impl std::fmt::Display) -> Failure {
        let message = format!(
            "The driver `{}` was ended: {what}. Report it to the driver's author.",
            self.kind
        );
        self.scrubbed(host_failure(
            FailureClass::Unknown,
            "driver_violation",
            message,
        ))
    }

    /// Adds the agent's last words on standard error.
    pub(crate) fn with_last_words(&self, mut failure: Failure) -> Failure {
        if !self.stderr_tail.is_empty() {
            let words: Vec<&str> = self.stderr_tail.iter().map(String::as_str).collect();
            failure.message = format!("{} Its last words: {}", failure.message, words.join(" | "));
        }
        self.scrubbed(failure)
    }

    fn scrubbed(&self, mut failure: Failure) -> Failure {
        failure.message = self.secrets.scrub(&failure.message).into_owned();
        failure
    }

    /// Ends every process and what it started, and removes the session folder. Returns the pids of those that ended here.
    pub(crate) async fn end(self) -> Vec<u32> {
        let Self {
            mut hands,
            events,
            mut leaving,
            folder,
            ..
        } = self;
        // Readers that wait for room see that nobody listens any more.
        drop(events);
        let processes = hands.let_go();
        let pids = processes.iter().map(|process| process.record.pid).collect();
        for process in processes {
            leaving.spawn(process.ended());
        }
        while leaving.join_next().await.is_some() {}
        if let Err(error) = tokio::fs::remove_dir_all(&folder).await {
            tracing::warn!(folder = %folder.display(), %error, "cannot remove a session folder");
        }
        pids
    }
}

fn session_config(
    parts: &SessionParts,
    purpose: &str,
    working_folder: &std::path::Path,
    folder: &std::path::Path,
    secrets: Vec<wit::Secret>,
) -> Result<wit::SessionConfig, Failure> {
    let bits = random::bits()
        .map_err(|error| host_failure(FailureClass::Unknown, "no_randomness", error.to_string()))?;
    let low = u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default();
    let high = u64::try_from(bits >> 64).unwrap_or_default();
    let bounds = &parts.limits;
    Ok(wit::SessionConfig {
        purpose: purpose.to_owned(),
        provider_session_id: parts.id.to_string(),
        working_folder_path: working_folder.display().to_string(),
        session_folder_path: folder.display().to_string(),
        secrets,
        settings_json: parts.settings_json.clone(),
        seed: (high, low),
        limits: wit::Limits {
            line_bytes_max: bounds.line_bytes_max,
            actions_max: bounds.actions_max,
            text_bytes_max: bounds.text_bytes_max,
            file_bytes_max: bounds.file_bytes_max,
            processes_max: bounds.processes_max,
            timers_max: limits::TIMERS_MAX,
            timer_ms_min: limits::TIMER_MS_MIN,
            timer_ms_max: limits::TIMER_MS_MAX,
        },
        extra: None,
    })
}

fn guest_failure(kind: &str, error: &GuestError) -> Failure {
    let (class, code) = match error {
        GuestError::GaveUp(GaveUp::InvalidConfig(_)) => {
            (FailureClass::ValidationError, "invalid_config")
        }
        GuestError::GaveUp(GaveUp::Unsupported(_)) => {
            (FailureClass::ValidationError, "unsupported")
        }
        GuestError::GaveUp(GaveUp::Protocol(_)) => (FailureClass::ProviderError, "protocol"),
        GuestError::GaveUp(GaveUp::InvalidInput(_) | GaveUp::Internal(_)) => {
            (FailureClass::Unknown, "driver_fault")
        }
        GuestError::Timeout { .. } => (FailureClass::Unknown, "driver_timeout"),
        GuestError::OutOfMemory { .. } => (FailureClass::Unknown, "driver_memory"),
        GuestError::ResultTooLarge => (FailureClass::Unknown, "driver_result"),
        GuestError::Instantiate(_) | GuestError::Trap(_) | GuestError::Discarded => {
            (FailureClass::Unknown, "driver_trap")
        }
    };
    let remedy = match error {
        GuestError::GaveUp(GaveUp::Unsupported(_) | GaveUp::InvalidConfig(_)) => "",
        GuestError::GaveUp(GaveUp::Protocol(_)) => {
            " Check the provider's version against those `weft driver list` names."
        }
        _ => {
            " Other sessions go on. Send again to start a new one; report it to the driver's author."
        }
    };
    host_failure(
        class,
        code,
        format!("The driver `{kind}` stopped: {error}.{remedy}"),
    )
}
