//! What people do at the host: the local socket, the command line that speaks to it, the server as a process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that can't go on fails where it stands"
)]

mod command_line;
mod host;
mod server_process;
mod socket;
