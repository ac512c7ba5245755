//! Every process the host started, and whether a process is one of theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use domain::session::ProcessRecord;
use rustix::process::Signal;

use super::marker::{HOST_VARIABLE, HostMarker};
use super::proc_fs::{self, ProcessRow};
use super::signal;
use super::tree::{Look, Search, Tree};
use crate::limits;

/// Most steps from a process to the top of the process tree.
const ANCESTORS_MAX: usize = 4_096;

/// The host's processes. Clones share the table.
#[derive(Clone, Debug)]
pub struct ProcessTable {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    marker: HostMarker,
    host: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    trees: BTreeMap<u32, Arc<Tree>>,
    /// Descendants that outlived their tree and could not be ended.
    strays: BTreeSet<ProcessRecord>,
    /// Terminal sessions made by descendants.
    sessions: BTreeSet<u32>,
    /// Ended children nobody knows, with when they were first seen.
    unknown: BTreeMap<ProcessRecord, Instant>,
}

impl ProcessTable {
    /// Starts the table and its regular look at `/proc`. Needs a tokio runtime.
    #[must_use]
    pub fn start(marker: HostMarker) -> Self {
        let inner = Arc::new(Inner {
            marker,
            host: std::process::id(),
            state: Mutex::default(),
        });
        tokio::spawn(look_regularly(Arc::downgrade(&inner)));
        Self { inner }
    }

    /// Whether a process is, or descends from, one the host started. True also where that cannot be told: whoever asks
    /// wants to keep agents out.
    #[must_use]
    pub fn is_ours(&self, pid: u32) -> bool {
        let host = self.inner.host;
        if pid == host {
            return false;
        }
        let Some(row) = proc_fs::row(pid) else {
            return true;
        };
        if proc_fs::was_started_with(pid, &[(HOST_VARIABLE, self.inner.marker.as_str())]) {
            return true;
        }
        let known = {
            let state = self.inner.lock();
            state.strays.contains(&row.record())
                || state.sessions.contains(&row.session)
                || state.trees.values().any(|tree| {
                    tree.leader() == row.record() || tree.seen().contains(&row.record())
                })
        };
        known || descends_from(row, host)
    }

    /// The mark of the data folder.
    #[must_use]
    pub fn marker(&self) -> &HostMarker {
        &self.inner.marker
    }

    pub(crate) fn register(&self, tree: Arc<Tree>) {
        let mut state = self.inner.lock();
        state.strays.remove(&tree.leader());
        state.trees.insert(tree.leader().pid, tree);
    }

    /// The leader was reaped; its pid may be given to another process now.
    pub(crate) fn leader_reaped(&self, tree: &Tree) {
        self.inner.lock().trees.remove(&tree.leader().pid);
    }

    /// Remembers what belongs to a tree but its leader, signals it if asked to, and takes away the exit status of what
    /// has ended. Returns how many processes still run. Reads `/proc`.
    pub(crate) fn rest(&self, tree: &Tree, search: Search, with: Option<Signal>) -> usize {
        let mut running = 0;
        for row in self.inner.find(tree, search) {
            if row.is_alive() {
                running += 1;
                let sent = with.map(|with| signal::send(row.record(), with));
                if sent == Some(signal::Signalled::Refused) {
                    tracing::warn!(pid = row.pid, "a descendant of an agent cannot be ended");
                    self.inner.lock().strays.insert(row.record());
                }
            } else if row.parent == self.inner.host {
                signal::reap(row.pid);
            }
        }
        running
    }

