//! The journal and the one service in front of it.
#![forbid(unsafe_code)]

pub mod changes;
pub mod clock;
pub mod limits;
pub mod ports;
pub mod service;
pub mod store;
pub mod writer;
