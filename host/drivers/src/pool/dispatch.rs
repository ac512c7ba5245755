//! Where work goes: to the session that holds its thread, to one with room, to a new one, or back with a reason.

use std::collections::BTreeSet;
use std::path::PathBuf;

use domain::ids::{ProviderInstanceId, ProviderSessionId, ThreadId};
use domain::provider_event::{FailureClass, ProviderReport};
use threads::ports::{ProviderWork, ThreadOpening};
use tokio::time::Instant;

use super::instance::{Place, Standing};
use super::task::{PoolTask, Session};
use crate::bindings::convert::host_failure;
use crate::ledger::{Broken, Ledger};
use crate::manifest::ThreadsHeld;
use crate::random;
use crate::session::{self, Order, SessionPorts};

impl PoolTask {
    /// Gives work to the session of its thread, to a new one, or back with a reason.
    pub(super) async fn dispatch(&mut self, work: ProviderWork, freshness: Freshness) {
        let thread = thread_of(&work).clone();
        if let Some(id) = self.threads.get(&thread).cloned() {
            self.give(&id, work);
            return;
        }
        let waits_at = self
            .instances
            .iter_mut()
            .find(|instance| instance.has_waiting(&thread));
        match work {
            ProviderWork::StartTurn {
                thread: opening,
                run_id,
                text,
            } => {
                let instance_id = opening.instance_id.clone();
                let work = ProviderWork::StartTurn {
                    thread: opening.clone(),
                    run_id,
                    text,
                };
                self.place(instance_id, opening, work, freshness).await;
            }
            ProviderWork::Interrupt { run_id, .. } => {
                let withdrawn = waits_at.map(|instance| instance.withdraw(&run_id));
                for work in withdrawn.into_iter().flatten() {
                    self.refuse(work, &Broken::Stopped).await;
                }
            }
            ProviderWork::Steer { .. } => match waits_at {
                Some(instance) => instance.waiting.push(work),
                None => self.refuse(work, &Broken::Stopped).await,
            },
            ProviderWork::Release { thread_id, .. } => {
                if let Some(instance) = waits_at {
                    let (gone, left) = std::mem::take(&mut instance.waiting)
                        .into_iter()
                        .partition(|work| *thread_of(work) == thread_id);
                    instance.waiting = left;
                    let gone: Vec<ProviderWork> = gone;
                    for work in gone {
                        self.refuse(work, &Broken::Stopped).await;
                    }
                }
            }
            ProviderWork::Answer { request_id, .. } => {
                tracing::debug!(request = %request_id, "an answer came after its session ended");
            }
        }
    }

    /// Finds or makes a session for a thread.
    async fn place(
        &mut self,
        instance_id: ProviderInstanceId,
        opening: ThreadOpening,
        work: ProviderWork,
        freshness: Freshness,
    ) {
        let Some(instance) = self.instance(&instance_id) else {
            let reason = format!(
                "There is no provider instance `{instance_id}`. Add it to the configuration or take another one."
            );
            self.refuse(work, &unusable(reason)).await;
            return;
        };
        match instance.standing(Instant::now()) {
            Standing::Usable => {}
            Standing::Unknown => {
                instance.waiting.push(work);
                return;
            }
            Standing::Stale if freshness == Freshness::MayBeOld => {
                instance.waiting.push(work);
                self.look(&instance_id);
                Box::pin(self.release_waiting(&instance_id)).await;
                return;
            }
            Standing::Stale => {
                let reason = instance.snapshot(Instant::now()).constraints.join(" ");
                self.refuse(work, &unusable(reason)).await;
                return;
            }
            Standing::Refuses(reason) => {
                self.refuse(work, &unusable(reason)).await;
                return;
            }
        }
        let session = match self.session_with_room(&instance_id) {
            Some(session) => Ok(session),
            None => self.start_session(&instance_id, &opening),
        };
        match session {
            Ok(session) => {
                self.threads
                    .insert(opening.thread_id.clone(), session.clone());
                if let Some(entry) = self.sessions.get_mut(&session) {
                    entry.threads.insert(opening.thread_id);
                }
                self.give(&session, work);
            }
            Err(reason) => self.refuse(work, &unusable(reason)).await,
        }
    }

