//! Drivers, the processes they speak to, and the sessions that join both to threads.
//!
//! A driver is a WebAssembly component that may do nothing by itself. The host runs it
//! ([`component`], `guest`), checks every action ([`grants`], `instance`), owns the processes ([`process`]) and gives
//! threads their sessions ([`pool`]).
#![forbid(unsafe_code)]

mod bindings;
pub mod catalogue;
pub mod component;
pub mod direct;
pub mod engine;
mod files;
pub mod grants;
mod guest;
mod guest_log;
mod inspect;
mod ledger;
pub mod limits;
pub mod load_error;
pub mod manifest;
pub mod pool;
pub mod process;
mod random;
pub mod replay;
pub mod secrets;
mod session;
mod text;

pub use inspect::INTERFACE_VERSION;
