//! Bounds of the local socket. Each has a unit and a reason.

use std::time::Duration;

/// Largest request body, bytes: a prompt of 120,000 UTF-16 units takes at most 480 KB, and JSON may escape it.
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Facts read from the journal at once for a follower: a page that stays under a megabyte of ordinary text.
pub const FEED_FACTS_MAX: usize = 256;

/// A follower with nothing to read gets an empty line this often, so that it can tell a quiet host from a dead one.
pub const FEED_IDLE_LINE: Duration = Duration::from_secs(10);

/// A follower gives up after this long without a byte: three idle lines were missed.
pub const FEED_SILENCE_MAX: Duration = Duration::from_secs(35);

/// Items of one page of a timeline: the service's own bound.
pub const PAGE_MAX: usize = 100;

/// Time the client gives the socket to take its connection. The socket is on this machine.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Mode of the socket: its owner alone.
pub const SOCKET_MODE: u32 = 0o600;

/// Mode of the folder the socket stands in.
pub const FOLDER_MODE: u32 = 0o700;
