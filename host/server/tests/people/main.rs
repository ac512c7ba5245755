//! What people do at the host: the local socket, the command line that speaks to it, the server as a process.

mod command_line;
mod host;
mod server_process;
mod socket;
