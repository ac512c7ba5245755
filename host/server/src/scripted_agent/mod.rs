//! `weft scripted-agent`: an agent whose behaviour stands in the prompt.
//!
//! It lets a person without any agent and account see Weft work, and it is the agent of most tests. It
//! speaks lines of JSON on its standard input and output (`docs/scripted-agent.md`), holds several threads
//! at once, plays the script language of the `script` crate, and calls tools over MCP like any agent.
//!
//! One task reads the host's lines and hands them to one task per thread; the threads write their events to
//! one queue, which a thread of the operating system empties into the output.

mod agent;
mod input;
mod limits;
mod output;
mod protocol;
mod shared;
mod thread;
mod tools;

#[cfg(test)]
mod tests;

use std::io;

use agent::Agent;

/// The scripted agent can't run.
#[derive(Debug, thiserror::Error)]
pub enum ScriptedAgentError {
    /// A thread for the standard input or output could not be started.
    #[error("can't start a thread for {stream}: {source}")]
    Start {
        /// The stream.
        stream: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// Runs until the standard input ends or the standard output is closed.
///
/// # Errors
/// The process is out of threads.
pub async fn run() -> Result<(), ScriptedAgentError> {
    serve(io::BufReader::new(io::stdin()), io::stdout()).await
}

/// Runs over any pair of streams.
async fn serve<R, W>(reader: R, writer: W) -> Result<(), ScriptedAgentError>
where
    R: io::BufRead + Send + 'static,
    W: io::Write + Send + 'static,
{
    let output = output::start(writer).map_err(|source| ScriptedAgentError::Start {
        stream: "the standard output",
        source,
    })?;
    let input = input::start(reader).map_err(|source| ScriptedAgentError::Start {
        stream: "the standard input",
        source,
    })?;
    Agent::new(output).run(input).await;
    Ok(())
}
