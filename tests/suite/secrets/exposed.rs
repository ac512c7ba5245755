//! What the CLI cannot prevent, exactly as `docs/providers.md` lists it.

use model::ModelServer;

use super::handed::Handed;
use crate::support::scripts::script;
use crate::support::{Configuration, TestHost, told};

/// For each way to hand over the bearer and each runtime mode: what a command finds in its parent's environment.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_finds_in_its_parents_environment_what_the_documentation_lists() {
    let found = |mcp_injection, runtime_mode| async move {
        let model = ModelServer::start().await.unwrap();
        let handed = Handed::new();
        let settings = format!("settings = {{ mcp_injection = \"{mcp_injection}\" }}");
        let configuration =
            Configuration::default().codex_behind("codex", &handed.program(), &model, &settings);
        let host = TestHost::start(&configuration);
        let read = "shell cat /proc/self/environ /proc/$PPID/environ /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'";
        let words = ["--runtime-mode", runtime_mode];
        let mut run = host.run_with("codex", &words, &script(&[read, "say Done."]));
        assert_eq!(run.completed(), "Done.");
        let result = told::results(&model, "exec_command").remove(0);
        eprintln!("{mcp_injection} {runtime_mode} {result}");
        handed
            .canaries()
            .map(|canary| result.contains(&canary.value))
    };
    for (mcp_injection, runtime_mode, bearer, key) in [
        ("frames", "full-access", false, true),
        ("frames", "auto-accept-edits", false, false),
        ("environment", "full-access", true, true),
        ("environment", "auto-accept-edits", false, false),
    ] {
        let case = format!("{mcp_injection}, {runtime_mode}");
        assert_eq!(
            found(mcp_injection, runtime_mode).await,
            [bearer, key],
            "{case}"
        );
    }
}
