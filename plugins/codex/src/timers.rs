//! What each running timer is for.
#![forbid(unsafe_code)]

use driver_sdk::types::{Action, Limits, SetTimer};

use crate::thread::ThreadKey;

/// Why a timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The process must greet.
    Handshake,
    /// A request must be answered.
    Call(u64),
    /// The MCP server must report.
    McpReady(ThreadKey),
    /// An interrupted turn must end.
    Interrupt(ThreadKey),
    /// A stop that was refused is asked again.
    InterruptAgain(ThreadKey),
    /// What an interrupted turn left running must end.
    BackgroundEnd(ThreadKey),
}

/// The running timers. Number 0 is the outbox's.
#[derive(Debug)]
pub(crate) struct Timers {
    next_id: u32,
    running: Vec<(u32, Purpose)>,
    delay_ms_min: u32,
    delay_ms_max: u32,
}

impl Timers {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            next_id: 1,
            running: Vec::new(),
            delay_ms_min: limits.timer_ms_min,
            delay_ms_max: limits.timer_ms_max.max(limits.timer_ms_min),
        }
    }

    /// Starts one.
    pub(crate) fn start(&mut self, purpose: Purpose, delay_ms: u32) -> Action {
        let timer_id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1).max(1);
        self.running.push((timer_id, purpose));
        let delay_ms = delay_ms.clamp(self.delay_ms_min, self.delay_ms_max);
        Action::SetTimer(SetTimer { timer_id, delay_ms })
    }

    /// Stops one that is no longer needed.
    pub(crate) fn stop(&mut self, purpose: Purpose) -> Option<Action> {
        let position = self
            .running
            .iter()
            .position(|(_, running)| *running == purpose)?;
        Some(Action::ClearTimer(self.running.remove(position).0))
    }

    /// What a timer that ran out was for. `None`: it was stopped in the meantime.
    pub(crate) fn ran_out(&mut self, timer_id: u32) -> Option<Purpose> {
        let position = self
            .running
            .iter()
            .position(|(running, _)| *running == timer_id)?;
        Some(self.running.remove(position).1)
    }

    /// Stops all.
    pub(crate) fn stop_all(&mut self) -> Vec<Action> {
        self.running
            .drain(..)
            .map(|(timer_id, _)| Action::ClearTimer(timer_id))
            .collect()
    }
}
