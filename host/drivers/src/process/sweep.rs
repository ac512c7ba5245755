//! At start: ending what an earlier host of this data folder left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::session::ProcessRecord;
use rustix::process::Signal;
use tokio::time::Instant;

use super::marker::{HOST_VARIABLE, HostMarker};
use super::proc_fs::{self, ProcessRow};
use super::signal::{self, Signalled};
use crate::limits;

/// Time left behind processes have after the polite signal: their host is dead, nobody waits for their last words.
const GRACE: Duration = Duration::from_secs(1);

const POLL: Duration = Duration::from_millis(20);

/// What the sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Processes ended, descendants included.
    pub ended: Vec<ProcessRecord>,
    /// Recorded processes that were gone already.
    pub gone: usize,
    /// Recorded pids that belong to other processes now; left alone.
    pub reused: Vec<u32>,
    /// Processes that could not be ended.
    pub remaining: Vec<ProcessRecord>,
}

/// Ends every recorded process that is still the recorded one, every process with this data folder's mark, and what they
/// started. A process that merely has a recorded pid is not touched.
pub async fn sweep(recorded: &[ProcessRecord], marker: &HostMarker) -> SweepReport {
    let mut report = SweepReport::default();
    for record in recorded {
        match proc_fs::row(record.pid) {
            None => report.gone += 1,
            Some(row) if row.start_ticks != record.start_ticks => report.reused.push(record.pid),
            Some(_) => {}
        }
    }
    let mut ended = BTreeSet::new();
    let begun = Instant::now();
    let mut signal_now = Signal::TERM;
    loop {
        let (known, marker, before) = (recorded.to_vec(), marker.clone(), ended.clone());
        let found = tokio::task::spawn_blocking(move || find(&known, &before, &marker)).await;
        let found = found.unwrap_or_default();
        if found.is_empty() {
            break;
        }
        if begun.elapsed() > GRACE + limits::SWEEP_TIME_MAX {
            report.remaining = found.iter().map(ProcessRow::record).collect();
            break;
        }
        let first_sight =
            |row: &&ProcessRow| signal_now == Signal::KILL || !ended.contains(&row.record());
        let targets: Vec<ProcessRecord> = found
            .iter()
            .filter(first_sight)
            .map(ProcessRow::record)
            .collect();
        for target in targets {
            if signal::send(target, signal_now) == Signalled::Sent {
                ended.insert(target);
            }
        }
        if begun.elapsed() > GRACE {
            signal_now = Signal::KILL;
        }
        tokio::time::sleep(POLL).await;
    }
    report.ended = ended
        .into_iter()
        .filter(|record| !report.remaining.contains(record))
        .collect();
    report
}

/// The recorded, the marked, those found before, and the descendants of all of them, as far as they run.
fn find(
    recorded: &[ProcessRecord],
    before: &BTreeSet<ProcessRecord>,
    marker: &HostMarker,
) -> Vec<ProcessRow> {
    let rows = proc_fs::rows();
    let spared = own_line(&rows);
    let mut found: BTreeMap<u32, ProcessRow> = BTreeMap::new();
    for row in rows
        .iter()
        .filter(|row| row.is_alive() && !spared.contains(&row.pid))
    {
        if recorded.contains(&row.record())
            || before.contains(&row.record())
            || proc_fs::was_started_with(row.pid, &[(HOST_VARIABLE, marker.as_str())])
        {
            found.insert(row.pid, *row);
        }
    }
    let mut frontier: Vec<u32> = found.keys().copied().collect();
    while let Some(parent) = frontier.pop() {
        for row in rows
            .iter()
            .filter(|row| row.parent == parent && row.is_alive())
        {
            if !spared.contains(&row.pid) && found.insert(row.pid, *row).is_none() {
                frontier.push(row.pid);
            }
        }
    }
    found.into_values().collect()
}

/// This process and its ancestors: a host started by an agent of an earlier host must not end itself.
fn own_line(rows: &[ProcessRow]) -> BTreeSet<u32> {
    let mut line = BTreeSet::new();
    let mut pid = std::process::id();
    while pid > 0 && line.insert(pid) {
        pid = rows
            .iter()
            .find(|row| row.pid == pid)
            .map_or(0, |row| row.parent);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn sleeper(marker: Option<&HostMarker>) -> Child {
        let mut command = Command::new("/bin/sleep");
        command.arg("600").env_clear();
        if let Some(marker) = marker {
            command.env(HOST_VARIABLE, marker.as_str());
        }
        command.spawn().unwrap()
    }

    fn record(child: &Child) -> ProcessRecord {
        proc_fs::row(child.id()).unwrap().record()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_recorded_and_the_marked_end_and_a_reused_pid_is_left_alone() {
        let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let marker = HostMarker::load_or_create(data.path()).unwrap();
        let foreign_marker = HostMarker::load_or_create(other.path()).unwrap();
        let mut recorded = sleeper(None);
        let mut marked = sleeper(Some(&marker));
        let mut foreign = sleeper(Some(&foreign_marker));
        let mut reused = sleeper(None);
        // exec has happened once the environment is the new one; a spawned child has always exec'ed.
        let earlier = ProcessRecord {
            start_ticks: 1,
            ..record(&reused)
        };
        let gone = ProcessRecord {
            pid: u32::MAX - 1,
            start_ticks: 1,
        };
        let ended = [record(&recorded), record(&marked)];
        let report = sweep(&[record(&recorded), earlier, gone], &marker).await;
        assert_eq!(report.ended.len(), 2);
        assert!(ended.iter().all(|record| report.ended.contains(record)));
        assert_eq!(
            (report.gone, report.reused, report.remaining),
            (1, vec![reused.id()], vec![])
        );
        assert!(recorded.wait().unwrap().code().is_none());
        assert!(marked.wait().unwrap().code().is_none());
        for spared in [&mut foreign, &mut reused] {
            assert!(spared.try_wait().unwrap().is_none(), "still runs");
            spared.kill().unwrap();
            spared.wait().unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_to_do_takes_no_time() {
        let data = tempfile::tempdir().unwrap();
        let marker = HostMarker::load_or_create(data.path()).unwrap();
        let begun = Instant::now();
        assert_eq!(sweep(&[], &marker).await, SweepReport::default());
        assert!(begun.elapsed() < GRACE);
    }
}
