//! Codex's items as the host's.
#![forbid(unsafe_code)]

use driver_sdk::clip;
use driver_sdk::limits::TITLE_BYTES_MAX;
use driver_sdk::logging::{self, LogLevel};
use driver_sdk::types::{Event, Item, ItemStatus, TurnOutcome};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::changes;
use crate::core::Codex;
use crate::limits::{ID_BYTES_MAX, LATE_ITEMS_MAX};
use crate::notices::empty_head;
use crate::thread::{OpenItem, Thread, ThreadKey};
use crate::wire::{self, Delta, ItemNotice};

/// Which notice an item came with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Started,
    Completed,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CommandBody<'a> {
    command: Option<&'a str>,
    cwd: Option<&'a str>,
    duration_ms: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolBody<'a> {
    arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RawValue>,
    duration_ms: Option<u64>,
}

impl Codex {
    /// `item/started`
    pub(crate) fn item_started(&mut self, notice: &ItemNotice<'_>) {
        self.item_seen(notice, Stage::Started);
    }

    /// `item/completed`
    pub(crate) fn item_completed(&mut self, notice: &ItemNotice<'_>) {
        self.item_seen(notice, Stage::Completed);
    }

    fn item_seen(&mut self, notice: &ItemNotice<'_>, stage: Stage) {
        let native = notice.item.id.as_ref();
        if notice.item.kind == "userMessage" {
            return; // The host wrote it.
        }
        let Some(thread) = self.thread_native(&notice.thread_id) else {
            return;
        };
        let key = thread.key;
        let open = thread.items.iter().position(|open| open.native == native);
        let late = thread.late.iter().position(|open| open.native == native);
        let (item_id, turn_id) = match (open, late) {
            (Some(at), _) => (item_id_at(&thread.items, at), turn_id_at(&thread.items, at)),
            (None, Some(at)) => (item_id_at(&thread.late, at), turn_id_at(&thread.late, at)),
            (None, None) => match thread.host_turn(&notice.turn_id) {
                Some(turn_id) => (self.new_item_id(), Some(turn_id)),
                None => return, // Of a turn that is not the host's, or long over.
            },
        };
        let mut item = self.item_of(&notice.item, stage);
        item.item_id = item_id;
        item.turn_id = turn_id;
        let Some(thread) = self.thread(key) else {
            return;
        };
        item.thread_id.clone_from(&thread.host_id);
        self.out.emit(Event::Item(item.clone()));
        let Some(thread) = self.thread(key) else {
            return;
        };
        match (open, late, stage) {
            (Some(at), _, Stage::Completed) => drop(thread.items.remove(at)),
            (Some(at), _, Stage::Started) => {
                if let Some(open) = thread.items.get_mut(at) {
                    open.item = item;
                }
            }
            (None, Some(at), Stage::Completed) => {
                thread.late.remove(at);
                self.background_ended(key, &item.item_id);
            }
            (None, None, Stage::Started) => thread.items.push(OpenItem {
                native: native.to_owned(),
                item,
                part: 0,
            }),
            (None, _, _) => {}
        }
    }

    /// A piece of an item's text.
    pub(crate) fn item_delta(&mut self, delta: &Delta<'_>, kind: &str) {
        let native = delta.item_id.as_ref();
        let named = |thread: &&mut Thread| thread.native.as_deref() == Some(&*delta.thread_id);
        // The fields are borrowed one by one, so that the hot path copies no id.
        let Some(thread) = self.threads.iter_mut().find(named) else {
            return;
        };
        let known = thread.items.iter_mut().chain(thread.late.iter_mut());
        if let Some(open) = known.rev().find(|open| open.native == native) {
            let part = delta.summary_index.unwrap_or(open.part);
            if std::mem::replace(&mut open.part, part) != part {
                self.out.text(&open.item.item_id, "\n\n");
            }
            self.out.text(&open.item.item_id, &delta.delta);
            return;
        }
        // A piece of an item nobody announced: an item that starts with it.
        let Some(turn_id) = thread.host_turn(&delta.turn_id) else {
            return;
        };
        let key = thread.key;
        let thread_id = thread.host_id.clone();
        let item = Item {
            item_id: self.new_item_id(),
            thread_id,
            turn_id: Some(turn_id),
            head: driver_sdk::types::ItemHead {
                native_item_id: native_id(native),
                ..empty_head()
            },
            ..blank(kind, ItemStatus::Running)
        };
        self.out.emit(Event::Item(item.clone()));
        self.out.text(&item.item_id, &delta.delta);
        if let Some(thread) = self.thread(key) {
            let part = delta.summary_index.unwrap_or_default();
            thread.items.push(OpenItem {
                native: native.to_owned(),
                item,
                part,
            });
        }
    }

