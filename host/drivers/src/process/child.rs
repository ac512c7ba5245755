//! One agent process: its pipes, its end, and the end of what it started.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use domain::session::ProcessRecord;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lines::{LineCutter, LineState, RawLine};
use super::marker::{HOST_VARIABLE, PROCESS_VARIABLE, SESSION_VARIABLE};
use super::stdin::{StdinError, StdinQueue};
use super::table::ProcessTable;
use super::tree::{Search, Tree};
use super::{proc_fs, signal};
use crate::limits;
use crate::secrets::SessionSecrets;

/// Bytes read from a pipe at once.
const READ_BYTES: usize = 8 << 10;

/// Most bytes a pipe holds.
const PIPE_BYTES_MAX: usize = 1 << 20;

/// Time between two looks at a tree that is being ended.
const END_POLL: Duration = Duration::from_millis(50);

/// What to start and where its output goes.
pub(crate) struct SpawnOrder {
    pub(crate) process_id: u32,
    pub(crate) session: String,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// The whole environment, values of secrets put in.
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) working_folder: PathBuf,
    pub(crate) line_bytes_max: usize,
    pub(crate) secrets: SessionSecrets,
    pub(crate) outlet: Outlet,
}

/// Where lines go, and how much of them may wait there.
#[derive(Clone, Debug)]
pub(crate) struct Outlet {
    events: mpsc::Sender<ProcessEvent>,
    room: Arc<Semaphore>,
}

impl Outlet {
    pub(crate) fn new() -> (Self, mpsc::Receiver<ProcessEvent>) {
        let (events, receiver) = mpsc::channel(limits::LINES_WAITING_MAX);
        let room = Arc::new(Semaphore::new(limits::LINE_BYTES_WAITING_MAX));
        (Self { events, room }, receiver)
    }
}

/// Which of its outputs a process wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// What a process did.
#[derive(Debug)]
pub(crate) enum ProcessEvent {
    /// It printed a line.
    Line {
        process_id: u32,
        stream: Stream,
        text: String,
        state: LineState,
        /// Room the line takes until it is handled; given back when it is dropped.
        _room: OwnedSemaphorePermit,
    },
    /// It ended and was reaped; its last line came before.
    Exited {
        process_id: u32,
        pid: u32,
        status: ExitStatus,
    },
}

/// Why a process did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpawnError {
    #[error("the working folder {0} does not exist")]
    NoFolder(String),
    #[error("the system cannot start it: {0}")]
    System(std::io::Error),
}

/// A running process as its session holds it. Dropping it closes its input and ends its tree.
#[derive(Debug)]
pub(crate) struct Supervised {
    pub(crate) record: ProcessRecord,
    stdin: Option<StdinQueue>,
    stop: CancellationToken,
    done: JoinHandle<()>,
}

