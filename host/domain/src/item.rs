//! Entries of a thread's timeline.

use serde::{Deserialize, Serialize};

use crate::ids::{ItemId, MessageId, ProviderSessionId, RunId, ThreadId};
use crate::time::Timestamp;

/// One entry of a thread's timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its id.
    pub id: ItemId,
    /// Its thread.
    pub thread_id: ThreadId,
    /// Its run; `None`: it belongs to the thread.
    pub run_id: Option<RunId>,
    /// Place in the thread's timeline, from 1, never reused.
    pub position: u64,
    /// Where the provider's session speaks of it.
    pub origin: Option<ItemOrigin>,
    /// Item it stands under.
    pub parent_item_id: Option<ItemId>,
    /// Kind.
    pub kind: ItemKind,
    /// State.
    pub status: ItemStatus,
    /// One line for people.
    pub title: Option<String>,
    /// Text so far.
    pub text: String,
    /// Message this item shows, for the message kinds.
    pub message_id: Option<MessageId>,
    /// Typed fields that lists and policies read.
    pub head: ItemHead,
    /// JSON object by kind; `{}` when there is nothing to say.
    pub body_json: String,
    /// When it opened.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The session and the driver's word for an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemOrigin {
    /// Session that speaks of it.
    pub session_id: ProviderSessionId,
    /// The driver's id, unique within the session.
    pub driver_item_id: String,
}

/// Where an item stands, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemPlace {
    /// The item.
    pub id: ItemId,
    /// Its thread.
    pub thread_id: ThreadId,
    /// Its place in the thread.
    pub position: u64,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// A user-role message: a person's, an agent's or the host's.
    UserMessage,
    /// What the provider said.
    AssistantMessage,
    /// What it thought.
    Reasoning,
    /// A command it ran.
    Command,
    /// A file it changed.
    FileChange,
    /// A search in files.
    FileSearch,
    /// A search on the web.
    WebSearch,
    /// Another tool.
    Tool,
    /// A tool of an MCP server.
    McpTool,
    /// A proposed plan, Markdown.
    Plan,
    /// A to-do list.
    Todo,
    /// A subagent of the provider's own.
    ProviderSubagent,
    /// A delegated task of this thread.
    Subagent,
    /// The provider shortened its context.
    Compaction,
    /// A remark of the provider or the host.
    Notice,
    /// An error.
    Error,
    /// A request to interrupt the run, or its result.
    Interrupt,
    /// A question to people or to the parent.
    Question,
    /// An approval asked for.
    Approval,
    /// A thread this one made.
    ThreadCreated,
    /// History copied from another thread.
    Fork,
    /// History handed to another provider.
    Handoff,
    /// Files of the workspace as a run left them.
    Checkpoint,
}

impl ItemKind {
    /// Reads the interface's word; an unknown one reads as a plain tool.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word {
            "message" => Self::AssistantMessage,
            "reasoning" => Self::Reasoning,
            "command" => Self::Command,
            "file-change" => Self::FileChange,
            "file-search" => Self::FileSearch,
            "web-search" => Self::WebSearch,
            "mcp-tool" => Self::McpTool,
            "plan" => Self::Plan,
            "todo" => Self::Todo,
            "subagent" => Self::ProviderSubagent,
            "compaction" => Self::Compaction,
            "notice" => Self::Notice,
            "error" => Self::Error,
            _ => Self::Tool,
        }
    }
}

impl Item {
    /// Where it stands.
    #[must_use]
    pub fn place(&self) -> ItemPlace {
        ItemPlace {
            id: self.id.clone(),
            thread_id: self.thread_id.clone(),
            position: self.position,
        }
    }
}

/// State of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    /// Announced.
    Pending,
    /// Under way.
    Running,
    /// Waits for an answer.
    Waiting,
    /// Done.
    Completed,
    /// Failed.
    Failed,
    /// Given up or refused.
    Cancelled,
    /// Stopped.
    Interrupted,
}

impl ItemStatus {
    /// Nothing more will come.
    #[must_use]
    pub const fn is_closed(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Interrupted
        )
    }
}

/// The fields that lists, policies and tests read. All `None` where they mean nothing for the kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemHead {
    /// Command line, or name of the tool.
    pub name: Option<String>,
    /// MCP server of a tool.
    pub server_name: Option<String>,
    /// File of a file change.
    pub path: Option<String>,
    /// Exit code of a command.
    pub exit_code: Option<i32>,
    /// Lines added.
    pub lines_added: Option<u32>,
    /// Lines removed.
    pub lines_removed: Option<u32>,
    /// The provider's own id.
    pub native_item_id: Option<String>,
}
