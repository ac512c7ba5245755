//! The test suite: the product as its users meet it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper that finds something wrong fails its test"
)]

mod approvals;
mod contract;
mod crash;
mod delegation;
mod demo;
mod faults;
mod house;
mod interface;
mod migration;
mod restart;
mod secrets;
mod steering;
mod support;
mod transport;
