//! Bounds of drivers, sessions and processes. Each has a unit and a reason.

use std::time::Duration;

/// Bounds of one provider session that the operator may set. The defaults are those below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Linear memory of the guest, bytes.
    pub memory_bytes_max: usize,
    /// Longest single call into the guest.
    pub call_time_max: Duration,
    /// Longest line from a process and longest frame to one, bytes.
    pub line_bytes_max: u32,
    /// Longest single text in an action or event, bytes, frames excepted.
    pub text_bytes_max: u32,
    /// All files of the session, bytes.
    pub file_bytes_max: u32,
    /// Most actions of one call.
    pub actions_max: u32,
    /// Most processes alive at once.
    pub processes_max: u32,
    /// Silence allowed between work given to the session and any sign of the provider.
    pub start_silence_max: Duration,
    /// Longest time from an interrupt to the turn's end.
    pub interrupt_time_max: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            memory_bytes_max: GUEST_MEMORY_BYTES_MAX,
            call_time_max: CALL_TIME_MAX,
            line_bytes_max: LINE_BYTES_MAX,
            text_bytes_max: TEXT_BYTES_MAX,
            file_bytes_max: FILE_BYTES_MAX,
            actions_max: ACTIONS_MAX,
            processes_max: PROCESSES_MAX,
            start_silence_max: START_SILENCE_MAX,
            interrupt_time_max: INTERRUPT_TIME_MAX,
        }
    }
}

// ------------------------------------------------------------------ components

/// Largest component file, bytes. The largest driver tried, written in Python, has 18 MB.
pub const COMPONENT_BYTES_MAX: u64 = 32 << 20;

/// Longest compilation of one component. A driver written in JavaScript took 10 s here.
pub const COMPILE_TIME_MAX: Duration = Duration::from_secs(30);

/// Longest `describe`. It returns a constant, in microseconds; but this is time on the wall, all drivers load at once,
/// and a driver refused here stays away until the host starts again.
pub const DESCRIBE_TIME_MAX: Duration = Duration::from_secs(1);

/// Longest `open` or `handle`. A call takes microseconds and an 8 MiB line tens of milliseconds of a processor; but this is
/// time on the wall, and on a busy machine a good driver was seen to take a quarter of a second.
pub const CALL_TIME_MAX: Duration = Duration::from_secs(1);

/// Time between two ticks of the clock that ends guest calls. A deadline is late by at most one tick.
pub const EPOCH_TICK: Duration = Duration::from_millis(10);

/// Ticks without any guest call after which that clock sleeps: an idle host wakes for nothing.
pub const QUIET_TICKS: u32 = 100;

/// A call longer than this moves the session's further calls off the shared threads.
pub const CALL_TIME_SLOW: Duration = Duration::from_millis(20);

/// Linear memory of one guest, bytes. An idle guest needs 60 KiB, one that read an 8 MiB line needs 30 MiB.
pub const GUEST_MEMORY_BYTES_MAX: usize = 64 << 20;

/// Entries of one guest table. Rust drivers need hundreds.
pub const GUEST_TABLE_ELEMENTS_MAX: usize = 100_000;

/// Core instances, memories and tables of one guest. A Python component has hundreds of instances.
pub const GUEST_INSTANCES_MAX: usize = 300;

/// Stack of guest code, bytes. As measured; a deep recursion ends in a trap.
pub const GUEST_STACK_BYTES_MAX: usize = 512 << 10;

/// Bytes one call may hand to the host, counted as the host stores them. Lists may point at one string many times, so the
/// guest's memory alone bounds nothing.
pub const GUEST_RESULT_BYTES_MAX: usize = 32 << 20;

/// Handles a guest may hold. It has one session.
pub const GUEST_HANDLES_MAX: usize = 64;

// ------------------------------------------------------------------ driver words

/// Longest single text in what `describe` returns, bytes.
pub const MANIFEST_TEXT_BYTES_MAX: usize = 64 << 10;

/// Most entries of one list in what `describe` returns.
pub const MANIFEST_LIST_MAX: usize = 256;

/// Lines a guest may log in one second.
pub const LOG_LINES_PER_SECOND_MAX: u32 = 100;

/// Longest logged line, bytes. The rest is cut.
pub const LOG_LINE_BYTES_MAX: usize = 2_048;

// ------------------------------------------------------------------ provider sessions

/// Longest line from a process and longest frame to one, bytes. A tool result with a large file fits.
pub const LINE_BYTES_MAX: u32 = 8 << 20;

/// Most actions of one call. A line rarely causes more than ten.
pub const ACTIONS_MAX: u32 = 1_024;

/// Longest single text in an action or event, bytes, frames excepted. Every text ends in the journal.
pub const TEXT_BYTES_MAX: u32 = 1 << 20;

/// Longest id a driver makes, bytes.
pub const ID_BYTES_MAX: usize = 256;

/// All files of a session, bytes.
pub const FILE_BYTES_MAX: u32 = 1 << 20;

/// Files of a session.
pub const FILES_MAX: usize = 64;

