//! Bounds of the scripted model server, and the numbers it reports.

use std::time::Duration;

/// Longest request body. A conversation with a few images stays below.
pub const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Requests kept for a look back, oldest dropped first. A long test makes some hundreds, each of about
/// 50 KB.
pub const REQUESTS_KEPT_MAX: usize = 2_048;

/// Conversations of which `failonce` remembers that it failed, oldest dropped first.
pub const FAILURES_KEPT_MAX: usize = 4_096;

/// Events that may wait for a slow reader before the player waits too.
pub const EVENTS_QUEUED_MAX: usize = 64;

/// Words of one piece of streamed text: some pieces per sentence, as real models send it.
pub const PIECE_WORDS: usize = 4;

/// Time between the last event before a `cut` and the end of the connection, so that the events leave
/// the process first: an aborted connection drops what it has not sent yet.
pub const CUT_DELAY: Duration = Duration::from_millis(50);

/// Token counts of every answer. Fixed, so that a test can expect them.
pub mod usage {
    /// Input tokens, the cached ones included.
    pub const INPUT: u64 = 120;
    /// Input tokens read from the cache.
    pub const CACHED: u64 = 20;
    /// Output tokens, reasoning included.
    pub const OUTPUT: u64 = 15;
    /// Reasoning tokens of an answer with reasoning.
    pub const REASONING: u64 = 5;
}
