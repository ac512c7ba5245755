//! The `scripted` driver.
#![deny(unsafe_code)]

mod bindings;
pub mod core;
