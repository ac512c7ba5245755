//! Every bound of the scripted agent.

use std::time::Duration;

/// Longest line read from the host: a prompt and a token fit many times.
pub(super) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Lines from the host that wait until their turn comes.
pub(super) const LINES_QUEUED_MAX: usize = 64;

/// Events that wait for the host to read them. A slow host slows the agent down.
pub(super) const EVENTS_QUEUED_MAX: usize = 256;

/// Commands that wait in one thread. A thread is only slow to take them while it opens.
pub(super) const COMMANDS_QUEUED_MAX: usize = 64;

/// Threads open at once. The host bounds its provider sessions far below.
pub(super) const THREADS_MAX: usize = 1_024;

/// Closed threads whose place in their script is remembered, oldest dropped first.
pub(super) const CLOSED_THREADS_MAX: usize = 1_024;

/// Longest time for the MCP handshake when a thread opens. The server is on the same machine.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Words of one piece of streamed text.
pub(super) const PIECE_WORDS: usize = 4;

/// Bytes of filler written at once by `flood`.
pub(super) const FLOOD_CHUNK_BYTES: usize = 64 * 1024;

/// Token counts of every message. Fixed, so that a test can expect them.
pub(super) mod usage {
    /// Input tokens, the cached ones included.
    pub(in super::super) const INPUT: u64 = 120;
    /// Input tokens read from the cache.
    pub(in super::super) const CACHED: u64 = 20;
    /// Output tokens, reasoning included.
    pub(in super::super) const OUTPUT: u64 = 15;
    /// Reasoning tokens of a message with reasoning.
    pub(in super::super) const REASONING: u64 = 5;
}
