//! What every driver shares: the generated interface, the trait a driver implements, and the glue that makes a
//! component of it.
#![deny(unsafe_code)]

pub mod bindings;
pub mod component;
pub mod logging;

pub use bindings::types;
pub use component::Driver;
