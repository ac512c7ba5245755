//! Every bound of the script language.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Characters of the last tool result that the closing `Result:` sentence repeats. Enough for the whole
/// answer of any tool of Weft in a test, short enough to read in a list of threads.
pub const RESULT_CHARS_MAX: usize = 300;

/// Characters of steered text that the closing sentence repeats.
pub const HEARD_CHARS_MAX: usize = 200;

/// Steps of one script. A script is written by hand; more are a mistake or an attack.
pub const STEPS_MAX: usize = 1_000;

/// Chunks of one `slow`, lines of one `noise`. Enough to fill every bounded queue of the host many times.
pub const REPEATS_MAX: u64 = 1_000_000;

/// Longest pause between two chunks of `slow`: an hour, the longest wait any tool of Weft offers.
pub const PAUSE_MAX: Duration = Duration::from_secs(3_600);

/// Bytes of one `flood`: 16 times the longest line the host reads by default.
pub const FLOOD_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// HTTP status codes that `fail` and `failonce` take: the ones that are errors.
pub const STATUS_RANGE: RangeInclusive<u16> = 400..=599;

/// Exit codes a process can have on every system.
pub const EXIT_CODE_RANGE: RangeInclusive<u16> = 0..=255;

/// Options of one `ask`. More than a person reads.
pub const OPTIONS_MAX: usize = 32;
