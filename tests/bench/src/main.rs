//! Measures the host, each figure beside its limit in the same run.
#![forbid(unsafe_code)]

mod agent;
mod commands;
mod delegation;
mod dialogue;
mod fleet;
mod guests;
mod http;
mod journal;
mod live;
mod machine;
mod report;
mod samples;
mod stamps;
mod start;
mod tape;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Parser, Subcommand, ValueEnum};

use report::Report;

/// Measures the host, each figure beside its limit in the same run.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only these figures.
    #[arg(long, value_enum)]
    only: Vec<Figure>,
    /// Few samples: to see that it works.
    #[arg(long)]
    quick: bool,
    /// Puts the table into docs/performance.md.
    #[arg(long)]
    write: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

/// A group of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Figure {
    /// A line through the codex driver; start and memory of a session's guest.
    Guests,
    /// Durable commands.
    Commands,
    /// `task_status` over HTTP.
    Http,
    /// Delegating calls and their answers.
    Delegation,
    /// Start and memory of the server; size of its binary.
    Start,
    /// Eight codex threads in one app-server.
    Fleet,
}

/// What the benchmark starts in processes of its own.
#[derive(Debug, Subcommand)]
#[command(hide = true)]
enum Part {
    /// Holds idle guests and prints what one takes.
    IdleGuests {
        side: guests::Side,
        #[arg(long)]
        drivers: PathBuf,
    },
    /// Serves the endpoint over a real journal.
    ServeWeft {
        #[arg(long)]
        callers: usize,
    },
    /// Serves rmcp with an echo.
    ServeEcho,
    /// An app-server that answers at once.
    Agent {
        stamps: PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Writes a long journal and goes on writing.
    Fill { journal: PathBuf, events: u64 },
    /// Runs a real agent and stamps what goes through.
    Window {
        stamps: PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Effort {
    /// Rounds: in each, both sides of a figure are measured, one after the other.
    rounds: u32,
    /// Samples of one side in a round, where they are cheap.
    samples: u32,
}

impl Effort {
    const FULL: Self = Self {
        rounds: 7,
        samples: 60,
    };
    const QUICK: Self = Self {
        rounds: 2,
        samples: 3,
    };
}

/// Where the programs under measurement are.
#[derive(Clone, Debug)]
struct Places {
    /// The `weft` binary.
    weft: PathBuf,
    /// Folder of its drivers.
    drivers: PathBuf,
    /// Folder of the MCP server for Node, with its packages.
    peer: PathBuf,
    /// The real codex, where it is installed.
    codex: PathBuf,
}

impl Places {
    fn find() -> anyhow::Result<Self> {
        let weft = match std::env::var_os("WEFT_TEST_BINARY") {
            Some(path) => PathBuf::from(path),
            // Cargo puts both programs of the workspace into one folder.
            None => std::env::current_exe()?.with_file_name("weft"),
        };
        let drivers = weft.with_file_name("drivers");
        anyhow::ensure!(
            weft.is_file() && drivers.is_dir(),
            "no weft with drivers at {}: run `cargo xtask bench`",
            weft.display()
        );
        let peer = match std::env::var_os("WEFT_BENCH_PEER") {
            Some(path) => PathBuf::from(path),
            None => target_of(&weft)?.join("bench-peer"),
        };
        let agents = match std::env::var_os("WEFT_TEST_AGENTS") {
            Some(path) => PathBuf::from(path),
            None => target_of(&weft)?.join("agents/node_modules/.bin"),
        };
        Ok(Self {
            weft,
            drivers,
            peer,
            codex: agents.join("codex"),
        })
    }
}

/// The folder of build output that a program of one profile is in.
fn target_of(program: &std::path::Path) -> anyhow::Result<PathBuf> {
    let target = program
        .ancestors()
        .nth(2)
        .context("no folder of build output")?;
    Ok(target.to_path_buf())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.part {
        Some(Part::IdleGuests { side, drivers }) => guests::idle(side, &drivers).await,
        Some(Part::ServeWeft { callers }) => http::serve_weft(callers).await,
        Some(Part::Agent { stamps, words: _ }) => agent::serve(&stamps),
        Some(Part::Fill { journal, events }) => start::fill(&journal, events).await,
        Some(Part::Window { stamps, words }) => agent::window(&stamps, &words),
        Some(Part::ServeEcho) => http::serve_echo().await,
        None => measure(&arguments).await,
    }
}

async fn measure(arguments: &Arguments) -> anyhow::Result<()> {
    let places = Places::find()?;
    let effort = if arguments.quick {
        Effort::QUICK
    } else {
        Effort::FULL
    };
    let machine = machine::describe()?;
    eprintln!("{machine}");
    let wanted = |figure| arguments.only.is_empty() || arguments.only.contains(&figure);
    let mut report = Report::default();
    if wanted(Figure::Guests) {
        let driver = guests::load(&places.drivers).await?;
        guests::lines(&driver, effort, &mut report)?;
        guests::starts(&driver, &places.drivers, effort, &mut report)?;
        guests::memory(&places.drivers, effort, &mut report)?;
    }
    if wanted(Figure::Commands) {
        commands::measure(effort, &mut report)
            .await
            .context("durable commands")?;
    }
    if wanted(Figure::Http) {
        http::measure(&places.peer, effort, &mut report)
            .await
            .context("calls over HTTP")?;
    }
    if wanted(Figure::Delegation) {
        delegation::measure(&places, effort, &mut report)
            .await
            .context("delegations")?;
    }
    if wanted(Figure::Start) {
        start::measure(&places, effort, &mut report)
            .await
            .context("start and memory")?;
    }
    if wanted(Figure::Fleet) && places.codex.is_file() {
        fleet::measure(&places, effort, &mut report)
            .await
            .context("many codex threads")?;
    }
    let figures = report.markdown(&machine);
    println!("{figures}");
    if arguments.write {
        report::write(&document()?, &figures)?;
    }
    Ok(())
}

/// The document the figures stand in.
fn document() -> anyhow::Result<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).context("no repository")?;
    Ok(root.join("docs/performance.md"))
}
