//! Follows a run and everything it delegates until the run ends.

use std::collections::HashMap;

use domain::item::ItemKind;
use domain::run::RunStatus;
use serde_json::json;

use super::Outcome;
use super::live::Live;
use super::out::Out;
use super::shared::{Failure, Setup, seconds, word};
use crate::local::client::Client;
use crate::local::wire::{Change, FeedLine, RunView, TaskView, ThreadDetailView};

/// For whom a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Text.
    People,
    /// One JSON object a line.
    Json,
}

/// One run being followed.
#[derive(Debug)]
pub(super) struct Follow {
    thread_id: String,
    run_id: String,
    format: Format,
    live: Live,
    program: String,
    /// Threads of the tree, each with the place in the journal up to which it has been shown.
    shown_until: HashMap<String, u64>,
    tasks: Vec<TaskView>,
    run: Option<RunView>,
    answer: Option<Answer>,
}

/// The newest message of the provider in the followed run.
#[derive(Debug)]
struct Answer {
    item_id: String,
    position: u64,
    text: String,
}

impl Follow {
    pub(super) fn new(setup: &Setup, thread_id: &str, run_id: &str, format: Format) -> Self {
        Self {
            thread_id: thread_id.to_owned(),
            run_id: run_id.to_owned(),
            format,
            live: Live::new(setup.program(), thread_id.to_owned()),
            program: setup.program(),
            shown_until: HashMap::new(),
            tasks: Vec::new(),
            run: None,
            answer: None,
        }
    }

    /// Shows the run until it ends, or until the person interrupts. `after`: the place in the journal where the
    /// run's own facts begin; `None`: the thread is new and is shown from its beginning.
    pub(super) async fn until_end(
        mut self,
        out: &mut Out,
        client: &Client,
        after: Option<u64>,
    ) -> Result<Outcome, Failure> {
        if self.format == Format::People {
            out.line(&format!("thread {}", self.thread_id))?;
        }
        let sequence = match after {
            Some(sequence) => {
                self.shown_until.insert(self.thread_id.clone(), sequence);
                sequence
            }
            None => {
                let detail = client.thread(&self.thread_id, 0).await?;
                self.show_detail(out, client, &detail).await?;
                detail.sequence
            }
        };
        out.flush()?;
        let mut feed = client.feed(sequence).await?;
        while self.ended().is_none() {
            let line = tokio::select! {
                line = feed.next() => line.map_err(|error| {
                    Failure::Asked(self.gone(&format!("the server went away ({error})")))
                })?,
                interrupted = tokio::signal::ctrl_c() => {
                    interrupted?;
                    return self.leave(out);
                }
            };
            let Some(line) = line else {
                return Err(Failure::Asked(self.gone("the server went away")));
            };
            self.take(out, &line)?;
            out.flush()?;
        }
        self.finish(out)
    }

    fn ended(&self) -> Option<&RunView> {
        self.run.as_ref().filter(|run| run.status.is_terminal())
    }

    fn gone(&self, why: &str) -> String {
        format!(
            "{why}; look later with `{} thread show {}`",
            self.program, self.thread_id
        )
    }

    /// Shows what stood before the feed began: a new thread, and children it already has.
    async fn show_detail(
        &mut self,
        out: &mut Out,
        client: &Client,
        detail: &ThreadDetailView,
    ) -> Result<(), Failure> {
        self.shown_until
            .insert(self.thread_id.clone(), detail.sequence);
        self.apply_detail(out, detail)?;
        let mut left: Vec<TaskView> = detail.tasks.clone();
        while let Some(task) = left.pop() {
            let child = client.thread(&task.child_thread_id, 0).await?;
            self.shown_until
                .insert(task.child_thread_id.clone(), child.sequence);
            self.apply_detail(out, &child)?;
            left.extend(child.tasks);
        }
        Ok(())
    }

    fn apply_detail(&mut self, out: &mut Out, detail: &ThreadDetailView) -> Result<(), Failure> {
        let thread = detail.row.thread.clone();
        let runs = detail.runs.iter().cloned().map(Change::Run);
        let items = detail.items.iter().cloned().map(Change::Item);
        let requests = detail.requests.iter().cloned().map(Change::Request);
        let tasks = detail.tasks.iter().cloned().map(Change::Task);
        let changes = [Change::Thread(thread)]
            .into_iter()
            .chain(tasks)
            .chain(items)
            .chain(requests)
            .chain(runs);
        for change in changes {
            self.apply(
                out,
                &FeedLine {
                    sequence: detail.sequence,
                    change,
                },
            )?;
        }
        Ok(())
    }