    fn session_with_room(&mut self, instance_id: &ProviderInstanceId) -> Option<ProviderSessionId> {
        let instance = self.instance(instance_id)?;
        if instance.holds() == ThreadsHeld::One {
            return None;
        }
        let most = instance.threads_per_session() as usize;
        self.sessions
            .iter()
            .filter(|(_, session)| {
                session.instance == *instance_id
                    && !session.closing
                    && session.threads.len() < most
                    && session.handle.status().held == ThreadsHeld::Many
            })
            // The fullest one: others can end when idle.
            .max_by_key(|(_, session)| session.threads.len())
            .map(|(id, _)| id.clone())
    }

    fn start_session(
        &mut self,
        instance_id: &ProviderInstanceId,
        opening: &ThreadOpening,
    ) -> Result<ProviderSessionId, String> {
        let bits = random::bits().map_err(|error| error.to_string())?;
        let id = ProviderSessionId::from_random(bits);
        let sessions_folder = self.config.sessions_folder.clone();
        let recordings_folder = self.config.recordings_folder.clone();
        let processes = self.ports.processes.clone();
        let gone = || format!("The driver of provider instance `{instance_id}` is gone.");
        let instance = self.instance(instance_id).ok_or_else(gone)?;
        // A session of many threads belongs to none of their folders.
        let alone = instance.holds() == ThreadsHeld::One;
        let place = Place {
            sessions_folder: &sessions_folder,
            recordings_folder: recordings_folder.as_ref(),
            workspace: alone.then(|| PathBuf::from(&opening.workspace_path)),
            processes: &processes,
        };
        let parts = instance.parts(id.clone(), &place).ok_or_else(gone)?;
        let ports = SessionPorts {
            credentials: self.ports.credentials.clone(),
            reports: self.ports.reports.clone(),
            news: self.news.clone(),
        };
        let session = Session {
            instance: instance_id.clone(),
            handle: session::start(parts, ports),
            threads: BTreeSet::new(),
            parked: Vec::new(),
            closing: false,
        };
        self.sessions.insert(id.clone(), session);
        Ok(id)
    }

    pub(super) fn give(&mut self, id: &ProviderSessionId, work: ProviderWork) {
        let Some(session) = self.sessions.get_mut(id) else {
            return;
        };
        let release = match &work {
            ProviderWork::Release { thread_id, .. } => Some(thread_id.clone()),
            _ => None,
        };
        // It is ending; its last news says so soon, and then this is done.
        if let Err(session::Closed(order)) = session.handle.send(Order::Work(work))
            && let Order::Work(work) = *order
        {
            session.parked.push(work);
        }
        if let Some(thread) = release {
            session.threads.remove(&thread);
            if session.threads.is_empty() {
                session.closing = true;
            }
            if !session.closing {
                self.threads.remove(&thread);
            }
        }
    }

    /// Answers for work that reaches no session.
    pub(super) async fn refuse(&mut self, work: ProviderWork, how: &Broken) {
        let instance_id = match &work {
            ProviderWork::StartTurn { thread, .. } => thread.instance_id.clone(),
            _ => ProviderInstanceId::new("none"),
        };
        let session_id = match random::bits() {
            Ok(bits) => ProviderSessionId::from_random(bits),
            Err(_) => ProviderSessionId::new("session-none"),
        };
        for event in Ledger::refuse(work, how) {
            let report = ProviderReport {
                session_id: session_id.clone(),
                instance_id: instance_id.clone(),
                event,
            };
            let reports = self.ports.reports.clone();
            if let Err(error) = reports.send(report).await {
                tracing::warn!(%error, "a refusal was not stored");
            }
        }
    }
}

/// Whether bad news about an instance may be old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    MayBeOld,
    JustLooked,
}

pub(super) fn thread_of(work: &ProviderWork) -> &ThreadId {
    match work {
        ProviderWork::StartTurn { thread, .. } => &thread.thread_id,
        ProviderWork::Steer { thread_id, .. }
        | ProviderWork::Interrupt { thread_id, .. }
        | ProviderWork::Answer { thread_id, .. }
        | ProviderWork::Release { thread_id, .. } => thread_id,
    }
}

fn unusable(reason: String) -> Broken {
    Broken::Failed(host_failure(
        FailureClass::ValidationError,
        "provider_unusable",
        reason,
    ))
}
