//! Messages to a working agent, and stopping what works.

mod messages;
mod stops;
