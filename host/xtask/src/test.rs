//! Every test, with what it needs built and installed first.

use std::process::Command;

use clap::Args;

use crate::agents;
use crate::build::{self, Profile};
use crate::shell::{cargo, output_of, root, run, target};

/// The test runner's version where the machine brings none.
const NEXTEST: &str = "0.9.143";

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
    build::hostile_driver()?;
    let plugins = root().join("plugins");
    if arguments.filter.is_empty() {
        run(runner()?
            .current_dir(&plugins)
            .env("CARGO_TARGET_DIR", plugins.join("target"))
            .args(["--locked", "--workspace"]))?;
    }
    run(runner()?
        .env("WEFT_TEST_AGENTS", programs)
        .env("WEFT_TEST_BINARY", target().join("debug/weft"))
        .env("INSTA_UPDATE", "no")
        .args(["--locked", "--workspace"])
        .args(&arguments.filter))
}

/// cargo-nextest, installed into the build folder if the machine has none. It runs each test in a process of its own: the
/// tests of processes take every child of theirs for one they may end.
fn runner() -> anyhow::Result<Command> {
    let mut command = cargo();
    let installed = output_of(cargo().arg("--list"))?;
    if !installed
        .lines()
        .any(|line| line.trim().starts_with("nextest"))
    {
        let tools = target().join("tools");
        if !tools.join("bin/cargo-nextest").is_file() {
            eprintln!("Installing cargo-nextest {NEXTEST}.");
            run(cargo()
                .args(["install", "--locked", "--root"])
                .arg(&tools)
                .arg(format!("cargo-nextest@{NEXTEST}")))?;
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(tools.join("bin")).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders)?);
    }
    // One failure must not hide the others: a run takes minutes.
    command.args(["nextest", "run", "--no-fail-fast"]);
    Ok(command)
}
