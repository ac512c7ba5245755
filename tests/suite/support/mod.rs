//! What the tests on the real thing share: a real server process, real agents, the real command line.

pub(crate) mod agents;
pub(crate) mod fake_providers;
pub(crate) mod follow;
pub(crate) mod host;
pub(crate) mod overheard;
pub(crate) mod people;
pub(crate) mod wire;

pub(crate) use follow::Followed;
pub(crate) use host::{Configuration, TestHost};

use std::time::Duration;

/// Longest time anything a test waits for may take before the test fails. Far above what is usual: the
/// machine may be busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
