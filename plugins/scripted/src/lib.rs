//! The `scripted` driver: it drives `weft scripted-agent`.
//!
//! `docs/scripted-agent.md` describes the lines between the two. `core` holds the session, `threads` what the
//! host asks for, `dialogue` what the agent says.
#![deny(unsafe_code)]

mod bindings;
pub mod core;
mod describe;
mod dialogue;
mod ending;
mod items;
mod limits;
mod requests;
mod settings;
mod state;
mod threads;
mod waits;
mod wire;

#[cfg(test)]
mod tests;
