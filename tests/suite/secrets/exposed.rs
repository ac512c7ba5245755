//! What the CLI cannot prevent, exactly as `docs/providers.md` lists it: the bearer, and the key of the model.

use model::ModelServer;

use super::handed::Handed;
use crate::support::scripts::script;
use crate::support::{Configuration, TestHost, told};

/// Environment of the command, of its parent and of every process it sees.
const READ: &str = "shell cat /proc/self/environ /proc/$PPID/environ /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'";

#[tokio::test(flavor = "multi_thread")]
async fn with_the_bearer_in_frames_a_command_with_full_access_finds_the_models_key() {
    for (runtime_mode, found) in [
        ("full-access", [false, true]),
        ("auto-accept-edits", [false, false]),
        ("approval-required", [false, false]),
    ] {
        let seen = found_by_a_command("frames", runtime_mode).await;
        assert_eq!(seen, found, "{runtime_mode}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_bearer_in_the_environment_a_command_with_full_access_finds_both() {
    for (runtime_mode, found) in [
        ("full-access", [true, true]),
        ("auto-accept-edits", [false, false]),
        ("approval-required", [false, false]),
    ] {
        let seen = found_by_a_command("environment", runtime_mode).await;
        assert_eq!(seen, found, "{runtime_mode}");
    }
}

/// Whether a command found the bearer, and the key of the model.
async fn found_by_a_command(mcp_injection: &str, runtime_mode: &str) -> [bool; 2] {
    let model = ModelServer::start().await.unwrap();
    let handed = Handed::new();
    let settings = format!("settings = {{ mcp_injection = \"{mcp_injection}\" }}");
    let configuration =
        Configuration::default().codex_behind("codex", &handed.program(), &model, &settings);
    let host = TestHost::start(&configuration);
    let words = ["--runtime-mode", runtime_mode];
    let mut run = host.run_with("codex", &words, &script(&[READ, "say Done."]));
    if runtime_mode == "approval-required" {
        let request = run.request();
        host.weft_ok(&["request", "allow", request["id"].as_str().unwrap()]);
    }
    assert_eq!(run.completed(), "Done.");
    let result = told::results(&model, "exec_command").remove(0);
    assert!(result.contains("PATH="), "{result}");
    handed
        .canaries()
        .map(|canary| result.contains(&canary.value))
}
