//! Bounds of the domain. Each has a unit and a reason.

/// A bound with its reason, for the table that tests walk.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Name of the constant.
    pub name: &'static str,
    /// Largest allowed value.
    pub max: u64,
    /// Unit.
    pub unit: &'static str,
    /// Why this number.
    pub reason: &'static str,
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $max:literal, $unit:literal, $reason:literal;)*) => {
        $($(#[$doc])* pub const $name: $type = $max;)*

        /// Every limit of this file.
        pub const ALL: &[Limit] = &[$(Limit {
            name: stringify!($name), max: $max, unit: $unit, reason: $reason,
        }),*];
    };
}

limits! {
    /// Longest prompt or message.
    PROMPT_UNITS_MAX: usize = 120_000, "UTF-16 units", "the orchestration document's bound";
    /// Longest title.
    TITLE_UNITS_MAX: usize = 512, "UTF-16 units", "the orchestration document's bound";
    /// Longest title derived from a delegated prompt.
    DERIVED_TITLE_UNITS_MAX: usize = 72, "UTF-16 units", "the orchestration document's bound";
    /// Longest reason of a cancel or stop.
    REASON_UNITS_MAX: usize = 2_000, "UTF-16 units", "the orchestration document's bound";
    /// Longest `clientRequestId`.
    REQUEST_KEY_UNITS_MAX: usize = 256, "UTF-16 units", "the orchestration document's bound";
    /// Longest text a result or wake carries; the rest stays readable in the thread.
    SUMMARY_UNITS_MAX: usize = 50_000, "UTF-16 units", "one read of a thread returns at most this much of an item";
    /// Deepest delegation when the operator sets nothing.
    DELEGATION_DEPTH_DEFAULT: u32 = 4, "threads below the top", "decision 10";
    /// Deepest delegation the operator may set.
    DELEGATION_DEPTH_MAX: u32 = 8, "threads below the top", "decision 10";
    /// Most children of one thread whose work goes on.
    ACTIVE_CHILDREN_MAX: u32 = 20, "threads", "decision 10";
    /// Most threads of the host whose work goes on.
    ACTIVE_THREADS_MAX: u32 = 1_024, "threads", "decision 17";
    /// Longest wait of a delegation when the caller names none.
    WAIT_MS_DEFAULT: u64 = 600_000, "milliseconds", "the orchestration document's default";
    /// Longest wait a caller may name.
    WAIT_MS_MAX: u64 = 3_600_000, "milliseconds", "the orchestration document's bound";
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_limit_says_its_unit_and_reason() {
        for limit in super::ALL {
            assert!(
                limit.max > 0 && !limit.unit.is_empty() && !limit.reason.is_empty(),
                "{limit:?}"
            );
        }
    }
}
