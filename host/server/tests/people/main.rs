//! What people do at the host: the local socket and the command line that speaks to it.

mod command_line;
mod host;
mod socket;
