//! The to-do list of a turn.
#![forbid(unsafe_code)]

use driver_sdk::types::{Event, Item, ItemStatus};
use serde_json::{Value, json};

use crate::core::Codex;
use crate::items::blank;
use crate::thread::OpenItem;
use crate::views::{PlanNotice, PlanStep};

impl Codex {
    /// `turn/plan/updated`: one to-do item per turn, sent again at each change.
    pub(crate) fn plan_updated(&mut self, notice: &PlanNotice) {
        let Some(thread) = self.thread_native(&notice.thread_id) else {
            return;
        };
        let thread_id = thread.host_id.clone();
        let key = thread.key;
        let Some(turn_id) = thread.host_turn(&notice.turn_id) else {
            return;
        };
        let known = thread.turn.as_ref().and_then(|turn| turn.todo_item.clone());
        let item_id = known.unwrap_or_else(|| self.new_item_id());
        let done = notice
            .plan
            .iter()
            .filter(|step| step.status == "completed")
            .count();
        let total = notice.plan.len();
        let finished = total > 0 && done == total;
        let status = if finished {
            ItemStatus::Completed
        } else {
            ItemStatus::Running
        };
        let steps: Vec<Value> = notice.plan.iter().map(step).collect();
        let item = Item {
            item_id: item_id.clone(),
            thread_id,
            turn_id: Some(turn_id),
            title: Some(format!("{done} of {total} steps done")),
            body_json: self.body(&json!({ "explanation": notice.explanation, "steps": steps })),
            ..blank("todo", status)
        };
        self.out.emit(Event::Item(item.clone()));
        let Some(thread) = self.thread(key) else {
            return;
        };
        if let Some(turn) = thread.turn.as_mut() {
            turn.todo_item = Some(item_id.clone());
        }
        thread.items.retain(|open| open.item.item_id != item_id);
        if !finished {
            thread.items.push(OpenItem {
                native: format!("todo:{item_id}"),
                item,
                part: 0,
            });
        }
    }
}

fn step(step: &PlanStep) -> Value {
    let status = match step.status.as_str() {
        "inProgress" => "running",
        "completed" => "completed",
        _ => "pending",
    };
    json!({ "step": step.step, "status": status })
}
