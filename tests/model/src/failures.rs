use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use script::Position;

use crate::limits::FAILURES_KEPT_MAX;

/// The one thing a conversation doesn't show: that a `failonce` step failed already.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    keys: HashSet<Key>,
    order: VecDeque<Key>,
}

/// A step of one conversation.
type Key = (String, String);

impl Failures {
    /// Whether the step at this place of this conversation is played for the first time.
    pub(crate) fn is_first(&self, conversation: &str, position: Position) -> bool {
        let key = (conversation.to_owned(), format!("{position:?}"));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.keys.insert(key.clone()) {
            return false;
        }
        seen.order.push_back(key);
        if seen.order.len() > FAILURES_KEPT_MAX
            && let Some(oldest) = seen.order.pop_front()
        {
            seen.keys.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_conversation_and_place_is_first_once() {
        let failures = Failures::default();
        for (conversation, position) in [
            ("a", Position::At(1)),
            ("a", Position::At(2)),
            ("b", Position::At(1)),
        ] {
            assert!(failures.is_first(conversation, position));
            assert!(!failures.is_first(conversation, position));
        }
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let failures = Failures::default();
        for number in 0..=FAILURES_KEPT_MAX {
            assert!(failures.is_first("a", Position::At(number)));
        }
        assert!(!failures.is_first("a", Position::At(1)));
        assert!(failures.is_first("a", Position::At(0)));
    }
}
