//! The pool's one task: it alone decides where work goes.

use std::collections::{BTreeMap, BTreeSet};

use domain::ids::{ProviderInstanceId, ProviderSessionId, ThreadId};
use domain::provider_event::{Failure, SessionEnd};
use threads::ports::ProviderWork;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior};

use super::dispatch::Freshness;
use super::instance::{Instance, Place, Standing};
use super::{Ask, Board, PoolConfig, PoolPorts};
use crate::bindings::v0_1::types as wit;
use crate::catalogue::Lookup;
use crate::ledger::Broken;
use crate::limits;
use crate::random;
use crate::session::{self, News, Order, SessionHandle};

/// What comes back from tasks the pool started.
enum Back {
    Driver(ProviderInstanceId, Lookup),
    Look(ProviderInstanceId, Box<Result<wit::Snapshot, Failure>>),
}

pub(super) struct PoolTask {
    pub(super) config: PoolConfig,
    pub(super) ports: PoolPorts,
    board: Board,
    /// In the operator's order.
    pub(super) instances: Vec<Instance>,
    pub(super) sessions: BTreeMap<ProviderSessionId, Session>,
    pub(super) threads: BTreeMap<ThreadId, ProviderSessionId>,
    back: mpsc::UnboundedSender<Back>,
    back_inbox: mpsc::UnboundedReceiver<Back>,
    pub(super) news: mpsc::UnboundedSender<News>,
    news_inbox: mpsc::UnboundedReceiver<News>,
    shutting_down: Vec<oneshot::Sender<()>>,
}

pub(super) struct Session {
    pub(super) instance: ProviderInstanceId,
    pub(super) handle: SessionHandle,
    pub(super) threads: BTreeSet<ThreadId>,
    /// Work that came after the session took no more.
    pub(super) parked: Vec<ProviderWork>,
    /// It was asked to close.
    pub(super) closing: bool,
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

    pub(super) fn publish(&mut self) {
        let now = Instant::now();
        let snapshots = self
            .instances
            .iter_mut()
            .map(|instance| instance.snapshot(now))
            .collect();
        self.board.write(snapshots);
    }

    pub(super) fn instance(&mut self, id: &ProviderInstanceId) -> Option<&mut Instance> {
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
    pub(super) fn look(&mut self, id: &ProviderInstanceId) {
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
    pub(super) async fn release_waiting(&mut self, id: &ProviderInstanceId) {
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
