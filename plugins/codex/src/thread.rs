//! State of one thread and its turn.
#![forbid(unsafe_code)]

use driver_sdk::types::{
    BackgroundTask, Item, McpEndpoint, ModelSelection, Modes, OpenThread, StartTurn, Steer,
    TurnOutcome,
};

use crate::usage::Meter;

/// Number of a thread inside this session; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ThreadKey(pub(crate) u32);

/// Where the host's MCP server stands for a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum McpState {
    /// The thread has none.
    Absent,
    /// Named to Codex, no report yet.
    Waiting,
    /// Proven up.
    Ready,
    /// Reported down, or never reported.
    Down,
}

/// One thread of the host in this session.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) key: ThreadKey,
    pub(crate) host_id: String,
    pub(crate) open_effect: String,
    /// Conversation to take up, from the host.
    pub(crate) resume: Option<String>,
    /// Set once Codex answered.
    pub(crate) native: Option<String>,
    pub(crate) workspace: String,
    pub(crate) selection: ModelSelection,
    pub(crate) modes: Modes,
    pub(crate) mcp: Option<McpEndpoint>,
    pub(crate) mcp_state: McpState,
    /// Model and effort as Codex reported them.
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
    /// Whether the conversation plans, where that is known. It sticks to a conversation, so it is not known after a resume.
    pub(crate) planning: Option<bool>,
    pub(crate) turn: Option<Turn>,
    pub(crate) items: Vec<OpenItem>,
    /// Commands that were open at their turn's end: what still comes belongs to them.
    pub(crate) late: Vec<OpenItem>,
    pub(crate) background: Vec<BackgroundTask>,
    pub(crate) meter: Meter,
    pub(crate) warnings: Vec<String>,
    /// The request behind `open-thread` is out.
    pub(crate) asked: bool,
}

impl Thread {
    pub(crate) fn new(key: ThreadKey, open: OpenThread) -> Self {
        Self {
            key,
            host_id: open.thread_id,
            open_effect: open.effect_id,
            planning: if open.native_thread_id.is_some() {
                None
            } else {
                Some(false)
            },
            resume: open.native_thread_id,
            native: None,
            workspace: open.workspace_path,
            selection: open.model,
            modes: open.modes,
            mcp_state: if open.mcp.is_some() {
                McpState::Waiting
            } else {
                McpState::Absent
            },
            mcp: open.mcp,
            model: None,
            effort: None,
            turn: None,
            items: Vec::new(),
            late: Vec::new(),
            background: Vec::new(),
            meter: Meter::default(),
            warnings: Vec::new(),
            asked: false,
        }
    }

    /// The running turn if Codex calls it `native`.
    pub(crate) fn turn_named(&mut self, native: &str) -> Option<&mut Turn> {
        self.turn
            .as_mut()
            .filter(|turn| turn.native.as_deref() == Some(native))
    }

    /// The host's id of the turn Codex calls `native`.
    pub(crate) fn host_turn(&self, native: &str) -> Option<String> {
        let turn = self.turn.as_ref()?;
        (turn.native.as_deref() == Some(native)).then(|| turn.host_id.clone())
    }
}

/// How far a turn is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// Waits for the thread or its MCP server.
    Held,
    /// `turn/start` is out.
    Asked,
    /// Codex took it and named it, but does not work on it yet: it would refuse a stop or further text.
    Named,
    /// Codex works on it.
    Running,
    /// It is over at Codex; what it left running is being ended. Holds the outcome to report.
    Ending(TurnOutcome),
}

/// The turn of a thread.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) host_id: String,
    pub(crate) start_effect: String,
    pub(crate) native: Option<String>,
    pub(crate) phase: Phase,
    /// `turn-started` was sent.
    pub(crate) announced: bool,
    /// What to send, until it is sent.
    pub(crate) held: Option<StartTurn>,
    pub(crate) interrupt: Option<Interrupt>,
    pub(crate) held_steers: Vec<Steer>,
    pub(crate) failure: Option<driver_sdk::types::Failure>,
    /// Item of the to-do list, once there is one.
    pub(crate) todo_item: Option<String>,
    /// `terminate` requests without an answer.
    pub(crate) ending_calls: u32,
}

impl Turn {
    pub(crate) fn new(start: StartTurn) -> Self {
        Self {
            host_id: start.turn_id.clone(),
            start_effect: start.effect_id.clone(),
            native: None,
            phase: Phase::Held,
            announced: false,
            held: Some(start),
            interrupt: None,
            held_steers: Vec::new(),
            failure: None,
            todo_item: None,
            ending_calls: 0,
        }
    }

    /// Codex works on it and takes a stop or further text.
    pub(crate) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }
}

/// A stop that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    pub(crate) effect_id: String,
    /// Commands the turn started go too.
    pub(crate) ends_background: bool,
    pub(crate) sent: bool,
}

/// An item Codex began and did not finish.
#[derive(Debug)]
pub(crate) struct OpenItem {
    pub(crate) native: String,
    /// As sent last.
    pub(crate) item: Item,
    /// Part of a reasoning summary the last piece belonged to.
    pub(crate) part: u32,
}
