//! Entities for tests, whole and plain; a test changes the fields it is about.

use domain::event::{Event, ItemText};
use domain::ids::{
    ItemId, MessageId, ProjectId, ProviderInstanceId, ProviderSessionId, RequestId, RunId, TaskId,
    ThreadId, TransferId,
};
use domain::item::{Item, ItemHead, ItemKind, ItemOrigin, ItemStatus};
use domain::message::{Message, Provenance, Role};
use domain::modes::{InteractionMode, Modes, RuntimeMode};
use domain::project::{Project, ProjectKind};
use domain::provider::ModelSelection;
use domain::provider_event::{Blocking, Usage};
use domain::request::{Prompt, Request, RequestStatus};
use domain::run::{QueueState, Run, RunPurpose, RunStatus};
use domain::session::{ProcessRecord, ProviderSession};
use domain::task::{ContextTransfer, Task, TransferKind, TransferStatus, WakePolicy};
use domain::thread::{Lineage, Thread, Upkeep};
use domain::time::Timestamp;

pub(crate) fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(crate) fn project(id: &str, name: &str) -> Project {
    Project {
        id: ProjectId::new(id),
        name: name.to_owned(),
        root: format!("/src/{name}"),
        created_at: at(1),
        kind: ProjectKind::Registered,
    }
}

pub(crate) fn thread(id: &str, updated_at: u64) -> Thread {
    Thread {
        id: ThreadId::new(id),
        project_id: ProjectId::new("p"),
        title: format!("title of {id}"),
        provenance: Provenance::person_at_command_line(),
        provider_instance_id: ProviderInstanceId::new("codex"),
        model: ModelSelection::default(),
        modes: Modes {
            runtime: RuntimeMode::ApprovalRequired,
            interaction: InteractionMode::Default,
        },
        workspace_path: "/src/p".to_owned(),
        lineage: Lineage {
            parent: None,
            root_thread_id: ThreadId::new(id),
            depth: 0,
        },
        native: None,
        session_id: None,
        background: Vec::new(),
        run_ordinal_last: 0,
        item_position_last: 0,
        created_at: at(1),
        updated_at: at(updated_at),
        archived_at: None,
        deleted_at: None,
        branch: None,
        worktree_id: None,
        forked_from: None,
        rolling_back_to: None,
        upkeep: Upkeep::default(),
    }
}

pub(crate) fn run(thread: &str, ordinal: u32, status: RunStatus) -> Run {
    Run {
        id: RunId::new(format!("{thread}-run-{ordinal}")),
        thread_id: ThreadId::new(thread),
        ordinal,
        status,
        purpose: RunPurpose::Work,
        queue: QueueState::Free,
        provider_instance_id: ProviderInstanceId::new("codex"),
        model: ModelSelection::default(),
        message_id: MessageId::new(format!("{thread}-message-{ordinal}")),
        native_turn_id: None,
        native_point: None,
        reason: None,
        usage: Usage::default(),
        requested_at: at(2),
        started_at: None,
        completed_at: None,
        attempts: Vec::new(),
        restart: None,
        checkpoint_id: None,
        awaits_worktree_id: None,
    }
}

pub(crate) fn message(id: &str, thread: &str, text: &str) -> Message {
    Message {
        id: MessageId::new(id),
        thread_id: ThreadId::new(thread),
        run_id: None,
        role: Role::User,
        text: text.to_owned(),
        provenance: Provenance::person_at_command_line(),
        wakes: None,
        created_at: at(2),
        asks: None,
    }
}

pub(crate) fn item(id: &str, thread: &str, position: u64, run: Option<&str>) -> Item {
    Item {
        id: ItemId::new(id),
        thread_id: ThreadId::new(thread),
        run_id: run.map(RunId::new),
        position,
        origin: Some(ItemOrigin {
            session_id: ProviderSessionId::new("s"),
            driver_item_id: format!("native-{id}"),
        }),
        parent_item_id: None,
        kind: ItemKind::AssistantMessage,
        status: ItemStatus::Running,
        title: None,
        text: String::new(),
        message_id: None,
        head: ItemHead::default(),
        body_json: "{}".to_owned(),
        created_at: at(3),
        updated_at: at(3),
    }
}

pub(crate) fn appended(item: &Item, text: &str, millis: u64) -> Event {
    Event::ItemTextAppended(ItemText {
        item_id: item.id.clone(),
        thread_id: item.thread_id.clone(),
        position: item.position,
        appended: text.to_owned(),
        at: at(millis),
    })
}

pub(crate) fn request(id: &str, thread: &str, status: RequestStatus) -> Request {
    Request {
        id: RequestId::new(id),
        thread_id: ThreadId::new(thread),
        run_id: None,
        session_id: ProviderSessionId::new("s"),
        blocking: Blocking::Blocking,
        prompt: Prompt::Questions(Vec::new()),
        detail_json: "{}".to_owned(),
        status,
        created_at: at(4),
        resolved_at: None,
    }
}

pub(crate) fn task(id: &str, parent: &str, child: &str) -> Task {
    Task {
        id: TaskId::new(id),
        parent_thread_id: ThreadId::new(parent),
        parent_run_id: RunId::new(format!("{parent}-run-1")),
        child_thread_id: ThreadId::new(child),
        child_run_id: RunId::new(format!("{child}-run-1")),
        provider_instance_id: ProviderInstanceId::new("codex"),
        model: None,
        prompt: "do it".to_owned(),
        wake: WakePolicy::Always,
        delivery: None,
        result: None,
        created_at: at(5),
    }
}

pub(crate) fn transfer(
    id: &str,
    source: &str,
    target: &str,
    kind: TransferKind,
) -> ContextTransfer {
    ContextTransfer {
        id: TransferId::new(id),
        kind,
        source_thread_id: ThreadId::new(source),
        target_thread_id: ThreadId::new(target),
        run_id: RunId::new(format!("{target}-run-1")),
        created_at: at(6),
        status: TransferStatus::Consumed,
        strategy: None,
        consumed_by_run_id: None,
        error: None,
    }
}

pub(crate) fn session(id: &str) -> ProviderSession {
    ProviderSession {
        id: ProviderSessionId::new(id),
        instance_id: ProviderInstanceId::new("codex"),
        threads: Vec::new(),
        processes: vec![ProcessRecord {
            pid: 4_711,
            start_ticks: 99,
        }],
        created_at: at(7),
        ended: None,
    }
}
