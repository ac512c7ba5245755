//! Everything a server does, told by its own feed: for what happens after, or beside, a followed run.

use std::path::PathBuf;
use std::sync::mpsc::channel;

use serde_json::Value;
use server::local::client::Client;

use super::lines::{Lines, is_change};

/// The feed of a server, from the first fact of its journal.
#[derive(Debug)]
pub(crate) struct Feed {
    lines: Lines,
}

impl Feed {
    /// Reads until the server goes down.
    pub(crate) fn start(data_folder: PathBuf) -> Self {
        let (sender, coming) = channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let mut feed = Client::new(&data_folder).feed(0).await.unwrap();
                // A server that is killed breaks its feed off.
                while let Ok(Some(line)) = feed.next().await {
                    if sender.send(serde_json::to_value(line).unwrap()).is_err() {
                        return;
                    }
                }
            });
        });
        Self {
            lines: Lines::new(coming),
        }
    }

    /// The first change of a kind, of the past or to come, that is wanted.
    pub(crate) fn change(&mut self, kind: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let found = self
            .lines
            .wait_for(kind, |line| is_change(line, kind, &wanted));
        match found {
            Ok(line) => line["change"].clone(),
            Err(missing) => panic!("{missing}"),
        }
    }

    /// The end of a thread's run, counted from 1.
    pub(crate) fn end_of(&mut self, thread: &str, ordinal: u32) -> Value {
        self.change("run", |run| {
            run["threadId"] == thread && run["ordinal"] == ordinal && !run["completedAt"].is_null()
        })
    }

    /// Waits until the agent works on a thread's run, counted from 1.
    pub(crate) fn running(&mut self, thread: &str, ordinal: u32) -> Value {
        self.change("run", |run| {
            run["threadId"] == thread && run["ordinal"] == ordinal && run["status"] == "running"
        })
    }

    /// The child thread that the parent made first, second, ...
    pub(crate) fn child(&mut self, parent: &str, number: usize) -> String {
        let mut known: Vec<String> = Vec::new();
        loop {
            let thread = self.change("thread", |thread| {
                thread["parentThreadId"] == parent
                    && !known.iter().any(|id| thread["id"] == id.as_str())
            });
            known.push(thread["id"].as_str().unwrap().to_owned());
            if known.len() == number {
                return known.pop().unwrap();
            }
        }
    }
}
