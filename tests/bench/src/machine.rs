//! What the figures were measured on.

use std::fs::{self, File};
use std::io::Write as _;
use std::time::Instant;

use crate::report::times;
use crate::samples::Samples;

/// Appends to measure.
const SYNCS: u32 = 200;

/// Bytes of each.
const SYNC_BYTES: usize = 300;

/// One paragraph about this machine, now.
pub(crate) fn describe() -> anyhow::Result<String> {
    let cpu = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown CPU".to_owned());
    let cores = std::thread::available_parallelism()?;
    let memory = field("/proc/meminfo", "MemTotal").unwrap_or_default();
    let gib = memory
        .split_whitespace()
        .next()
        .and_then(|kib| kib.parse::<f64>().ok())
        .unwrap_or(f64::NAN)
        / (1024.0 * 1024.0);
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    let load: Vec<&str> = load.split_whitespace().take(3).collect();
    Ok(format!(
        "Machine: {cpu}, {cores} cores, {gib:.1} GiB, Linux {}. Append of {SYNC_BYTES} bytes and fdatasync: {} \
         (median / p99). Load average at the start (1, 5, 15 minutes): {}. Build: {}.",
        kernel.trim(),
        times(&sync_times()?),
        load.join(", "),
        if cfg!(debug_assertions) {
            "development, its figures mean nothing"
        } else {
            "release"
        },
    ))
}

/// How long a durable append takes in the folder of temporary files, where every journal of the benchmark lies.
fn sync_times() -> anyhow::Result<Samples> {
    let folder = tempfile::tempdir()?;
    let mut file = File::create(folder.path().join("appended"))?;
    let bytes = [7; SYNC_BYTES];
    let mut samples = Samples::default();
    for _ in 0..SYNCS {
        let begun = Instant::now();
        file.write_all(&bytes)?;
        file.sync_data()?;
        samples.mean(begun.elapsed(), 1);
    }
    Ok(samples)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The first value of a name in a file of `name : value` lines.
fn field(path: &str, name: &str) -> Option<String> {
    read(path).lines().find_map(|line| {
        let (own, value) = line.split_once(':')?;
        (own.trim() == name).then(|| value.trim().to_owned())
    })
}

/// Memory of a process that is in use, in KiB.
pub(crate) fn resident_kib(pid: u32) -> anyhow::Result<f64> {
    kib_of(&format!("/proc/{pid}/smaps_rollup"), "Rss")
}

/// The same, with its part alone of what it shares with others.
pub(crate) fn proportional_kib(pid: u32) -> anyhow::Result<f64> {
    kib_of(&format!("/proc/{pid}/smaps_rollup"), "Pss")
}

fn kib_of(path: &str, name: &str) -> anyhow::Result<f64> {
    let value = field(path, name).ok_or_else(|| anyhow::anyhow!("no {name} in {path}"))?;
    let number = value.split_whitespace().next().unwrap_or_default();
    Ok(number.parse()?)
}

/// Every process that descends from this one.
pub(crate) fn descendants(root: u32) -> anyhow::Result<Vec<u32>> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let parent = field(&format!("/proc/{pid}/status"), "PPid");
        if let Some(parent) = parent.and_then(|parent| parent.parse::<u32>().ok()) {
            parents.push((pid, parent));
        }
    }
    let mut found = vec![root];
    let mut at = 0;
    while let Some(&next) = found.get(at) {
        found.extend(
            parents
                .iter()
                .filter(|(_, parent)| *parent == next)
                .map(|(pid, _)| *pid),
        );
        at += 1;
    }
    found.retain(|pid| *pid != root);
    Ok(found)
}
