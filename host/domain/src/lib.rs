//! Weft's rules, with nothing else in the room: no IO, no clock, no randomness, no async.
//!
//! Commands come in ([`command`]), [`decide`](decide::decide) answers with events and effects or with a
//! [`Denial`](error::Denial). Whoever calls it owns time, ids and storage.
#![forbid(unsafe_code)]

pub mod authority;
pub mod checkpoint;
pub mod command;
pub mod decide;
pub mod effect;
pub mod error;
pub mod event;
pub mod ids;
pub mod item;
pub mod limits;
pub mod message;
pub mod modes;
pub mod project;
pub mod provider;
pub mod provider_event;
pub mod request;
pub mod run;
pub mod session;
pub mod task;
pub mod text;
pub mod thread;
pub mod time;
pub mod view;
pub mod worktree;
