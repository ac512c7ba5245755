//! What goes over the local socket. Shared by the server and the command line, which are one program:
//! both ends check [`PROTOCOL`], so the shapes may change with the program.

use domain::command::{SendMode, Sent};
use domain::item::{ItemKind, ItemStatus};
use domain::modes::{InteractionMode, RuntimeMode};
use domain::request::{Choice, Prompt, Reply};
use domain::run::RunStatus;
use domain::task::TaskStatus;
use serde::{Deserialize, Serialize};

/// Version of these shapes. A client with another one is told to use the server's program.
pub const PROTOCOL: u32 = 1;

/// Header that carries [`PROTOCOL`] in both directions.
pub const PROTOCOL_HEADER: &str = "x-weft-protocol";

/// An error of the socket.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorView {
    /// The word of the contracts, for example `human_only`.
    pub code: String,
    /// For people: what was wrong and what to do.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

/// The host itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostView {
    /// Version of the program.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Where agents reach the tools.
    pub mcp_url: String,
    /// Provider instances in the operator's order.
    pub providers: Vec<ProviderView>,
}

/// A provider instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderView {
    /// Its id.
    pub id: String,
    /// Its driver.
    pub driver: String,
    /// `starting`, `ready` or `unusable`.
    pub readiness: String,
    /// Why it can't be used.
    pub constraints: Vec<String>,
    /// Version of the provider.
    pub version: Option<String>,
    /// Models it publishes.
    pub models: Vec<String>,
}

/// A Project.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectView {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Absolute path of its folder.
    pub root: String,
    /// When it was registered.
    pub created_at: String,
}

/// Registers a Project.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddProject {
    /// `None`: the folder's name.
    pub name: Option<String>,
    /// Path of the folder; the server makes it canonical.
    pub root: String,
}

/// Makes a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateThread {
    /// Id, name or root of its Project.
    pub project: String,
    /// Provider instance; `None`: the configured default.
    pub provider: Option<String>,
    /// Model; `None`: the default.
    pub model: Option<String>,
    /// `None`: the default.
    pub runtime_mode: Option<RuntimeMode>,
    /// `None`: the default.
    pub interaction_mode: Option<InteractionMode>,
    /// `None`: from the prompt.
    pub title: Option<String>,
    /// `None`: an idle thread.
    pub prompt: Option<String>,
}

/// A thread was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    /// The thread.
    pub thread_id: String,
    /// Its first run.
    pub run_id: Option<String>,
}

/// Sends a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendMessage {
    /// The text.
    pub text: String,
    /// What to do when a run is active.
    pub mode: SendWord,
}

/// What to do with a message when a run is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SendWord {
    /// Steer where possible, else start or queue.
    Auto,
    /// Queue behind the active run.
    Queue,
    /// Steer or refuse.
    Steer,
}

impl From<SendWord> for SendMode {
    fn from(word: SendWord) -> Self {
        match word {
            SendWord::Auto => Self::Auto,
            SendWord::Queue => Self::Queue,
            SendWord::Steer => Self::Steer,
        }
    }
}

/// A message was stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentView {
    /// The message.
    pub message_id: String,
    /// The run it started or joined.
    pub run_id: String,
    /// What became of it.
    pub delivery: Sent,
}

/// Stops a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopThread {
    /// For people.
    pub reason: Option<String>,
}

/// A thread was stopped.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    /// Runs that were active or queued.
    pub runs: u32,
}

/// A queue goes on.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resumed {
    /// Runs that were held.
    pub runs: u32,
}

/// Answers a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RespondTo {
    /// The answer.
    pub reply: Reply,
}

