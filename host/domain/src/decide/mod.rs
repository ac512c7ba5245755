//! The rules: a command against the state, answered with events and effects or a denial.

mod caller;
mod create;
mod delegate;
mod draft;
mod items;
mod progress;
mod recover;
mod report;
mod respond;
mod send;
mod settle;
mod stop;
pub mod target;
mod wake;

#[cfg(test)]
mod tests;

use crate::command::{Answer, Command};
use crate::effect::Effect;
use crate::error::Denial;
use crate::event::Event;
use crate::time::Timestamp;
use crate::view::View;

use draft::Draft;

pub use progress::{final_run, work_state};

/// What the rules may not find out for themselves: the time, and random bits for new ids.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Now.
    pub now: Timestamp,
    state: u128,
}

impl Moment {
    /// A moment with 128 random bits, new for each command.
    #[must_use]
    pub const fn new(now: Timestamp, random: u128) -> Self {
        Self { now, state: random }
    }

    /// Bits for the next id of this command: a step of a 128-bit Weyl sequence, mixed.
    const fn next_bits(&mut self) -> u128 {
        self.state = self
            .state
            .wrapping_add(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 67)).wrapping_mul(0xbf58_476d_1ce4_e5b9_94d0_49bb_1331_11eb);
        bits = (bits ^ (bits >> 61)).wrapping_mul(0xd6e8_feb8_6659_fd93_a5a3_56b1_9c5f_2e4d);
        bits ^ (bits >> 64)
    }
}

/// What a command brings about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Facts to store, in order. Empty: nothing changes.
    pub events: Vec<Event>,
    /// Work to do once they are stored, in order.
    pub effects: Vec<Effect>,
    /// What the caller is told.
    pub answer: Answer,
}

/// `Err` is the store's own failure, `Ok(Err)` a refusal.
pub type Decided<V> = Result<Result<Decision, Denial>, <V as View>::Fault>;

/// `Err` is the store's own failure, `Ok(Err)` a refusal: the form each rule answers in.
type Ruled<V, T = Answer> = Result<Result<T, Denial>, <V as View>::Fault>;

/// Decides one command. Reads everything it needs before anything of it is written.
///
/// # Errors
/// The view's own fault.
pub fn decide<V: View>(view: &V, command: &Command, moment: Moment) -> Decided<V> {
    let mut draft = Draft::new(view, moment);
    let ruled = match command {
        Command::AddProject(add) => create::add_project(&mut draft, add)?,
        Command::CreateThread(create) => create::create_thread(&mut draft, create)?,
        Command::SendMessage(send) => send::send_message(&mut draft, send)?,
        Command::Delegate(delegate) => delegate::delegate(&mut draft, delegate)?,
        Command::WakeAlways { task_id } => wake::wake_always(&mut draft, task_id)?,
        Command::AcknowledgeTask { task_id } => wake::acknowledge(&mut draft, task_id)?,
        Command::CancelTask(cancel) => stop::cancel_task(&mut draft, cancel)?,
        Command::StopThread { thread_id, reason } => {
            stop::stop_thread(&mut draft, thread_id, reason)?
        }
        Command::ResumeQueue { thread_id } => stop::resume_queue(&mut draft, thread_id)?,
        Command::Respond {
            request_id,
            reply,
            answered_by,
        } => respond::respond(&mut draft, request_id, reply, *answered_by)?,
        Command::Report(report) => report::report(&mut draft, report)?,
        Command::Recover => recover::recover(&mut draft)?,
    };
    let answer = match ruled {
        Ok(answer) => answer,
        Err(denial) => return Ok(Err(denial)),
    };
    while let Some(thread_id) = draft.next_unsettled()? {
        settle::settle(&mut draft, &thread_id)?;
    }
    let (events, effects) = draft.into_parts();
    Ok(Ok(Decision {
        events,
        effects,
        answer,
    }))
}

/// Refuses from within a rule.
macro_rules! refuse {
    ($code:ident, $($text:tt)*) => {
        return Ok(Err($crate::error::Denial::new(
            $crate::error::DenialCode::$code,
            format!($($text)*),
        )))
    };
}
use refuse;