/// Processes of a session at once. A driver needs one, and one more for a check.
pub const PROCESSES_MAX: u32 = 4;

/// Timers of a session at once.
pub const TIMERS_MAX: u32 = 64;

/// Shortest timer, milliseconds: a driver cannot keep the host awake.
pub const TIMER_MS_MIN: u32 = 1;

/// Longest timer, milliseconds: a day.
pub const TIMER_MS_MAX: u32 = 86_400_000;

/// Lines handed to a driver in one call. 64 in one call cost 0.6 of 64 calls.
pub const BATCH_LINES_MAX: usize = 64;

/// Requests of a session open at once. A person answers them one by one.
pub const REQUESTS_OPEN_MAX: usize = 256;

/// Items of a session open at once.
pub const ITEMS_OPEN_MAX: usize = 4_096;

/// Longest argument of a process, bytes.
pub const ARGUMENT_BYTES_MAX: usize = 4_096;

/// Most words for a `{...}` of a spawn template.
pub const ARGUMENT_WORDS_MAX: usize = 64;

/// Longest environment value, bytes.
pub const ENVIRONMENT_VALUE_BYTES_MAX: usize = 32 << 10;

/// Shortest secret, characters. A shorter one turns up by chance in what a process prints.
pub const SECRET_CHARS_MIN: usize = 16;

/// Longest secret, characters.
pub const SECRET_CHARS_MAX: usize = 8_192;

// ------------------------------------------------------------------ processes

/// Frames waiting for a process to read them.
pub const STDIN_FRAMES_MAX: usize = 256;

/// Bytes waiting for a process to read them. One longest frame fits beside small ones.
pub const STDIN_BYTES_MAX: usize = 4 << 20;

/// Lines waiting for the driver.
pub const LINES_WAITING_MAX: usize = 256;

/// Bytes of lines waiting for the driver; one longest line.
pub const LINE_BYTES_WAITING_MAX: usize = LINE_BYTES_MAX as usize;

/// Time a process has between the polite signal and the one it cannot ignore.
pub const STOP_GRACE: Duration = Duration::from_secs(3);

/// Time to read what is left in the outputs of a process that has ended, while a descendant keeps them open.
pub const OUTPUT_AFTER_EXIT: Duration = Duration::from_millis(500);

/// Time a process has to end after it closed its standard output. One that lives on can't report anything any more.
pub const EXIT_AFTER_OUTPUT: Duration = Duration::from_millis(500);

/// Longest hunt for what is left of a process tree after the last signal.
pub const SWEEP_TIME_MAX: Duration = Duration::from_secs(2);

/// Time between two looks at the process table while processes run.
pub const PROCESS_SCAN_INTERVAL: Duration = Duration::from_secs(2);

/// How long an ended process nobody knows is left alone before the host takes its exit status away.
pub const UNKNOWN_ZOMBIE_AGE: Duration = Duration::from_secs(10);

// ------------------------------------------------------------------ waiting

/// Silence allowed between work given to a session and any sign of the provider. A driver's own times come first and say
/// more: 10 s for a handshake, 30 s for opening a long conversation.
pub const START_SILENCE_MAX: Duration = Duration::from_secs(40);

/// Longest time from giving a turn to its start, however much the provider says.
pub const START_TIME_MAX: Duration = Duration::from_secs(120);

/// Longest time from an interrupt to the turn's end. A driver's own time, 15 s at most, comes first.
pub const INTERRUPT_TIME_MAX: Duration = Duration::from_secs(20);

/// Time a session has to end in good order after `close`.
pub const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// Longest probe. A CLI that looks for an update at its start took 8 s.
pub const PROBE_TIME_MAX: Duration = Duration::from_secs(30);

/// Age at which a probe's bad news is looked at again when work arrives.
pub const PROBE_STALE: Duration = Duration::from_secs(5);

/// Longest end of all sessions when the host goes down.
pub const SHUTDOWN_TIME_MAX: Duration = Duration::from_secs(10);

/// Idle time after which a thread is let go, when the operator sets nothing.
pub const IDLE_TIME_DEFAULT: Duration = Duration::from_secs(30 * 60);

/// Time between two looks for idle threads.
pub const IDLE_SCAN_INTERVAL: Duration = Duration::from_secs(5);

/// Shortest time between two such looks, however short the idle time is.
pub const IDLE_SCAN_INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Session failures within [`FAILURE_WINDOW`] that switch an instance off for a while.
pub const FAILURES_MAX: usize = 3;

/// Time in which failures count together.
pub const FAILURE_WINDOW: Duration = Duration::from_secs(60);

/// Time an instance stays off the first time; it doubles with each further time.
pub const BACKOFF_FIRST: Duration = Duration::from_secs(30);

/// Longest time an instance stays off.
pub const BACKOFF_MAX: Duration = Duration::from_secs(15 * 60);

/// Longest wait of one tool call promised to a driver whose provider knows no limit, milliseconds.
pub const TOOL_CALL_MS_MAX: u32 = 3_600_000;

/// Threads of one session when neither the operator nor the driver says more.
pub const THREADS_PER_SESSION_DEFAULT: u32 = 1;
