//! One provider instance: its driver, what was found out about it, and whether it may be used now.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use domain::ids::{ProviderSessionId, RunId, ThreadId};
use domain::provider::{ProviderSnapshot, Readiness};
use domain::provider_event::Failure;
use threads::ports::ProviderWork;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::budget::Budget;
use super::config::{Enabled, InstanceConfig};
use super::settings;
use super::snapshot::{Found, compose};
use crate::bindings::v0_1::types as wit;
use crate::catalogue::Lookup;
use crate::component::LoadedDriver;
use crate::grants::Gate;
use crate::limits;
use crate::manifest::ThreadsHeld;
use crate::process::{NoProgram, ProcessTable, find_program};
use crate::session::SessionParts;

/// Everything the pool knows of one instance.
pub(super) struct Instance {
    pub(super) config: InstanceConfig,
    pub(super) gate: Arc<Gate>,
    driver: DriverSlot,
    found: Option<Found>,
    /// Why the last look failed.
    look_failed: Option<String>,
    looked_at: Option<Instant>,
    looking: bool,
    pub(super) budget: Budget,
    /// Work that waits until the instance is known.
    pub(super) waiting: Vec<ProviderWork>,
    pub(super) asked: Vec<oneshot::Sender<()>>,
}

enum DriverSlot {
    Starting,
    Ready(Box<ReadyDriver>),
    Missing(String),
}

struct ReadyDriver {
    driver: LoadedDriver,
    settings_json: String,
    threads_per_session: u32,
}

/// Whether an instance takes work now.
pub(super) enum Standing {
    /// It does.
    Usable,
    /// It is being looked at; work waits.
    Unknown,
    /// It was found unusable, but that news is old: look again first.
    Stale,
    /// It does not, and why.
    Refuses(String),
}

