//! What every driver shares: the generated interface, the trait a driver implements, the glue that makes a component of
//! it, and the parts of a line protocol no driver should write twice.
//!
//! A driver is a state machine over plain records: inputs in, actions out. It runs natively in its tests and as a
//! component in the host. A crate holds
//!
//! - `core.rs`, with `#![forbid(unsafe_code)]`, which implements [`Driver`];
//! - `bindings.rs`, which calls [`export_driver!`] and is the one place that allows `unsafe_code`;
//! - `crate-type = ["cdylib", "rlib"]` in its manifest.
//!
//! The `codex` driver is the example to read; its `core.rs` shows how inputs are told apart and answered.
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

/// Version of the interface drivers are built against, for `driver-info.interface-version`.
pub const INTERFACE_VERSION: &str = "0.1.0";

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_told_is_the_version_of_the_interface() {
        let world = include_str!("../../../wit/world.wit");
        let package = format!(
            "package weft:orchestration-adapter@{};",
            super::INTERFACE_VERSION
        );
        assert!(
            world.contains(&package),
            "{package} is not in wit/world.wit"
        );
        assert_eq!(
            super::component::API_VERSION,
            super::INTERFACE_VERSION.as_bytes()
        );
    }
}
