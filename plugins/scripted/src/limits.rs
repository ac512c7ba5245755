//! Bounds and times of this driver, each with its reason.

/// From spawn to the answer to `hello`. Measured 0.02 s; a process silent for this long is not going to speak.
pub(crate) const HANDSHAKE_MS: u32 = 10_000;

/// For any other answer that the agent owes. Opening a thread takes it up to 10 s when the MCP server is silent.
pub(crate) const ANSWER_MS: u32 = 15_000;

/// Threads one process holds unless set otherwise. Measured with an unoptimised build: 13 MB for a process with one
/// thread, 0.1 MB for each further one with its MCP connection. Memory sets no bound here; this one is what a lost
/// process may take with it.
pub(crate) const THREADS_PER_SESSION_DEFAULT: u32 = 64;
/// The agent itself takes no more.
pub(crate) const THREADS_PER_SESSION_MAX: u32 = 1_024;

/// Bytes of an approval's title.
pub(crate) const APPROVAL_TITLE_BYTES_MAX: usize = 2_000;
