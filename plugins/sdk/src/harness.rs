//! Replays a recorded dialogue against a driver, natively.
//!
//! A recording is one JSON object a line: `{"dir":"in"|"out"|"exit"|"meta","line":…}`, where `in` went to the agent and
//! `out` came from it. The driver under test numbers its requests itself and may ask more or less than the recorded
//! client did. So recorded requests are not compared: each becomes the host input that would cause it (the test's
//! `translate`), and each recorded answer is given to the driver under the id of its own request of the same method.
#![forbid(unsafe_code)]

use serde_json::Value;

use crate::Driver;
use crate::bindings::types::{
    Action, DriverError, Event, ExitCause, Exited, Input, Limits, Line, LineState, Output,
    SessionConfig,
};

/// Bounds that get in the way of no test.
#[must_use]
pub fn limits() -> Limits {
    Limits {
        line_bytes_max: 1 << 20,
        actions_max: 4_096,
        text_bytes_max: 1 << 20,
        file_bytes_max: 1 << 20,
        processes_max: 4,
        timers_max: 64,
        timer_ms_min: 1,
        timer_ms_max: 3_600_000,
    }
}

/// A configuration for a session with the given settings.
#[must_use]
pub fn session_config(purpose: &str, settings: &Value) -> SessionConfig {
    SessionConfig {
        purpose: purpose.to_owned(),
        provider_session_id: "session-1".to_owned(),
        working_folder_path: "/home/dev/project".to_owned(),
        session_folder_path: "/home/dev/session".to_owned(),
        secrets: Vec::new(),
        settings_json: settings.to_string(),
        seed: (1, 2),
        limits: limits(),
        extra: None,
    }
}

/// A whole line on standard output.
#[must_use]
pub fn stdout(process_id: u32, text: &str) -> Input {
    line(process_id, Output::Stdout, text, LineState::Whole)
}

/// Any line.
#[must_use]
pub fn line(process_id: u32, output: Output, text: &str, state: LineState) -> Input {
    Input::Line(Line {
        process_id,
        output,
        text: text.to_owned(),
        state,
    })
}

/// A process's end.
#[must_use]
pub fn exited(process_id: u32, cause: ExitCause) -> Input {
    Input::Exited(Exited { process_id, cause })
}

/// One line of a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum Recorded {
    /// A call the recorded client made.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    /// A call without an answer.
    Notification { method: String },
    /// What the recorded client answered to a call of the agent.
    Answer { id: Value, body: Value },
    /// A line of the agent.
    Agent(Value),
    /// The agent's end.
    Exit { code: Option<i32> },
}

/// Reads a recording, leaving out what describes it.
///
/// # Panics
/// On a line that is no recording: a broken fixture must not pass a test.
#[must_use]
pub fn recording(jsonl: &str) -> Vec<Recorded> {
    jsonl
        .lines()
        .filter(|line| !line.trim().is_empty())
        .filter_map(recorded)
        .collect()
}

#[expect(
    clippy::panic,
    reason = "a broken fixture must stop the test that uses it"
)]
fn recorded(text: &str) -> Option<Recorded> {
    let entry: Value = match serde_json::from_str(text) {
        Ok(entry) => entry,
        Err(error) => panic!("not a recording: {error}: {text}"),
    };
    let member = |name: &str| entry.get("line").and_then(|line| line.get(name)).cloned();
    let text_member = |name: &str| member(name).and_then(|v| v.as_str().map(str::to_owned));
    match entry.get("dir").and_then(Value::as_str) {
        Some("in") => Some(match (text_member("method"), member("id")) {
            (Some(method), Some(id)) => Recorded::Request {
                id,
                method,
                params: member("params").unwrap_or(Value::Null),
            },
            (Some(method), None) => Recorded::Notification { method },
            (None, id) => Recorded::Answer {
                id: id.unwrap_or(Value::Null),
                body: member("result")
                    .or_else(|| member("error"))
                    .unwrap_or(Value::Null),
            },
        }),
        Some("out") => Some(Recorded::Agent(
            entry.get("line").cloned().unwrap_or(Value::Null),
        )),
        Some("exit") => Some(Recorded::Exit {
            code: member("code")
                .and_then(|code| code.as_i64())
                .and_then(|c| i32::try_from(c).ok()),
        }),
        _ => None,
    }
}

