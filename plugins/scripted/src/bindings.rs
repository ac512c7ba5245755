//! Makes a component of [`crate::core::Scripted`].
#![allow(
    unsafe_code,
    reason = "the export glue crosses the component boundary; everything else in this crate forbids it"
)]

driver_sdk::export_driver!(crate::core::Scripted);
