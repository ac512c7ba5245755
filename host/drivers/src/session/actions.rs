//! What a driver asks for, done one by one, each after its check.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use domain::ids::ProviderSessionId;
use domain::provider_event::{Failure, FailureClass, ProviderEvent};
use tokio::time::Instant;

use super::SessionParts;
use super::timers::{TimerRefusal, Timers};
use crate::bindings::convert::host_failure;
use crate::bindings::v0_1::types as wit;
use crate::component::LoadedDriver;
use crate::grants::{Gate, Refusal};
use crate::limits::{self, SessionLimits};
use crate::process::{Outlet, ProcessTable, SpawnOrder, StdinError, Supervised, find_program};
use crate::secrets::SessionSecrets;

/// An action that is not done. Ends the session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("{0}")]
    Spawn(#[from] Refusal),
    #[error("the driver used the process number {0} twice")]
    NumberUsed(u32),
    #[error("the driver wants more than {0} processes at once")]
    Processes(u32),
    #[error("the driver spoke of process {0}, which it never started")]
    ForeignProcess(u32),
    #[error("the driver wrote a frame with a line end inside")]
    FrameLineEnd,
    #[error("the driver wrote a frame of {size} bytes; the most is {max}")]
    FrameSize { size: usize, max: u32 },
    #[error(
        "the agent does not read its standard input: {} frames or {} MiB wait",
        limits::STDIN_FRAMES_MAX,
        limits::STDIN_BYTES_MAX >> 20
    )]
    Stalled,
    #[error("{0}")]
    Timer(#[from] TimerRefusal),
    #[error("the driver wrote a file {0}")]
    File(&'static str),
    #[error("a file of the session cannot be written: {0}")]
    FileSystem(std::io::Error),
}

impl Refused {
    /// The failure that live turns end with.
    pub(crate) fn failure(&self, driver: &str) -> Failure {
        match self {
            Self::Stalled => host_failure(
                FailureClass::TransportError,
                "provider_stalled",
                format!("{self}. Stop the agent and try again."),
            ),
            Self::Spawn(refusal) => host_failure(
                FailureClass::PermissionError,
                "not_granted",
                format!("{refusal}."),
            ),
            Self::FileSystem(_) => host_failure(
                FailureClass::Unknown,
                "session_folder",
                format!("{self}. Check the space and permissions of the data folder."),
            ),
            other => host_failure(
                FailureClass::Unknown,
                "driver_violation",
                format!(
                    "The driver `{driver}` was ended: {other}. Report it to the driver's author."
                ),
            ),
        }
    }
}

/// The processes, timers and files of one session.
pub(crate) struct Hands {
    session: ProviderSessionId,
    driver: LoadedDriver,
    gate: Arc<Gate>,
    limits: SessionLimits,
    table: ProcessTable,
    secrets: SessionSecrets,
    outlet: Outlet,
    working_folder: PathBuf,
    folder: PathBuf,
    processes: BTreeMap<u32, Supervised>,
    /// Numbers ever used: a driver may not use one again.
    numbers: BTreeSet<u32>,
    timers: Timers,
    files: BTreeMap<String, usize>,
}

/// What an action led to.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) report: Option<ProviderEvent>,
    pub(crate) input: Option<wit::Input>,
}

impl Hands {
    pub(crate) fn new(
        parts: &SessionParts,
        working_folder: PathBuf,
        secrets: SessionSecrets,
        outlet: Outlet,
    ) -> Self {
        Self {
            session: parts.id.clone(),
            driver: parts.driver.clone(),
            gate: Arc::clone(&parts.gate),
            limits: parts.limits,
            table: parts.processes.clone(),
            secrets,
            outlet,
            working_folder,
            folder: parts.folder.clone(),
            processes: BTreeMap::new(),
            numbers: BTreeSet::new(),
            timers: Timers::default(),
            files: BTreeMap::new(),
        }
    }

