//! `task_status` over HTTP, beside rmcp alone and the MCP SDK for Node.

mod client;
mod endpoints;
mod load;
mod peers;

pub(crate) use client::{Call, Connection, Form};
pub(crate) use endpoints::{Endpoint, mint, registry, serve_echo, serve_weft, service_settings};
pub(crate) use load::measure;
