//! The service in front of the journal, held to its contract: a real journal on a real file, real rules,
//! a fake provider pool, and a clock that stands.

mod bench;
mod cancels;
mod capabilities;
mod creates;
mod delegates;
mod modes;
mod rejected;
mod requests;
mod restarts;
mod retries;
mod sends;
mod targets;
mod waits;
mod wakes;
