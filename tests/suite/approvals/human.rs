//! An agent that may do everything still may not answer for a person.

use std::os::unix::fs::PermissionsExt as _;

use model::ModelServer;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::scripts::script;
use crate::support::{Configuration, TestHost, agents, told};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_full_access_cannot_allow_anything() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model).scripted());
    let mut asking = host.run("scripted", "script: approve Deploy it? ;; say I got {{1}}");
    let request = asking.request();
    let id = request["id"].as_str().unwrap();
    let allow = format!(
        "{} --config {} request allow {id}",
        agents::weft().display(),
        host.folder().join("weft.toml").display()
    );
    // A process whose parent has ended, and which has left its session, is still the agent's.
    let (orphan, pipe) = (host.folder().join("orphan"), host.folder().join("pipe"));
    let text = format!(
        "#!/bin/sh\nuntil grep -q '^PPid:.{}$' /proc/$$/status; do :; done\n{allow} >{} 2>&1\n",
        host.pid(),
        pipe.display()
    );
    std::fs::write(&orphan, text).unwrap();
    std::fs::set_permissions(&orphan, std::fs::Permissions::from_mode(0o755)).unwrap();
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let orphaned = format!(
        "(setsid {} &); timeout 30 cat {}",
        orphan.display(),
        pipe.display()
    );

    let steps = [
        &format!("shell {allow} 2>&1"),
        &format!("shell {orphaned}"),
        "say Done.",
    ];
    let words = ["--runtime-mode", "full-access"];
    let mut run = host.run_with("codex", &words, &script(&steps));
    assert_eq!(run.completed(), "Done.");
    for result in told::results(&model, "exec_command") {
        assert!(result.contains("[human_only]"), "{result}");
    }
    let log = host.log();
    let refusals = log
        .lines()
        .filter(|line| line.contains("refused a call at the local socket") && line.contains(id));
    assert_eq!(refusals.count(), 2, "each refusal is logged");

    assert_eq!(
        host.weft_json(&["request", "list", "--json"])["requests"][0]["id"],
        id
    );
    host.weft_ok(&["request", "allow", id]);
    assert!(asking.completed().contains("accept"));
}
