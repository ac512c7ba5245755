//! Signals and reaping, always aimed at one certain process.

use std::io;

use domain::session::ProcessRecord;
use rustix::process::{
    Pid, PidfdFlags, Resource, Signal, WaitId, WaitIdOptions, getrlimit, kill_process_group,
    pidfd_open, pidfd_send_signal, prlimit, set_child_subreaper, waitid,
};

use super::proc_fs;

/// Makes the host adopt the orphans of its agents, so that none escapes its process tree. Call it before anything else.
///
/// # Errors
/// The kernel refused.
pub fn become_subreaper() -> io::Result<()> {
    // The kernel reads the argument as a switch: anything but zero turns it on.
    set_child_subreaper(Some(Pid::INIT)).map_err(io::Error::from)
}

/// How a signal went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signalled {
    /// Delivered.
    Sent,
    /// The process is gone, or its pid belongs to another one now.
    Gone,
    /// Not allowed.
    Refused,
}

/// Sends a signal to this very process, never to a later one with its pid.
pub(crate) fn send(process: ProcessRecord, signal: Signal) -> Signalled {
    let Some(pid) = raw(process.pid) else {
        return Signalled::Gone;
    };
    // The descriptor pins the process; the start time tells whether it is the right one.
    let Ok(pinned) = pidfd_open(pid, PidfdFlags::empty()) else {
        return Signalled::Gone;
    };
    if proc_fs::row(process.pid).is_none_or(|row| row.start_ticks != process.start_ticks) {
        return Signalled::Gone;
    }
    match pidfd_send_signal(&pinned, signal) {
        Ok(()) => Signalled::Sent,
        Err(rustix::io::Errno::SRCH) => Signalled::Gone,
        Err(_) => Signalled::Refused,
    }
}

/// Sends a signal to the group of a leader that has not been reaped: only then the number is certain.
pub(crate) fn send_to_group(leader: u32, signal: Signal) {
    let Some(pid) = raw(leader) else { return };
    if let Err(error) = kill_process_group(pid, signal)
        && error != rustix::io::Errno::SRCH
    {
        tracing::warn!(leader, %error, "cannot signal a process group");
    }
}

/// Takes the exit status of an adopted process away, if it has ended.
pub(crate) fn reap(pid: u32) {
    let Some(pid) = raw(pid) else { return };
    // An error means it is no child of this process or was reaped already.
    let _ = waitid(
        WaitId::Pid(pid),
        WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
    );
}

/// An agent that crashes must not leave its memory, and the secrets in it, in a file. It may change this for its own
/// children.
pub(crate) fn keep_no_core_dump(pid: u32) {
    let limit = |pid| {
        let mut limit = getrlimit(Resource::Core);
        limit.current = Some(0);
        prlimit(Some(pid), Resource::Core, limit)
    };
    if let Some(Err(error)) = raw(pid).map(limit) {
        // It has ended already, or the system does not allow it.
        tracing::debug!(pid, %error, "cannot switch off core dumps of an agent");
    }
}

fn raw(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}
