//! From what the service answers to what goes over the socket.

use domain::error::Denial;
use domain::event::Event;
use domain::item::Item;
use domain::project::Project;
use domain::provider::{ProviderSnapshot, Readiness};
use domain::request::{Reply, Request, RequestStatus};
use domain::run::{EndReason, Run};
use domain::task::Task;
use domain::thread::Thread;
use domain::time::Timestamp;
use threads::service::{ThreadDetail, ThreadRow};

use super::wire::{
    Change, ErrorView, ItemView, ProjectView, ProviderView, RequestView, RunView, TaskView,
    TextView, ThreadDetailView, ThreadRowView, ThreadView,
};

/// An end's reason in a few words for people.
fn reason_text(reason: &EndReason) -> String {
    match reason {
        EndReason::Failure(failure) => failure.message.clone(),
        EndReason::Stopped(reason) => reason.clone(),
        EndReason::HostRestarted => "host_restarted".to_owned(),
        EndReason::Withdrawn => "withdrawn before it started".to_owned(),
    }
}

impl From<&Project> for ProjectView {
    fn from(project: &Project) -> Self {
        Self {
            id: project.id.to_string(),
            name: project.name.clone(),
            root: project.root.clone(),
            created_at: project.created_at.to_iso8601(),
        }
    }
}

impl From<&Thread> for ThreadView {
    fn from(thread: &Thread) -> Self {
        let parent = thread.lineage.parent.as_ref();
        Self {
            id: thread.id.to_string(),
            project_id: thread.project_id.to_string(),
            title: thread.title.clone(),
            provider_instance_id: thread.provider_instance_id.to_string(),
            model: thread.model.model.clone(),
            runtime_mode: thread.modes.runtime,
            interaction_mode: thread.modes.interaction,
            workspace_path: thread.workspace_path.clone(),
            parent_thread_id: parent.map(|parent| parent.thread_id.to_string()),
            root_thread_id: thread.lineage.root_thread_id.to_string(),
            depth: thread.lineage.depth,
            created_at: thread.created_at.to_iso8601(),
            updated_at: thread.updated_at.to_iso8601(),
        }
    }
}

impl From<&Run> for RunView {
    fn from(run: &Run) -> Self {
        Self {
            id: run.id.to_string(),
            thread_id: run.thread_id.to_string(),
            ordinal: run.ordinal,
            status: run.status,
            reason: run.reason.as_ref().map(reason_text),
            input_tokens: run.usage.input_tokens,
            output_tokens: run.usage.output_tokens,
            requested_at: run.requested_at.to_iso8601(),
            started_at: run.started_at.map(Timestamp::to_iso8601),
            completed_at: run.completed_at.map(Timestamp::to_iso8601),
            elapsed_ms: run.completed_at.map(|end| end.since(run.requested_at)),
        }
    }
}

impl From<&Item> for ItemView {
    fn from(item: &Item) -> Self {
        Self {
            id: item.id.to_string(),
            thread_id: item.thread_id.to_string(),
            run_id: item.run_id.as_ref().map(ToString::to_string),
            position: item.position,
            kind: item.kind,
            status: item.status,
            title: item.title.clone(),
            text: item.text.clone(),
            name: item.head.name.clone(),
            server_name: item.head.server_name.clone(),
            path: item.head.path.clone(),
            exit_code: item.head.exit_code,
            created_at: item.created_at.to_iso8601(),
        }
    }
}

impl From<&Request> for RequestView {
    fn from(request: &Request) -> Self {
        let (status, reason, choice) = match &request.status {
            RequestStatus::Pending => ("pending", None, None),
            RequestStatus::Resolved(Reply::Decision { choice, .. }) => {
                ("resolved", None, Some(*choice))
            }
            RequestStatus::Resolved(_) => ("resolved", None, None),
            RequestStatus::Invalidated(why) => ("invalidated", Some(why.clone()), None),
        };
        Self {
            id: request.id.to_string(),
            thread_id: request.thread_id.to_string(),
            run_id: request.run_id.as_ref().map(ToString::to_string),
            prompt: request.prompt.clone(),
            status: status.to_owned(),
            reason,
            choice,
            created_at: request.created_at.to_iso8601(),
        }
    }
}

