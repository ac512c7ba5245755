//! The codex driver against recorded and made-up dialogues, natively.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "test code: what is not as expected stops the test"
)]

mod common;
mod history;
mod items;
mod probes;
mod process;
mod replay;
mod requests;
mod show;
mod stops;
mod threads;
mod translation;
mod turns;
