//! Timers a driver sets.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::limits;

/// Why a timer is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TimerRefusal {
    #[error("the driver asked for a timer of {0} ms; {min} to {max} are allowed", min = limits::TIMER_MS_MIN, max = limits::TIMER_MS_MAX)]
    Delay(u32),
    #[error("the driver set more than {} timers at once", limits::TIMERS_MAX)]
    Count,
}

/// The timers of one session.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    due: BTreeMap<u32, Instant>,
}

impl Timers {
    /// Sets a timer, or moves it.
    pub(crate) fn set(&mut self, id: u32, delay_ms: u32, now: Instant) -> Result<(), TimerRefusal> {
        if !(limits::TIMER_MS_MIN..=limits::TIMER_MS_MAX).contains(&delay_ms) {
            return Err(TimerRefusal::Delay(delay_ms));
        }
        if !self.due.contains_key(&id) && self.due.len() >= limits::TIMERS_MAX as usize {
            return Err(TimerRefusal::Count);
        }
        self.due
            .insert(id, now + Duration::from_millis(u64::from(delay_ms)));
        Ok(())
    }

    /// Forgets a timer.
    pub(crate) fn clear(&mut self, id: u32) {
        self.due.remove(&id);
    }

    /// When the next one runs out.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.values().min().copied()
    }

    /// Takes those that have run out, the oldest first.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<u32> {
        let mut due: Vec<(Instant, u32)> = self
            .due
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(id, at)| (*at, *id))
            .collect();
        due.sort_unstable();
        for (_, id) in &due {
            self.due.remove(id);
        }
        due.into_iter().map(|(_, id)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_run_out_in_order_and_can_be_moved_and_forgotten() {
        let now = Instant::now();
        let mut timers = Timers::default();
        for (id, delay) in [(1, 30), (2, 10), (3, 20), (4, 20)] {
            timers.set(id, delay, now).unwrap();
        }
        timers.set(1, 5, now).unwrap();
        timers.clear(4);
        assert_eq!(timers.next(), Some(now + Duration::from_millis(5)));
        assert_eq!(timers.take_due(now + Duration::from_millis(10)), [1, 2]);
        assert_eq!(
            timers.take_due(now + Duration::from_millis(10)),
            Vec::<u32>::new()
        );
        assert_eq!(timers.take_due(now + Duration::from_secs(1)), [3]);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn a_timer_beyond_its_bounds_is_refused() {
        let now = Instant::now();
        let mut timers = Timers::default();
        assert_eq!(timers.set(1, 0, now), Err(TimerRefusal::Delay(0)));
        assert_eq!(
            timers.set(1, u32::MAX, now),
            Err(TimerRefusal::Delay(u32::MAX))
        );
        for id in 0..limits::TIMERS_MAX {
            timers.set(id, limits::TIMER_MS_MAX, now).unwrap();
        }
        assert_eq!(
            timers.set(limits::TIMERS_MAX, 1, now),
            Err(TimerRefusal::Count)
        );
        assert_eq!(timers.set(0, 1, now), Ok(()));
    }
}
