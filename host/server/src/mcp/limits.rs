//! Bounds, intervals and defaults of the MCP endpoint and its credentials, each with unit and reason.

use std::time::Duration;

/// Server key agents see: they address tools as `mcp__t3-code__delegate_task`. The document's word.
pub const SERVER_NAME_DEFAULT: &str = "t3-code";

/// MCP protocol version drivers with an own HTTP client send. The version the document names.
pub const PROTOCOL_VERSION_OF_DRIVERS: &str = "2025-06-18";

/// Time without a sign of life after which a credential ends. A day: an agent that waits for a person over
/// night keeps its tools.
pub const CREDENTIAL_IDLE_DEFAULT: Duration = Duration::from_secs(24 * 60 * 60);

/// Time after which a credential is renewed at the next idle point. A week bounds what a leaked token is worth.
pub const CREDENTIAL_LIFE_DEFAULT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How often expired credentials are swept. Lookups check expiry themselves: this only frees memory and sessions.
pub const CREDENTIAL_SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Silence after which a comment is sent, and time between progress reports. Below the shortest known read
/// timeout of a client, 20 s.
pub const KEEP_ALIVE_DEFAULT: Duration = Duration::from_secs(10);

/// Shortest keep-alive an operator may set. Below it comments cost more than they save.
pub const KEEP_ALIVE_MIN: Duration = Duration::from_millis(50);

/// Largest request body, in bytes. A prompt of 120,000 UTF-16 units is at most 720,000 bytes as escaped JSON;
/// attachments of later tools need more.
pub const REQUEST_BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Longest time a request body may take to arrive. The callers are on this machine.
pub const REQUEST_BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// Most bytes of a complete reply that is turned into an event after its stream began. A page of a thread is
/// at most 100 items of 50,000 characters.
pub const LATE_REPLY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Most requests worked on at once, parked waits and listening streams not counted.
pub const REQUESTS_IN_FLIGHT_MAX: usize = 256;

/// Most parked waits and listening streams at once. A parked wait was measured at 63 to 90 KiB: 1.4 GiB in all.
pub const PARKED_WAITS_MAX: usize = 16_384;

/// What a refused client is told to wait, in seconds. In-flight requests end within milliseconds.
pub const RETRY_AFTER_SECONDS: u64 = 1;

/// Most MCP sessions bound to one credential; the oldest is closed for a new one. Clients open one per
/// connection and some forget to close it.
pub const SESSIONS_PER_CREDENTIAL_MAX: usize = 32;

/// Time a new MCP session has for its `initialize` to be handled.
pub const SESSION_INIT_TIME_MAX: Duration = Duration::from_secs(60);

/// How long the reply of a finished request stays readable for a client that lost its stream.
pub const FINISHED_REPLY_KEPT: Duration = Duration::from_secs(60);

/// What a client is told to wait before it takes up a lost stream.
pub const STREAM_RETRY_AFTER: Duration = Duration::from_secs(3);

/// Messages of one MCP session that may wait for their reader.
pub const SESSION_QUEUE_MESSAGES: usize = 16;

/// How long requests may go on after the host was told to stop. Agents are told first, so little is left.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// Most characters of a tool's description. Every client pays for it in every conversation.
pub const DESCRIPTION_CHARS_MAX: usize = 600;

/// Most characters of the shared instructions.
pub const INSTRUCTIONS_CHARS_MAX: usize = 4_000;

/// Most tokens of `tools/list`, both toolkits together.
pub const TOOL_LIST_TOKENS_MAX: usize = 12_000;

/// Bytes of JSON counted as one token where no tokenizer is at hand.
pub const BYTES_PER_TOKEN: usize = 4;

/// Most threads one batch makes.
pub const BATCH_THREADS_MAX: u32 = 20;
