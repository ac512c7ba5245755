//! The actions of one answer, in order and within the host's bounds.
#![forbid(unsafe_code)]

use std::collections::VecDeque;

use crate::bindings::types::{Action, Event, Limits, SetTimer, Text, Write};
use crate::clip;
use crate::limits::OUTBOX_TIMER;

/// Collects what a driver wants done. Text for one item is joined, so a batch of deltas is one event; what exceeds
/// `actions-max` follows at the next call, which a timer brings about.
#[derive(Debug)]
pub struct Outbox {
    actions: VecDeque<Action>,
    actions_max: usize,
    text_bytes_max: usize,
    line_bytes_max: usize,
    timer_ms_min: u32,
}

impl Outbox {
    /// An empty one with the bounds of this session.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            actions: VecDeque::new(),
            // One place is kept for the timer that brings the rest.
            actions_max: usize::try_from(limits.actions_max)
                .unwrap_or(usize::MAX)
                .max(2),
            text_bytes_max: usize::try_from(limits.text_bytes_max)
                .unwrap_or(usize::MAX)
                .max(64),
            line_bytes_max: usize::try_from(limits.line_bytes_max).unwrap_or(usize::MAX),
            timer_ms_min: limits.timer_ms_min,
        }
    }

    /// Longest string the host takes in an event, in bytes.
    #[must_use]
    pub fn text_bytes_max(&self) -> usize {
        self.text_bytes_max
    }

    /// Adds any action.
    pub fn push(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    /// Adds an event.
    pub fn emit(&mut self, event: Event) {
        self.push(Action::Emit(event));
    }

    /// Whether the host would take this frame.
    #[must_use]
    pub fn frame_fits(&self, frame: &str) -> bool {
        frame.len() <= self.line_bytes_max
    }

    /// Adds a frame for a process.
    pub fn write(&mut self, process_id: u32, frame: String) {
        self.push(Action::Write(Write { process_id, frame }));
    }

    /// Adds text to an item, joined with what was just added to the same item.
    pub fn text(&mut self, item_id: &str, appended: &str) {
        let mut rest = appended;
        if let Some(Action::Emit(Event::Text(last))) = self.actions.back_mut()
            && last.item_id == item_id
        {
            let head = clip::prefix(
                rest,
                self.text_bytes_max.saturating_sub(last.appended.len()),
            );
            last.appended.push_str(head);
            rest = rest.get(head.len()..).unwrap_or_default();
        }
        while !rest.is_empty() {
            let head = clip::prefix(rest, self.text_bytes_max);
            self.emit(Event::Text(Text {
                item_id: item_id.to_owned(),
                appended: head.to_owned(),
            }));
            rest = rest.get(head.len()..).unwrap_or_default();
        }
    }

    /// Takes what fits in one answer. The driver calls this once at the end of `handle` and treats [`OUTBOX_TIMER`] as a
    /// call with nothing new in it.
    pub fn take(&mut self) -> Vec<Action> {
        if self.actions.len() <= self.actions_max {
            return std::mem::take(&mut self.actions).into();
        }
        let mut now: Vec<Action> = self.actions.drain(..self.actions_max - 1).collect();
        now.push(Action::SetTimer(SetTimer {
            timer_id: OUTBOX_TIMER,
            delay_ms: self.timer_ms_min,
        }));
        now
    }
}

#[cfg(test)]
mod tests {
    use super::Outbox;
    use crate::bindings::types::{Action, Event, Limits};
    use crate::limits::OUTBOX_TIMER;

    fn outbox(actions_max: u32, text_bytes_max: u32) -> Outbox {
        Outbox::new(&Limits {
            actions_max,
            text_bytes_max,
            ..crate::harness::limits()
        })
    }

    fn texts(actions: &[Action]) -> Vec<String> {
        let text = |action: &Action| match action {
            Action::Emit(Event::Text(text)) => Some(text.appended.clone()),
            _ => None,
        };
        actions.iter().filter_map(text).collect()
    }

    #[test]
    fn text_for_one_item_is_joined_and_split_at_the_bound() {
        let mut outbox = outbox(100, 64);
        outbox.text("a", "one ");
        outbox.text("a", "two");
        outbox.text("b", &"x".repeat(100));
        outbox.text("a", "three");
        assert_eq!(
            texts(&outbox.take()),
            [
                "one two".to_owned(),
                "x".repeat(64),
                "x".repeat(36),
                "three".to_owned()
            ]
        );
    }

    #[test]
    fn what_exceeds_one_answer_comes_in_order_with_the_next() {
        let mut outbox = outbox(3, 64);
        for n in 0..6 {
            outbox.text(&n.to_string(), &n.to_string());
        }
        let mut seen = Vec::new();
        loop {
            let actions = outbox.take();
            assert!(actions.len() <= 3);
            seen.extend(texts(&actions));
            match actions.last() {
                Some(Action::SetTimer(timer)) => assert_eq!(timer.timer_id, OUTBOX_TIMER),
                _ => break,
            }
        }
        assert_eq!(seen, ["0", "1", "2", "3", "4", "5"]);
    }
}
