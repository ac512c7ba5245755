//! What people and agents ask of a host until it dies.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use domain::run::RunStatus;
use serde_json::{Value, json};
use server::local::client::{Client, ClientError};
use server::local::wire::{Change, CreateThread, SendMessage, SendWord, StopThread};
use tokio::sync::Notify;

use super::ledger::{Answered, Asked, Ledger};
use crate::support::overheard::{OVERHEARD, bearer_in};
use crate::support::people::wait_for;
use crate::support::wire::{Form, Raw};

/// Most things one of them asks for in one life: enough to be at work whenever the host dies.
const ASKED_MAX: u32 = 10;

/// Most tasks one parent starts in one life.
const TASKS_MAX: u32 = 8;

/// What a busy host has to do.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// Provider instance of the children and of people's threads.
    pub(super) child: &'static str,
    /// Words in the command line of that provider's processes.
    pub(super) child_words: &'static str,
    /// What children are told, in turn.
    pub(super) children: &'static [&'static str],
    /// People at work at once.
    pub(super) people: u32,
}

/// The host died under a call.
#[derive(Debug)]
pub(super) struct Cut;

impl From<ClientError> for Cut {
    fn from(error: ClientError) -> Self {
        // A host that lives and refuses is a finding.
        assert!(error.code().is_none(), "refused: {error}");
        Self
    }
}

/// One life of the host, as those see it who ask things of it.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) number: u32,
    pub(super) load: Load,
    pub(super) person: Client,
    pub(super) mcp: SocketAddr,
    /// Copy of what agents are told.
    pub(super) overheard: PathBuf,
    pub(super) ledger: Ledger,
    /// Fires when an agent begins to delegate.
    pub(super) delegating: Arc<Notify>,
}

impl Life {
    /// A person makes threads and writes to them.
    pub(super) async fn be_a_person(self, place: u32) -> Result<(), Cut> {
        let mut mine: Vec<String> = Vec::new();
        for at in 0..ASKED_MAX {
            let word = format!("{}-{place}-{at}", self.number);
            match mine.last() {
                Some(thread) if at % 2 == 1 => {
                    self.send(thread, &format!("message {word}. script: say heard"))
                        .await?;
                }
                _ => {
                    let prompt = Some("script: say done".to_owned());
                    mine.push(
                        self.thread(&format!("thread {word}"), self.load.child, prompt)
                            .await?,
                    );
                }
            }
        }
        Ok(())
    }

    /// Makes a thread for [`Life::be_an_agent`].
    pub(super) async fn make_parent(self, place: usize) -> Result<String, Cut> {
        self.thread(&format!("parent {}-{place}", self.number), OVERHEARD, None)
            .await
    }

    /// A thread whose own script delegates, each task twice.
    pub(super) async fn script_a_parent(self) -> Result<(), Cut> {
        let title = format!("parent {}", self.number);
        let thread = self.thread(&title, OVERHEARD, None).await?;
        let mut steps = Vec::new();
        for at in 0..3 {
            let key = format!("scripted {}-{at}", self.number);
            let call = self.delegation(&key, self.prompt(at));
            self.ask_task(&thread, &key);
            steps.extend([
                format!("call delegate_task {call}"),
                format!("call delegate_task {call}"),
            ]);
        }
        let script = format!("script: {} ;; say Delegated", steps.join(" ;; "));
        self.send(&thread, &script).await.map(drop)
    }

    /// A thread that hangs in its turn while its agent, which is this test, delegates. It calls for each task twice at
    /// once, as a client does that gave up too early: the key makes it one.
    pub(super) async fn be_an_agent(self, thread: String) -> Result<(), Cut> {
        let token = self.hang(&thread).await?;
        self.delegating.notify_one();
        for at in 0..TASKS_MAX {
            let key = format!("task {}-{at} of {thread}", self.number);
            self.ask_task(&thread, &key);
            let call = || self.delegate(&token, &key, self.prompt(at));
            let (one, again) = tokio::join!(call(), call());
            for task in one.iter().chain(&again) {
                self.hear_task(&key, task);
            }
            again.and(one)?;
        }
        Ok(())
    }

