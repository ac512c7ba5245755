//! Samples of one figure, kept in the rounds they were taken in.

use std::time::Duration;

/// Samples in microseconds, one list a round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    rounds: Vec<Vec<f64>>,
}

impl Samples {
    /// Begins a round: what is pushed from now on belongs to it.
    pub(crate) fn round(&mut self) {
        self.rounds.push(Vec::new());
    }

    /// Adds a sample of this many microseconds.
    pub(crate) fn push(&mut self, micros: f64) {
        match self.rounds.last_mut() {
            Some(round) => round.push(micros),
            None => self.rounds.push(vec![micros]),
        }
    }

    /// Adds a sample: the mean of `count` things that took `whole` together.
    pub(crate) fn mean(&mut self, whole: Duration, count: u32) {
        self.push(micros(whole) / f64::from(count.max(1)));
    }

    /// The middle of all samples.
    pub(crate) fn median(&self) -> f64 {
        quantile(self.rounds.concat(), 0.5)
    }

    /// The value that 99 of 100 samples don't exceed.
    pub(crate) fn p99(&self) -> f64 {
        quantile(self.rounds.concat(), 0.99)
    }

    /// Number of samples.
    pub(crate) fn len(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }

    /// How many times the other's median this one's is: the middle of the rounds, each taken for itself. Two sides of
    /// one round met the same machine.
    pub(crate) fn over(&self, other: &Self) -> f64 {
        let rounds = self.rounds.iter().zip(&other.rounds);
        let ratios = rounds
            .map(|(own, other)| quantile(own.clone(), 0.5) / quantile(other.clone(), 0.5))
            .collect();
        quantile(ratios, 0.5)
    }
}

/// A duration in microseconds.
pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// The smallest value that this share of the values does not exceed; not a number of none.
pub(crate) fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in a list of samples"
    )]
    let place = (values.len() as f64 * share).ceil() as usize;
    values
        .get(place.saturating_sub(1))
        .copied()
        .unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_sample_that_the_share_does_not_exceed() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        for (share, expected) in [(0.5, 50.0), (0.99, 99.0), (1.0, 100.0), (0.001, 1.0)] {
            assert_eq!(quantile(hundred.clone(), share), expected, "{share}");
        }
        assert!(quantile(Vec::new(), 0.5).is_nan());
    }

    #[test]
    fn a_ratio_is_taken_round_by_round() {
        let (mut slow, mut fast) = (Samples::default(), Samples::default());
        // The machine was ten times slower in the second round, for both.
        for machine in [1.0, 10.0, 1.0] {
            slow.round();
            slow.push(3.0 * machine);
            fast.round();
            fast.push(machine);
        }
        assert_eq!(slow.over(&fast), 3.0);
        assert_eq!(slow.len(), 3);
    }
}
