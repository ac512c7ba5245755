//! Agent processes: started in a group of their own, bounded in what they may print, and ended with everything they
//! started.

mod child;
mod lines;
mod marker;
mod proc_fs;
mod program;
mod signal;
mod stdin;
mod sweep;
mod table;
mod tree;

pub use marker::HostMarker;
pub use signal::become_subreaper;
pub use sweep::{SweepReport, sweep};
pub use table::ProcessTable;

pub(crate) use child::{Outlet, ProcessEvent, SpawnOrder, Stream, Supervised, exit_cause};
pub(crate) use lines::LineState;
pub(crate) use program::{NoProgram, find_program};
pub(crate) use stdin::StdinError;
