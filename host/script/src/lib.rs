//! The script language: what a scripted model or a scripted agent does, read out of the prompt.
//!
//! A prompt holds `script: STEP ;; STEP ;; ...`. Text before the first `script:` is free. The position in
//! the script is derived from the conversation alone ([`next_step`]), so whoever plays a script needs no
//! state of its own, and several conversations never get into each other's way.
//!
//! This crate is pure: it parses, finds the position and fills in templates. Playing a step is the
//! business of its two consumers ([`Consumer`]), the model server of the tests and `weft scripted-agent`.
//! `docs/scripts.md` describes the language for people.
#![forbid(unsafe_code)]

mod error;
mod history;
pub mod limits;
mod parse;
mod step;
mod template;

pub use error::ScriptError;
pub use history::{Entry, Next, Position, next_step};
pub use parse::{MARKER, Script};
pub use step::{Consumer, Step};
