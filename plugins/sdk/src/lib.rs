//! What every driver shares: the generated interface, the trait a driver implements, the glue that makes a component of
//! it, and the parts of a line protocol no driver should write twice.
#![deny(unsafe_code)]

pub mod bindings;
pub mod clip;
pub mod component;
pub mod effects;
pub mod failure;
#[cfg(any(test, feature = "harness"))]
pub mod harness;
pub mod jsonrpc;
pub mod limits;
pub mod logging;
pub mod outbox;
pub mod stream;

pub use bindings::types;
pub use component::Driver;
