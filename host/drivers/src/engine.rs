//! The one wasmtime engine of the host and the clock that ends guest calls.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::{Cache, CacheConfig, Config, Engine};

use crate::limits;

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The cache folder cannot be made or made private.
    #[error(
        "cannot prepare the compile cache {path}: {cause}. Check the permissions of the data folder."
    )]
    CacheFolder {
        /// The folder.
        path: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// wasmtime refused the configuration.
    #[error("the WebAssembly engine cannot start on this machine: {0}")]
    Engine(String),
    /// The clock's thread cannot start.
    #[error("cannot start the clock of the WebAssembly engine: {0}")]
    Clock(std::io::Error),
}

/// The engine and its clock. Clones share both; the clock stops with the last of them.
#[derive(Clone)]
pub struct DriverEngine {
    engine: Engine,
    clock: Arc<Clock>,
}

impl std::fmt::Debug for DriverEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DriverEngine")
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

impl DriverEngine {
    /// Starts the engine. Compiled code is kept in `cache_folder`, which becomes private to the host's user: what lies
    /// there is run as native code.
    ///
    /// # Errors
    /// [`EngineError`] says what is in the way.
    pub fn start(cache_folder: Option<&Path>) -> Result<Self, EngineError> {
        let mut config = Config::new();
        config
            .wasm_component_model(true)
            .epoch_interruption(true)
            .max_wasm_stack(limits::GUEST_STACK_BYTES_MAX);
        if let Some(folder) = cache_folder {
            config.cache(Some(open_cache(folder)?));
        }
        let engine = Engine::new(&config).map_err(|e| EngineError::Engine(format!("{e:#}")))?;
        let clock = Arc::new(Clock::start(engine.clone())?);
        Ok(Self { engine, clock })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Keeps the clock ticking while a guest runs.
    pub(crate) fn calling(&self) -> Calling<'_> {
        self.clock.calling()
    }
}

fn open_cache(folder: &Path) -> Result<Cache, EngineError> {
    let failed = |cause| EngineError::CacheFolder {
        path: folder.display().to_string(),
        cause,
    };
    crate::files::private_folder(folder).map_err(failed)?;
    let absolute = folder.canonicalize().map_err(failed)?;
    let mut config = CacheConfig::new();
    config.with_directory(absolute);
    Cache::new(config).map_err(|e| EngineError::Engine(format!("compile cache: {e:#}")))
}

/// Ticks needed so that a call may take at least `time`.
pub(crate) fn ticks(time: Duration) -> u64 {
    let whole = time
        .as_millis()
        .div_ceil(limits::EPOCH_TICK.as_millis().max(1));
    // The first tick may come at once.
    u64::try_from(whole).unwrap_or(u64::MAX).saturating_add(1)
}

/// Counts the engine's epochs on a thread of its own: a guest that spins on every shared thread must not stop it. It
/// sleeps while no guest runs.
#[derive(Debug)]
struct Clock {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// Guest calls under way.
    calls: AtomicUsize,
    /// Guest calls so far.
    calls_begun: AtomicU64,
    asleep: AtomicBool,
}

/// A guest call under way: the clock ticks until this is dropped.
#[derive(Debug)]
pub(crate) struct Calling<'a>(&'a Shared);

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Clock {
    fn start(engine: Engine) -> Result<Self, EngineError> {
        let shared = Arc::new(Shared::default());
        let ticking = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("driver-clock".to_owned())
            .spawn(move || tick(&engine, &ticking))
            .map_err(EngineError::Clock)?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    fn calling(&self) -> Calling<'_> {
        self.shared.calls.fetch_add(1, Ordering::SeqCst);
        self.shared.calls_begun.fetch_add(1, Ordering::SeqCst);
        // Either the clock sees the call before it goes to sleep, or it is seen asleep here.
        if self.shared.asleep.load(Ordering::SeqCst)
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
        Calling(&self.shared)
    }
}

fn tick(engine: &Engine, shared: &Shared) {
    let mut quiet_ticks = 0_u32;
    let mut calls_seen = 0;
    while !shared.stop.load(Ordering::SeqCst) {
        std::thread::park_timeout(limits::EPOCH_TICK);
        engine.increment_epoch();
        let begun = shared.calls_begun.load(Ordering::SeqCst);
        quiet_ticks = if begun == calls_seen {
            quiet_ticks.saturating_add(1)
        } else {
            0
        };
        calls_seen = begun;
        if quiet_ticks < limits::QUIET_TICKS {
            continue;
        }
        shared.asleep.store(true, Ordering::SeqCst);
        while shared.calls.load(Ordering::SeqCst) == 0
            && shared.calls_begun.load(Ordering::SeqCst) == calls_seen
            && !shared.stop.load(Ordering::SeqCst)
        {
            std::thread::park();
        }
        shared.asleep.store(false, Ordering::SeqCst);
        quiet_ticks = 0;
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!("the clock of the WebAssembly engine died");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_never_ends_a_call_early() {
        for (ms, expected) in [(1, 2), (10, 2), (11, 3), (50, 6), (250, 26)] {
            assert_eq!(ticks(Duration::from_millis(ms)), expected, "{ms} ms");
        }
    }

    #[test]
    fn the_cache_folder_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("cache");
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        DriverEngine::start(Some(&folder)).unwrap();
        assert_eq!(
            std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
            0o700
        );
    }
}
