//! Bounds and times of this driver, each with its reason.
#![forbid(unsafe_code)]

/// From spawn to the answer to `initialize`. Measured 0.13 s to 0.6 s; a process silent for this long is not going to
/// speak.
pub(crate) const HANDSHAKE_MS: u32 = 10_000;

/// For `thread/start` and `thread/resume`. Measured 12 ms to 95 ms; a long history is read from disk first.
pub(crate) const THREAD_OPEN_MS: u32 = 30_000;

/// For any other request. All answer in milliseconds; one that does not means the process hangs.
pub(crate) const CALL_MS: u32 = 30_000;

/// How long the first turn waits for the host's MCP server. Measured 0.1 s when it answers and 1.3 s when nobody
/// listens; after this the turn runs without the tools and says so.
pub(crate) const MCP_READY_MS: u32 = 10_000;

/// From `turn/interrupt` to the end of the turn. Measured 10 ms. Past this the process is stopped, because "stop" must
/// mean stop.
pub(crate) const INTERRUPT_MS: u32 = 10_000;

/// Before a refused stop is asked again. The window in which Codex refuses one was measured at 20 ms.
pub(crate) const INTERRUPT_AGAIN_MS: u32 = 100;

/// For ending the shell commands an interrupted turn left running, before the turn is reported as over. Measured a few
/// milliseconds; together with [`INTERRUPT_MS`] it stays below the time a person waits for a stop.
pub(crate) const BACKGROUND_END_MS: u32 = 3_000;

/// Most models asked for in one page, and most pages read: far above the catalog of 0.171.0.
pub(crate) const MODEL_PAGE_ENTRIES: u32 = 100;
pub(crate) const MODEL_PAGES_MAX: u32 = 5;

/// Most turns asked for in one page, and most pages read, when looking for a place in a conversation.
pub(crate) const TURN_PAGE_ENTRIES: u32 = 100;
pub(crate) const TURN_PAGES_MAX: u32 = 50;

/// Codex cuts a tool call after 300 s by default. It gets the host's own bound and this much more, so that the host is
/// the one that ends a wait.
pub(crate) const TOOL_TIMEOUT_MARGIN_SECONDS: u32 = 60;

/// Shortest tool timeout set, in seconds. A 330 s call was tried under it.
pub(crate) const TOOL_TIMEOUT_SECONDS_MIN: u32 = 900;

/// Longest wait promised to the host: [`TOOL_TIMEOUT_SECONDS_MIN`] less [`TOOL_TIMEOUT_MARGIN_SECONDS`].
pub(crate) const MCP_WAIT_MS_MAX: u32 = 840_000;

/// Threads one process holds unless set otherwise. Measured: 8 threads in one process take 158 MB, in 8 processes
/// 338 MB; a ninth gains little and one lost process would take more work with it.
pub(crate) const THREADS_PER_SESSION_DEFAULT: u32 = 8;
pub(crate) const THREADS_PER_SESSION_MAX: u32 = 32;

/// Most `-c` values taken from the settings, and longest of them in bytes. Each takes two words of the command line.
pub(crate) const CONFIG_OVERRIDES_MAX: usize = 24;
pub(crate) const CONFIG_OVERRIDE_BYTES_MAX: usize = 1_024;

/// Most further variables hidden from commands, and longest of their names in bytes. They share one word.
pub(crate) const HIDDEN_VARIABLES_MAX: usize = 16;
pub(crate) const HIDDEN_VARIABLE_BYTES_MAX: usize = 128;

/// Longest id in bytes, as the interface states. Ids of items come from the model's provider.
pub(crate) const ID_BYTES_MAX: usize = 256;

/// Most entries of one list in an event: models, background tasks, questions.
pub(crate) const LIST_ENTRIES_MAX: usize = 64;

/// Closed commands a thread remembers, so that output after the turn finds its item.
pub(crate) const LATE_ITEMS_MAX: usize = 64;

/// MCP reports kept for threads whose opening is not answered yet.
pub(crate) const EARLY_REPORTS_MAX: usize = 64;

/// Different warnings shown for one thread; the CLI repeats some at every turn.
pub(crate) const WARNINGS_PER_THREAD_MAX: usize = 16;

/// Bytes of an approval's title.
pub(crate) const APPROVAL_TITLE_BYTES_MAX: usize = 2_000;

/// Fields of an MCP form turned into questions; a longer form is not for a chat.
pub(crate) const FORM_FIELDS_MAX: usize = 16;