    /// Has a thread hang in a turn; answers the bearer of its agent.
    async fn hang(&self, thread: &str) -> Result<String, Cut> {
        // What it was told in its last life may wait or hang still.
        self.person
            .stop(thread, &StopThread { reason: None })
            .await?;
        let after = self.person.thread(thread, 0).await?.sequence;
        let run = self
            .send(
                thread,
                &format!("{thread}, life {}. script: hang", self.number),
            )
            .await?;
        wait_for(&self.person, after, |change| match change {
            Change::Run(now) if now.id == run => {
                assert!(!now.status.is_terminal(), "{now:?}");
                (now.status == RunStatus::Running).then_some(())
            }
            _ => None,
        })
        .await?;
        Ok(bearer_in(&self.overheard, thread).unwrap())
    }

    /// Makes a thread and answers its id.
    async fn thread(
        &self,
        title: &str,
        provider: &str,
        prompt: Option<String>,
    ) -> Result<String, Cut> {
        let asked = Asked::default();
        self.ledger.book().threads.insert(title.to_owned(), asked);
        let request = CreateThread {
            project: "shop".to_owned(),
            provider: Some(provider.to_owned()),
            model: None,
            runtime_mode: None,
            interaction_mode: None,
            title: Some(title.to_owned()),
            prompt,
        };
        let created = self.person.create_thread(&request).await?;
        let answered = Answered {
            id: created.thread_id.clone(),
            run: created.run_id,
        };
        self.ledger.book().threads.get_mut(title).unwrap().answered = Some(answered);
        Ok(created.thread_id)
    }

    /// Sends a text nobody sent before and answers its run.
    async fn send(&self, thread: &str, text: &str) -> Result<String, Cut> {
        let asked = Asked {
            thread: thread.to_owned(),
            ..Asked::default()
        };
        let before = self.ledger.book().messages.insert(text.to_owned(), asked);
        assert!(before.is_none(), "{text} was sent before");
        let request = SendMessage {
            text: text.to_owned(),
            mode: SendWord::Queue,
        };
        let sent = self.person.send(thread, &request).await?;
        let answered = Answered {
            id: sent.message_id,
            run: Some(sent.run_id.clone()),
        };
        self.ledger.book().messages.get_mut(text).unwrap().answered = Some(answered);
        Ok(sent.run_id)
    }

    fn prompt(&self, at: u32) -> &'static str {
        let all = self.load.children;
        all[usize::try_from(at).unwrap() % all.len()]
    }

    fn delegation(&self, key: &str, text: &str) -> Value {
        json!({
            "task": text, "title": key, "clientRequestId": key,
            "target": { "providerInstanceId": self.load.child },
        })
    }

    fn ask_task(&self, thread: &str, key: &str) {
        let asked = Asked {
            thread: thread.to_owned(),
            answered: None,
        };
        self.ledger.book().tasks.insert(key.to_owned(), asked);
    }

    fn hear_task(&self, key: &str, task: &Value) {
        let answered = Answered {
            id: task["taskId"].as_str().unwrap().to_owned(),
            run: task["childRunId"].as_str().map(str::to_owned),
        };
        let mut book = self.ledger.book();
        let asked = book.tasks.get_mut(key).unwrap();
        let before = asked.answered.replace(answered.clone());
        assert!(
            before.is_none_or(|before| before == answered),
            "{key} has two answers"
        );
    }

    /// Calls `delegate_task` as the agent would.
    async fn delegate(&self, token: &str, key: &str, text: &str) -> Result<Value, Cut> {
        let arguments = self.delegation(key, text);
        let call = Raw::call(&Form::Stateless, token, "delegate_task", &arguments);
        let reply = call.send(self.mcp).await.map_err(|_| Cut)?;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let task = reply.content().ok_or(Cut)?;
        assert!(task["taskId"].is_string(), "{key} is refused: {task}");
        Ok(task)
    }
}
