//! The driver interface, one file for each track of it.

pub(crate) mod convert;
pub(crate) mod v0_1;
