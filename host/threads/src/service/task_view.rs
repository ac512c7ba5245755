//! A delegated task as its parent sees it, read from durable state.

use domain::decide::{final_run, work_state};
use domain::ids::{TaskId, ThreadId};
use domain::limits::SUMMARY_UNITS_MAX;
use domain::run::{EndReason, Run, RunStatus};
use domain::task::{Task, TaskStatus, WorkState};
use domain::text::utf16_prefix;
use domain::view::View;

use super::types::{Pending, TaskView, TerminalRun};
use crate::store::{Reader, StoreError};

/// Reads a task of `parent`. `None`: this thread delegated no such task.
pub(super) fn read(
    reader: &Reader,
    parent: &ThreadId,
    task_id: &TaskId,
) -> Result<Option<TaskView>, StoreError> {
    match reader.task(task_id)? {
        Some(task) if task.parent_thread_id == *parent => of_task(reader, task).map(Some),
        Some(_) | None => Ok(None),
    }
}

fn of_task(reader: &Reader, task: Task) -> Result<TaskView, StoreError> {
    let runs = reader.runs_of(&task.child_thread_id)?;
    let state = child_state(reader, &task, &runs)?;
    let pending_question = reader
        .pending_requests_of(&task.child_thread_id)?
        .iter()
        .any(domain::request::Request::is_blocking_question);
    let (status, summary) = outcome(reader, &task, &runs, state)?;
    let later = |run: &&Run| run.id != task.child_run_id && !run.status.is_terminal();
    Ok(TaskView {
        status,
        work_state: state,
        pending_child_runs: pending(runs.iter().any(|run| later(&run))),
        summary,
        result_transfer_id: task
            .result
            .as_ref()
            .map(|result| result.transfer_id.clone()),
        latest_terminal: latest_terminal(reader, &task, &runs)?,
        pending_question: pending(pending_question),
        task_id: task.id,
        child_thread_id: task.child_thread_id,
        child_run_id: task.child_run_id,
        provider_instance_id: task.provider_instance_id,
        model: task.model,
    })
}

const fn pending(any: bool) -> Pending {
    if any {
        Pending::Something
    } else {
        Pending::Nothing
    }
}

fn child_state(reader: &Reader, task: &Task, runs: &[Run]) -> Result<WorkState, StoreError> {
    if task.result.is_some() {
        return Ok(WorkState::ResultAvailable);
    }
    let Some(child) = reader.thread(&task.child_thread_id)? else {
        return Ok(WorkState::ResultAvailable);
    };
    let open: Vec<Run> = runs
        .iter()
        .filter(|run| !run.status.is_terminal())
        .cloned()
        .collect();
    Ok(work_state(&child, &open, &reader.tasks_of(&child.id)?))
}

/// Status and result text: the published ones, or what can be derived before they are.
fn outcome(
    reader: &Reader,
    task: &Task,
    runs: &[Run],
    state: WorkState,
) -> Result<(TaskStatus, Option<String>), StoreError> {
    if let Some(result) = &task.result {
        return Ok((result.status, Some(result.summary.clone())));
    }
    match (state, final_run(runs)) {
        (WorkState::ResultAvailable, Some(run)) => {
            Ok((TaskStatus::from_run(run.status), run_text(reader, run)?))
        }
        _ => {
            let queued = runs
                .iter()
                .any(|run| run.id == task.child_run_id && run.status == RunStatus::Queued);
            Ok((
                if queued {
                    TaskStatus::Queued
                } else {
                    TaskStatus::Running
                },
                None,
            ))
        }
    }
}

fn latest_terminal(
    reader: &Reader,
    task: &Task,
    runs: &[Run],
) -> Result<Option<TerminalRun>, StoreError> {
    let Some(run) = final_run(runs) else {
        return Ok(None);
    };
    let published = task
        .result
        .as_ref()
        .filter(|result| result.run_id == run.id);
    Ok(Some(TerminalRun {
        run_id: run.id.clone(),
        status: run.status,
        summary: match published {
            Some(result) => Some(result.summary.clone()),
            None => run_text(reader, run)?,
        },
        transfer_id: published.map(|result| result.transfer_id.clone()),
    }))
}

fn run_text(reader: &Reader, run: &Run) -> Result<Option<String>, StoreError> {
    if let Some(EndReason::Failure(failure)) = &run.reason {
        return Ok(Some(failure.message.clone()));
    }
    let item = reader.last_assistant_item_of(&run.id)?;
    Ok(item.map(|item| utf16_prefix(&item.text, SUMMARY_UNITS_MAX).to_owned()))
}
