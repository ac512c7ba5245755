//! Shows one agent delegate to two others at once, on a server of its own in a temporary folder.

mod host;
mod prompt;
mod show;

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::agents;
use crate::build::{self, Profile};
use crate::shell::{on_path, run};

use host::{Host, ScriptedModel};
use show::Watched;

/// What `cargo xtask demo` takes.
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Which agents work.
    #[arg(long, value_enum, default_value_t = Agent::Scripted)]
    agent: Agent,
    /// Play the model of a real agent, so that no account is needed.
    #[arg(long)]
    scripted_model: bool,
    /// Print one JSON result as the last line.
    #[arg(long)]
    json: bool,
    /// Leave the server up until Ctrl-C.
    #[arg(long)]
    keep: bool,
}

/// Which agents work in the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// Weft's own scripted agent.
    Scripted,
    /// The real codex CLI.
    Codex,
}

impl Agent {
    /// The provider instance's name, which is the driver's kind too.
    const fn word(self) -> &'static str {
        match self {
            Self::Scripted => "scripted",
            Self::Codex => "codex",
        }
    }
}

/// `cargo xtask demo`.
pub(crate) fn task(arguments: &DemoArguments) -> anyhow::Result<()> {
    if arguments.scripted_model && arguments.agent == Agent::Scripted {
        bail!("--scripted-model plays the model of a real agent: add --agent codex");
    }
    let program = program_of(arguments)?;
    let binary = build::all(Profile::Dev)?;
    let folder = tempfile::tempdir()?;
    let project = folder.path().join("project");
    make_project(&project)?;
    let model = if arguments.scripted_model {
        Some(ScriptedModel::start()?)
    } else {
        None
    };
    let mut host = Host::start(&binary, folder.path(), program.as_ref(), model.as_ref())?;
    host.weft(&[
        "project",
        "add",
        &project.to_string_lossy(),
        "--name",
        "demo",
    ])?;

    let begun = Instant::now();
    println!(
        "A {} agent delegates to two others at once:",
        arguments.agent.word()
    );
    let watched = watch(&host, arguments)?;
    let seconds = begun.elapsed().as_secs_f64();
    println!("\nThreads:");
    watched.print_tree();

    let completed = watched.completed_with_two_children();
    if arguments.json {
        let result = json!({
            "status": if completed { "completed" } else { "failed" },
            "agent": arguments.agent.word(),
            "tasks": watched.tasks(),
            "seconds": (seconds * 1000.0).round() / 1000.0,
        });
        println!("{result}");
    }
    if arguments.keep {
        host.keep(folder.path())?;
    }
    host.stop()?;
    if !completed {
        bail!(
            "the demo's run did not complete with two children: {}",
            watched.why()
        );
    }
    Ok(())
}

/// Program of a real agent: the pinned one where its model is played, else the one a person installed.
fn program_of(arguments: &DemoArguments) -> anyhow::Result<Option<PathBuf>> {
    match (arguments.agent, arguments.scripted_model) {
        (Agent::Scripted, _) => Ok(None),
        (Agent::Codex, true) => Ok(Some(agents::install()?.join("codex"))),
        (Agent::Codex, false) => match on_path("codex") {
            Some(program) => Ok(Some(program)),
            None => bail!(
                "codex is not installed. Install it with `npm install -g @openai/codex`, log in with `codex login`, \
                 then run this again. Without an account: cargo xtask demo --agent codex --scripted-model"
            ),
        },
    }
}

/// A small repository for the agents to work in.
fn make_project(folder: &std::path::Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(
        folder.join("README.md"),
        "# Demo\n\nA project for the demo of Weft.\n",
    )?;
    let git = |words: &[&str]| {
        run(Command::new("git")
            .current_dir(folder)
            .args(["-c", "user.name=demo", "-c", "user.email=demo@localhost"])
            .args(words))
    };
    git(&["init", "--quiet"])?;
    git(&["add", "."])?;
    git(&["commit", "--quiet", "--message", "Start"])
}

/// Starts the parent and shows every line of its tree as it comes.
fn watch(host: &Host, arguments: &DemoArguments) -> anyhow::Result<Watched> {
    let prompt = match (arguments.agent, arguments.scripted_model) {
        (Agent::Codex, false) => prompt::IN_WORDS.to_owned(),
        (Agent::Scripted | Agent::Codex, _) => prompt::script(),
    };
    let words = [
        "run",
        "--project",
        "demo",
        "--provider",
        arguments.agent.word(),
        "--json",
        &prompt,
    ];
    let mut watched = Watched::default();
    host.follow(&words, |line| watched.take(line))
        .context("the demo's run could not be followed")?;
    Ok(watched)
}