    /// Closes what a turn left open. Codex sends no end for items cut by a stop or a steer. Commands are remembered: they
    /// may live on and report later.
    pub(crate) fn close_items(&mut self, key: ThreadKey, outcome: &TurnOutcome) {
        let Some(thread) = self.thread(key) else {
            return;
        };
        let open = std::mem::take(&mut thread.items);
        for mut open in open {
            open.item.status = closed_status(&open.item.kind, outcome);
            open.item.text = None;
            self.out.emit(Event::Item(open.item.clone()));
            if open.item.kind != "command" {
                continue;
            }
            let Some(thread) = self.thread(key) else {
                return;
            };
            if thread.late.len() >= LATE_ITEMS_MAX {
                thread.late.remove(0);
            }
            thread.late.push(open);
        }
    }

    fn item_of(&self, item: &wire::Item<'_>, stage: Stage) -> Item {
        let completed = stage == Stage::Completed;
        let (kind, title) = kind_and_title(item);
        let mut head = empty_head();
        head.native_item_id = native_id(&item.id);
        let mut text = None;
        let mut body = json!({}).to_string();
        match kind {
            "message" | "plan" => {
                text = item
                    .text
                    .as_deref()
                    .filter(|text| completed || !text.is_empty())
                    .map(str::to_owned);
            }
            "reasoning" => {
                text = if completed {
                    reasoning_text(item)
                } else {
                    None
                }
            }
            "command" => {
                head.name = item.command.as_ref().map(|command| self.clipped(command));
                head.exit_code = item.exit_code;
                text = if completed {
                    item.aggregated_output.as_ref().map(ToString::to_string)
                } else {
                    None
                };
                let (command, cwd) = (item.command.as_deref(), item.cwd.as_deref());
                body = self.body(&CommandBody {
                    command,
                    cwd,
                    duration_ms: item.duration_ms,
                });
            }
            "file-change" => {
                let changes = changes::read(item.changes);
                head.path = changes::single_path(&changes).map(|path| self.clipped(&path));
                let (added, removed) = changes::totals(&changes);
                head.lines_added = Some(added);
                head.lines_removed = Some(removed);
                body = changes::body(&changes, self.out.text_bytes_max());
            }
            "mcp-tool" | "tool" => {
                head.name = item
                    .tool
                    .as_ref()
                    .or(Some(&item.kind))
                    .map(|name| self.clipped(name));
                head.server_name = item
                    .server
                    .as_ref()
                    .or(item.namespace.as_ref())
                    .map(|server| self.clipped(server));
                let result = item
                    .result
                    .or(item.content_items)
                    .filter(|json| json.get() != "null");
                let error = item.error.filter(|json| json.get() != "null");
                body = self.body(&ToolBody {
                    arguments: item.arguments,
                    result,
                    error,
                    duration_ms: item.duration_ms,
                });
            }
            "web-search" => {
                body = self.body(&json!({ "query": item.query, "action": item.action }));
            }
            "subagent" => body = self.body(&json!({ "tool": item.tool, "prompt": item.prompt })),
            _ => text = item.review.as_ref().map(ToString::to_string),
        }
        Item {
            title: title.map(|title| clip::one_line(&title, TITLE_BYTES_MAX)),
            text: text.map(|text| self.clipped(&text)),
            head,
            body_json: body,
            ..blank(kind, status_of(item, stage))
        }
    }

    fn clipped(&self, text: &str) -> String {
        clip::shortened(text, self.out.text_bytes_max())
    }

    /// A body as JSON, or a note where it would exceed the host's bound.
    pub(crate) fn body<T: Serialize>(&self, body: &T) -> String {
        let json = match serde_json::to_string(body) {
            Ok(json) => json,
            Err(error) => {
                logging::write(
                    LogLevel::Warn,
                    &format!("an item's body could not be written: {error}"),
                );
                return json!({ "omitted": "unreadable" }).to_string();
            }
        };
        if json.len() <= self.out.text_bytes_max() {
            return json;
        }
        json!({ "omitted": format!("{} bytes", json.len()) }).to_string()
    }
}

