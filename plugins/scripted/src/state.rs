//! State of one thread, its turn and its requests.

use std::collections::VecDeque;

use driver_sdk::types::{Item, OpenThread, StartTurn};

/// One thread of the host in this session.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) host_id: String,
    pub(crate) open_effect: String,
    /// What to open it with, until the agent was told.
    pub(crate) held: Option<OpenThread>,
    /// The agent opened it.
    pub(crate) open: bool,
    pub(crate) turn: Option<Turn>,
    /// The effect that asked for its end.
    pub(crate) close_effect: Option<String>,
}

impl Thread {
    pub(crate) fn new(open: OpenThread) -> Self {
        Self {
            host_id: open.thread_id.clone(),
            open_effect: open.effect_id.clone(),
            held: Some(open),
            open: false,
            turn: None,
            close_effect: None,
        }
    }
}

/// The turn of a thread.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) host_id: String,
    pub(crate) start_effect: String,
    /// What to start it with, until the agent was told.
    pub(crate) held: Option<StartTurn>,
    /// `turn-started` was sent.
    pub(crate) announced: bool,
    /// The effect that asked for its end.
    pub(crate) interrupt: Option<String>,
    /// Effects of added text without an answer, oldest first: the agent answers in order.
    pub(crate) steers: VecDeque<String>,
    /// Items that are not ended.
    pub(crate) items: Vec<Item>,
}

impl Turn {
    pub(crate) fn new(start: StartTurn) -> Self {
        Self {
            host_id: start.turn_id.clone(),
            start_effect: start.effect_id.clone(),
            held: Some(start),
            announced: false,
            interrupt: None,
            steers: VecDeque::new(),
            items: Vec::new(),
        }
    }
}

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Approval,
    Questions,
}

/// A request without an answer yet.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    pub(crate) request_id: String,
    pub(crate) turn: String,
    pub(crate) kind: RequestKind,
    /// The effect that answered it, until the agent says that it is closed.
    pub(crate) answer_effect: Option<String>,
}
