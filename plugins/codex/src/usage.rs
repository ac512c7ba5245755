//! Tokens of a turn out of Codex's running totals.
#![forbid(unsafe_code)]

use driver_sdk::types::{Event, Usage};

use crate::core::Codex;
use crate::views::{Tokens, UsageNotice};

/// Sums what a turn used. Codex reports the total of the conversation and the last model call.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    total: Option<Tokens>,
    turn: Tokens,
}

impl Meter {
    /// A turn begins.
    pub(crate) fn reset(&mut self) {
        self.turn = Tokens::default();
    }

    /// Takes one report and gives the turn's sum. The growth of the total counts; where no total is known yet (a
    /// conversation just taken up), the last call does. A repeated report adds nothing.
    fn add(&mut self, total: Tokens, last: Tokens) -> Tokens {
        let step = match self.total {
            Some(before) => Tokens {
                total_tokens: total.total_tokens.saturating_sub(before.total_tokens),
                input_tokens: total.input_tokens.saturating_sub(before.input_tokens),
                cached_input_tokens: total
                    .cached_input_tokens
                    .saturating_sub(before.cached_input_tokens),
                output_tokens: total.output_tokens.saturating_sub(before.output_tokens),
                reasoning_output_tokens: total
                    .reasoning_output_tokens
                    .saturating_sub(before.reasoning_output_tokens),
            },
            None => last,
        };
        self.total = Some(total);
        let sum = &mut self.turn;
        sum.total_tokens += step.total_tokens;
        sum.input_tokens += step.input_tokens;
        sum.cached_input_tokens += step.cached_input_tokens;
        sum.output_tokens += step.output_tokens;
        sum.reasoning_output_tokens += step.reasoning_output_tokens;
        *sum
    }
}

impl Codex {
    /// `thread/tokenUsage/updated`
    pub(crate) fn usage_updated(&mut self, notice: &UsageNotice) {
        let Some(thread) = self.thread_native(&notice.thread_id) else {
            return;
        };
        let usage = &notice.token_usage;
        let Some(turn_id) = thread.host_turn(&notice.turn_id) else {
            // Of a turn that is not ours, or repeated after a resume: only the total moves.
            thread.meter.total = Some(usage.total);
            return;
        };
        let sum = thread.meter.add(usage.total, usage.last);
        self.out.emit(Event::Usage(Usage {
            turn_id,
            input_tokens: sum.input_tokens,
            cached_input_tokens: sum.cached_input_tokens,
            output_tokens: sum.output_tokens,
            reasoning_tokens: sum.reasoning_output_tokens,
            context_tokens: Some(usage.last.total_tokens),
            context_tokens_max: usage.model_context_window,
            extra: None,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::Meter;
    use crate::views::Tokens;

    fn tokens(input_tokens: u64, output_tokens: u64) -> Tokens {
        Tokens {
            input_tokens,
            output_tokens,
            ..Tokens::default()
        }
    }

    #[test]
    fn a_turn_counts_its_own_growth_once() {
        let mut meter = Meter::default();
        assert_eq!(
            meter.add(tokens(1_000, 100), tokens(120, 15)),
            tokens(120, 15),
            "after a resume"
        );
        assert_eq!(
            meter.add(tokens(1_000, 100), tokens(120, 15)),
            tokens(120, 15),
            "repeated"
        );
        assert_eq!(
            meter.add(tokens(1_120, 115), tokens(120, 15)),
            tokens(240, 30),
            "next call"
        );
        meter.reset();
        assert_eq!(
            meter.add(tokens(1_240, 130), tokens(120, 15)),
            tokens(120, 15),
            "next turn"
        );
        assert_eq!(
            meter.add(tokens(10, 1), tokens(10, 1)),
            tokens(120, 15),
            "total went back"
        );
    }
}
