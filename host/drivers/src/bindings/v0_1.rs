//! Track 0.1 of `weft:orchestration-adapter`, generated from the WIT.
#![allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    clippy::all,
    reason = "generated code"
)]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "driver",
    additional_derives: [PartialEq, Clone, serde::Serialize, serde::Deserialize],
});

pub(crate) use weft::orchestration_adapter::{log, types};
