//! The entries of a turn: messages, reasoning and tool calls.
#![forbid(unsafe_code)]

use driver_sdk::clip;
use driver_sdk::limits::TITLE_BYTES_MAX;
use driver_sdk::types::{Event, Item, ItemHead, ItemStatus};
use serde_json::{Value, json};

use crate::core::Scripted;
use crate::wire;

impl Scripted {
    /// Opens an item of a turn, unless it is open. `false`: the turn is not running.
    fn open_item(&mut self, turn_id: &str, item_id: &str, kind: &str) -> bool {
        let Some(thread) = self.thread_of_turn(turn_id) else {
            return false;
        };
        let item = Item {
            item_id: item_id.to_owned(),
            thread_id: thread.host_id.clone(),
            turn_id: Some(turn_id.to_owned()),
            parent_item_id: None,
            kind: kind.to_owned(),
            status: ItemStatus::Running,
            title: None,
            text: None,
            head: blank_head(),
            body_json: "{}".to_owned(),
            extra: None,
        };
        let Some(turn) = self.turn(turn_id).filter(|turn| turn.announced) else {
            return false;
        };
        if turn.items.iter().all(|open| open.item_id != item_id) {
            turn.items.push(item.clone());
            self.out.emit(Event::Item(item));
        }
        true
    }

    /// Takes an item out of its turn: what is sent next about it is the last.
    fn take_item(&mut self, turn_id: &str, item_id: &str) -> Option<Item> {
        let turn = self.turn(turn_id)?;
        let position = turn.items.iter().position(|open| open.item_id == item_id)?;
        Some(turn.items.remove(position))
    }

    pub(crate) fn appended(&mut self, text: &wire::Text<'_>, kind: &str) {
        if self.open_item(&text.turn, &text.item, kind) {
            self.out.text(&text.item, &text.text);
        }
    }

    pub(crate) fn text_ended(&mut self, text: &wire::Text<'_>, kind: &str) {
        if !self.open_item(&text.turn, &text.item, kind) {
            return;
        }
        let stopped = self
            .turn(&text.turn)
            .is_some_and(|turn| turn.interrupt.is_some());
        let text_bytes_max = self.out.text_bytes_max();
        if let Some(mut item) = self.take_item(&text.turn, &text.item) {
            item.status = if stopped {
                ItemStatus::Interrupted
            } else {
                ItemStatus::Completed
            };
            // A longer one came in pieces, and those stay.
            item.text = (text.text.len() <= text_bytes_max).then(|| text.text.to_string());
            self.out.emit(Event::Item(item));
        }
    }

    pub(crate) fn tool(&mut self, tool: &wire::Tool<'_>) {
        let Some(thread) = self.thread_of_turn(&tool.turn) else {
            return;
        };
        let status = match tool.status.as_str() {
            "completed" => ItemStatus::Completed,
            "failed" => ItemStatus::Failed,
            "interrupted" => ItemStatus::Interrupted,
            _ => ItemStatus::Running,
        };
        let text_bytes_max = self.out.text_bytes_max();
        let (kind, title) = match &tool.server {
            Some(server) => ("mcp-tool", format!("{server}: {}", tool.name)),
            None => ("tool", tool.name.clone()),
        };
        let item = Item {
            item_id: tool.item.to_string(),
            thread_id: thread.host_id.clone(),
            turn_id: Some(tool.turn.to_string()),
            parent_item_id: None,
            kind: kind.to_owned(),
            status,
            title: Some(clip::one_line(&title, TITLE_BYTES_MAX)),
            text: None,
            head: ItemHead {
                name: Some(tool.name.clone()),
                server_name: tool.server.clone(),
                ..blank_head()
            },
            body_json: tool_body(tool, text_bytes_max),
            extra: None,
        };
        self.take_item(&tool.turn, &tool.item);
        if status == ItemStatus::Running
            && let Some(turn) = self.turn(&tool.turn)
        {
            turn.items.push(item.clone());
        }
        self.out.emit(Event::Item(item));
    }
}

fn blank_head() -> ItemHead {
    ItemHead {
        name: None,
        server_name: None,
        path: None,
        exit_code: None,
        lines_added: None,
        lines_removed: None,
        native_item_id: None,
    }
}

/// Arguments and result of a call, within the host's bound: what does not fit is left out.
fn tool_body(tool: &wire::Tool<'_>, bytes_max: usize) -> String {
    let result = tool.result.as_deref().map(|text| {
        // A result that is JSON is shown as such.
        serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
    });
    let body = json!({ "arguments": tool.arguments, "result": result });
    let body = body.to_string();
    if body.len() <= bytes_max {
        return body;
    }
    json!({ "omitted": format!("{} bytes", body.len()) }).to_string()
}
