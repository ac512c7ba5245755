//! The README's first command, as a person on a fresh machine meets it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::agents;

fn demo(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap())
        .args([
            "run",
            "--quiet",
            "--locked",
            "--package",
            "xtask",
            "--",
            "demo",
        ])
        .args(words)
        .stdin(Stdio::null());
    command
}

/// Lines of a demo that must succeed.
fn lines_of(words: &[&str]) -> Vec<String> {
    let mut child = demo(words).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let lines: Vec<String> = output.lines().map(Result::unwrap).collect();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}:\n{}", lines.join("\n"));
    lines
}

fn place(lines: &[String], wanted: &str) -> usize {
    let found = lines.iter().position(|line| line.contains(wanted));
    found.unwrap_or_else(|| panic!("no line has {wanted:?}:\n{}", lines.join("\n")))
}

/// Both children write before either has ended, the tree follows, and the result is the last line.
fn shows_two_children_at_once(agent: &str, words: &[&str]) {
    let lines = lines_of(words);
    let ended = [
        "[Count the words] completed",
        "[Check the heading] completed",
    ]
    .map(|line| place(&lines, line));
    for begun in ["[Count the words] tick 1", "[Check the heading] tick 1"] {
        assert!(place(&lines, begun) < ended[0].min(ended[1]), "{begun}");
    }
    let tree = place(&lines, "Threads:");
    let rows: Vec<&String> = lines[tree + 1..]
        .iter()
        .filter(|l| l.contains("thread-"))
        .collect();
    assert!(rows.len() >= 3, "{rows:?}");
    for row in rows.iter().take(3) {
        assert!(
            row.contains(agent) && row.contains("completed") && row.contains(" s "),
            "{row}"
        );
    }
    let result: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!(result["status"], "completed");
    assert_eq!(result["agent"], agent);
    assert!(result["seconds"].is_f64());
    let tasks = result["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 2);
    for task in tasks {
        assert_eq!(task["status"], "completed", "{task}");
        assert_eq!(task["providerInstanceId"], agent);
        for field in ["taskId", "childThreadId", "summary"] {
            assert!(
                task[field].as_str().is_some_and(|text| !text.is_empty()),
                "{field}: {task}"
            );
        }
    }
}

#[test]
fn a_scripted_agent_delegates_to_two_at_once() {
    shows_two_children_at_once("scripted", &["--json"]);
}

#[test]
fn a_real_codex_delegates_to_two_at_once_without_an_account() {
    shows_two_children_at_once("codex", &["--agent", "codex", "--scripted-model", "--json"]);
}

#[test]
fn a_missing_codex_is_told_with_the_way_to_install_it() {
    let folder = tempfile::tempdir().unwrap();
    // The task itself, beside the host it builds: cargo needs the search path that this test takes away.
    let output = Command::new(agents::weft().with_file_name("xtask"))
        .args(["demo", "--agent", "codex"])
        .env("PATH", folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(
        told.contains("npm install -g @openai/codex") && told.contains("codex login"),
        "{told}"
    );
}
