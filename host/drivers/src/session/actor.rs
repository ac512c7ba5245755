//! The task of one provider session.

use domain::ids::{ProviderInstanceId, ProviderSessionId};
use domain::provider_event::{
    FailureClass, ProviderEvent, ProviderReport, SessionEnd, TurnOutcome,
};
use threads::ports::ProviderWork;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::body::{Body, Step};
use super::{Ending, News, Order, SessionHandle, SessionParts, SessionPorts, SharedStatus, Status};
use crate::bindings::convert::{Measure, host_failure};
use crate::bindings::v0_1::types as wit;
use crate::ledger::{Broken, Effects, Identity, Ledger, Overdue};
use crate::limits;
use crate::process::ProcessEvent;

/// Starts a session. It opens its guest at once and threads as work comes.
pub(crate) fn start(parts: SessionParts, ports: SessionPorts) -> SessionHandle {
    let (orders, inbox) = mpsc::unbounded_channel();
    let status = SharedStatus::new(parts.driver.manifest().capabilities().threads);
    let voice = Voice {
        session: parts.id.clone(),
        instance: parts.gate.instance.clone(),
        ports,
        status: status.clone(),
    };
    tokio::spawn(run(parts, voice, inbox));
    SessionHandle { orders, status }
}

async fn run(parts: SessionParts, voice: Voice, mut inbox: mpsc::UnboundedReceiver<Order>) {
    let body = match Body::open(&parts, "session") {
        Ok(body) => body,
        Err(failure) => {
            let undone = waiting(&mut inbox);
            voice
                .last_words(Ending::Failed(failure), inbox, undone)
                .await;
            return;
        }
    };
    let capabilities = parts.driver.manifest().capabilities().clone();
    let identity = Identity {
        session: parts.id.clone(),
        instance: parts.gate.instance.clone(),
        held: capabilities.threads,
        mode_switch: capabilities.mode_switch,
        model_switch: capabilities.model_switch,
        call_ms_max: capabilities
            .mcp_wait_ms_max
            .unwrap_or(limits::TOOL_CALL_MS_MAX),
        credentials: voice.ports.credentials.clone(),
        secrets: body.secrets.clone(),
        measure: Measure {
            text_bytes_max: parts.limits.text_bytes_max as usize,
        },
        start_silence_max: parts.limits.start_silence_max,
        interrupt_time_max: parts.limits.interrupt_time_max,
    };
    let mut actor = Actor {
        ledger: Ledger::new(identity, Instant::now()),
        body,
        voice,
        closing: None,
        undone: Vec::new(),
    };
    let ending = actor.live(&mut inbox).await;
    actor.finish(ending, inbox).await;
}

/// How a session is heard.
struct Voice {
    session: ProviderSessionId,
    instance: ProviderInstanceId,
    ports: SessionPorts,
    status: SharedStatus,
}

struct Actor {
    ledger: Ledger,
    body: Body,
    voice: Voice,
    closing: Option<Closing>,
    /// Work for a new session.
    undone: Vec<ProviderWork>,
}

struct Closing {
    deadline: Instant,
    reason: String,
}

impl Actor {
    /// Runs until the session is over, and says why.
    async fn live(&mut self, inbox: &mut mpsc::UnboundedReceiver<Order>) -> Ending {
        if let Err(ending) = self.deliver(vec![wit::Input::Begin]).await {
            return ending;
        }
        loop {
            if let Err(ending) = self.step(inbox).await {
                return ending;
            }
            if let Err(ending) = self.look_around().await {
                return ending;
            }
        }
    }

    /// Waits for one thing to happen and does what follows from it.
    async fn step(&mut self, inbox: &mut mpsc::UnboundedReceiver<Order>) -> Result<(), Ending> {
        let mut happened = Vec::new();
        let wake = self.wake();
        tokio::select! {
            biased;
            order = inbox.recv(), if self.closing.is_none() => match order {
                Some(Order::Work(work)) => {
                    let effects = self.ledger.work(work, Instant::now());
                    let inputs = self.apply(effects).await?;
                    self.deliver(inputs).await
                }
                Some(Order::Close(reason)) => self.close(reason).await,
                None => self.close("host-shutdown").await,
            },
            _ = self.body.events.recv_many(&mut happened, limits::BATCH_LINES_MAX) => {
                self.heard(happened).await
            }
            () = sleep_until(wake) => self.time().await,
        }
    }

