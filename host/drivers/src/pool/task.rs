//! The pool's one task: it alone decides where work goes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use domain::ids::{ProviderInstanceId, ProviderSessionId, ThreadId};
use domain::provider_event::{Failure, FailureClass, ProviderReport, SessionEnd};
use threads::ports::{ProviderWork, ThreadOpening};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior};

use super::instance::{Instance, Place, Standing};
use super::{Ask, Board, PoolConfig, PoolPorts};
use crate::bindings::convert::host_failure;
use crate::bindings::v0_1::types as wit;
use crate::catalogue::Lookup;
use crate::ledger::{Broken, Ledger};
use crate::limits;
use crate::manifest::ThreadsHeld;
use crate::random;
use crate::session::{self, News, Order, SessionHandle, SessionPorts};

/// What comes back from tasks the pool started.
enum Back {
    Driver(ProviderInstanceId, Lookup),
    Look(ProviderInstanceId, Box<Result<wit::Snapshot, Failure>>),
}

pub(super) struct PoolTask {
    config: PoolConfig,
    ports: PoolPorts,
    board: Board,
    /// In the operator's order.
    instances: Vec<Instance>,
    sessions: BTreeMap<ProviderSessionId, Session>,
    threads: BTreeMap<ThreadId, ProviderSessionId>,
    back: mpsc::UnboundedSender<Back>,
    back_inbox: mpsc::UnboundedReceiver<Back>,
    news: mpsc::UnboundedSender<News>,
    news_inbox: mpsc::UnboundedReceiver<News>,
    shutting_down: Vec<oneshot::Sender<()>>,
}

struct Session {
    instance: ProviderInstanceId,
    handle: SessionHandle,
    threads: BTreeSet<ThreadId>,
    /// Work that came after the session took no more.
    parked: Vec<ProviderWork>,
    /// It was asked to close.
    closing: bool,
}

impl PoolTask {
    pub(super) fn new(config: PoolConfig, ports: PoolPorts, board: Board) -> Self {
        let (back, back_inbox) = mpsc::unbounded_channel();
        let (news, news_inbox) = mpsc::unbounded_channel();
        let instances = config
            .instances
            .iter()
            .cloned()
            .map(Instance::new)
            .collect();
        let mut task = Self {
            config,
            ports,
            board,
            instances,
            sessions: BTreeMap::new(),
            threads: BTreeMap::new(),
            back,
            back_inbox,
            news,
            news_inbox,
            shutting_down: Vec::new(),
        };
        task.publish();
        task
    }

