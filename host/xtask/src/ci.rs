//! What CI runs, and the benchmark.

use crate::build::{self, Profile};
use crate::shell::{cargo, root, run};
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

/// Builds the release host and drivers and prints the figures.
pub(crate) fn bench() -> anyhow::Result<()> {
    let binary = build::all(Profile::Release)?;
    run(cargo()
        .args(["run", "--locked", "--release", "--package", "bench", "--"])
        .env("WEFT_TEST_BINARY", binary)
        .env("WEFT_TEST_AGENTS", crate::agents::install()?))
}
