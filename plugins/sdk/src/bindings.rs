//! The one place the interface is generated from `wit/`, for every driver.
//!
//! The types are plain records, so a driver written over them runs natively in tests. The exports exist in wasm alone.
#![allow(
    unsafe_code,
    reason = "the generated code crosses the component boundary through raw memory"
)]
#![allow(
    clippy::all,
    unreachable_pub,
    missing_debug_implementations,
    reason = "generated code"
)]

wit_bindgen::generate!({
    path: "../../wit",
    world: "driver",
    pub_export_macro: true,
    default_bindings_module: "driver_sdk::bindings",
    export_macro_name: "export_component",
    additional_derives: [PartialEq],
});

pub use exports::weft::orchestration_adapter::adapter;
pub use weft::orchestration_adapter::{log, types};
