//! The `weft` program: configuration, command line, local socket, MCP endpoint and the wiring between them.
#![forbid(unsafe_code)]

pub mod cli;
pub mod config;
pub mod credentials;
pub mod local;
pub mod mcp;
pub mod plugins;
pub mod scripted_agent;
pub mod serve;
