//! The rules as specifications, one file for each family of commands, over an in-memory store.
//!
//! Every command of every test goes through [`world::World`], which checks after each one what must
//! hold always ([`invariants`]).

mod cancel;
mod create;
mod delegate;
mod delegate_limits;
mod delegate_refusals;
mod invariants;
mod look;
mod map_view;
mod modes;
mod progress;
mod properties;
mod publication;
mod queue;
mod recover;
mod report;
mod report_items;
mod report_sessions;
mod respond;
mod send;
mod stop;
mod target;
mod target_model;
mod wake;
mod wake_untold;
mod wake_waves;
mod words;
mod world;
