//! The fake agent of this folder, as provider instances.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::support::{Configuration, TestHost};

/// From a fault to the end of its run.
pub(super) const FAULT_TO_END_MAX: Duration = Duration::from_secs(1);

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("suite/faults/fake-agent.sh")
}

/// A host with one instance for each fault, named like it.
pub(super) fn host_with(faults: &[&str]) -> TestHost {
    let mut configuration = Configuration::default();
    for fault in faults {
        // The time of a driver's call is time on the wall, and the machine is busy with other tests.
        // A line over a small cap is as long as one over the usual cap, and sooner written.
        let lines = match *fault {
            "long-line" => ", line_bytes_max = 1048576",
            _ => "",
        };
        let command = format!(
            "limits = {{ call_ms_max = 10000{lines} }}\ncommand = [\"sh\", {:?}, \"{fault}\", \"@FOLDER@\"]",
            script()
        );
        configuration = configuration.scripted_as(fault, &command);
    }
    TestHost::start(&configuration)
}

/// Time since a fault was committed.
pub(super) fn since(host: &TestHost, fault: &str) -> Duration {
    let file = host.folder().join(format!("{fault}.at"));
    let at = std::fs::read_to_string(file).unwrap_or_else(|_| panic!("{fault} was not committed"));
    let at = Duration::from_millis(at.trim().parse().unwrap());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.saturating_sub(at)
}

/// Asserts that a run failed and said why.
pub(super) fn check_failed(what: &str, result: &Value, words: &[&str]) {
    assert_eq!(result["status"], "failed", "{what}: {result}");
    let reason = result["reason"].as_str().unwrap();
    for word in words {
        assert!(
            reason.contains(word),
            "{what} does not say {word:?}: {reason}"
        );
    }
}

/// A run on an instance that can't be used: refused at once, or failed while that was found out. Answers the words.
pub(super) fn refusal(host: &TestHost, provider: &str) -> String {
    let output = host.weft(&[
        "run",
        "--project",
        "shop",
        "--provider",
        provider,
        "--json",
        "--",
        "go",
    ]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(1) => {
            assert!(
                errors.contains("[provider_unavailable]"),
                "{provider}: {errors}"
            );
            errors
        }
        Some(3) => {
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            let result: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
            check_failed(provider, &result, &[]);
            result["reason"].as_str().unwrap().to_owned()
        }
        other => panic!("{provider} ended with {other:?}: {errors}"),
    }
}
