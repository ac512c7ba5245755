//! What the agent still owes an answer to. One timer watches all of it: an agent that answers nothing for that long is
//! not going to.
#![forbid(unsafe_code)]

use driver_sdk::types::{Action, Limits, SetTimer};

use crate::limits::{ANSWER_MS, HANDSHAKE_MS};

/// The timer's number; 0 is the outbox's.
const TIMER: u32 = 1;

/// Something the agent must answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Hello,
    /// A thread must be opened.
    Open(String),
    /// A thread must be closed.
    Close(String),
    /// A turn must start.
    Start(String),
    /// A turn must end.
    Interrupt(String),
}

impl Wait {
    /// What is missing, for people.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::Hello => "its greeting",
            Self::Open(_) => "the opening of a thread",
            Self::Close(_) => "the end of a thread",
            Self::Start(_) => "the start of a turn",
            Self::Interrupt(_) => "the end of a stopped turn",
        }
    }

    pub(crate) fn answer_ms(&self) -> u32 {
        match self {
            Self::Hello => HANDSHAKE_MS,
            _ => ANSWER_MS,
        }
    }
}

/// Everything that is waited for.
#[derive(Debug)]
pub(crate) struct Waits {
    open: Vec<Wait>,
    delay_ms_min: u32,
    delay_ms_max: u32,
}

impl Waits {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            open: Vec::new(),
            delay_ms_min: limits.timer_ms_min,
            delay_ms_max: limits.timer_ms_max.max(limits.timer_ms_min),
        }
    }

    pub(crate) fn begin(&mut self, wait: Wait) -> Action {
        self.open.push(wait);
        self.timer()
    }

    /// The answer came. `None`: nobody waited for it.
    pub(crate) fn end(&mut self, wait: &Wait) -> Option<Action> {
        let position = self.open.iter().position(|open| open == wait)?;
        self.open.remove(position);
        Some(self.timer())
    }

    /// What has been waited for longest, if this timer is the one that watches.
    pub(crate) fn ran_out(&mut self, timer_id: u32) -> Option<Wait> {
        if timer_id == TIMER {
            self.open.first().cloned()
        } else {
            None
        }
    }

    /// Waits for nothing more.
    pub(crate) fn end_all(&mut self) -> Option<Action> {
        if self.open.is_empty() {
            return None;
        }
        self.open.clear();
        Some(self.timer())
    }

    /// The timer as it must now be.
    fn timer(&self) -> Action {
        match self.open.first() {
            None => Action::ClearTimer(TIMER),
            Some(wait) => Action::SetTimer(SetTimer {
                timer_id: TIMER,
                delay_ms: wait.answer_ms().clamp(self.delay_ms_min, self.delay_ms_max),
            }),
        }
    }
}
