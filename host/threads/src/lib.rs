//! The journal and the one service in front of it.
#![forbid(unsafe_code)]

pub mod changes;
pub mod clock;
mod dispatch;
mod ingest;
pub mod journal;
pub mod limits;
pub mod ports;
mod recovery;
pub mod service;
pub mod store;
#[cfg(test)]
mod testing;
pub mod writer;

pub use journal::{Journal, Running};
pub use recovery::OpenError;
