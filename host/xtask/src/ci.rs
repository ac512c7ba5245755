//! What CI runs, and the benchmark.

use std::fs;

use clap::Args;

use crate::build::{self, Profile};
use crate::shell::{cargo, root, run, target};
use crate::test::{self, TestArguments};

/// Formatting and lints, warnings denied.
pub(crate) fn lint() -> anyhow::Result<()> {
    let plugins = root().join("plugins");
    run(cargo().args(["fmt", "--all", "--check"]))?;
    run(cargo()
        .current_dir(&plugins)
        .args(["fmt", "--all", "--check"]))?;
    run(cargo().args([
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    run(cargo()
        .current_dir(&plugins)
        .env("CARGO_TARGET_DIR", plugins.join("target"))
        .args([
            "clippy",
            "--locked",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]))
}

/// Lints and every test, in the order in which they fail soonest.
pub(crate) fn all() -> anyhow::Result<()> {
    lint()?;
    test::task(&TestArguments::default())
}

/// What `cargo xtask bench` takes.
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Words for the benchmark, for example `--write`, `--quick` or `--only http`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Builds the release host and drivers, installs what they are held against, and prints the figures.
pub(crate) fn bench(arguments: &BenchArguments) -> anyhow::Result<()> {
    const PEER: &str = "tests/bench/peer";
    const SERVER: &str = "server.mjs";
    let binary = build::all(Profile::Release)?;
    let peer = target().join("bench-peer");
    crate::agents::install_pinned(PEER, "bench-peer")?;
    // Beside its packages, where Node looks for them.
    fs::copy(root().join(PEER).join(SERVER), peer.join(SERVER))?;
    run(cargo()
        .args(["run", "--locked", "--release", "--package", "bench", "--"])
        .args(&arguments.words)
        .env("WEFT_TEST_BINARY", binary)
        .env("WEFT_TEST_AGENTS", crate::agents::install()?)
        .env("WEFT_BENCH_PEER", peer))
}
