//! The service in front of the journal, held to its contract: a real journal on a real file, real rules,
//! a fake provider pool, and a clock that stands.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod bench;
mod cancels;
mod capabilities;
mod creates;
mod delegates;
mod modes;
mod rejected;
mod requests;
mod restarts;
mod retries;
mod sends;
mod targets;
mod waits;
mod wakes;
