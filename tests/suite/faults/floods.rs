//! Agents that print without end: the host's memory stays bounded.

use super::fake::{check_failed, host_with};
use crate::support::TestHost;

/// What a flood may add to the most memory the server ever took, kilobytes: one longest line, in the host and in the
/// driver that reads it.
const GROWTH_KB_MAX: u64 = 64 * 1024;

/// Most memory the server has taken so far, kilobytes.
fn memory_peak(host: &TestHost) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", host.pid())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    peak.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[test]
fn a_gibibyte_of_output_costs_the_server_no_more_than_one_longest_line() {
    let faults = ["no-newline", "flood-of-lines", "flood-of-errors"];
    let host = host_with(&["none", faults[0], faults[1], faults[2]]);
    assert_eq!(host.run("none", "go").result()["text"], "fine");
    let before = memory_peak(&host);
    let result = host.run("no-newline", "go").result();
    check_failed(
        "no-newline",
        &result,
        &["longer than 8388608 bytes", "Raise the limit"],
    );
    let result = host.run("flood-of-lines", "go").result();
    check_failed(
        "flood-of-lines",
        &result,
        &["`not the protocol`", "Check the command"],
    );
    // Standard error is for people: all of it is read and the turn goes on.
    let result = host.run("flood-of-errors", "go").result();
    assert_eq!(result["text"], "fine", "{result}");
    let growth = memory_peak(&host) - before;
    println!("memory peak: {before} kB before, {growth} kB more after 1 GiB of output");
    assert!(growth <= GROWTH_KB_MAX, "{growth} kB");
    assert_eq!(host.run("none", "go").result()["text"], "fine");
}
