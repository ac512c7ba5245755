//! How often an instance's sessions may fail before it is left alone for a while.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::limits;

/// Failures of one instance.
#[derive(Debug, Default)]
pub(super) struct Budget {
    failures: VecDeque<Instant>,
    off: Option<Off>,
    times_off: u32,
}

/// A time an instance is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Off {
    until: Instant,
    last_failure: String,
}

impl Budget {
    /// A session failed.
    pub(super) fn failed(&mut self, why: &str, now: Instant) {
        while self
            .failures
            .front()
            .is_some_and(|at| now.saturating_duration_since(*at) > limits::FAILURE_WINDOW)
        {
            self.failures.pop_front();
        }
        self.failures.push_back(now);
        if self.failures.len() >= limits::FAILURES_MAX {
            self.failures.clear();
            self.off = Some(Off {
                until: now + backoff(self.times_off),
                last_failure: crate::text::one_line(why, 400),
            });
            self.times_off = self.times_off.saturating_add(1);
        }
    }

    /// A turn went well: what was wrong is over.
    pub(super) fn worked(&mut self) {
        self.failures.clear();
        self.times_off = 0;
    }

    /// A sentence for people while the instance is left alone.
    pub(super) fn off(&mut self, now: Instant) -> Option<String> {
        if self.off.as_ref().is_some_and(|off| off.until <= now) {
            self.off = None;
        }
        let off = self.off.as_ref()?;
        let seconds = off.until.saturating_duration_since(now).as_secs() + 1;
        Some(format!(
            "Its sessions failed {} times within {} s, so it is left alone for {seconds} s more. The last failure: {}",
            limits::FAILURES_MAX,
            limits::FAILURE_WINDOW.as_secs(),
            off.last_failure
        ))
    }
}

fn backoff(times_before: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(times_before);
    limits::BACKOFF_FIRST
        .saturating_mul(doubled)
        .min(limits::BACKOFF_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_minute_switch_off_and_the_time_doubles() {
        let begun = Instant::now();
        let mut budget = Budget::default();
        budget.failed("one", begun);
        budget.failed("two", begun);
        assert_eq!(budget.off(begun), None);
        budget.failed("three", begun);
        assert!(budget.off(begun).unwrap().contains("three"));
        let later = begun + limits::BACKOFF_FIRST;
        assert_eq!(budget.off(later), None, "over");
        for _ in 0..limits::FAILURES_MAX {
            budget.failed("again", later);
        }
        assert!(
            budget.off(later + limits::BACKOFF_FIRST).is_some(),
            "longer the second time"
        );
        assert_eq!(budget.off(later + limits::BACKOFF_FIRST * 2), None);
    }

    #[test]
    fn failures_far_apart_or_before_a_success_do_not_count_together() {
        let begun = Instant::now();
        let mut budget = Budget::default();
        for step in 0..6 {
            budget.failed("rare", begun + limits::FAILURE_WINDOW * step);
            assert_eq!(budget.off(begun + limits::FAILURE_WINDOW * step), None);
        }
        let mut budget = Budget::default();
        budget.failed("one", begun);
        budget.failed("two", begun);
        budget.worked();
        budget.failed("three", begun);
        assert_eq!(budget.off(begun), None);
    }

    #[test]
    fn the_time_off_is_bounded() {
        assert_eq!(backoff(0), limits::BACKOFF_FIRST);
        assert_eq!(backoff(u32::MAX), limits::BACKOFF_MAX);
    }
}