impl Instance {
    pub(super) fn new(config: InstanceConfig) -> Self {
        let gate = Arc::new(Gate {
            instance: config.id.clone(),
            grants: config.grants.clone(),
            command: config.command.clone(),
            from_host: config.environment_from_host.clone(),
            environment: config.environment.clone(),
            host_environment: host_environment(),
        });
        Self {
            config,
            gate,
            driver: DriverSlot::Starting,
            found: None,
            look_failed: None,
            looked_at: None,
            looking: false,
            budget: Budget::default(),
            waiting: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// The catalogue knows whether there is a driver.
    pub(super) fn settle_driver(&mut self, lookup: Lookup) {
        self.driver = match lookup {
            Lookup::Starting => DriverSlot::Starting,
            Lookup::Missing(sentence) => DriverSlot::Missing(sentence),
            Lookup::Ready(driver) => {
                let schema = driver.manifest().settings_schema();
                let threads = self.config.threads_per_session;
                match settings::check(schema, &self.config.settings_json, threads) {
                    Err(sentence) => DriverSlot::Missing(sentence),
                    Ok(settings) => {
                        let threads_per_session = threads
                            .or_else(|| settings::threads_per_session(schema, &settings))
                            .unwrap_or(limits::THREADS_PER_SESSION_DEFAULT)
                            .max(1);
                        let settings_json = serde_json::Value::Object(settings).to_string();
                        DriverSlot::Ready(Box::new(ReadyDriver {
                            driver,
                            settings_json,
                            threads_per_session,
                        }))
                    }
                }
            }
        };
    }

    /// Threads one of its sessions may hold.
    pub(super) fn threads_per_session(&self) -> u32 {
        match &self.driver {
            DriverSlot::Ready(ready) if self.holds() == ThreadsHeld::Many => {
                ready.threads_per_session
            }
            _ => 1,
        }
    }

    pub(super) fn holds(&self) -> ThreadsHeld {
        match &self.driver {
            DriverSlot::Ready(ready) => ready.driver.manifest().capabilities().threads,
            _ => ThreadsHeld::One,
        }
    }

    /// Whether a look may begin now: there is a driver and no look is under way.
    pub(super) fn may_look(&self) -> bool {
        matches!(self.driver, DriverSlot::Ready(_))
            && !self.looking
            && self.config.enabled == Enabled::Yes
    }

    /// A look begins. `None`: it is over already, because the program is missing.
    pub(super) fn begin_look(&mut self, now: Instant) -> Option<()> {
        self.looked_at = Some(now);
        if let Some(program) = self.config.command.first() {
            let path = self
                .gate
                .host_environment
                .get("PATH")
                .map_or("", String::as_str);
            let path = self
                .config
                .environment
                .get("PATH")
                .map_or(path, String::as_str);
            if let Err(absence) = find_program(program, path) {
                self.look_failed = Some(absent(program, &absence, &self.config));
                return None;
            }
        }
        self.looking = true;
        Some(())
    }

    /// A look is over. The last good news stand where this one only failed.
    pub(super) fn end_look(&mut self, result: Result<wit::Snapshot, Failure>, now: Instant) {
        self.looking = false;
        self.looked_at = Some(now);
        match result {
            Ok(snapshot) => {
                self.look_failed = None;
                self.found = Some(Found::read(snapshot, &self.config));
            }
            Err(failure) => self.look_failed = Some(failure.message),
        }
    }

    /// A session learned better.
    pub(super) fn learned(&mut self, snapshot: wit::Snapshot) {
        let found = Found::read(snapshot, &self.config);
        // A session may know the state and not the models.
        let models = match (&self.found, found.models.is_empty()) {
            (Some(before), true) => before.models.clone(),
            _ => found.models.clone(),
        };
        self.found = Some(Found { models, ..found });
    }

    /// Whether it takes work now.
    pub(super) fn standing(&mut self, now: Instant) -> Standing {
        if self.config.enabled == Enabled::No {
            return Standing::Refuses(self.disabled());
        }
        match &self.driver {
            DriverSlot::Starting => return Standing::Unknown,
            DriverSlot::Missing(sentence) => return Standing::Refuses(sentence.clone()),
            DriverSlot::Ready(_) => {}
        }
        if let Some(sentence) = self.budget.off(now) {
            return Standing::Refuses(sentence);
        }
        if self.looking || self.looked_at.is_none() {
            return Standing::Unknown;
        }
        let Some(sentence) = self.look_constraints().into_iter().next() else {
            return Standing::Usable;
        };
        let stale = self
            .looked_at
            .is_none_or(|at| now.saturating_duration_since(at) >= limits::PROBE_STALE);
        if stale {
            Standing::Stale
        } else {
            Standing::Refuses(sentence)
        }
    }

    fn look_constraints(&self) -> Vec<String> {
        if let Some(sentence) = &self.look_failed {
            return vec![sentence.clone()];
        }
        self.found
            .as_ref()
            .map(|found| found.constraints.clone())
            .unwrap_or_default()
    }

    fn disabled(&self) -> String {
        format!(
            "It is switched off in the configuration. Set `enabled = true` for provider instance `{}`.",
            self.config.id
        )
    }

    /// What the rest of the host may know.
    pub(super) fn snapshot(&mut self, now: Instant) -> ProviderSnapshot {
        let (constraints, readiness) = match self.standing(now) {
            Standing::Usable => (Vec::new(), Readiness::Ready),
            Standing::Unknown if self.found.is_some() => {
                let constraints = self.look_constraints();
                let readiness = if constraints.is_empty() {
                    Readiness::Ready
                } else {
                    Readiness::Unusable
                };
                (constraints, readiness)
            }
            Standing::Unknown => (Vec::new(), Readiness::Starting),
            Standing::Stale => (self.look_constraints(), Readiness::Unusable),
            Standing::Refuses(sentence) => (vec![sentence], Readiness::Unusable),
        };
        let driver = match &self.driver {
            DriverSlot::Ready(ready) => Some(ready.driver.manifest()),
            DriverSlot::Starting | DriverSlot::Missing(_) => None,
        };
        compose(
            &self.config,
            driver,
            self.found.as_ref(),
            constraints,
            readiness,
        )
    }

    /// What a session of this instance is started with.
    pub(super) fn parts(&self, id: ProviderSessionId, place: &Place<'_>) -> Option<SessionParts> {
        let DriverSlot::Ready(ready) = &self.driver else {
            return None;
        };
        Some(SessionParts {
            folder: place.sessions_folder.join(id.as_str()),
            id,
            driver: ready.driver.clone(),
            gate: Arc::clone(&self.gate),
            secrets: self.config.secrets.clone(),
            settings_json: ready.settings_json.clone(),
            limits: self.config.limits,
            workspace: place.workspace.clone(),
            recordings: place.recordings_folder.cloned(),
            processes: place.processes.clone(),
        })
    }

    /// Takes a waiting turn back out, with the steers behind it.
    pub(super) fn withdraw(&mut self, run: &RunId) -> Vec<ProviderWork> {
        let (taken, left) = std::mem::take(&mut self.waiting).into_iter().partition(|work| {
            matches!(work, ProviderWork::StartTurn { run_id, .. } | ProviderWork::Steer { run_id, .. } if run_id == run)
        });
        self.waiting = left;
        taken
    }

    /// Whether work of this thread waits here.
    pub(super) fn has_waiting(&self, thread: &ThreadId) -> bool {
        self.waiting
            .iter()
            .any(|work| super::dispatch::thread_of(work) == thread)
    }
}

/// Where a session lives.
pub(super) struct Place<'a> {
    pub(super) sessions_folder: &'a PathBuf,
    pub(super) recordings_folder: Option<&'a PathBuf>,
    pub(super) workspace: Option<PathBuf>,
    pub(super) processes: &'a ProcessTable,
}

/// Sentence for a program that can't be started.
fn absent(program: &str, absence: &NoProgram, config: &InstanceConfig) -> String {
    match absence {
        NoProgram::NotOnPath(_) | NoProgram::NoFile(_) => missing(program, config),
        NoProgram::NotExecutable(file) => format!(
            "{file} may not be executed. Make it executable, or set `command` of provider instance `{}` to the program.",
            config.id
        ),
        NoProgram::Relative(_) => format!(
            "`{program}` is neither a name nor an absolute path. Set `command` of provider instance `{}` to one of them.",
            config.id
        ),
    }
}

/// Sentence for a missing program.
pub(super) fn missing(program: &str, config: &InstanceConfig) -> String {
    let remedy = config.install_hint.clone().unwrap_or_else(|| {
        format!(
            "Install it, or set `command` of provider instance `{}` to where it is.",
            config.id
        )
    });
    format!("The program `{program}` was not found. {remedy}")
}

fn host_environment() -> BTreeMap<String, String> {
    // Names and values that are no text cannot be passed on by name.
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}
