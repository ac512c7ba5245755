//! Every test, with what it needs built and installed first.

use clap::Args;

use crate::build::{self, Profile};
use crate::shell::{cargo, output_of, root, run};
use crate::{agents, shell};

/// What `cargo xtask test` takes.
#[derive(Debug, Default, Args)]
pub(crate) struct TestArguments {
    /// Words handed on to the test runner, for example a part of a test's name.
    #[arg(last = true)]
    filter: Vec<String>,
}

/// Runs the drivers' own tests, then everything else.
pub(crate) fn task(arguments: &TestArguments) -> anyhow::Result<()> {
    let programs = agents::install()?;
    build::all(Profile::Dev)?;
    let plugins = root().join("plugins");
    if arguments.filter.is_empty() {
        run(runner()?
            .current_dir(&plugins)
            .env("CARGO_TARGET_DIR", plugins.join("target"))
            .args(["--locked", "--workspace"]))?;
    }
    run(runner()?
        .env("WEFT_TEST_AGENTS", programs)
        .env("WEFT_TEST_BINARY", shell::target().join("debug/weft"))
        .env("INSTA_UPDATE", "no")
        .args(["--locked", "--workspace"])
        .args(&arguments.filter))
}

/// cargo-nextest where it is installed: it runs each test in a process of its own, with a time limit.
fn runner() -> anyhow::Result<std::process::Command> {
    let mut command = cargo();
    let installed = output_of(cargo().arg("--list"))?;
    if installed
        .lines()
        .any(|line| line.trim().starts_with("nextest"))
    {
        command.args(["nextest", "run"]);
    } else {
        command.arg("test");
    }
    Ok(command)
}
