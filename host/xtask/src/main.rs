//! Tasks of the repository: build, demo, test, bench, and what CI runs.
#![forbid(unsafe_code)]

mod agents;
mod build;
mod ci;
mod demo;
mod shell;
mod test;

use clap::{Parser, Subcommand};

/// Tasks of the repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Builds the release binary with its drivers: target/release/weft.
    Build(build::BuildArguments),
    /// Shows one agent delegate to two others, live.
    Demo(demo::DemoArguments),
    /// Runs every test, with the real agent CLIs.
    Test(test::TestArguments),
    /// Prints the figures, each beside its limit or peer.
    Bench(ci::BenchArguments),
    /// Checks formatting and lints, warnings denied.
    Lint,
    /// Runs what CI runs: lints and every test.
    Ci,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Build(arguments) => build::task(&arguments),
        Task::Demo(arguments) => demo::task(&arguments),
        Task::Test(arguments) => test::task(&arguments),
        Task::Bench(arguments) => ci::bench(&arguments),
        Task::Lint => ci::lint(),
        Task::Ci => ci::all(),
    }
}