impl Supervised {
    /// Starts a process. Its mark is in its environment from the first moment.
    pub(crate) fn start(table: &ProcessTable, order: SpawnOrder) -> Result<Self, SpawnError> {
        if !order.working_folder.is_dir() {
            return Err(SpawnError::NoFolder(
                order.working_folder.display().to_string(),
            ));
        }
        let mut child = Command::new(&order.program)
            .args(&order.arguments)
            .env_clear()
            .envs(&order.environment)
            .env(HOST_VARIABLE, table.marker().as_str())
            .env(SESSION_VARIABLE, &order.session)
            .env(PROCESS_VARIABLE, order.process_id.to_string())
            .current_dir(&order.working_folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            // If the runtime goes down in the middle, the leader at least does not outlive it.
            .kill_on_drop(true)
            .spawn()
            .map_err(SpawnError::System)?;
        let pid = child.id().unwrap_or_default();
        // Not reaped yet, so it is in the table even if it has ended already.
        let start_ticks = proc_fs::row(pid).map_or(0, |row| row.start_ticks);
        let record = ProcessRecord { pid, start_ticks };
        signal::keep_no_core_dump(pid);
        let tree = Arc::new(Tree::new(record, order.session, order.process_id));
        table.register(Arc::clone(&tree));
        let stdin = child.stdin.take().map(StdinQueue::start);
        let stop = CancellationToken::new();
        let supervisor = Supervisor {
            process_id: order.process_id,
            tree,
            table: table.clone(),
            stop: stop.clone(),
            reaped: CancellationToken::new(),
            abandon: CancellationToken::new(),
            outlet: order.outlet,
            line_bytes_max: order.line_bytes_max,
            secrets: order.secrets,
        };
        let done = tokio::spawn(supervisor.run(child));
        Ok(Self {
            record,
            stdin,
            stop,
            done,
        })
    }

    /// Queues one frame. A process whose input is closed takes nothing; its exit tells the rest.
    pub(crate) fn write(&self, frame: &str) -> Result<(), StdinError> {
        match &self.stdin {
            Some(stdin) => stdin.push(frame),
            None => Err(StdinError::Closed),
        }
    }

    /// Closes its standard input once what is queued was written.
    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Asks it to end, then ends it and everything it started.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until it and everything it started is gone.
    pub(crate) async fn ended(mut self) {
        self.close_stdin();
        if let Err(error) = (&mut self.done).await {
            tracing::error!(pid = self.record.pid, %error, "a process lost its supervisor");
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

struct Supervisor {
    process_id: u32,
    tree: Arc<Tree>,
    table: ProcessTable,
    stop: CancellationToken,
    /// The leader has ended.
    reaped: CancellationToken,
    /// Stop reading: whoever still holds the pipes is a descendant that is being ended.
    abandon: CancellationToken,
    outlet: Outlet,
    line_bytes_max: usize,
    secrets: SessionSecrets,
}

impl Supervisor {
    async fn run(self, mut child: Child) {
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let outputs_over = CancellationToken::new();
        let spoken = async {
            self.read(stdout, Stream::Stdout).await;
            self.end_if_mute().await;
        };
        let outputs = async {
            tokio::join!(spoken, self.read(stderr, Stream::Stderr));
            outputs_over.cancel();
        };
        let (status_sender, status) = tokio::sync::oneshot::channel();
        let life = async {
            let asked_at = self.leader_end(&mut child, status_sender).await;
            self.reaped.cancel();
            self.table.leader_reaped(&self.tree);
            let rest = self.signal_rest(Signal::TERM).await;
            // Where a descendant or a stranger holds the pipes, they do not end by themselves.
            let _ = tokio::time::timeout(limits::OUTPUT_AFTER_EXIT, outputs_over.cancelled()).await;
            self.abandon.cancel();
            if rest > 0 {
                self.rest_end(asked_at).await;
            }
        };
        let told = async {
            outputs.await;
            if let Ok(status) = status.await {
                let exited = ProcessEvent::Exited {
                    process_id: self.process_id,
                    pid: self.tree.leader().pid,
                    status,
                };
                // Nobody listens any more when the session is over.
                let _ = self.outlet.events.send(exited).await;
            }
        };
        tokio::join!(life, told);
    }

    /// Waits for the leader, or ends it when asked. Returns when the first signal was sent, if one was.
    async fn leader_end(
        &self,
        child: &mut Child,
        status: tokio::sync::oneshot::Sender<ExitStatus>,
    ) -> Option<Instant> {
        let mut asked_at = None;
        let early = tokio::select! {
            result = child.wait() => Some(result),
            () = self.stop.cancelled() => None,
        };
        let result = match early {
            Some(result) => result,
            None => {
                asked_at = Some(Instant::now());
                self.remember().await;
                signal::send_to_group(self.tree.leader().pid, Signal::TERM);
                self.signal_rest(Signal::TERM).await;
                match tokio::time::timeout(limits::STOP_GRACE, child.wait()).await {
                    Ok(result) => result,
                    Err(_) => {
                        self.remember().await;
                        signal::send_to_group(self.tree.leader().pid, Signal::KILL);
                        child.wait().await
                    }
                }
            }
        };
        match result {
            // The reader of the status is this task's other half.
            Ok(exit) => drop(status.send(exit)),
            Err(error) => {
                tracing::error!(pid = self.tree.leader().pid, %error, "cannot wait for a process");
            }
        }
        asked_at
    }

    /// Ends the descendants: a grace from the first signal on, then for good.
    async fn rest_end(&self, asked_at: Option<Instant>) {
        let grace_over = asked_at.unwrap_or_else(Instant::now) + limits::STOP_GRACE;
        while Instant::now() < grace_over {
            tokio::time::sleep(END_POLL).await;
            if self.remember().await == 0 {
                return;
            }
        }
        let give_up = Instant::now() + limits::SWEEP_TIME_MAX;
        while self.signal_rest(Signal::KILL).await > 0 {
            if Instant::now() > give_up {
                tracing::error!(
                    pid = self.tree.leader().pid,
                    "descendants of an agent outlive every signal"
                );
                return;
            }
            tokio::time::sleep(END_POLL).await;
        }
    }

    /// Remembers the descendants; how many run.
    async fn remember(&self) -> usize {
        self.rest(Search::Orphans, None).await
    }

    async fn signal_rest(&self, with: Signal) -> usize {
        self.rest(Search::Everything, Some(with)).await
    }

    async fn rest(&self, search: Search, with: Option<Signal>) -> usize {
        let (table, tree) = (self.table.clone(), Arc::clone(&self.tree));
        let looked = tokio::task::spawn_blocking(move || table.rest(&tree, search, with)).await;
        looked.unwrap_or_else(|error| {
            tracing::error!(%error, "a look at the process table failed");
            0
        })
    }

    async fn read(&self, pipe: Option<impl AsyncRead + Unpin>, stream: Stream) {
        let Some(mut pipe) = pipe else { return };
        let mut cutter = LineCutter::new(self.line_bytes_max);
        let mut buffer = vec![0; READ_BYTES];
        let mut left_after_end = PIPE_BYTES_MAX;
        loop {
            let read = tokio::select! {
                biased;
                read = pipe.read(&mut buffer) => read,
                () = self.abandon.cancelled() => break,
            };
            let bytes = match read {
                Ok(0) => break,
                Ok(count) => buffer.get(..count).unwrap_or_default(),
                Err(error) => {
                    tracing::debug!(%error, "a pipe of an agent cannot be read");
                    break;
                }
            };
            if self.abandon.is_cancelled() {
                // What was in the pipe when the process ended is read; what a descendant adds is not.
                let Some(left) = left_after_end.checked_sub(bytes.len()) else {
                    break;
                };
                left_after_end = left;
            }
            // Cutting a slice in memory does not fail.
            for line in cutter.push(bytes).unwrap_or_default() {
                if self.tell(stream, line).await.is_err() {
                    return;
                }
            }
        }
        if let Some(line) = cutter.finish() {
            // Nobody listens any more when the session is over.
            let _ = self.tell(stream, line).await;
        }
    }

    /// Ends a process that has closed its standard output and lives on: nothing it does can be heard any more.
    async fn end_if_mute(&self) {
        tokio::select! {
            () = self.reaped.cancelled() => return,
            () = tokio::time::sleep(limits::EXIT_AFTER_OUTPUT) => {}
        }
        let remark = RawLine {
            text: "(host) It closed its standard output without ending, so it was ended."
                .to_owned(),
            state: LineState::Whole,
        };
        // Nobody listens any more when the session is over.
        let _ = self.tell(Stream::Stderr, remark).await;
        self.stop.cancel();
    }

    async fn tell(&self, stream: Stream, line: RawLine) -> Result<(), Unheard> {
        let text = match line.state {
            LineState::Whole => match self.secrets.scrub(&line.text) {
                std::borrow::Cow::Borrowed(_) => line.text,
                std::borrow::Cow::Owned(scrubbed) => scrubbed,
            },
            LineState::Unterminated | LineState::OverLimit => self.secrets.scrub_cut(&line.text),
        };
        let size = text.len().clamp(1, limits::LINE_BYTES_WAITING_MAX);
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.outlet.room).acquire_many_owned(size);
        let room = tokio::select! {
            room = room => room.map_err(|_| Unheard)?,
            () = self.outlet.events.closed() => return Err(Unheard),
        };
        let event = ProcessEvent::Line {
            process_id: self.process_id,
            stream,
            text,
            state: line.state,
            _room: room,
        };
        self.outlet.events.send(event).await.map_err(|_| Unheard)
    }
}

/// The session is over.
struct Unheard;

/// How a process ended, as the interface says it.
pub(crate) fn exit_cause(status: ExitStatus) -> crate::bindings::v0_1::types::ExitCause {
    use crate::bindings::v0_1::types::ExitCause;
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitCause::Code(code),
        (None, Some(signal)) => ExitCause::Signal(signal),
        (None, None) => ExitCause::Signal(0),
    }
}

#[cfg(test)]
#[path = "child_tests.rs"]
mod tests;
