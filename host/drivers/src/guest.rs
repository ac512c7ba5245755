//! One guest: its store, its limits, and calls that always come back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::ResourceAny;
use wasmtime::{ResourceLimiter, Store, Trap};

use crate::bindings::v0_1::types::{Action, DriverError, DriverInfo, Input, SessionConfig};
use crate::bindings::v0_1::{Driver, DriverPre, log, types};
use crate::component::LoadedDriver;
use crate::engine::{DriverEngine, ticks};
use crate::guest_log::GuestLog;
use crate::limits::{self, SessionLimits};

/// How a guest failed. The store is gone afterwards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GuestError {
    /// It has other types or wants more than there is.
    #[error("the component cannot be instantiated: {0}")]
    Instantiate(String),
    /// It ran too long.
    #[error("a call of the driver took longer than {} ms", limit.as_millis())]
    Timeout {
        /// The limit it broke.
        limit: Duration,
    },
    /// It asked for more memory than it may have.
    #[error("the driver needs more than {} MiB of memory", bytes_max >> 20)]
    OutOfMemory {
        /// The limit it broke, bytes.
        bytes_max: usize,
    },
    /// It returned more than the host takes.
    #[error("the driver returned more than {} MiB at once", limits::GUEST_RESULT_BYTES_MAX >> 20)]
    ResultTooLarge,
    /// It trapped: a panic, a bad memory access, a bad value.
    #[error("the driver crashed: {0}")]
    Trap(String),
    /// It gave up by itself.
    #[error("{0}")]
    GaveUp(GaveUp),
    /// It failed before and its store is gone.
    #[error("the driver failed before")]
    Discarded,
}

/// Why a driver gave up, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GaveUp {
    #[error("the driver cannot use its configuration: {0}")]
    InvalidConfig(String),
    #[error("the host sent the driver something illegal: {0}")]
    InvalidInput(String),
    #[error("the provider broke its protocol: {0}")]
    Protocol(String),
    #[error("{0}")]
    Unsupported(String),
    #[error("a fault of the driver: {0}")]
    Internal(String),
}

/// What the guest's imports and limits see.
pub(crate) struct GuestState {
    log: GuestLog,
    meter: Meter,
}

impl types::Host for GuestState {}

impl log::Host for GuestState {
    fn write(&mut self, level: types::LogLevel, message: String) {
        self.log.write(level, &message);
    }
}

/// Refuses growth beyond the limits and remembers that it did, so that the trap that follows can be named.
struct Meter {
    bytes_max: usize,
    bytes: usize,
    memory_refused: bool,
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self.bytes.saturating_sub(current).saturating_add(desired);
        if total > self.bytes_max {
            self.memory_refused = true;
            return Ok(false);
        }
        self.bytes = total;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= limits::GUEST_TABLE_ELEMENTS_MAX)
    }

    fn instances(&self) -> usize {
        limits::GUEST_INSTANCES_MAX
    }

    fn tables(&self) -> usize {
        limits::GUEST_INSTANCES_MAX
    }

    fn memories(&self) -> usize {
        limits::GUEST_INSTANCES_MAX
    }
}

/// One provider session's guest. After any failure it refuses all calls.
pub(crate) struct GuestSession {
    live: Option<Live>,
    call_time_max: Duration,
    slow: bool,
}

struct Live {
    engine: DriverEngine,
    store: Store<GuestState>,
    driver: Driver,
    session: ResourceAny,
}

impl std::fmt::Debug for GuestSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GuestSession")
            .field("live", &self.live.is_some())
            .finish_non_exhaustive()
    }
}

impl GuestSession {
    /// Makes a store and opens a session in it.
    pub(crate) fn open(
        loaded: &LoadedDriver,
        config: &SessionConfig,
        bounds: &SessionLimits,
        log: GuestLog,
    ) -> Result<Self, GuestError> {
        let call_time_max = bounds.call_time_max;
        let _calling = loaded.engine().calling();
        let mut store = new_store(loaded.engine(), bounds.memory_bytes_max, log);
        arm(&mut store, call_time_max);
        let driver = loaded
            .pre()
            .instantiate(&mut store)
            .map_err(|e| instantiate_error(&store, &e, call_time_max))?;
        arm(&mut store, call_time_max);
        let opened = driver
            .weft_orchestration_adapter_adapter()
            .session()
            .call_open(&mut store, config)
            .map_err(|e| call_error(&store, &e, call_time_max))?;
        let session = opened.map_err(gave_up)?;
        Ok(Self {
            live: Some(Live {
                engine: loaded.engine().clone(),
                store,
                driver,
                session,
            }),
            call_time_max,
            slow: false,
        })
    }

