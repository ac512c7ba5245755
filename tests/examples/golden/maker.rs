//! A host without agents that makes a store.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use domain::command::{Answer, AnsweredBy, Command, CreateThread, SendMessage, SendMode};
use domain::error::Denial;
use domain::event::Event;
use domain::ids::{
    ProjectId, ProviderInstanceId, ProviderSessionId, RequestId, RequestKey, RunId, ThreadId,
};
use domain::item::{ItemHead, ItemKind, ItemStatus};
use domain::message::Provenance;
use domain::modes::{InteractionMode, Modes, RuntimeMode};
use domain::provider::{ProviderSnapshot, Steering};
use domain::provider_event::{
    Blocking, ProviderEvent, ProviderItem, ProviderReport, Resume, TurnOutcome, Usage,
};
use domain::request::{Prompt, Reply};
use domain::run::RunStatus;
use domain::time::Timestamp;
use domain::view::View;
use threads::clock::{SeededIds, SimulatedClock};
use threads::ports::{BoxFuture, ProviderPort, ProviderWork};
use threads::writer::CommandKey;
use threads::{Journal, Running};
use tokio::sync::watch;

use crate::words::{INSTANCE, model};

const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

/// Takes work and does nothing with it: this file says what agents report.
#[derive(Debug, Default)]
pub(crate) struct NoAgents(watch::Sender<usize>);

impl ProviderPort for NoAgents {
    fn snapshots(&self) -> Vec<ProviderSnapshot> {
        Vec::new()
    }

    fn reprobe<'a>(&'a self, _: &'a ProviderInstanceId) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn submit(&self, _: ProviderWork) {
        self.0.send_modify(|count| *count += 1);
    }
}

/// A host that makes the store.
pub(crate) struct Maker {
    pub(crate) running: Running,
    agents: Arc<NoAgents>,
    clock: SimulatedClock,
    session: ProviderSessionId,
    /// Work the agents must have been given so far.
    work: usize,
    /// Calls made so far: the number is the key.
    calls: u32,
}

/// A thread and a run of it.
#[derive(Clone)]
pub(crate) struct Talk {
    pub(crate) thread: ThreadId,
    pub(crate) run: RunId,
}

impl Maker {
    pub(crate) async fn open(file: &Path, life: u32) -> Result<Self> {
        let clock = SimulatedClock::at(Timestamp::from_millis(
            START.millis() + u64::from(life) * 86_400_000,
        ));
        let ids = SeededIds::new(u64::from(life));
        let journal = Journal::open(file, Arc::new(clock.clone()), Arc::new(ids))?;
        let agents = Arc::new(NoAgents::default());
        let running = journal.start(agents.clone()).await?;
        Ok(Self {
            running,
            agents,
            clock,
            session: ProviderSessionId::new(format!("session-{life:032x}")),
            work: 0,
            calls: 0,
        })
    }

    /// A command as a caller makes it, with a key.
    pub(crate) async fn ask(&mut self, command: Command) -> Result<Result<Answer, Denial>> {
        self.calls += 1;
        let key = CommandKey {
            request: RequestKey {
                namespace: self.session.to_string(),
                key: format!("call-{}", self.calls),
            },
            digest: format!("digest-{}", self.calls),
        };
        self.clock.advance(250);
        let answered = self.running.writer().submit(Some(key), command).await;
        Ok(answered.map(|it| it.answer))
    }

    pub(crate) async fn told(&mut self, command: Command) -> Result<Answer> {
        Ok(self.ask(command).await??)
    }

    pub(crate) async fn report(&mut self, event: ProviderEvent) -> Result<()> {
        self.clock.advance(10);
        let report = ProviderReport {
            session_id: self.session.clone(),
            instance_id: ProviderInstanceId::new(INSTANCE),
            event,
        };
        let writer = self.running.writer();
        writer.submit(None, Command::Report(report)).await?;
        Ok(())
    }

    /// Waits until the agents were given one more piece of work: its row then goes with the next commit.
    pub(crate) async fn handed_over(&mut self) -> Result<()> {
        self.work += 1;
        let mut given = self.agents.0.subscribe();
        given.wait_for(|count| *count >= self.work).await?;
        Ok(())
    }

    pub(crate) async fn start_turn(&mut self, talk: &Talk) -> Result<()> {
        self.handed_over().await?;
        let thread_id = talk.thread.clone();
        self.report(ProviderEvent::ThreadAttached { thread_id })
            .await?;
        self.report(ProviderEvent::ThreadReady {
            thread_id: talk.thread.clone(),
            native_thread_id: format!("native-{}", talk.thread),
            resume: Resume::Possible,
            model: Some("m1".to_owned()),
        })
        .await?;
        self.report(ProviderEvent::TurnStarted {
            run_id: talk.run.clone(),
            native_turn_id: Some(format!("turn-{}", talk.run)),
        })
        .await
    }

