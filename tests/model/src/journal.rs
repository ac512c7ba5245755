use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, Method};
use script::{Entry, Position, Step};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::limits::REQUESTS_KEPT_MAX;

/// One request that came in, and how it went.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Counted from 1 over the life of the server.
    pub number: u64,
    pub method: Method,
    /// With the query, for example `/v1/responses`.
    pub path: String,
    pub headers: HeaderMap,
    /// The JSON body; `null` where there is none.
    pub body: Arc<Value>,
    /// The conversation, as the script sees it.
    pub history: Arc<[Entry]>,
    /// The step that was played; `None` where no script could be read.
    pub step: Option<Step>,
    /// Where that step stands.
    pub position: Option<Position>,
    pub outcome: Outcome,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is being answered.
    Open,
    /// Everything was sent.
    Completed,
    /// Answered with this HTTP status.
    Failed(u16),
    /// Broken off by the script.
    Cut,
    /// The client closed the connection before everything was sent.
    ClientGone,
}

impl Recorded {
    /// A header's value, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The results of tool calls that the conversation holds, oldest first.
    pub fn results(&self) -> impl Iterator<Item = &str> {
        self.history.iter().filter_map(|entry| match entry {
            Entry::Result(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The messages to the agent that the conversation holds, oldest first.
    pub fn messages(&self) -> impl Iterator<Item = &str> {
        self.history.iter().filter_map(|entry| match entry {
            Entry::User(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Name of the step that was played, empty where there was none.
    #[must_use]
    pub fn step_name(&self) -> &'static str {
        self.step.as_ref().map_or("", Step::name)
    }

    /// For the log file: no header, since one of them holds the key.
    fn to_log(&self) -> Value {
        json!({
            "number": self.number,
            "method": self.method.as_str(),
            "path": self.path,
            "model": self.body.get("model"),
            "step": self.step_name(),
            "position": self.position.map(|position| format!("{position:?}")),
            "outcome": format!("{:?}", self.outcome),
        })
    }
}

/// Nothing that was waited for came.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no such request within {timeout:?}; there were {count}: {seen}")]
pub struct WaitError {
    pub timeout: Duration,
    /// Requests kept at that time.
    pub count: usize,
    /// Step and outcome of each of the last ones.
    pub seen: String,
}

/// Every request, in order, and a signal for each change.
#[derive(Debug)]
pub(crate) struct Journal {
    requests: Mutex<Requests>,
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
struct Requests {
    kept: VecDeque<Recorded>,
    count: u64,
    log: Option<File>,
}

/// Requests that a failed wait lists.
const SEEN_MAX: usize = 20;

impl Journal {
    pub(crate) fn new(log: Option<File>) -> Self {
        Self {
            requests: Mutex::new(Requests {
                kept: VecDeque::new(),
                count: 0,
                log,
            }),
            changed: watch::Sender::new(0),
        }
    }

    /// Adds a request and returns the number it got.
    pub(crate) fn add(&self, mut recorded: Recorded) -> u64 {
        let mut requests = self.lock();
        requests.count += 1;
        let number = requests.count;
        recorded.number = number;
        requests.write_log(&recorded);
        if requests.kept.len() == REQUESTS_KEPT_MAX {
            requests.kept.pop_front();
        }
        requests.kept.push_back(recorded);
        drop(requests);
        self.changed.send_modify(|version| *version += 1);
        number
    }

    pub(crate) fn end(&self, number: u64, outcome: Outcome) {
        let mut requests = self.lock();
        let Some(recorded) = requests.kept.iter_mut().find(|kept| kept.number == number) else {
            return;
        };
        recorded.outcome = outcome;
        let recorded = recorded.clone();
        requests.write_log(&recorded);
        drop(requests);
        self.changed.send_modify(|version| *version += 1);
    }

    pub(crate) fn all(&self) -> Vec<Recorded> {
        self.lock().kept.iter().cloned().collect()
    }

    pub(crate) async fn wait_for(
        &self,
        timeout: Duration,
        wanted: impl Fn(&Recorded) -> bool,
    ) -> Result<Recorded, WaitError> {
        let mut changed = self.changed.subscribe();
        let found = tokio::time::timeout(timeout, async {
            loop {
                changed.borrow_and_update();
                if let Some(found) = self.lock().kept.iter().find(|kept| wanted(kept)) {
                    return Some(found.clone());
                }
                changed.changed().await.ok()?;
            }
        });
        if let Ok(Some(found)) = found.await {
            return Ok(found);
        }
        let requests = self.lock();
        let seen: Vec<String> = requests
            .kept
            .iter()
            .rev()
            .take(SEEN_MAX)
            .rev()
            .map(|kept| format!("{} {} {:?}", kept.path, kept.step_name(), kept.outcome))
            .collect();
        Err(WaitError {
            timeout,
            count: requests.kept.len(),
            seen: seen.join(", "),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Requests {
    fn write_log(&mut self, recorded: &Recorded) {
        if let Some(log) = &mut self.log
            && let Err(error) = writeln!(log, "{}", recorded.to_log())
        {
            // The log is for a person who looks on; answering agents matters more.
            eprintln!("scripted-model: the log can't be written and ends here: {error}");
            self.log = None;
        }
    }
}