    pub(super) async fn run(mut self, mut asks: mpsc::UnboundedReceiver<Ask>) {
        self.await_drivers();
        let often = self
            .config
            .idle_time
            .clamp(limits::IDLE_SCAN_INTERVAL_MIN, limits::IDLE_SCAN_INTERVAL);
        let mut tick = tokio::time::interval(often);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                Some(news) = self.news_inbox.recv() => self.news(news).await,
                Some(back) = self.back_inbox.recv() => self.back(back).await,
                ask = asks.recv() => match ask {
                    Some(Ask::Work(work)) => self.work(work).await,
                    Some(Ask::Reprobe(id, done)) => self.reprobe(&id, done).await,
                    Some(Ask::Shutdown(done)) => {
                        self.shutting_down.push(done);
                        break;
                    }
                    None => break,
                },
                _ = tick.tick() => self.tidy().await,
            }
            self.publish();
        }
        self.shut_down(asks).await;
    }

    /// Waits for the drivers in the background.
    fn await_drivers(&self) {
        for instance in &self.instances {
            let (id, kind) = (instance.config.id.clone(), instance.config.kind.clone());
            let (catalogue, back) = (self.ports.catalogue.clone(), self.back.clone());
            tokio::spawn(async move {
                let lookup = catalogue.settled(&kind).await;
                // A pool that is gone asks no more.
                let _ = back.send(Back::Driver(id, lookup));
            });
        }
    }

    fn publish(&mut self) {
        let now = Instant::now();
        let snapshots = self
            .instances
            .iter_mut()
            .map(|instance| instance.snapshot(now))
            .collect();
        self.board.write(snapshots);
    }

    fn instance(&mut self, id: &ProviderInstanceId) -> Option<&mut Instance> {
        self.instances
            .iter_mut()
            .find(|instance| instance.config.id == *id)
    }

    async fn back(&mut self, back: Back) {
        let id = match back {
            Back::Driver(id, lookup) => {
                if let Some(instance) = self.instance(&id) {
                    instance.settle_driver(lookup);
                }
                self.look(&id);
                id
            }
            Back::Look(id, result) => {
                if let Some(instance) = self.instance(&id) {
                    instance.end_look(*result, Instant::now());
                }
                id
            }
        };
        self.release_waiting(&id).await;
    }

    /// Looks at an instance in the background, unless that is under way or pointless.
    fn look(&mut self, id: &ProviderInstanceId) {
        let session_id = match random::bits() {
            Ok(bits) => ProviderSessionId::from_random(bits),
            Err(error) => {
                tracing::error!(%error, "cannot look at a provider");
                return;
            }
        };
        let sessions_folder = self.config.sessions_folder.clone();
        let recordings_folder = self.config.recordings_folder.clone();
        let (processes, back) = (self.ports.processes.clone(), self.back.clone());
        let Some(instance) = self.instance(id) else {
            return;
        };
        if !instance.may_look() || instance.begin_look(Instant::now()).is_none() {
            return;
        }
        let place = Place {
            sessions_folder: &sessions_folder,
            recordings_folder: recordings_folder.as_ref(),
            workspace: None,
            processes: &processes,
        };
        let Some(parts) = instance.parts(session_id, &place) else {
            return;
        };
        let id = id.clone();
        tokio::spawn(async move {
            let result = session::probe(parts).await;
            let _ = back.send(Back::Look(id, Box::new(result)));
        });
    }

    async fn reprobe(&mut self, id: &ProviderInstanceId, done: oneshot::Sender<()>) {
        self.look(id);
        if let Some(instance) = self.instance(id) {
            instance.asked.push(done);
        }
        self.release_waiting(id).await;
    }

    /// Once an instance is known: answers those who asked and hands out work that waited.
    async fn release_waiting(&mut self, id: &ProviderInstanceId) {
        let Some(instance) = self.instance(id) else {
            return;
        };
        if matches!(instance.standing(Instant::now()), Standing::Unknown) {
            return;
        }
        let asked = std::mem::take(&mut instance.asked);
        let waiting = std::mem::take(&mut instance.waiting);
        self.publish();
        for done in asked {
            // Who asked may have gone.
            let _ = done.send(());
        }
        for work in waiting {
            self.dispatch(work, Freshness::JustLooked).await;
        }
    }

    async fn work(&mut self, work: ProviderWork) {
        self.dispatch(work, Freshness::MayBeOld).await;
    }

    /// Gives work to the session of its thread, to a new one, or back with a reason.
    async fn dispatch(&mut self, work: ProviderWork, freshness: Freshness) {
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

    fn give(&mut self, id: &ProviderSessionId, work: ProviderWork) {
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

    async fn news(&mut self, news: News) {
        match news {
            News::Learned { session, snapshot } => {
                let owner = self
                    .sessions
                    .get(&session)
                    .map(|session| session.instance.clone());
                if let Some(instance) = owner.and_then(|id| self.instance(&id)) {
                    instance.learned(*snapshot);
                }
            }
            News::TurnWorked { session } => {
                let owner = self
                    .sessions
                    .get(&session)
                    .map(|session| session.instance.clone());
                if let Some(instance) = owner.and_then(|id| self.instance(&id)) {
                    instance.budget.worked();
                }
            }
            News::Over {
                session,
                end,
                reason,
                undone,
            } => {
                let Some(over) = self.sessions.remove(&session) else {
                    return;
                };
                self.threads.retain(|_, holder| *holder != session);
                if end == SessionEnd::Failed
                    && let Some(instance) = self.instance(&over.instance)
                {
                    instance.budget.failed(&reason, Instant::now());
                }
                // Whoever hears of the work below may look at once.
                self.publish();
                for work in undone.into_iter().chain(over.parked) {
                    self.dispatch(work, Freshness::MayBeOld).await;
                }
            }
        }
    }

    /// Lets go of threads that have been idle, and of those whose credential is too old.
    async fn tidy(&mut self) {
        let now = Instant::now();
        let mut idle = Vec::new();
        for (id, session) in self.sessions.iter().filter(|(_, session)| !session.closing) {
            let status = session.handle.status();
            for thread in &session.threads {
                let Some(activity) = status.threads.get(thread) else {
                    continue;
                };
                let rested = now.saturating_duration_since(activity.last_active);
                let overdue = self.ports.credentials.is_overdue(thread, id);
                if !activity.busy && (rested >= self.config.idle_time || overdue) {
                    idle.push((id.clone(), thread.clone()));
                }
            }
        }
        for (id, thread_id) in idle {
            let release = ProviderWork::Release {
                thread_id,
                reason: "idle".to_owned(),
            };
            self.give(&id, release);
        }
    }

    /// Answers for work that reaches no session.
    async fn refuse(&mut self, work: ProviderWork, how: &Broken) {
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

    /// Ends all sessions and answers for what still waits.
    async fn shut_down(mut self, mut asks: mpsc::UnboundedReceiver<Ask>) {
        asks.close();
        while let Some(ask) = asks.recv().await {
            match ask {
                Ask::Work(work) => self.refuse(work, &Broken::Stopped).await,
                Ask::Reprobe(..) => {}
                Ask::Shutdown(done) => self.shutting_down.push(done),
            }
        }
        let waiting: Vec<ProviderWork> = self
            .instances
            .iter_mut()
            .flat_map(|instance| std::mem::take(&mut instance.waiting))
            .collect();
        for work in waiting {
            self.refuse(work, &Broken::Stopped).await;
        }
        for session in self.sessions.values() {
            // One that takes no more orders is ending already.
            let _ = session.handle.send(Order::Close("host-shutdown"));
        }
        let ended = tokio::time::timeout(limits::SHUTDOWN_TIME_MAX, self.await_ends()).await;
        if ended.is_err() {
            tracing::error!(left = self.sessions.len(), "sessions did not end in time");
        }
        let processes = self.ports.processes.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || processes.end_adopted()).await {
            tracing::error!(%error, "the last look at the process table failed");
        }
        for done in self.shutting_down {
            let _ = done.send(());
        }
    }

    async fn await_ends(&mut self) {
        while !self.sessions.is_empty() {
            match self.news_inbox.recv().await {
                Some(News::Over {
                    session, undone, ..
                }) => {
                    let parked = self.sessions.remove(&session).map(|over| over.parked);
                    for work in undone.into_iter().chain(parked.into_iter().flatten()) {
                        self.refuse(work, &Broken::Stopped).await;
                    }
                }
                Some(News::Learned { .. } | News::TurnWorked { .. }) => {}
                None => return,
            }
        }
    }
}

/// Whether bad news about an instance may be old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freshness {
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
