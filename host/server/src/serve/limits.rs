//! Bounds of the running server. Each has a unit and a reason.

use std::time::Duration;

/// Longest time from the signal to the end: sessions get 10 s, open calls 5 s beside them, and the journal what is left.
pub const SHUTDOWN_TIME_MAX: Duration = Duration::from_secs(20);

/// Time people who follow have to read the last lines. A terminal that is held up must not hold up the host.
pub const PEOPLE_GRACE: Duration = Duration::from_secs(2);

/// File descriptors wanted: 16,384 parked waits, 1,024 active threads with three pipes each, and room.
pub const FILE_DESCRIPTORS_WANTED: u64 = 32_768;

/// Of the descriptors there are, one in this many is left to agents, files and people.
pub const DESCRIPTORS_KEPT_ONE_IN: u64 = 4;