    async fn heard(&mut self, happened: Vec<ProcessEvent>) -> Result<(), Ending> {
        self.ledger.sign(Instant::now());
        let mut inputs = Vec::with_capacity(happened.len());
        for event in happened {
            let (input, report) = self.body.input(event);
            if let Some(report) = report {
                self.voice.report(report).await?;
            }
            inputs.push(input);
        }
        self.deliver(inputs).await
    }

    async fn time(&mut self) -> Result<(), Ending> {
        let now = Instant::now();
        if let Some(closing) = &self.closing
            && closing.deadline <= now
        {
            return Err(Ending::Stopped(closing.reason.clone()));
        }
        if let Some(Overdue(failure)) = self.ledger.overdue(now) {
            return Err(Ending::Failed(self.body.with_last_words(failure)));
        }
        let due = self.body.hands.due_timers(now);
        self.deliver(due).await
    }

    fn wake(&self) -> Option<Instant> {
        let closing = self.closing.as_ref().map(|closing| closing.deadline);
        [
            self.body.hands.next_timer(),
            self.ledger.deadline(),
            closing,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Hands inputs to the driver and does what it asks, until it asks for nothing more.
    async fn deliver(&mut self, mut inputs: Vec<wit::Input>) -> Result<(), Ending> {
        while !inputs.is_empty() {
            let actions = self.body.call(inputs).await.map_err(Ending::Failed)?;
            inputs = Vec::new();
            for action in actions {
                let now = Instant::now();
                match self.body.perform(action, now).map_err(Ending::Failed)? {
                    Step::Nothing => {}
                    Step::Report(report) => self.voice.report(report).await?,
                    Step::Input(input) => inputs.push(input),
                    Step::Event(event) => {
                        let effects = self
                            .ledger
                            .event(event, now)
                            .map_err(|violation| Ending::Failed(self.body.violation(violation)))?;
                        inputs.extend(self.apply(effects).await?);
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells what is to be told; what is left is for the driver.
    async fn apply(&mut self, effects: Effects) -> Result<Vec<wit::Input>, Ending> {
        for report in effects.reports {
            let worked = matches!(
                report,
                ProviderEvent::TurnEnded {
                    outcome: TurnOutcome::Completed,
                    ..
                }
            );
            self.voice.report(report).await?;
            if worked {
                self.voice.tell(News::TurnWorked {
                    session: self.voice.session.clone(),
                });
            }
        }
        if let Some(snapshot) = effects.snapshot {
            let session = self.voice.session.clone();
            self.voice.tell(News::Learned {
                session,
                snapshot: Box::new(snapshot),
            });
        }
        if let Some(failure) = effects.ended {
            return Err(match failure {
                Some(failure) => Ending::Failed(failure),
                None => Ending::Stopped("The provider ended the session.".to_owned()),
            });
        }
        if !effects.handed_back.is_empty() {
            self.undone.extend(effects.handed_back);
            self.close("stopped").await?;
            return Ok(Vec::new());
        }
        Ok(effects.inputs)
    }

    /// Begins the end in good order.
    async fn close(&mut self, reason: &str) -> Result<(), Ending> {
        for report in self.ledger.end_all(&Broken::Stopped) {
            self.voice.report(report).await?;
        }
        self.closing = Some(Closing {
            deadline: Instant::now() + limits::CLOSE_GRACE,
            reason: reason.to_owned(),
        });
        let close = wit::Input::Close(wit::Close {
            reason: reason.to_owned(),
        });
        // Boxed: closing delivers, and delivering may close.
        Box::pin(self.deliver(vec![close])).await
    }

    /// After each step: what the pool may know, and whether there is any sense in going on.
    async fn look_around(&mut self) -> Result<(), Ending> {
        let threads = self.ledger.activity();
        let busy = threads.values().any(|activity| activity.busy);
        self.voice.status.write(Status {
            held: self.ledger.held(),
            threads,
        });
        match &self.closing {
            Some(closing) if !self.body.hands.has_processes() => {
                Err(Ending::Stopped(closing.reason.clone()))
            }
            Some(_) => Ok(()),
            None if busy && self.body.is_mute() && !self.ledger.waits_for_a_person() => {
                let failure = host_failure(
                    FailureClass::TransportError,
                    "process_gone",
                    "The agent's process ended and its driver had nothing to say about it. Send again to start a new \
                     one.",
                );
                Err(Ending::Failed(self.body.with_last_words(failure)))
            }
            None if self.ledger.is_spent() => self.close(&self.ledger.last_release()).await,
            None => Ok(()),
        }
    }

    async fn finish(mut self, ending: Ending, mut inbox: mpsc::UnboundedReceiver<Order>) {
        self.undone.extend(waiting(&mut inbox));
        let how = match &ending {
            Ending::Failed(failure) => Broken::Failed(failure.clone()),
            Ending::Stopped(_) => Broken::Stopped,
        };
        // Turns end first: whoever waits for them does not wait for processes.
        for report in self.ledger.end_all(&how) {
            if self.voice.report(report).await.is_err() {
                break;
            }
        }
        self.voice.status.write(Status {
            held: self.ledger.held(),
            threads: Default::default(),
        });
        for pid in self.body.end().await {
            if self
                .voice
                .report(ProviderEvent::ProcessEnded { pid })
                .await
                .is_err()
            {
                break;
            }
        }
        self.voice.last_words(ending, inbox, self.undone).await;
    }
}

impl Voice {
    async fn report(&self, event: ProviderEvent) -> Result<(), Ending> {
        let report = ProviderReport {
            session_id: self.session.clone(),
            instance_id: self.instance.clone(),
            event,
        };
        let sent = self.ports.reports.send(report).await;
        sent.map_err(|gone| Ending::Stopped(gone.to_string()))
    }

    fn tell(&self, news: News) {
        if self.ports.news.send(news).is_err() {
            tracing::debug!(session = %self.session, "the session outlived its pool");
        }
    }

    /// The end of the session, and what becomes of work it was given. What it had not begun shares a failure; what
    /// came later, from somebody who had heard of the end, is for a new session.
    async fn last_words(
        self,
        ending: Ending,
        mut inbox: mpsc::UnboundedReceiver<Order>,
        mut undone: Vec<ProviderWork>,
    ) {
        inbox.close();
        let mut later = Vec::new();
        while let Some(order) = inbox.recv().await {
            if let Order::Work(work) = order {
                later.push(work);
            }
        }
        let (end, reason) = match ending {
            Ending::Stopped(reason) => (SessionEnd::Stopped, reason),
            Ending::Failed(failure) => {
                let how = Broken::Failed(failure.clone());
                for work in std::mem::take(&mut undone) {
                    for report in Ledger::refuse(work, &how) {
                        // Nobody reads any more when the host goes down; the next start settles it.
                        let _ = self.report(report).await;
                    }
                }
                (SessionEnd::Failed, failure.message)
            }
        };
        let _ = self
            .report(ProviderEvent::SessionEnded {
                reason: reason.clone(),
                end,
            })
            .await;
        self.tell(News::Over {
            session: self.session.clone(),
            end,
            reason,
            undone: undone.into_iter().chain(later).collect(),
        });
    }
}

/// The work that waits in an inbox by now.
fn waiting(inbox: &mut mpsc::UnboundedReceiver<Order>) -> Vec<ProviderWork> {
    let mut work = Vec::new();
    while let Ok(order) = inbox.try_recv() {
        if let Order::Work(given) = order {
            work.push(given);
        }
    }
    work
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}
