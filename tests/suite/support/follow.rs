//! A run followed with `weft run --json`: its lines as they come, and its result.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;

use serde_json::Value;

use super::lines::{Lines, is_change};

/// A followed run.
#[derive(Debug)]
pub(crate) struct Followed {
    child: Child,
    lines: Lines,
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
        let (sender, coming) = channel();
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
            lines: Lines::new(coming),
        }
    }

    /// Everything seen so far.
    pub(crate) fn seen(&self) -> &[Value] {
        self.lines.seen()
    }

    /// The changes of a kind seen so far.
    pub(crate) fn seen_changes(&self, kind: &str) -> Vec<Value> {
        let changes = self.seen().iter().map(|line| line["change"].clone());
        changes.filter(|change| change["type"] == kind).collect()
    }

    /// The first line, seen or coming, that is wanted.
    pub(crate) fn wait_for(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let found = self.lines.wait_for(what, wanted);
        found.unwrap_or_else(|missing| {
            let _ended = self.child.kill();
            let mut errors = String::new();
            if let Some(mut output) = self.child.stderr.take() {
                output.read_to_string(&mut errors).unwrap();
            }
            panic!("{missing}\n{errors}");
        })
    }

    /// The first change of a kind that is wanted, for example a `run` with a status.
    pub(crate) fn change(&mut self, kind: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let line = self.wait_for(kind, |line| is_change(line, kind, &wanted));
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

    /// The text of a run that must have completed.
    pub(crate) fn completed(&mut self) -> String {
        let result = self.result();
        assert_eq!(result["status"], "completed", "{result}");
        result["text"].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
