//! What the tests on the real thing share: a real server process, real agents, the real command line.

pub(crate) mod agents;
mod compiled;
pub(crate) mod fake_providers;
pub(crate) mod feed;
pub(crate) mod follow;
pub(crate) mod host;
mod lines;
pub(crate) mod overheard;
pub(crate) mod people;
pub(crate) mod processes;
pub(crate) mod scripts;
pub(crate) mod told;
pub(crate) mod wire;

pub(crate) use host::{Configuration, TestHost};
pub(crate) use processes::{Process, Sleeper};

use std::time::Duration;

/// Longest time anything a test waits for may take before the test fails. Far above what is usual: the
/// machine may be busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
