//! Shows the tree of a followed run, line by line, and keeps what its end needs.
#![expect(
    clippy::indexing_slicing,
    reason = "an absent field of a JSON value reads as null"
)]

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

use anyhow::Context;
use serde_json::Value;

/// Characters of a piece of text that a line shows.
const TEXT_CHARS_MAX: usize = 100;

/// What has been seen of a tree.
#[derive(Debug, Default)]
pub(super) struct Watched {
    threads: Vec<Thread>,
    items: BTreeMap<String, String>,
    result: Option<Value>,
}

#[derive(Debug)]
struct Thread {
    id: String,
    title: String,
    provider: String,
    parent: Option<String>,
    depth: usize,
    status: String,
    elapsed_ms: Option<u64>,
}

impl Watched {
    /// Takes one line of `weft run --json`.
    pub(super) fn take(&mut self, line: &str) -> anyhow::Result<()> {
        let value: Value =
            serde_json::from_str(line).with_context(|| format!("no JSON: {line}"))?;
        if value["type"] == "result" {
            self.result = Some(value);
            return Ok(());
        }
        let change = &value["change"];
        match text(&change["type"]) {
            "thread" => self.thread(change),
            "run" => self.run(change),
            "item" => self.item(change),
            "text" => self.say(text(&change["threadId"]), text(&change["appended"])),
            _ => Ok(()),
        }
    }

    fn thread(&mut self, change: &Value) -> anyhow::Result<()> {
        let id = text(&change["id"]);
        if self.threads.iter().any(|thread| thread.id == id) {
            return Ok(());
        }
        let thread = Thread {
            id: id.to_owned(),
            title: text(&change["title"]).to_owned(),
            provider: text(&change["providerInstanceId"]).to_owned(),
            parent: change["parentThreadId"].as_str().map(str::to_owned),
            depth: usize::try_from(change["depth"].as_u64().unwrap_or_default())?,
            status: "starting".to_owned(),
            elapsed_ms: None,
        };
        let is_child = thread.parent.is_some();
        self.threads.push(thread);
        if is_child {
            self.say(id, "is created")
        } else {
            Ok(())
        }
    }

    fn run(&mut self, change: &Value) -> anyhow::Result<()> {
        let (id, status) = (
            text(&change["threadId"]).to_owned(),
            text(&change["status"]).to_owned(),
        );
        let Some(thread) = self.threads.iter_mut().find(|thread| thread.id == id) else {
            return Ok(());
        };
        thread.elapsed_ms = change["elapsedMs"].as_u64().or(thread.elapsed_ms);
        if thread.status == status {
            return Ok(());
        }
        // A wake that was answered before it was needed never ran.
        if status == "cancelled" {
            return Ok(());
        }
        thread.status.clone_from(&status);
        if matches!(status.as_str(), "queued" | "starting") {
            return Ok(());
        }
        match change["reason"].as_str() {
            Some(reason) => self.say(&id, &format!("{status}: {reason}")),
            None => self.say(&id, &status),
        }
    }

    fn item(&mut self, change: &Value) -> anyhow::Result<()> {
        let (id, kind, status) = (
            text(&change["id"]),
            text(&change["kind"]),
            text(&change["status"]),
        );
        let before = self.items.insert(id.to_owned(), status.to_owned());
        if before.as_deref() == Some(status) {
            return Ok(());
        }
        let thread = text(&change["threadId"]);
        match (kind, status) {
            ("mcp_tool" | "tool" | "command", "running" | "completed" | "failed") => {
                self.say(thread, &format!("{} {status}", text(&change["name"])))
            }
            ("error" | "notice", _) => self.say(thread, text(&change["text"])),
            _ => Ok(()),
        }
    }

    fn say(&self, thread_id: &str, what: &str) -> anyhow::Result<()> {
        let name = self
            .threads
            .iter()
            .find(|thread| thread.id == thread_id)
            .map_or("?", |thread| {
                if thread.parent.is_none() {
                    "parent"
                } else {
                    &thread.title
                }
            });
        let what: String = what
            .chars()
            .filter(|c| !c.is_control())
            .take(TEXT_CHARS_MAX)
            .collect();
        if what.trim().is_empty() {
            return Ok(());
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "  [{name}] {}", what.trim())?;
        // Piped output is read live too.
        if !out.is_terminal() {
            out.flush()?;
        }
        Ok(())
    }

    /// The tree with id, provider, status and seconds.
    pub(super) fn print_tree(&self) {
        for root in self.threads.iter().filter(|thread| thread.parent.is_none()) {
            self.print_below(root);
        }
    }

    fn print_below(&self, thread: &Thread) {
        let indent = "  ".repeat(thread.depth + 1);
        let seconds = thread.elapsed_ms.map_or_else(
            || "-".to_owned(),
            |ms| format!("{}.{:03} s", ms / 1_000, ms % 1_000),
        );
        println!(
            "{indent}{}  {}  {}  {seconds}  {}",
            thread.id, thread.provider, thread.status, thread.title
        );
        for child in self
            .threads
            .iter()
            .filter(|c| c.parent.as_ref() == Some(&thread.id))
        {
            self.print_below(child);
        }
    }

    /// The delegated tasks, as the result's machine-readable part.
    pub(super) fn tasks(&self) -> Value {
        self.result.as_ref().map_or_else(
            || Value::Array(Vec::new()),
            |result| result["tasks"].clone(),
        )
    }

    /// Whether the run and two children completed.
    pub(super) fn completed_with_two_children(&self) -> bool {
        let completed = |value: &Value| value["status"] == "completed";
        self.result.as_ref().is_some_and(|result| {
            completed(result)
                && result["tasks"]
                    .as_array()
                    .is_some_and(|tasks| tasks.len() == 2 && tasks.iter().all(completed))
        })
    }

    /// What is known of an end that was not the wanted one.
    pub(super) fn why(&self) -> String {
        self.result.as_ref().map_or_else(
            || "the run ended without a result".to_owned(),
            |result| format!("{} {}", text(&result["status"]), result["reason"]),
        )
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
