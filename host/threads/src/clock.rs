//! Time and random bits, handed in so that tests decide both.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use domain::time::Timestamp;

/// Says what time it is.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 reads as 1970: instants are only compared and shown.
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// A clock that stands until it is moved. Clones share the hands.
#[derive(Clone, Debug)]
pub struct SimulatedClock(Arc<AtomicU64>);

impl SimulatedClock {
    /// A clock that shows `start`.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self(Arc::new(AtomicU64::new(start.millis())))
    }

    /// Moves it on by this many milliseconds.
    pub fn advance(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }

    /// Moves it to an instant, also an earlier one.
    pub fn set(&self, instant: Timestamp) {
        self.0.store(instant.millis(), Ordering::SeqCst);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Source of the bits that ids are made from.
pub trait IdSource: Send + Sync + fmt::Debug {
    /// 128 bits, different each time.
    fn bits(&self) -> u128;
}

/// Bits from the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn bits(&self) -> u128 {
        uuid::Uuid::new_v4().as_u128()
    }
}

/// The same bits for the same seed, in the order they are asked for. Clones share the place in it.
#[derive(Clone, Debug)]
pub struct SeededIds {
    seed: u64,
    asked: Arc<AtomicU64>,
}

impl SeededIds {
    /// A source that repeats for the same seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            asked: Arc::new(AtomicU64::new(0)),
        }
    }
}

impl IdSource for SeededIds {
    fn bits(&self) -> u128 {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        let high = mix(self.seed ^ mix(asked));
        u128::from(high) << 64 | u128::from(mix(high ^ asked))
    }
}

/// Spreads every bit of the input over all bits of the output.
const fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_simulated_clock_moves_only_when_told_and_with_all_its_clones() {
        let clock = SimulatedClock::at(Timestamp::from_millis(1_000));
        let seen: Arc<dyn Clock> = Arc::new(clock.clone());
        assert_eq!(seen.now().millis(), 1_000);
        clock.advance(5);
        assert_eq!(seen.now().millis(), 1_005);
        clock.set(Timestamp::from_millis(3));
        assert_eq!(seen.now().millis(), 3);
    }

    #[test]
    fn the_system_clock_is_past_the_build_of_this_test() {
        assert!(SystemClock.now().millis() > 1_700_000_000_000);
    }

    #[test]
    fn a_seed_repeats_its_bits_and_no_two_are_alike() {
        let (first, again, other) = (SeededIds::new(7), SeededIds::new(7), SeededIds::new(8));
        let bits: Vec<u128> = (0..1_000).map(|_| first.bits()).collect();
        assert_eq!(bits, (0..1_000).map(|_| again.bits()).collect::<Vec<_>>());
        let mut seen: BTreeSet<u128> = bits.into_iter().collect();
        seen.extend((0..1_000).map(|_| other.bits()));
        assert_eq!(seen.len(), 2_000);
    }

    #[test]
    fn random_bits_are_not_repeated() {
        assert_ne!(RandomIds.bits(), RandomIds.bits());
    }
}