impl From<&Task> for TaskView {
    fn from(task: &Task) -> Self {
        Self {
            id: task.id.to_string(),
            parent_thread_id: task.parent_thread_id.to_string(),
            child_thread_id: task.child_thread_id.to_string(),
            provider_instance_id: task.provider_instance_id.to_string(),
            result_status: task.result.as_ref().map(|result| result.status),
            summary: task.result.as_ref().map(|result| result.summary.clone()),
        }
    }
}

impl From<&ThreadRow> for ThreadRowView {
    fn from(row: &ThreadRow) -> Self {
        Self {
            thread: ThreadView::from(&row.thread),
            project_name: row.project.name.clone(),
            state: row.state.word().to_owned(),
            latest_run: row.latest_run.as_ref().map(RunView::from),
            pending_requests: row
                .pending_requests
                .iter()
                .map(ToString::to_string)
                .collect(),
        }
    }
}

impl From<&ThreadDetail> for ThreadDetailView {
    fn from(detail: &ThreadDetail) -> Self {
        Self {
            row: ThreadRowView::from(&detail.row),
            runs: detail.runs.iter().map(RunView::from).collect(),
            items: detail.items.iter().map(ItemView::from).collect(),
            requests: detail.requests.iter().map(RequestView::from).collect(),
            tasks: detail.tasks.iter().map(TaskView::from).collect(),
            sequence: detail.sequence,
        }
    }
}

impl From<&ProviderSnapshot> for ProviderView {
    fn from(snapshot: &ProviderSnapshot) -> Self {
        let readiness = match snapshot.readiness {
            Readiness::Starting => "starting",
            Readiness::Ready => "ready",
            Readiness::Unusable => "unusable",
        };
        Self {
            id: snapshot.instance_id.to_string(),
            driver: snapshot.driver_kind.to_string(),
            readiness: readiness.to_owned(),
            constraints: snapshot.constraints.clone(),
            version: snapshot.version.clone(),
            models: snapshot
                .models
                .iter()
                .map(|model| model.id.clone())
                .collect(),
        }
    }
}

impl From<&Denial> for ErrorView {
    fn from(denial: &Denial) -> Self {
        Self {
            code: denial.code.word().to_owned(),
            message: denial.message.clone(),
            retryable: denial.code.is_retryable(),
        }
    }
}

/// What a fact changes for a person who follows; `None`: nothing a person sees.
pub(super) fn change(event: &Event) -> Option<Change> {
    Some(match event {
        Event::ThreadCreated(thread) | Event::ThreadUpdated(thread) => {
            Change::Thread(thread.into())
        }
        Event::RunCreated(run) | Event::RunUpdated(run) => Change::Run(run.into()),
        Event::ItemUpdated(item) => Change::Item(item.into()),
        Event::ItemTextAppended(text) => Change::Text(TextView {
            item_id: text.item_id.to_string(),
            thread_id: text.thread_id.to_string(),
            appended: text.appended.clone(),
        }),
        Event::RequestUpdated(request) => Change::Request(request.into()),
        Event::TaskUpdated(task) => Change::Task(task.into()),
        // A message shows as an item; the rest is the host's own bookkeeping.
        Event::ProjectAdded(_)
        | Event::MessageUpdated(_)
        | Event::TransferCreated(_)
        | Event::TransferUpdated(_)
        | Event::WorktreeUpdated(_)
        | Event::CheckpointCaptured(_)
        | Event::SessionUpdated(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bookkeeping_facts_are_not_told_to_people() {
        let project = Project {
            id: domain::ids::ProjectId::new("project-1"),
            name: "p".to_owned(),
            root: "/p".to_owned(),
            created_at: Timestamp::from_millis(0),
            kind: domain::project::ProjectKind::Registered,
        };
        assert!(change(&Event::ProjectAdded(project)).is_none());
    }
}
