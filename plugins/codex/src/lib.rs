//! The `codex` driver: `codex app-server` over standard input and output.
//!
//! [`core::Codex`] is the state machine. Each other module is one part of the dialogue.
#![deny(unsafe_code)]

mod bindings;
mod changes;
pub mod core;
mod describe;
mod dialogue;
mod errors;
mod history;
mod items;
mod launch;
mod limits;
mod mcp;
mod notices;
mod policy;
mod probe;
mod questions;
mod replies;
mod requests;
mod settings;
mod stops;
mod thread;
mod threads;
mod timers;
mod todo;
mod turns;
mod usage;
mod views;
mod wire;

pub use crate::core::Codex;