    /// Takes a line of the feed if it is about this tree and has not been shown.
    fn take(&mut self, out: &mut Out, line: &FeedLine) -> Result<(), Failure> {
        let thread_id = match &line.change {
            Change::Idle => return Ok(()),
            Change::End(error) => return Err(Failure::Asked(self.gone(&error.message))),
            Change::Thread(thread) => {
                let ours = thread
                    .parent_thread_id
                    .as_ref()
                    .is_some_and(|parent| self.shown_until.contains_key(parent));
                if ours && !self.shown_until.contains_key(&thread.id) {
                    self.shown_until.insert(thread.id.clone(), 0);
                }
                &thread.id
            }
            Change::Run(run) => &run.thread_id,
            Change::Item(item) => &item.thread_id,
            Change::Text(text) => &text.thread_id,
            Change::Request(request) => &request.thread_id,
            Change::Task(task) => &task.parent_thread_id,
        };
        match self.shown_until.get(thread_id) {
            Some(shown) if line.sequence > *shown => self.apply(out, line),
            _ => Ok(()),
        }
    }

    fn apply(&mut self, out: &mut Out, line: &FeedLine) -> Result<(), Failure> {
        self.remember(&line.change);
        if self.format == Format::Json {
            out.json(line)?;
            return Ok(());
        }
        match &line.change {
            Change::Thread(thread) => self.live.thread(out, thread)?,
            Change::Run(run) => self.live.run(out, run)?,
            Change::Item(item) => self.live.item(out, item)?,
            Change::Text(text) => self.live.appended(out, text)?,
            Change::Request(request) => self.live.request(out, request)?,
            Change::Task(_) | Change::Idle | Change::End(_) => {}
        }
        Ok(())
    }

    /// Keeps what the result tells.
    fn remember(&mut self, change: &Change) {
        match change {
            Change::Run(run) if run.id == self.run_id => self.run = Some(run.clone()),
            Change::Item(item)
                if item.kind == ItemKind::AssistantMessage
                    && item.run_id.as_ref() == Some(&self.run_id) =>
            {
                // A text that was broken off is closed later than the one that came after it.
                let earlier = |answer: &Answer| item.position < answer.position;
                if !self.answer.as_ref().is_some_and(earlier) {
                    self.answer = Some(Answer {
                        item_id: item.id.clone(),
                        position: item.position,
                        text: item.text.clone(),
                    });
                }
            }
            Change::Text(text) => {
                let ours = self
                    .answer
                    .as_mut()
                    .filter(|answer| answer.item_id == text.item_id);
                if let Some(answer) = ours {
                    answer.text.push_str(&text.appended);
                }
            }
            Change::Task(task) if task.parent_thread_id == self.thread_id => {
                match self.tasks.iter_mut().find(|known| known.id == task.id) {
                    Some(known) => known.clone_from(task),
                    None => self.tasks.push(task.clone()),
                }
            }
            _ => {}
        }
    }

    fn finish(mut self, out: &mut Out) -> Result<Outcome, Failure> {
        let Some(run) = self.ended().cloned() else {
            return Err(Failure::Asked(self.gone("the run has not ended")));
        };
        let outcome = match run.status {
            RunStatus::Completed | RunStatus::RolledBack => Outcome::Done,
            RunStatus::Failed => Outcome::RunFailed,
            _ => Outcome::RunStopped,
        };
        match self.format {
            Format::Json => out.json(&self.result(&run))?,
            Format::People => self.tell_end(out, &run)?,
        }
        out.flush()?;
        Ok(outcome)
    }

    fn result(&self, run: &RunView) -> serde_json::Value {
        let tasks: Vec<_> = self
            .tasks
            .iter()
            .map(|task| {
                json!({
                    "taskId": task.id,
                    "childThreadId": task.child_thread_id,
                    "providerInstanceId": task.provider_instance_id,
                    "status": task.result_status.map_or_else(|| "running".to_owned(), |s| word(&s)),
                    "summary": task.summary,
                })
            })
            .collect();
        json!({
            "type": "result",
            "threadId": self.thread_id,
            "runId": run.id,
            "status": run.status,
            "reason": run.reason,
            "text": self.answer.as_ref().map(|answer| &answer.text),
            "tasks": tasks,
            "seconds": run.elapsed_ms.map(|ms| f64::from(u32::try_from(ms).unwrap_or(u32::MAX)) / 1_000.0),
        })
    }

    fn tell_end(&mut self, out: &mut Out, run: &RunView) -> Result<(), Failure> {
        self.live.close_line(out)?;
        let took = run
            .elapsed_ms
            .map(|ms| format!(" in {}", seconds(ms)))
            .unwrap_or_default();
        let why = run
            .reason
            .as_ref()
            .map(|why| format!(": {why}"))
            .unwrap_or_default();
        out.line(&format!("{}{took}{why}", word(&run.status)))?;
        let open = self
            .tasks
            .iter()
            .filter(|task| task.result_status.is_none())
            .count();
        if open > 0 {
            out.line(&format!(
                "delegated tasks going on: {open}; look with `{} thread show {}`",
                self.program, self.thread_id
            ))?;
        }
        Ok(())
    }

    fn leave(mut self, out: &mut Out) -> Result<Outcome, Failure> {
        self.live.close_line(out)?;
        if self.format == Format::People {
            out.line(&format!(
                "the thread goes on; stop it with `{} thread stop {}`",
                self.program, self.thread_id
            ))?;
        }
        out.flush()?;
        Ok(Outcome::LeftAlone)
    }
}
