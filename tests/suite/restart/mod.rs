//! The host or an agent goes away in the middle of work.

mod agent;
mod host;
