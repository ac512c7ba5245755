//! Who is at the other end of the local socket. Human means human: a process the host spawned, or that
//! descends from one, is refused.

use std::fmt;
use std::path::PathBuf;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use tokio::net::UnixListener;

/// Tells whether a process was spawned by the host or descends from one that was.
pub trait Kinship: Send + Sync + fmt::Debug {
    /// Also true when it can't be told.
    fn is_ours(&self, pid: u32) -> bool;
}

/// The peer of one connection, as the kernel named it when the connection was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Effective user; `None`: the kernel did not tell.
    pub uid: Option<u32>,
    /// Process; `None`: the kernel did not tell, or it lives in another process namespace.
    pub pid: Option<u32>,
    /// Start time of that process when the connection was made; tells a reused pid apart.
    pub start_ticks: Option<u64>,
}

/// Why a peer is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stranger {
    /// Another user.
    #[error("this socket is for the user that runs the host alone")]
    OtherUser,
    /// Its process is not known or gone, so nobody can say who acts.
    #[error("the process at the other end can't be traced, so it can't be told from an agent")]
    Untraceable,
    /// An agent, or something an agent started.
    #[error("only a person at the host may do this, and this process was started by an agent")]
    Agent,
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        let credentials = stream.io().peer_cred().ok();
        let pid = credentials.as_ref().and_then(tokio::net::unix::UCred::pid);
        let pid = pid
            .and_then(|pid| u32::try_from(pid).ok())
            .filter(|pid| *pid != 0);
        Self {
            uid: credentials.map(|credentials| credentials.uid()),
            pid,
            start_ticks: pid.and_then(start_ticks),
        }
    }
}

impl Peer {
    /// Lets a person in and nobody else.
    ///
    /// # Errors
    /// [`Stranger`] says why not.
    pub fn check(&self, own_uid: u32, kinship: &dyn Kinship) -> Result<(), Stranger> {
        if self.uid != Some(own_uid) {
            return Err(Stranger::OtherUser);
        }
        let (Some(pid), Some(started)) = (self.pid, self.start_ticks) else {
            return Err(Stranger::Untraceable);
        };
        // An agent could connect, hand the socket to a child and end, so that its pid names somebody else.
        if start_ticks(pid) != Some(started) {
            return Err(Stranger::Untraceable);
        }
        if kinship.is_ours(pid) {
            Err(Stranger::Agent)
        } else {
            Ok(())
        }
    }
}

/// Place of the start time among the fields after the command's name in the process table.
const START_TICKS_FIELD: usize = 19;

/// Start time of a process, clock ticks since boot; `None`: it is gone, or dead and not reaped.
pub fn start_ticks(pid: u32) -> Option<u64> {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    let stat = std::fs::read_to_string(path).ok()?;
    // The command's name stands in brackets and may hold anything, also brackets and spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    if fields.clone().next() == Some("Z") {
        return None;
    }
    fields.nth(START_TICKS_FIELD)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Family(Vec<u32>);

    impl Kinship for Family {
        fn is_ours(&self, pid: u32) -> bool {
            self.0.contains(&pid)
        }
    }

    #[test]
    fn only_a_traceable_person_of_the_same_user_is_let_in() {
        let own = std::process::id();
        let started = start_ticks(own);
        assert!(started.is_some());
        let peer = |uid, pid, start_ticks| Peer {
            uid,
            pid,
            start_ticks,
        };
        for (what, peer, family, expected) in [
            (
                "a person",
                peer(Some(7), Some(own), started),
                vec![],
                Ok(()),
            ),
            (
                "an agent",
                peer(Some(7), Some(own), started),
                vec![own],
                Err(Stranger::Agent),
            ),
            (
                "root",
                peer(Some(0), Some(own), started),
                vec![],
                Err(Stranger::OtherUser),
            ),
            (
                "nobody",
                peer(None, Some(own), started),
                vec![],
                Err(Stranger::OtherUser),
            ),
            (
                "no pid",
                peer(Some(7), None, None),
                vec![],
                Err(Stranger::Untraceable),
            ),
            (
                "a dead peer",
                peer(Some(7), Some(own), None),
                vec![],
                Err(Stranger::Untraceable),
            ),
            (
                "a reused pid",
                peer(Some(7), Some(own), started.map(|s| s + 1)),
                vec![],
                Err(Stranger::Untraceable),
            ),
        ] {
            assert_eq!(peer.check(7, &Family(family)), expected, "{what}");
        }
    }

    #[test]
    fn a_process_that_is_gone_has_no_start_time() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert_eq!(start_ticks(pid), None);
    }
}
