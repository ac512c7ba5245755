//! Bounds of the journal. Each has a unit and a reason.

use domain::limits::Limit;

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
    /// Commands waiting for the writer.
    WRITER_QUEUE_MAX: usize = 1_024, "commands", "as many as threads may be active; a full queue makes callers wait";
    /// Commands of one transaction.
    BATCH_COMMANDS_MAX: usize = 256, "commands", "a commit of 64 costs twice one of 1; more than this only delays the first";
    /// Event bytes of one transaction, after which no further command joins it.
    BATCH_BYTES_MAX: usize = 4_194_304, "bytes", "a commit of this size stays under 50 ms on a slow disk";
    /// Committed effects waiting to be handed over.
    EFFECT_QUEUE_MAX: usize = 1_024, "effects", "as many as threads may be active; handing over never waits, so it stays short";
    /// Effects handed over from one snapshot.
    EFFECTS_AT_ONCE_MAX: usize = 64, "effects", "a snapshot is held for microseconds, not longer";
    /// Reports waiting to be read.
    REPORT_QUEUE_MAX: usize = 1_024, "reports", "a burst of all sessions; a full queue makes the sessions wait";
    /// Reports flushed together.
    FLUSH_REPORTS_MAX: usize = 64, "reports", "group commit: 64 cost twice what one costs";
    /// Text bytes flushed together.
    FLUSH_BYTES_MAX: usize = 262_144, "bytes", "bounds what one commit writes for streamed text";
    /// Longest a report that may wait is held back.
    FLUSH_MS_MAX: u64 = 10, "milliseconds", "below what a person notices, above what a commit costs";
    /// Memory for pages of the store.
    STORE_CACHE_BYTES_MAX: usize = 33_554_432, "bytes", "the idle host stays under 60 MB";
    /// Longest a stopping host waits for the last reports.
    STOP_MS_MAX: u64 = 5_000, "milliseconds", "what a service supervisor grants before it kills";
    /// Largest page of a list.
    PAGE_MAX: usize = 1_000, "rows", "bounds the memory of one read; the endpoints' own pages are smaller";
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