/// A thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadView {
    /// Its id.
    pub id: String,
    /// Its Project.
    pub project_id: String,
    /// For people.
    pub title: String,
    /// Provider instance.
    pub provider_instance_id: String,
    /// Model.
    pub model: Option<String>,
    /// What needs asking.
    pub runtime_mode: RuntimeMode,
    /// Work or plan.
    pub interaction_mode: InteractionMode,
    /// Folder its agent works in.
    pub workspace_path: String,
    /// Thread that delegated it.
    pub parent_thread_id: Option<String>,
    /// Top of its tree.
    pub root_thread_id: String,
    /// Threads above it.
    pub depth: u32,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// A row of the list of threads.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRowView {
    /// The thread.
    pub thread: ThreadView,
    /// Its Project's name.
    pub project_name: String,
    /// What it is doing: the words of the contracts.
    pub state: String,
    /// Its newest run.
    pub latest_run: Option<RunView>,
    /// Its pending requests.
    pub pending_requests: Vec<String>,
}

/// Everything about one thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadDetailView {
    /// Its row.
    pub row: ThreadRowView,
    /// Its runs by ordinal.
    pub runs: Vec<RunView>,
    /// A page of its timeline.
    pub items: Vec<ItemView>,
    /// Its pending requests.
    pub requests: Vec<RequestView>,
    /// Tasks it delegated.
    pub tasks: Vec<TaskView>,
    /// Place in the journal: a follower starts here.
    pub sequence: u64,
}

/// A run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// Its id.
    pub id: String,
    /// Its thread.
    pub thread_id: String,
    /// 1, 2, 3... within the thread.
    pub ordinal: u32,
    /// Status.
    pub status: RunStatus,
    /// Why it ended as it did.
    pub reason: Option<String>,
    /// Tokens read and written.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// When it was asked for.
    pub requested_at: String,
    /// When the provider accepted it.
    pub started_at: Option<String>,
    /// When it ended.
    pub completed_at: Option<String>,
    /// Milliseconds from the asking to the end.
    pub elapsed_ms: Option<u64>,
}

/// An item of a timeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemView {
    /// Its id.
    pub id: String,
    /// Its thread.
    pub thread_id: String,
    /// Its run.
    pub run_id: Option<String>,
    /// Place in the thread's timeline.
    pub position: u64,
    /// Kind.
    pub kind: ItemKind,
    /// State.
    pub status: ItemStatus,
    /// One line for people.
    pub title: Option<String>,
    /// Text so far.
    pub text: String,
    /// Command line, or name of the tool.
    pub name: Option<String>,
    /// MCP server of a tool.
    pub server_name: Option<String>,
    /// File of a file change.
    pub path: Option<String>,
    /// Exit code of a command.
    pub exit_code: Option<i32>,
    /// When it opened.
    pub created_at: String,
}

/// A question or approval.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestView {
    /// Its id; the `approvalId` of an approval.
    pub id: String,
    /// Its thread.
    pub thread_id: String,
    /// Its run.
    pub run_id: Option<String>,
    /// What is asked.
    pub prompt: Prompt,
    /// `pending`, `resolved` or `invalidated`.
    pub status: String,
    /// Why it is invalidated.
    pub reason: Option<String>,
    /// The decision of an approval that has one.
    pub choice: Option<Choice>,
    /// When it opened.
    pub created_at: String,
}

/// A delegated task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// Its id.
    pub id: String,
    /// Thread that delegated.
    pub parent_thread_id: String,
    /// Child thread.
    pub child_thread_id: String,
    /// Provider instance of the child.
    pub provider_instance_id: String,
    /// Status it ended with; `None`: not ended.
    pub result_status: Option<TaskStatus>,
    /// Text for the parent.
    pub summary: Option<String>,
}

/// One line of a feed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedLine {
    /// Place in the journal; a later feed may start after it.
    pub sequence: u64,
    /// What happened.
    pub change: Change,
}

/// What happened. Each carries the whole entity, but for appended text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Change {
    /// Nothing for a while; the host lives.
    Idle,
    /// A thread was made or changed.
    Thread(ThreadView),
    /// A run was made or changed.
    Run(RunView),
    /// An item opened or changed.
    Item(ItemView),
    /// Text was appended to an item.
    Text(TextView),
    /// A request opened or ended.
    Request(RequestView),
    /// A task was made or changed.
    Task(TaskView),
    /// The feed is over.
    End(ErrorView),
}

/// Text appended to an item.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextView {
    /// The item.
    pub item_id: String,
    /// Its thread.
    pub thread_id: String,
    /// What to append.
    pub appended: String,
}