/// A driver and what it did so far.
#[derive(Debug)]
pub struct Replay<D> {
    driver: D,
    /// Everything the driver returned, in order.
    pub actions: Vec<Action>,
    asked: Vec<(String, u64)>,
}

impl<D: Driver> Replay<D> {
    /// Opens a session and begins it.
    ///
    /// # Errors
    /// What the driver said.
    pub fn begin(config: SessionConfig) -> Result<Self, DriverError> {
        let mut replay = Self {
            driver: D::open(config)?,
            actions: Vec::new(),
            asked: Vec::new(),
        };
        replay.give(vec![Input::Begin])?;
        Ok(replay)
    }

    /// The driver under test, to look at or to give an input outside the recording.
    pub fn driver(&mut self) -> &mut D {
        &mut self.driver
    }

    /// Hands inputs to the driver and keeps what it returns.
    ///
    /// # Errors
    /// What the driver said.
    pub fn give(&mut self, inputs: Vec<Input>) -> Result<&[Action], DriverError> {
        let actions = self.driver.handle(inputs)?;
        for action in &actions {
            if let Action::Write(write) = action
                && let Ok(frame) = serde_json::from_str::<Value>(&write.frame)
                && let (Some(method), Some(id)) = (
                    frame.get("method").and_then(Value::as_str),
                    frame.get("id").and_then(Value::as_u64),
                )
            {
                self.asked.push((method.to_owned(), id));
            }
        }
        let from = self.actions.len();
        self.actions.extend(actions);
        Ok(self.actions.get(from..).unwrap_or_default())
    }

    /// Plays a recording. `translate` gives the host inputs a recorded client line stands for.
    ///
    /// # Errors
    /// What the driver said.
    pub fn play(
        &mut self,
        recording: &[Recorded],
        process_id: u32,
        translate: &mut dyn FnMut(&Recorded, &[Action]) -> Vec<Input>,
    ) -> Result<(), DriverError> {
        let mut methods: Vec<(Value, String)> = Vec::new();
        for entry in recording {
            match entry {
                Recorded::Agent(frame) => {
                    let Some(text) = self.renumbered(frame, &methods) else {
                        continue;
                    };
                    self.give(vec![stdout(process_id, &text)])?;
                }
                Recorded::Exit { code } => {
                    let cause = code.map_or(ExitCause::Signal(9), ExitCause::Code);
                    self.give(vec![exited(process_id, cause)])?;
                }
                client => {
                    if let Recorded::Request { id, method, .. } = client {
                        methods.push((id.clone(), method.clone()));
                    }
                    let inputs = translate(client, &self.actions);
                    if !inputs.is_empty() {
                        self.give(inputs)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The agent's line as the driver must see it: an answer gets the id of the driver's own request of that method, or
    /// `None` where it asked nothing of the kind.
    fn renumbered(&mut self, frame: &Value, methods: &[(Value, String)]) -> Option<String> {
        if frame.get("method").is_some() || frame.get("id").is_none() {
            return Some(frame.to_string());
        }
        let id = frame.get("id")?;
        let (_, method) = methods.iter().find(|(recorded, _)| recorded == id)?;
        let position = self.asked.iter().position(|(asked, _)| asked == method)?;
        let (_, own) = self.asked.remove(position);
        let mut frame = frame.clone();
        if let Some(object) = frame.as_object_mut() {
            object.insert("id".to_owned(), Value::from(own));
        }
        Some(frame.to_string())
    }

    /// The events so far, in order.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.actions.iter().filter_map(|action| match action {
            Action::Emit(event) => Some(event),
            _ => None,
        })
    }

    /// The frames the driver wrote so far, in order.
    pub fn frames(&self) -> impl Iterator<Item = &str> {
        self.actions.iter().filter_map(|action| match action {
            Action::Write(write) => Some(write.frame.as_str()),
            _ => None,
        })
    }

    /// The id of the driver's latest unanswered request of a method, taken: the test answers it.
    pub fn take_asked(&mut self, method: &str) -> Option<u64> {
        let position = self.asked.iter().position(|(asked, _)| asked == method)?;
        Some(self.asked.remove(position).1)
    }
}
