//! A run followed with `weft run --json`: its lines as they come, and its result.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use serde_json::Value;

use super::PATIENCE;

/// A followed run.
#[derive(Debug)]
pub(crate) struct Followed {
    child: Child,
    lines: Receiver<Value>,
    seen: Vec<Value>,
}

impl Followed {
    /// Starts the command and reads its lines.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            lines,
            seen: Vec::new(),
        }
    }

    /// Everything seen so far.
    pub(crate) fn seen(&self) -> &[Value] {
        &self.seen
    }

    /// The first line, seen or coming, that is wanted.
    pub(crate) fn wait_for(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(line) = self.seen.iter().find(|line| wanted(line)) {
            return line.clone();
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if wanted(&line) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.give_up(what, "did not come in time"),
                Err(RecvTimeoutError::Disconnected) => self.give_up(what, "never came"),
            }
        }
    }

    /// The first change of a kind that is wanted, for example a `run` with a status.
    pub(crate) fn change(&mut self, kind: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let line = self.wait_for(kind, |line| {
            line["change"]["type"] == kind && wanted(&line["change"])
        });
        line["change"].clone()
    }

    /// Id of the followed thread.
    pub(crate) fn thread_id(&mut self) -> String {
        let thread = self.change("thread", |thread| thread["parentThreadId"].is_null());
        thread["id"].as_str().unwrap().to_owned()
    }

    /// The pending request of the tree that comes first.
    pub(crate) fn request(&mut self) -> Value {
        self.change("request", |request| request["status"] == "pending")
    }

    /// The result, which is the last line.
    pub(crate) fn result(&mut self) -> Value {
        self.wait_for("result", |line| line["type"] == "result")
    }

    fn give_up(&mut self, what: &str, why: &str) -> ! {
        let _ended = self.child.kill();
        let mut errors = String::new();
        if let Some(mut output) = self.child.stderr.take() {
            output.read_to_string(&mut errors).unwrap();
        }
        let lines: Vec<String> = self.seen.iter().map(Value::to_string).collect();
        panic!("{what} {why}; seen:\n{}\n{errors}", lines.join("\n"));
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
