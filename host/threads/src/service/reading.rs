//! What people see of the host: Projects, threads, timelines, open requests, and what happens as it happens.

use domain::authority::Authority;
use domain::error::{Denial, DenialCode};
use domain::ids::ThreadId;
use domain::project::Project;
use domain::request::{Prompt, Request};
use domain::run::{Run, RunPurpose, RunStatus};
use domain::thread::Thread;
use domain::view::View;

use super::types::{Feed, ObservedState, ThreadDetail, ThreadRow};
use super::{ThreadManagementService, people_only, store};
use crate::store::{Reader, StoreError};

/// Most rows of a list and most items of a page.
const PAGE_MAX: usize = 100;

impl ThreadManagementService {
    /// Every Project, by name.
    ///
    /// # Errors
    /// `human_only`.
    #[allow(clippy::unused_async, reason = "one calling convention for every call")]
    pub async fn projects(&self, caller: &Authority) -> Result<Vec<Project>, Denial> {
        people_only(caller)?;
        self.read()?.projects().map_err(store)
    }

    /// Threads, the newest change first. `limit` is at most 100.
    ///
    /// # Errors
    /// `human_only`.
    #[allow(clippy::unused_async, reason = "one calling convention for every call")]
    pub async fn threads(
        &self,
        caller: &Authority,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<ThreadRow>, Denial> {
        people_only(caller)?;
        let reader = self.read()?;
        let threads = reader.threads(offset, limit.min(PAGE_MAX)).map_err(store)?;
        threads
            .into_iter()
            .map(|thread| row(&reader, thread))
            .collect()
    }

    /// One thread with a page of its timeline after a position. `limit` is at most 100.
    ///
    /// # Errors
    /// `human_only`, `thread_not_found`.
    #[allow(clippy::unused_async, reason = "one calling convention for every call")]
    pub async fn thread(
        &self,
        caller: &Authority,
        thread_id: &ThreadId,
        after_position: u64,
        limit: usize,
    ) -> Result<ThreadDetail, Denial> {
        people_only(caller)?;
        let reader = self.read()?;
        let sequence = reader.sequence().map_err(store)?;
        let thread = found(reader.thread(thread_id).map_err(store)?, thread_id)?;
        Ok(ThreadDetail {
            row: row(&reader, thread)?,
            runs: reader.runs_of(thread_id).map_err(store)?,
            items: reader
                .items_after(thread_id, after_position, limit.min(PAGE_MAX))
                .map_err(store)?,
            requests: reader.pending_requests_of(thread_id).map_err(store)?,
            tasks: reader.tasks_of(thread_id).map_err(store)?,
            sequence,
        })
    }

    /// Pending requests, of one thread or of all.
    ///
    /// # Errors
    /// `human_only`, `thread_not_found`.
    #[allow(clippy::unused_async, reason = "one calling convention for every call")]
    pub async fn requests(
        &self,
        caller: &Authority,
        thread_id: Option<&ThreadId>,
    ) -> Result<Vec<Request>, Denial> {
        people_only(caller)?;
        let reader = self.read()?;
        match thread_id {
            Some(id) => {
                found(reader.thread(id).map_err(store)?, id)?;
                reader.pending_requests_of(id).map_err(store)
            }
            None => reader.pending_requests().map_err(store),
        }
    }

    /// Facts after a place in the journal: at once if there are any, else as soon as there are.
    ///
    /// # Errors
    /// `human_only`, `storage_unavailable` when the journal takes nothing more.
    pub async fn feed(
        &self,
        caller: &Authority,
        after_sequence: u64,
        limit: usize,
    ) -> Result<Feed, Denial> {
        people_only(caller)?;
        let mut feed = self.inner.changes.feed();
        feed.past(after_sequence).await.map_err(|_ended| {
            Denial::new(DenialCode::StorageUnavailable, "The host is going down.")
        })?;
        let events = self
            .read()?
            .events_after(after_sequence, limit)
            .map_err(store)?;
        let sequence = events
            .last()
            .map_or(after_sequence, |(sequence, _)| *sequence);
        Ok(Feed { events, sequence })
    }
}

pub(super) fn found(thread: Option<Thread>, id: &ThreadId) -> Result<Thread, Denial> {
    thread
        .filter(|thread| thread.deleted_at.is_none())
        .ok_or_else(|| {
            Denial::new(
                DenialCode::ThreadNotFound,
                format!("There is no thread {id}."),
            )
        })
}

fn row(reader: &Reader, thread: Thread) -> Result<ThreadRow, Denial> {
    build_row(reader, thread).map_err(store)?.ok_or_else(|| {
        Denial::new(
            DenialCode::OrchestrationError,
            "A thread stands in a Project that is not there.",
        )
    })
}

fn build_row(reader: &Reader, thread: Thread) -> Result<Option<ThreadRow>, StoreError> {
    let Some(project) = reader.project(&thread.project_id)? else {
        return Ok(None);
    };
    let latest_run = latest_run(reader, &thread.id)?;
    let active = reader
        .open_runs_of(&thread.id)?
        .into_iter()
        .rfind(|run| run.status.is_active());
    let requests = reader.pending_requests_of(&thread.id)?;
    let state = observed_state(active.as_ref(), latest_run.as_ref(), &requests);
    let pending_requests = requests.into_iter().map(|request| request.id).collect();
    Ok(Some(ThreadRow {
        thread,
        project,
        latest_run,
        pending_requests,
        state,
    }))
}

/// The newest run; a withdrawn wake was never more than a plan and says nothing of the thread.
fn latest_run(reader: &Reader, thread: &ThreadId) -> Result<Option<Run>, StoreError> {
    let is_withdrawn_wake =
        |run: &Run| run.purpose == RunPurpose::Wake && run.status == RunStatus::Cancelled;
    match reader.latest_run(thread)? {
        Some(run) if is_withdrawn_wake(&run) => {
            let runs = reader.runs_of(thread)?;
            Ok(runs.into_iter().rfind(|run| !is_withdrawn_wake(run)))
        }
        latest => Ok(latest),
    }
}

/// The public status, from facts, the most pressing first.
fn observed_state(
    active: Option<&Run>,
    latest: Option<&Run>,
    requests: &[Request],
) -> ObservedState {
    let approval = |r: &Request| matches!(r.prompt, Prompt::Approval(_));
    if requests.iter().any(approval) {
        return ObservedState::WaitingForApproval;
    }
    if requests.iter().any(Request::is_blocking_question) {
        return ObservedState::WaitingForInput;
    }
    match (active.map(|run| run.status), latest.map(|run| run.status)) {
        (Some(RunStatus::Starting | RunStatus::Preparing), _) => ObservedState::Starting,
        (Some(_), _) => ObservedState::Running,
        (None, None) => ObservedState::Idle,
        (None, Some(RunStatus::Completed)) => ObservedState::Completed,
        (None, Some(RunStatus::Failed)) => ObservedState::Failed,
        (None, Some(_)) => ObservedState::Stopped,
    }
}
