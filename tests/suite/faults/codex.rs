//! A codex that is missing, logged out, too old or something else. The last three are played by a stub.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::fake::refusal;
use crate::support::{Configuration, TestHost, agents};

/// Each with what a person is told: cause and remedy.
const CASES: &[(&str, &[&str])] = &[
    (
        "missing",
        &[
            "`/no/such/codex` was not found",
            "npm install -g @openai/codex",
        ],
    ),
    (
        "missing-on-path",
        &[
            "`no-such-codex` was not found",
            "npm install -g @openai/codex",
        ],
    ),
    (
        "not-executable",
        &["may not be executed", "Make it executable"],
    ),
    (
        "relative",
        &["neither a name nor an absolute path", "Set `command`"],
    ),
    (
        "logged-out",
        &["not logged in", "codex login", "OPENAI_API_KEY"],
    ),
    (
        "old",
        &["Codex 0.99.0 is too old", "0.113.0 or newer", "npm install"],
    ),
    (
        "old-handshake",
        &["Codex 0.99.0 is too old", "0.113.0 or newer", "npm install"],
    ),
    (
        "other-program",
        &[
            "exit code 2 before it answered",
            "not a codex",
            "npm install",
        ],
    ),
    (
        "chatty",
        &["`hello`", "not its protocol", "Check the command"],
    ),
    (
        "silent",
        &[
            "did not answer its greeting within 10 s",
            "codex app-server",
            "npm install",
        ],
    ),
];

fn command_of(case: &str) -> Vec<String> {
    let stub = Path::new(env!("CARGO_MANIFEST_DIR")).join("suite/faults/fake-codex.sh");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    match case {
        "missing" => vec!["/no/such/codex".to_owned()],
        "missing-on-path" => vec!["no-such-codex".to_owned()],
        "not-executable" => vec!["@FOLDER@/shop/README.md".to_owned()],
        "relative" => vec!["bin/codex".to_owned()],
        "logged-out" => vec![text(&agents::codex())],
        other => vec!["sh".to_owned(), text(&stub), other.to_owned()],
    }
}

#[test]
fn what_is_wrong_with_a_codex_is_told_with_its_remedy_and_others_go_on() {
    let mut configuration = Configuration::default().scripted();
    for (case, _) in CASES {
        configuration = configuration.provider(&format!(
            "id = \"{case}\"\ndriver = \"codex\"\ncommand = {:?}\n[providers.env]\nCODEX_HOME = \"@FOLDER@/codex-home\"",
            command_of(case)
        ));
    }
    let host = TestHost::start(&configuration);
    let readme = host.project().join("README.md");
    assert_eq!(readme.metadata().unwrap().permissions().mode() & 0o111, 0);
    for (case, words) in CASES {
        let reason = refusal(&host, case);
        for word in *words {
            assert!(
                reason.contains(word),
                "{case} does not say {word:?}: {reason}"
            );
        }
    }
    let other = host.run("scripted", "script: say hello").result();
    assert_eq!(other["text"], "hello", "{other}");
}

#[test]
fn an_instance_is_usable_again_once_its_program_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("weft-late");
    let table = format!("command = [{program:?}]");
    let host = TestHost::start(&Configuration::default().scripted_as("late", &table));
    assert!(refusal(&host, "late").contains("was not found"));
    std::os::unix::fs::symlink(agents::weft(), &program).unwrap();
    // Bad news is looked at again when work comes and the news is 5 s old.
    let begun = std::time::Instant::now();
    let thread = loop {
        let output = host.weft(&[
            "run",
            "--project",
            "shop",
            "--provider",
            "late",
            "--",
            "script: say hello",
        ]);
        if output.status.success() {
            break output;
        }
        assert!(begun.elapsed() < crate::support::PATIENCE, "{output:?}");
    };
    assert!(String::from_utf8_lossy(&thread.stdout).contains("hello"));
}