/// Codex's id of an item, where the host takes one that long: it is made by the model's provider.
fn native_id(native: &str) -> Option<String> {
    (native.len() <= ID_BYTES_MAX).then(|| native.to_owned())
}

/// An item that says nothing yet. `item-id` and `thread-id` are the caller's.
pub(crate) fn blank(kind: &str, status: ItemStatus) -> Item {
    Item {
        item_id: String::new(),
        thread_id: String::new(),
        turn_id: None,
        parent_item_id: None,
        kind: kind.to_owned(),
        status,
        title: None,
        text: None,
        head: empty_head(),
        body_json: "{}".to_owned(),
        extra: None,
    }
}

/// The host's kind of an item and its line for people. A type this driver does not know is a tool of that name.
fn kind_and_title(item: &wire::Item<'_>) -> (&'static str, Option<String>) {
    let named = |name: &Option<std::borrow::Cow<'_, str>>| name.as_ref().map(ToString::to_string);
    match item.kind.as_ref() {
        "agentMessage" => ("message", None),
        "reasoning" => ("reasoning", None),
        "plan" => ("plan", None),
        "commandExecution" => ("command", named(&item.command)),
        "fileChange" => (
            "file-change",
            Some(changes::title(&changes::read(item.changes))),
        ),
        "mcpToolCall" => {
            let (server, tool) = (item.server.as_deref(), item.tool.as_deref());
            (
                "mcp-tool",
                Some(format!(
                    "{}: {}",
                    server.unwrap_or("MCP"),
                    tool.unwrap_or("tool")
                )),
            )
        }
        "webSearch" => ("web-search", named(&item.query)),
        "contextCompaction" => (
            "compaction",
            Some("The conversation was shortened".to_owned()),
        ),
        "collabAgentToolCall" | "subAgentActivity" => {
            ("subagent", named(&item.prompt).or(named(&item.tool)))
        }
        "enteredReviewMode" => ("notice", Some("Review begins".to_owned())),
        "exitedReviewMode" => ("notice", Some("Review ends".to_owned())),
        "dynamicToolCall" => ("tool", named(&item.tool)),
        "imageView" => (
            "tool",
            item.path.as_ref().map(|path| format!("Looks at {path}")),
        ),
        other => ("tool", Some(other.to_owned())),
    }
}

fn status_of(item: &wire::Item<'_>, stage: Stage) -> ItemStatus {
    match item.status.as_deref() {
        Some("completed") => ItemStatus::Completed,
        Some("failed") => ItemStatus::Failed,
        Some("declined") => ItemStatus::Cancelled,
        Some("interrupted") => ItemStatus::Interrupted,
        _ if stage == Stage::Completed => ItemStatus::Completed,
        _ => ItemStatus::Running,
    }
}

/// State of an item its turn leaves open. In a turn that completed, a command went to the background and a list stays as
/// it is; anything else was cut, by a steer.
fn closed_status(kind: &str, outcome: &TurnOutcome) -> ItemStatus {
    match outcome {
        TurnOutcome::Completed if kind == "command" || kind == "todo" => ItemStatus::Completed,
        TurnOutcome::Completed | TurnOutcome::Interrupted => ItemStatus::Interrupted,
        TurnOutcome::Failed(_) => ItemStatus::Failed,
    }
}

/// The summary where there is one, else the raw reasoning; parts apart by an empty line, as they are streamed.
fn reasoning_text(item: &wire::Item<'_>) -> Option<String> {
    let parts =
        |json: Option<&RawValue>| wire::read::<Vec<String>>(json).filter(|parts| !parts.is_empty());
    Some(
        parts(item.summary)
            .or_else(|| parts(item.content))?
            .join("\n\n"),
    )
}

fn item_id_at(items: &[OpenItem], at: usize) -> String {
    items
        .get(at)
        .map(|open| open.item.item_id.clone())
        .unwrap_or_default()
}

fn turn_id_at(items: &[OpenItem], at: usize) -> Option<String> {
    items.get(at).and_then(|open| open.item.turn_id.clone())
}
