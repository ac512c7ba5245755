//! Where neither secret may be, with either way of handing over the bearer.

use std::fs;
use std::path::{Path, PathBuf};

use model::ModelServer;
use serde_json::json;

use super::handed::{Canary, Handed};
use crate::support::scripts::{call, script};
use crate::support::told::{self, hanging};
use crate::support::{Configuration, TestHost, processes};

#[tokio::test(flavor = "multi_thread")]
async fn with_the_bearer_in_frames_no_secret_is_in_words_files_or_the_environment_of_commands() {
    secrets_are_hidden("frames").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_bearer_in_the_environment_no_secret_is_in_words_files_or_the_environment_of_commands()
 {
    secrets_are_hidden("environment").await;
}

async fn secrets_are_hidden(mcp_injection: &str) {
    let model = ModelServer::start().await.unwrap();
    let handed = Handed::new();
    let settings = format!("settings = {{ mcp_injection = \"{mcp_injection}\" }}");
    let configuration = Configuration::default().logged_in_full().codex_behind(
        "codex",
        &handed.program(),
        &model,
        &settings,
    );
    let mut host = TestHost::start(&configuration);
    let steps = [
        "shell env",
        &call("orchestrator_capabilities", &json!({})),
        "hang",
        "say Done.",
    ];
    let words = ["--runtime-mode", "full-access"];
    let mut run = host.run_with("codex", &words, &script(&steps));
    hanging(&model, 1).await;
    let canaries = handed.canaries();

    // While the turn runs: the words of every process of the tree, the host's own among them.
    let mut tree = processes::tree_of(host.pid());
    assert!(tree.len() >= 3, "the wrapper, its copy and codex: {tree:?}");
    tree.push(host.pid());
    for pid in tree {
        let line = processes::command_line(pid);
        assert_absent(
            &canaries,
            line.as_bytes(),
            &format!("the words of process {pid}"),
        );
    }
    let environment = told::results(&model, "exec_command").remove(0);
    assert!(environment.contains("PATH="), "{environment}");
    assert_absent(
        &canaries,
        environment.as_bytes(),
        "what `env` prints in a command",
    );
    // The bearer was the right one: the endpoint answered.
    let told = told::json_results(&model, "orchestrator_capabilities");
    assert_eq!(told[0]["parentThreadId"], run.thread_id());

    // Every file, while the session lives and after its end.
    let searched = assert_absent_from_files(&canaries, host.folder());
    for part in [
        "data/journal.redb",
        "data/recordings",
        "codex-home/sessions",
        "weft.log",
    ] {
        assert!(
            searched
                .iter()
                .any(|path| path.starts_with(host.folder().join(part))),
            "{part}"
        );
    }
    host.tell(&run.thread_id(), "Go on.");
    assert_eq!(run.completed(), "Done.");
    host.stop();
    assert_absent_from_files(&canaries, host.folder());
    assert!(
        recordings(&host).contains("\"authorization\":\"weft-secret-"),
        "recordings hold the placeholder"
    );
}

/// A command that prints everything it can find makes the model know it; the host keeps it out of its own files.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_an_agent_prints_is_not_written_down() {
    let model = ModelServer::start().await.unwrap();
    let handed = Handed::new();
    let settings = "settings = { mcp_injection = \"environment\" }";
    let configuration = Configuration::default().logged_in_full().codex_behind(
        "codex",
        &handed.program(),
        &model,
        settings,
    );
    let mut host = TestHost::start(&configuration);
    let print = "shell tr '\\0' '\\n' < /proc/$PPID/environ";
    let words = ["--runtime-mode", "full-access"];
    let mut run = host.run_with("codex", &words, &script(&[print, "say It is {{1}}"]));
    let said = run.completed();
    let canaries = handed.canaries();
    let result = told::results(&model, "exec_command").remove(0);
    for canary in &canaries {
        assert!(
            result.contains(&canary.value),
            "{} was not printed: {result}",
            canary.name
        );
    }
    assert_absent(&canaries, said.as_bytes(), "the agent's message");
    let seen: Vec<String> = run.seen().iter().map(ToString::to_string).collect();
    assert_absent(&canaries, seen.concat().as_bytes(), "what was shown live");
    host.stop();
    assert_absent_from_files(&canaries, &host.data_folder());
    assert_absent(&canaries, host.log().as_bytes(), "the log");
}

fn recordings(host: &TestHost) -> String {
    let files = files_below(&host.data_folder().join("recordings"));
    files
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

/// Fails where a secret is in any file of a folder; answers the files.
fn assert_absent_from_files(canaries: &[Canary], folder: &Path) -> Vec<PathBuf> {
    let files = files_below(folder);
    for path in &files {
        // A file may be gone since it was listed: agents tidy up.
        let Ok(bytes) = fs::read(path) else { continue };
        assert_absent(canaries, &bytes, &path.display().to_string());
        let name = path.to_string_lossy();
        assert_absent(canaries, name.as_bytes(), "a file's name");
    }
    files
}

fn assert_absent(canaries: &[Canary], bytes: &[u8], place: &str) {
    for Canary { name, value } in canaries {
        let found = bytes
            .windows(value.len())
            .any(|part| part == value.as_bytes());
        assert!(!found, "{name} is in {place}");
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files
}
