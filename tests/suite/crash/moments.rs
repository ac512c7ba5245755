//! Moments at random, from a seed that is printed.

use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Variable that sets the seed, to see a failure again. What the machine does beside is not repeated.
const SEED: &str = "WEFT_TEST_SEED";

/// A sequence of random moments.
#[derive(Debug)]
pub(super) struct Moments(u64);

impl Moments {
    /// A new sequence; says how to get it again.
    pub(super) fn new() -> Self {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let seed = match std::env::var(SEED) {
            Ok(seed) => seed.parse().expect("a seed is a number"),
            Err(_) => u64::from(now().subsec_nanos()),
        };
        println!("{SEED}={seed}");
        Self(seed)
    }

    /// The next one, within these milliseconds.
    pub(super) fn within(&mut self, millis: &RangeInclusive<u64>) -> Duration {
        // SplitMix64: every seed gives a good sequence.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        let width = millis.end() - millis.start() + 1;
        Duration::from_millis(millis.start() + bits % width)
    }
}
