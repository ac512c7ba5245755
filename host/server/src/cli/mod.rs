//! The `weft` command line.

mod args;
mod follow;
mod listing;
mod live;
mod out;
mod plain;
mod request;
mod run;
mod shared;
#[cfg(test)]
mod tests;
mod thread;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Arguments, Command, ConfigCommand, DriverCommand};
use out::Out;

pub(crate) use args::Serve;
pub(crate) use shared::{Failure, Setup};

/// Outcome of a command that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As asked.
    Done,
    /// The run followed failed.
    RunFailed,
    /// The run followed was stopped.
    RunStopped,
    /// The person stopped following; the run goes on.
    LeftAlone,
}

/// Exit code of a command that could not be carried out.
const EXIT_REFUSED: u8 = 1;
/// Exit code of a followed run that failed.
const EXIT_RUN_FAILED: u8 = 3;
/// Exit code of a followed run that was stopped.
const EXIT_RUN_STOPPED: u8 = 4;
/// Exit code after an interrupt from the keyboard, as shells have it.
const EXIT_INTERRUPTED: u8 = 130;
/// Exit code when nobody reads the output any more, as shells have it.
const EXIT_CLOSED_PIPE: u8 = 141;

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::RunFailed => Self::from(EXIT_RUN_FAILED),
            Outcome::RunStopped => Self::from(EXIT_RUN_STOPPED),
            Outcome::LeftAlone => Self::from(EXIT_INTERRUPTED),
        }
    }
}

/// Carries out the process's command line.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = carry_out(arguments);
    match result {
        Ok(outcome) => outcome.into(),
        Err(failure) if failure.is_closed_pipe() => ExitCode::from(EXIT_CLOSED_PIPE),
        Err(failure) => {
            // Standard error may be closed too; then the exit code alone tells.
            let _ = failure.tell(&mut std::io::stderr());
            ExitCode::from(EXIT_REFUSED)
        }
    }
}

fn carry_out(arguments: Arguments) -> Result<Outcome, Failure> {
    let setup = Setup {
        config: arguments.config,
        data_folder: arguments.data_folder,
    };
    let mut out = Out::standard();
    let outcome = match arguments.command {
        Command::Serve(serve) => return crate::serve::command(&setup, &serve),
        Command::ScriptedAgent => {
            block_on(async { crate::scripted_agent::run().await.map_err(Failure::other) })??;
            Outcome::Done
        }
        Command::Config(ConfigCommand::Check { file }) => {
            listing::check_config(&mut out, &setup, file.as_deref())?
        }
        Command::Driver(DriverCommand::List { json }) => {
            block_on(listing::drivers(&mut out, &setup, json))??
        }
        Command::Tools { json } => listing::tools(&mut out, json)?,
        Command::Project(command) => block_on(listing::project(&mut out, &setup, command))??,
        Command::Run(run) => block_on(run::run(&mut out, &setup, run))??,
        Command::Thread(command) => block_on(thread::thread(&mut out, &setup, command))??,
        Command::Request(command) => block_on(request::request(&mut out, &setup, command))??,
    };
    out.flush()?;
    Ok(outcome)
}

fn block_on<F: Future>(future: F) -> Result<F::Output, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(future))
}
