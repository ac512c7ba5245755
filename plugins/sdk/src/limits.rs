//! Bounds the SDK applies for every driver. Bounds the host sets come with `session-config.limits`.
#![forbid(unsafe_code)]

/// Lines on a protocol stream that are no protocol, tolerated per process. A shell profile or a package runner prints a
/// few; a stream that goes on like this is not the protocol.
pub const NOISE_LINES_MAX: u32 = 32;

/// Bytes of a line shown in a log or a message. Enough to recognise it.
pub const SHOWN_LINE_BYTES_MAX: usize = 240;

/// Lines of standard error kept to explain an end. An error and its causes fit.
pub const TAIL_LINES_MAX: usize = 12;

/// Bytes of standard error kept to explain an end. Leaves room in a failure's message for what to do.
pub const TAIL_BYTES_MAX: usize = 1_500;

/// Bytes of `failure.message`, as the interface states.
pub const FAILURE_MESSAGE_BYTES_MAX: usize = 4_096;

/// Bytes of `failure.code`, as the interface states.
pub const FAILURE_CODE_BYTES_MAX: usize = 128;

/// Bytes of an item's one-line title: more does not fit a line anybody reads.
pub const TITLE_BYTES_MAX: usize = 400;

/// Timer the outbox uses to send what did not fit in one answer. Drivers number theirs from 1.
pub const OUTBOX_TIMER: u32 = 0;