    pub(crate) async fn item(&mut self, talk: &Talk, kind: ItemKind, text: &str) -> Result<()> {
        let is_command = kind == ItemKind::Command;
        self.report(ProviderEvent::Item(ProviderItem {
            driver_item_id: format!("{kind:?}-{}", talk.run),
            thread_id: talk.thread.clone(),
            run_id: Some(talk.run.clone()),
            parent_driver_item_id: None,
            kind,
            status: ItemStatus::Completed,
            title: is_command.then(|| "cargo test".to_owned()),
            text: Some(text.to_owned()),
            head: ItemHead {
                name: is_command.then(|| "cargo test".to_owned()),
                exit_code: is_command.then_some(0),
                ..ItemHead::default()
            },
            body_json: r#"{"cwd":"."}"#.to_owned(),
        }))
        .await
    }

    /// The agent says its word and the turn completes.
    pub(crate) async fn end_turn(&mut self, talk: &Talk, text: &str) -> Result<()> {
        self.item(talk, ItemKind::AssistantMessage, text).await?;
        self.report(ProviderEvent::TurnEnded {
            run_id: talk.run.clone(),
            outcome: TurnOutcome::Completed,
            native_point: Some(format!("point-{}", talk.run)),
        })
        .await
    }

    /// What streams while an agent works.
    pub(crate) async fn streams(&mut self, talk: &Talk) -> Result<()> {
        for appended in ["I am look", "ing at it."] {
            self.report(ProviderEvent::Text {
                thread_id: talk.thread.clone(),
                driver_item_id: format!("{:?}-{}", ItemKind::AssistantMessage, talk.run),
                appended: appended.to_owned(),
            })
            .await?;
        }
        let usage = Usage {
            input_tokens: 1_200,
            output_tokens: 80,
            ..Usage::default()
        };
        self.report(ProviderEvent::Usage {
            run_id: talk.run.clone(),
            usage,
        })
        .await
    }

    pub(crate) async fn thread(&mut self, project: &ProjectId, prompt: &str) -> Result<Talk> {
        let create = Command::CreateThread(CreateThread {
            project_id: project.clone(),
            title: None,
            provider_instance_id: ProviderInstanceId::new(INSTANCE),
            model: model(),
            modes: Modes {
                runtime: RuntimeMode::AutoAcceptEdits,
                interaction: InteractionMode::Default,
            },
            provenance: Provenance::person_at_command_line(),
            prompt: Some(prompt.to_owned()),
        });
        match self.told(create).await? {
            Answer::Thread {
                thread_id,
                run_id: Some(run),
            } => Ok(Talk {
                thread: thread_id,
                run,
            }),
            other => bail!("no thread with a run: {other:?}"),
        }
    }

    pub(crate) async fn send(&mut self, thread: &ThreadId, text: &str) -> Result<Talk> {
        let send = Command::SendMessage(SendMessage {
            thread_id: thread.clone(),
            text: text.to_owned(),
            provenance: Provenance::person_at_command_line(),
            mode: SendMode::Queue,
            steering: Steering::Native,
            caller: domain::command::Caller::Person,
        });
        match self.told(send).await? {
            Answer::Sent { run_id, .. } => Ok(Talk {
                thread: thread.clone(),
                run: run_id,
            }),
            other => bail!("not sent: {other:?}"),
        }
    }

    pub(crate) async fn ask_person(
        &mut self,
        talk: &Talk,
        id: &str,
        prompt: Prompt,
    ) -> Result<RequestId> {
        let request_id = RequestId::new(id);
        self.report(ProviderEvent::RequestOpened {
            request_id: request_id.clone(),
            thread_id: talk.thread.clone(),
            run_id: Some(talk.run.clone()),
            blocking: Blocking::Blocking,
            prompt,
            detail_json: r#"{"cwd":"."}"#.to_owned(),
        })
        .await?;
        Ok(request_id)
    }

    pub(crate) async fn respond(&mut self, request_id: RequestId, reply: Reply) -> Result<()> {
        self.told(Command::Respond {
            request_id,
            reply,
            answered_by: AnsweredBy::Person,
        })
        .await?;
        self.handed_over().await
    }

    pub(crate) fn messages(&self) -> Result<usize> {
        let reader = self.running.store().reader()?;
        let mut ids = BTreeSet::new();
        let mut after = 0;
        loop {
            let page = reader.events_after(after, usize::MAX)?;
            let Some((last, _)) = page.last() else {
                return Ok(ids.len());
            };
            after = *last;
            ids.extend(page.into_iter().filter_map(|(_, event)| match event {
                Event::MessageUpdated(message) => Some(message.id.to_string()),
                _ => None,
            }));
        }
    }

    /// The run of a thread that is being handed over.
    pub(crate) fn starting(&self, thread: &ThreadId) -> Result<Talk> {
        let open = self.running.store().reader()?.open_runs_of(thread)?;
        let run = open.into_iter().find(|it| it.status == RunStatus::Starting);
        let run = run.context("no run is being handed over")?.id;
        Ok(Talk {
            thread: thread.clone(),
            run,
        })
    }
}
