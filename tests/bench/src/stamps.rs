//! Moments told from one process to another, as lines of a file.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};

/// Longest time a stamp may come after what it stamps.
const LATE_MAX: Duration = Duration::from_secs(10);

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A moment that every process of this machine reads alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u128);

impl Moment {
    /// Now.
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self(since.map_or(0, |since| since.as_nanos()))
    }

    /// Microseconds from an earlier moment to this one.
    pub(crate) fn micros_since(self, earlier: Self) -> f64 {
        let nanos = u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(u64::MAX);
        crate::samples::micros(Duration::from_nanos(nanos))
    }
}

/// Where a process writes its stamps.
#[derive(Debug)]
pub(crate) struct Writer(File);

impl Writer {
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        Ok(Self(
            OpenOptions::new().create(true).append(true).open(path)?,
        ))
    }

    /// Notes that something happened at a moment.
    pub(crate) fn note(&mut self, what: &str, at: Moment) -> anyhow::Result<()> {
        // One write: several processes may share the file.
        self.0.write_all(format!("{what} {}\n", at.0).as_bytes())?;
        Ok(())
    }
}

/// Where the benchmark reads them.
#[derive(Clone, Debug)]
pub(crate) struct Reader(pub(crate) PathBuf);

impl Reader {
    /// The first time something happened from a moment on.
    pub(crate) async fn first(&self, what: &str, from: Moment) -> anyhow::Result<Moment> {
        let deadline = tokio::time::Instant::now() + LATE_MAX;
        loop {
            let found = self.all(what)?.into_iter().find(|at| *at >= from);
            if let Some(at) = found {
                return Ok(at);
            }
            if tokio::time::Instant::now() > deadline {
                bail!("{what} was never stamped");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn all(&self, what: &str) -> anyhow::Result<Vec<Moment>> {
        let text =
            std::fs::read_to_string(&self.0).with_context(|| self.0.display().to_string())?;
        let stamps = text.lines().filter_map(|line| line.rsplit_once(' '));
        let stamps = stamps.filter(|(own, _)| *own == what);
        stamps.map(|(_, at)| Ok(Moment(at.parse()?))).collect()
    }
}
