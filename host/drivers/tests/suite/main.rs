//! Drivers, sessions and the pool against real components and real processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what helps a test fails like a test"
)]

mod guest;
mod hostile;
mod loading;
mod pool;
mod sessions;
mod support;
