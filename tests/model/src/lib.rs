//! A model server that plays scripts, for tests with real agent CLIs and for the demo.
//!
//! The script stands in the prompt (see `docs/scripts.md`), and the position in it is read from the
//! conversation that each request carries. So one server serves any number of agents at once.
//!
//! It speaks the OpenAI Responses API ([`responses`]). Another API is another folder beside it: a way to
//! read a request into the entries of a conversation, and a way to write a step as that API's events.
#![forbid(unsafe_code)]

mod failures;
mod journal;
pub mod limits;
mod pieces;
mod responses;
mod server;
mod sse;

pub use journal::{Outcome, Recorded, WaitError};
pub use server::{ModelServer, Options, StartError};
