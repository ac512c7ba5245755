//! One thread: its place in the script, and the turns that play it.

mod turn;
mod wait;

use std::collections::HashSet;

use script::Entry;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::output::{HostGone, Output};
use super::protocol::{Event, Mcp, NativeId, ThreadId};
use super::shared::{Command, Shared};
use super::tools::Tools;

/// A thread that is open.
#[derive(Debug)]
struct Thread {
    id: ThreadId,
    inbox: mpsc::Receiver<Command>,
    output: Output,
    shared: Shared,
    /// `None` where the thread has no MCP server.
    tools: Option<Tools>,
    /// The conversation since the last message with a script.
    history: Vec<Entry>,
    /// Scripts so far, to tell their steps apart.
    scripts: u64,
    /// `failonce` steps that failed already: script and step.
    failed_once: HashSet<(u64, usize)>,
    /// The host wants the thread closed.
    closing: bool,
}

/// Opens a thread, plays its turns until it is closed, and forgets it.
pub(super) async fn run(
    id: ThreadId,
    native: Option<NativeId>,
    mcp: Option<Mcp>,
    inbox: mpsc::Receiver<Command>,
    output: Output,
    shared: Shared,
) {
    let native = native.unwrap_or_else(|| NativeId(Uuid::new_v4().to_string()));
    // A lost host ends the process; there is nobody left to tell.
    let _ = serve(id, native, mcp, inbox, output, shared).await;
}

async fn serve(
    id: ThreadId,
    native: NativeId,
    mcp: Option<Mcp>,
    mut inbox: mpsc::Receiver<Command>,
    output: Output,
    shared: Shared,
) -> Result<(), HostGone> {
    let tools = match mcp {
        None => None,
        Some(mcp) => match Tools::connect(mcp).await {
            Ok(tools) => Some(tools),
            Err(error) => {
                shared.remove_thread(&id);
                refuse_waiting(&mut inbox, &output, &shared).await?;
                let message = error.to_string();
                return output
                    .emit(&Event::OpenFailed {
                        thread: id,
                        message,
                    })
                    .await;
            }
        },
    };
    let history = shared.take_history(&native).unwrap_or_default();
    output
        .emit(&Event::Opened {
            thread: id.clone(),
            native: native.clone(),
        })
        .await?;
    let mut thread = Thread {
        id,
        inbox,
        output,
        shared,
        tools,
        history,
        scripts: 0,
        failed_once: HashSet::new(),
        closing: false,
    };
    thread.turns().await?;
    thread.close(native).await
}

/// Answers commands that came for a thread that is not open, or not any more.
async fn refuse_waiting(
    inbox: &mut mpsc::Receiver<Command>,
    output: &Output,
    shared: &Shared,
) -> Result<(), HostGone> {
    inbox.close();
    while let Some(command) = inbox.recv().await {
        refuse(command, "the thread is not open", output, shared).await?;
    }
    Ok(())
}

/// Answers a command that can't be followed. None is needed where nothing is left to do.
async fn refuse(
    command: Command,
    why: &str,
    output: &Output,
    shared: &Shared,
) -> Result<(), HostGone> {
    let message = why.to_owned();
    let refusal = match command {
        Command::Turn { turn, .. } => {
            // It never starts, so its name is free again.
            shared.remove_turn(&turn);
            Event::TurnRefused { turn, message }
        }
        Command::Steer { turn, .. } => Event::SteerRefused { turn, message },
        Command::Interrupt { turn } => Event::InterruptRefused { turn, message },
        Command::Answer { request, .. } => Event::AnswerRefused { request, message },
        Command::Close => return Ok(()),
    };
    output.emit(&refusal).await
}

impl Thread {
    /// Plays turns as they come.
    async fn turns(&mut self) -> Result<(), HostGone> {
        while !self.closing {
            match self.inbox.recv().await {
                Some(Command::Turn { turn, text }) => self.play(turn, text).await?,
                Some(Command::Close) | None => return Ok(()),
                Some(command) => {
                    refuse(command, "no turn is running", &self.output, &self.shared).await?;
                }
            }
        }
        Ok(())
    }

    async fn close(mut self, native: NativeId) -> Result<(), HostGone> {
        self.shared.remove_thread(&self.id);
        refuse_waiting(&mut self.inbox, &self.output, &self.shared).await?;
        if let Some(tools) = self.tools {
            tools.close().await;
        }
        self.shared.keep_history(native, self.history);
        self.output.emit(&Event::Closed { thread: self.id }).await
    }

    /// Adds a message to the conversation. What came before a script has no bearing on it.
    fn hear(&mut self, text: String) {
        if text.contains(script::MARKER) {
            self.history.clear();
            self.scripts += 1;
        }
        self.history.push(Entry::User(text));
    }
}