    /// Starts a process. That it cannot start is news for the driver, not a refusal.
    pub(crate) fn spawn(&mut self, wish: &wit::Spawn) -> Result<Done, Refused> {
        if !self.numbers.insert(wish.process_id) {
            return Err(Refused::NumberUsed(wish.process_id));
        }
        if self.processes.len() >= self.limits.processes_max as usize {
            return Err(Refused::Processes(self.limits.processes_max));
        }
        let line = self
            .gate
            .spawn(self.driver.manifest(), wish, &self.secrets)?;
        let path_variable = line.environment.get("PATH").map_or("", String::as_str);
        let started = find_program(&line.program, path_variable)
            .map_err(|error| error.to_string())
            .and_then(|program| {
                let environment = line
                    .environment
                    .into_iter()
                    .map(|(name, value)| (name, self.secrets.reveal(&value).into_owned()))
                    .collect();
                let order = SpawnOrder {
                    process_id: wish.process_id,
                    session: self.session.to_string(),
                    program,
                    arguments: line.arguments,
                    environment,
                    working_folder: self.working_folder.clone(),
                    line_bytes_max: self.limits.line_bytes_max as usize,
                    secrets: self.secrets.clone(),
                    outlet: self.outlet.clone(),
                };
                Supervised::start(&self.table, order).map_err(|error| error.to_string())
            });
        match started {
            Ok(process) => {
                let report = ProviderEvent::ProcessStarted {
                    pid: process.record.pid,
                    start_ticks: process.record.start_ticks,
                };
                self.processes.insert(wish.process_id, process);
                Ok(Done {
                    report: Some(report),
                    input: None,
                })
            }
            Err(reason) => {
                let cause = wit::ExitCause::NotStarted(reason);
                let exited = wit::Exited {
                    process_id: wish.process_id,
                    cause,
                };
                Ok(Done {
                    report: None,
                    input: Some(wit::Input::Exited(exited)),
                })
            }
        }
    }

    /// Writes one frame. One to a process that is gone is dropped: its exit is on the way.
    pub(crate) fn write(&mut self, write: &wit::Write) -> Result<(), Refused> {
        if write.frame.contains(['\n', '\r']) {
            return Err(Refused::FrameLineEnd);
        }
        if write.frame.len() > self.limits.line_bytes_max as usize {
            let (size, max) = (write.frame.len(), self.limits.line_bytes_max);
            return Err(Refused::FrameSize { size, max });
        }
        let Some(process) = self.own(write.process_id)? else {
            return Ok(());
        };
        match process.write(&self.secrets.reveal(&write.frame)) {
            Ok(()) | Err(StdinError::Closed) => Ok(()),
            Err(StdinError::Stalled) => Err(Refused::Stalled),
        }
    }

    pub(crate) fn close_stdin(&mut self, process_id: u32) -> Result<(), Refused> {
        self.own(process_id)?;
        if let Some(process) = self.processes.get_mut(&process_id) {
            process.close_stdin();
        }
        Ok(())
    }

    pub(crate) fn stop(&mut self, process_id: u32) -> Result<(), Refused> {
        if let Some(process) = self.own(process_id)? {
            process.stop();
        }
        Ok(())
    }

    /// The process of this number; `None`: it has ended.
    fn own(&self, process_id: u32) -> Result<Option<&Supervised>, Refused> {
        if !self.numbers.contains(&process_id) {
            return Err(Refused::ForeignProcess(process_id));
        }
        Ok(self.processes.get(&process_id))
    }

    pub(crate) fn set_timer(&mut self, timer: wit::SetTimer, now: Instant) -> Result<(), Refused> {
        Ok(self.timers.set(timer.timer_id, timer.delay_ms, now)?)
    }

    pub(crate) fn clear_timer(&mut self, timer_id: u32) {
        self.timers.clear(timer_id);
    }

    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.timers.next()
    }

    pub(crate) fn due_timers(&mut self, now: Instant) -> Vec<wit::Input> {
        self.timers
            .take_due(now)
            .into_iter()
            .map(wit::Input::Timer)
            .collect()
    }

    /// Writes a file into the session folder.
    pub(crate) fn write_file(&mut self, file: &wit::WriteFile) -> Result<(), Refused> {
        let plain = !file.name.is_empty()
            && file.name.len() <= 128
            && !file.name.starts_with('.')
            && file
                .name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if !plain {
            return Err(Refused::File("whose name is not plain"));
        }
        if self.secrets.names_one(&file.text) {
            return Err(Refused::File("with the placeholder of a secret"));
        }
        let others: usize = self
            .files
            .iter()
            .filter(|(name, _)| **name != file.name)
            .map(|(_, size)| size)
            .sum();
        if others + file.text.len() > self.limits.file_bytes_max as usize {
            return Err(Refused::File(
                "beyond the size all files of a session may have",
            ));
        }
        if !self.files.contains_key(&file.name) && self.files.len() >= limits::FILES_MAX {
            return Err(Refused::File("beyond the number a session may have"));
        }
        crate::files::write_private(&self.folder, &file.name, file.text.as_bytes())
            .map_err(Refused::FileSystem)?;
        self.files.insert(file.name.clone(), file.text.len());
        Ok(())
    }

    /// A process was reaped. Its descendants may still be on their way out.
    pub(crate) fn exited(&mut self, process_id: u32) -> Option<Supervised> {
        self.processes.remove(&process_id)
    }

    pub(crate) fn has_processes(&self) -> bool {
        !self.processes.is_empty()
    }

    /// Stops every process and gives them away to be waited for.
    pub(crate) fn let_go(&mut self) -> Vec<Supervised> {
        let processes: Vec<Supervised> =
            std::mem::take(&mut self.processes).into_values().collect();
        for process in &processes {
            process.stop();
        }
        processes
    }
}