    /// Hands inputs to the guest and takes its actions.
    pub(crate) fn handle(&mut self, inputs: &[Input]) -> Result<Vec<Action>, GuestError> {
        let Some(live) = self.live.as_mut() else {
            return Err(GuestError::Discarded);
        };
        let begun = Instant::now();
        let calling = live.engine.calling();
        arm(&mut live.store, self.call_time_max);
        let result = live
            .driver
            .weft_orchestration_adapter_adapter()
            .session()
            .call_handle(&mut live.store, live.session, inputs);
        let result = match result {
            Ok(Ok(actions)) => Ok(actions),
            Ok(Err(error)) => Err(gave_up(error)),
            Err(error) => Err(call_error(&live.store, &error, self.call_time_max)),
        };
        drop(calling);
        self.slow = begun.elapsed() > limits::CALL_TIME_SLOW;
        if result.is_err() {
            self.live = None;
        }
        result
    }

    /// The last call was so long that the next ones must not run on a shared thread.
    pub(crate) fn is_slow(&self) -> bool {
        self.slow
    }
}

/// Instantiates once and asks what the driver is.
pub(crate) fn describe(
    engine: &DriverEngine,
    pre: &DriverPre<GuestState>,
) -> Result<DriverInfo, GuestError> {
    let _calling = engine.calling();
    let mut store = new_store(
        engine,
        limits::GUEST_MEMORY_BYTES_MAX,
        GuestLog::for_describe(),
    );
    arm(&mut store, limits::DESCRIBE_TIME_MAX);
    let driver = pre
        .instantiate(&mut store)
        .map_err(|e| instantiate_error(&store, &e, limits::DESCRIBE_TIME_MAX))?;
    arm(&mut store, limits::DESCRIBE_TIME_MAX);
    driver
        .weft_orchestration_adapter_adapter()
        .call_describe(&mut store)
        .map_err(|e| call_error(&store, &e, limits::DESCRIBE_TIME_MAX))
}

fn new_store(engine: &DriverEngine, bytes_max: usize, log: GuestLog) -> Store<GuestState> {
    let meter = Meter {
        bytes_max,
        bytes: 0,
        memory_refused: false,
    };
    let mut store = Store::new(engine.engine(), GuestState { log, meter });
    store.limiter(|state| &mut state.meter);
    store.set_hostcall_fuel(limits::GUEST_RESULT_BYTES_MAX);
    store.epoch_deadline_trap();
    store
}

/// The deadline is absolute: it must be set again before every call.
fn arm(store: &mut Store<GuestState>, limit: Duration) {
    store.set_epoch_deadline(ticks(limit));
}

fn instantiate_error(
    store: &Store<GuestState>,
    error: &wasmtime::Error,
    limit: Duration,
) -> GuestError {
    match call_error(store, error, limit) {
        GuestError::Trap(_) if error.downcast_ref::<Trap>().is_none() => {
            GuestError::Instantiate(crate::text::one_line(&format!("{error:#}"), 1_000))
        }
        other => other,
    }
}

fn call_error(store: &Store<GuestState>, error: &wasmtime::Error, limit: Duration) -> GuestError {
    let state = store.data();
    if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
        return GuestError::Timeout { limit };
    }
    if state.meter.memory_refused {
        return GuestError::OutOfMemory {
            bytes_max: state.meter.bytes_max,
        };
    }
    let root = error.root_cause().to_string();
    // wasmtime has no public type for it; its words are held by a test.
    if root.contains("too much data") || root.contains("fuel allocated for hostcalls") {
        return GuestError::ResultTooLarge;
    }
    // The guest's own last words say more than the trap, where its panic hook logged them.
    let detail = match state.log.last_error() {
        Some(words) => format!("{words} ({root})"),
        None => root,
    };
    GuestError::Trap(crate::text::one_line(&detail, 1_000))
}

fn gave_up(error: DriverError) -> GuestError {
    let bounded = |text: String| crate::text::one_line(&text, 2_000);
    GuestError::GaveUp(match error {
        DriverError::InvalidConfig(text) => GaveUp::InvalidConfig(bounded(text)),
        DriverError::InvalidInput(text) => GaveUp::InvalidInput(bounded(text)),
        DriverError::Protocol(text) => GaveUp::Protocol(bounded(text)),
        DriverError::Unsupported(text) => GaveUp::Unsupported(bounded(text)),
        DriverError::Internal(text) => GaveUp::Internal(bounded(text)),
    })
}

/// Shared by the guest's log and the host's own messages.
pub(crate) type Scrub = Arc<dyn Fn(&str) -> String + Send + Sync>;

#[cfg(test)]
#[path = "guest_tests.rs"]
mod tests;
