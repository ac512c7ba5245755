//! MCP over HTTP on a running server, with a bearer it really gave to an agent: from raw bytes to the store and back.

mod clients;
mod parent;
mod refusals;
mod tools;
mod waits;
