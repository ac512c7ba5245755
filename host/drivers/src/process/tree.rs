//! One process and everything it started, found again after it left its group, its parent or its terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use domain::session::ProcessRecord;

use super::marker::{HOST_VARIABLE, HostMarker, PROCESS_VARIABLE, SESSION_VARIABLE};
use super::proc_fs::{self, ProcessRow};

/// Which processes are looked at for the mark in their environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// Those that lost their parent: cheap, for regular looks.
    Orphans,
    /// All: for the last look.
    Everything,
}

/// A process the host started, and what is known of its descendants.
#[derive(Debug)]
pub(crate) struct Tree {
    leader: ProcessRecord,
    session: String,
    process: String,
    /// Descendants seen so far that still run: parentage is lost when a parent ends.
    seen: Mutex<BTreeSet<ProcessRecord>>,
}

/// The process table at one moment, with what a search needs.
pub(crate) struct Look<'a> {
    pub(crate) rows: &'a [ProcessRow],
    pub(crate) host: u32,
    pub(crate) marker: &'a HostMarker,
    /// Terminal session of the host itself.
    pub(crate) host_session: Option<u32>,
    /// Every process the host itself started and still waits for: pid and start time.
    pub(crate) leaders: &'a BTreeMap<u32, u64>,
}

impl Tree {
    pub(crate) fn new(leader: ProcessRecord, session: String, process_id: u32) -> Self {
        Self {
            leader,
            session,
            process: process_id.to_string(),
            seen: Mutex::default(),
        }
    }

    pub(crate) fn leader(&self) -> ProcessRecord {
        self.leader
    }

    /// Everything of this tree but its leader, and remembers it.
    pub(crate) fn find(&self, look: &Look<'_>, search: Search) -> Vec<ProcessRow> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: BTreeMap<u32, ProcessRow> = BTreeMap::new();
        let mut frontier: Vec<u32> = Vec::new();
        if look.rows.iter().any(|row| row.record() == self.leader) {
            frontier.push(self.leader.pid);
        }
        for row in look.rows {
            if self.may_belong(row, look)
                && (seen.contains(&row.record())
                    || (row.parent == look.host && row.group == self.leader.pid)
                    || self.carries_mark(row, look, search)
                    || self.is_ownerless(row, look))
            {
                found.insert(row.pid, *row);
                frontier.push(row.pid);
            }
        }
        while let Some(parent) = frontier.pop() {
            for row in look.rows.iter().filter(|row| row.parent == parent) {
                if self.may_belong(row, look) && found.insert(row.pid, *row).is_none() {
                    frontier.push(row.pid);
                }
            }
        }
        *seen = found.values().map(ProcessRow::record).collect();
        found.into_values().collect()
    }

    /// What was found by the last look.
    pub(crate) fn seen(&self) -> BTreeSet<ProcessRecord> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn may_belong(&self, row: &ProcessRow, look: &Look<'_>) -> bool {
        row.pid != look.host
            && row.pid != self.leader.pid
            && !look.leaders.contains_key(&row.pid)
            // Nothing older than the leader can come from it.
            && row.start_ticks >= self.leader.start_ticks
    }

    /// An orphan that cleared its environment and left its group and session between two looks. While an agent runs that
    /// is old enough to have started it, it is left alone; when the last one of those ends, it ends too.
    fn is_ownerless(&self, row: &ProcessRow, look: &Look<'_>) -> bool {
        row.parent == look.host
            && look
                .host_session
                .is_some_and(|session| session != row.session)
            && !look.leaders.contains_key(&self.leader.pid)
            && look
                .leaders
                .values()
                .all(|start_ticks| *start_ticks > row.start_ticks)
    }

    fn carries_mark(&self, row: &ProcessRow, look: &Look<'_>, search: Search) -> bool {
        let looked_at = match search {
            Search::Orphans => row.parent == look.host || row.parent == 1,
            Search::Everything => true,
        };
        looked_at
            && row.is_alive()
            && proc_fs::was_started_with(
                row.pid,
                &[
                    (HOST_VARIABLE, look.marker.as_str()),
                    (SESSION_VARIABLE, &self.session),
                    (PROCESS_VARIABLE, &self.process),
                ],
            )
    }
}
