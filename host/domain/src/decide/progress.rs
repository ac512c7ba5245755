//! What a child is doing, as its parent sees it, and which run its result comes from.

use crate::run::{QueueState, Run, RunStatus};
use crate::task::{DeliveryState, Task, WorkState};
use crate::thread::Thread;

/// What a child thread is doing, from its open runs and the tasks it delegated itself.
#[must_use]
pub fn work_state(child: &Thread, open_runs: &[Run], own_tasks: &[Task]) -> WorkState {
    // A held run waits for a person, maybe for ever: it is no work going on.
    let works = open_runs
        .iter()
        .any(|run| run.status.is_active() || run.queue == QueueState::Free);
    if works {
        return WorkState::Working;
    }
    // A stopped child is told to nobody and still works until its provider has ended it.
    let owes = own_tasks.iter().any(|task| {
        task.result.is_none()
            || task.delivery.as_ref().is_some_and(|delivery| {
                matches!(
                    delivery.state,
                    DeliveryState::Pending | DeliveryState::Claimed
                )
            })
    });
    if owes || !child.background.is_empty() {
        WorkState::WaitingForChildren
    } else {
        WorkState::ResultAvailable
    }
}

/// The run a child's result comes from: its newest terminal run that did something, else its first.
#[must_use]
pub fn final_run(runs: &[Run]) -> Option<&Run> {
    let did_something = |run: &&Run| {
        run.status.is_terminal()
            && run.status != RunStatus::RolledBack
            && (run.started_at.is_some() || run.ordinal == 1)
    };
    runs.iter().rfind(did_something)
}