    /// Ends every process the host adopted and does not know: descendants that hid from their tree. For the host's end.
    pub(crate) fn end_adopted(&self) {
        let rows = proc_fs::rows();
        let own_group = proc_fs::row(self.inner.host).map(|row| row.group);
        let leaders = self.inner.leaders();
        for row in rows.iter().filter(|row| {
            row.parent == self.inner.host
                && !leaders.contains_key(&row.pid)
                && Some(row.group) != own_group
        }) {
            if row.is_alive() {
                signal::send(row.record(), Signal::KILL);
            } else {
                signal::reap(row.pid);
            }
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leaders(&self) -> BTreeMap<u32, u64> {
        self.lock()
            .trees
            .iter()
            .map(|(pid, tree)| (*pid, tree.leader().start_ticks))
            .collect()
    }

    fn look_at<'a>(&'a self, rows: &'a [ProcessRow], leaders: &'a BTreeMap<u32, u64>) -> Look<'a> {
        Look {
            rows,
            host: self.host,
            marker: &self.marker,
            host_session: rows
                .iter()
                .find(|row| row.pid == self.host)
                .map(|row| row.session),
            leaders,
        }
    }

    fn find(&self, tree: &Tree, search: Search) -> Vec<ProcessRow> {
        let rows = proc_fs::rows();
        let leaders = self.leaders();
        tree.find(&self.look_at(&rows, &leaders), search)
    }

    /// Remembers descendants and takes away the exit status of adopted ones that ended.
    fn look(&self, now: Instant) {
        let trees: Vec<Arc<Tree>> = self.lock().trees.values().cloned().collect();
        let rows = proc_fs::rows();
        let own = rows.iter().find(|row| row.pid == self.host).copied();
        // Reaping below is safe for these: tokio waits for leaders, nobody waits for their descendants.
        let mut descendants: BTreeSet<ProcessRecord> = BTreeSet::new();
        let leaders = self.leaders();
        for tree in &trees {
            for row in tree.find(&self.look_at(&rows, &leaders), Search::Orphans) {
                descendants.insert(row.record());
                if own.is_some_and(|own| own.session != row.session) {
                    self.lock().sessions.insert(row.session);
                }
            }
        }
        let mut state = self.lock();
        let still_there: BTreeSet<u32> = rows.iter().map(|row| row.session).collect();
        state
            .sessions
            .retain(|session| still_there.contains(session));
        state
            .strays
            .retain(|stray| rows.iter().any(|row| row.record() == *stray));
        let ended: Vec<&ProcessRow> = rows
            .iter()
            .filter(|row| {
                row.parent == self.host && !row.is_alive() && !state.trees.contains_key(&row.pid)
            })
            .collect();
        state
            .unknown
            .retain(|record, _| ended.iter().any(|row| row.record() == *record));
        for row in ended {
            let known = descendants.contains(&row.record())
                || state.strays.contains(&row.record())
                || state.trees.contains_key(&row.group);
            // Other parts of the host start processes too and wait for them within moments, in the host's own group.
            let foreign = own.is_some_and(|own| own.group != row.group);
            let first_seen = *state.unknown.entry(row.record()).or_insert(now);
            let old = now.saturating_duration_since(first_seen) >= limits::UNKNOWN_ZOMBIE_AGE;
            if known || (foreign && old) {
                signal::reap(row.pid);
                state.unknown.remove(&row.record());
            }
        }
    }
}

fn descends_from(mut row: ProcessRow, host: u32) -> bool {
    for _ in 0..ANCESTORS_MAX {
        if row.parent == host {
            return true;
        }
        if row.parent <= 1 {
            return false;
        }
        match proc_fs::row(row.parent) {
            Some(parent) => row = parent,
            // The parent ended in between: its children were adopted meanwhile.
            None => match proc_fs::row(row.pid) {
                Some(again) if again.parent != row.parent => row = again,
                _ => return true,
            },
        }
    }
    true
}

async fn look_regularly(table: Weak<Inner>) {
    loop {
        tokio::time::sleep(limits::PROCESS_SCAN_INTERVAL).await;
        let Some(inner) = table.upgrade() else { return };
        let idle = {
            let state = inner.lock();
            state.trees.is_empty() && state.strays.is_empty() && state.unknown.is_empty()
        };
        if idle {
            continue;
        }
        let looked = tokio::task::spawn_blocking(move || inner.look(Instant::now())).await;
        if let Err(error) = looked {
            tracing::error!(%error, "the look at the process table failed");
        }
    }
}
