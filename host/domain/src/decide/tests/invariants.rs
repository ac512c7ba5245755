//! What must hold after every command.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::Event;
use crate::ids::{MessageId, TaskId, ThreadId};
use crate::message::{CreatedBy, CreationSource, Message};
use crate::run::{QueueState, Run, RunPurpose, RunStatus};
use crate::task::{DeliveryState, TransferKind, WakePolicy};

use super::map_view::MapView;

/// What one event may do to the state before it.
pub(super) fn check_event(before: &MapView, event: &Event) {
    match event {
        Event::RunUpdated(run) => {
            let old = &before.runs[&run.id];
            let moved = old.status != run.status;
            assert!(
                !moved || old.status.may_become(run.status),
                "{:?} moved to {:?}",
                old.status,
                run.status
            );
            assert!(
                !moved || !old.status.is_terminal(),
                "a run ended twice: {run:?}"
            );
            assert_eq!(
                run.completed_at.is_some(),
                run.status.is_terminal(),
                "{run:?}"
            );
        }
        Event::TaskUpdated(task) => {
            if let Some(old) = before.tasks.get(&task.id) {
                let published = old.result.is_some();
                assert!(
                    !published || old.result == task.result,
                    "published twice: {task:?}"
                );
            }
        }
        Event::ItemUpdated(item) => {
            if let Some(old) = before.items.get(&item.id) {
                assert!(
                    !old.status.is_closed() || item.status.is_closed(),
                    "reopened: {item:?}"
                );
                assert_eq!(old.position, item.position, "moved: {item:?}");
            }
        }
        Event::RequestUpdated(request) => {
            if let Some(old) = before.requests.get(&request.id) {
                assert!(old.is_pending(), "changed after its end: {request:?}");
            }
        }
        _ => {}
    }
}

/// What holds between commands.
pub(super) fn check_state(view: &MapView) {
    check_queues(view);
    check_tasks(view);
    check_wakes(view);
    view.messages.values().for_each(check_provenance);
    for item in view.items.values().filter(|item| !item.status.is_closed()) {
        let over = item
            .run_id
            .as_ref()
            .is_some_and(|id| view.runs[id].status.is_terminal());
        let delegated = item.kind == crate::item::ItemKind::Subagent;
        assert!(
            !over || delegated,
            "an item stays open after its turn: {item:?}"
        );
    }
}

fn check_queues(view: &MapView) {
    let mut threads: BTreeMap<&ThreadId, Vec<&Run>> = BTreeMap::new();
    let mut ordinals = BTreeSet::new();
    for run in view.runs.values() {
        assert!(
            ordinals.insert((&run.thread_id, run.ordinal)),
            "ordinal reused: {run:?}"
        );
        if !run.status.is_terminal() {
            threads.entry(&run.thread_id).or_default().push(run);
        }
    }
    for (thread, open) in threads {
        let active = open.iter().filter(|run| run.status.is_active()).count();
        assert!(active <= 1, "{thread} has {active} active runs");
        let startable = open
            .iter()
            .any(|run| run.status == RunStatus::Queued && run.queue == QueueState::Free);
        assert!(
            active == 1 || !startable || !view.threads[thread].is_open(),
            "{thread} has a queue that stands still: {open:?}"
        );
    }
}

fn check_tasks(view: &MapView) {
    let mut results = BTreeSet::new();
    for transfer in view.transfers.values() {
        let end = (&transfer.source_thread_id, &transfer.target_thread_id);
        let new = transfer.kind != TransferKind::SubagentResult || results.insert(end);
        assert!(new, "handed over twice: {transfer:?}");
    }
    for task in view.tasks.values() {
        let (parent, child) = (
            &view.threads[&task.parent_thread_id],
            &view.threads[&task.child_thread_id],
        );
        assert!(
            child.modes.runtime <= parent.modes.runtime,
            "broader than its parent: {child:?}"
        );
        assert!(
            child.modes.interaction <= parent.modes.interaction,
            "broader: {child:?}"
        );
        assert_eq!(child.lineage.depth, parent.lineage.depth + 1);
        assert_eq!(child.lineage.root_thread_id, parent.lineage.root_thread_id);
        let Some(delivery) = &task.delivery else {
            assert_eq!(task.result, None, "ended and owed to nobody: {task:?}");
            continue;
        };
        assert!(
            task.result.is_some() || delivery.state == DeliveryState::Disposed,
            "told before its end: {task:?}"
        );
        let waits_for_its_caller =
            task.wake == WakePolicy::SettledOnly && view.runs[&task.parent_run_id].status.is_live();
        assert!(
            delivery.state != DeliveryState::Pending || waits_for_its_caller || !parent.is_open(),
            "ended and not offered: {task:?}"
        );
    }
}

/// A claimed task stands in exactly one wake that has not reached the provider.
fn check_wakes(view: &MapView) {
    let mut claimed: BTreeMap<&TaskId, &MessageId> = BTreeMap::new();
    let mut queued = BTreeSet::new();
    for run in view
        .runs
        .values()
        .filter(|run| run.purpose == RunPurpose::Wake)
    {
        let wake = view.messages[&run.message_id]
            .wakes
            .as_ref()
            .expect("a wake names its tasks");
        if run.status == RunStatus::Queued {
            assert!(queued.insert(&run.thread_id), "two queued wakes: {run:?}");
            assert_eq!(run.queue, QueueState::Free, "a wake is never held");
        }
        if matches!(run.status, RunStatus::Queued | RunStatus::Starting) {
            for id in &wake.task_ids {
                let state = view.tasks[id]
                    .delivery
                    .as_ref()
                    .map(|delivery| delivery.state);
                if state == Some(DeliveryState::Claimed) {
                    assert_eq!(
                        claimed.insert(id, &run.message_id),
                        None,
                        "in two wakes: {id}"
                    );
                } else {
                    assert_eq!(
                        run.status,
                        RunStatus::Starting,
                        "{id} is {state:?} in a queue"
                    );
                }
            }
        }
    }
    for task in view.tasks.values() {
        let state = task.delivery.as_ref().map(|delivery| delivery.state);
        assert!(
            state != Some(DeliveryState::Claimed) || claimed.contains_key(&task.id),
            "claimed by no wake: {task:?}"
        );
    }
}

fn check_provenance(message: &Message) {
    let from = &message.provenance;
    let says_where = match (from.created_by, from.creation_source) {
        (CreatedBy::Agent, CreationSource::Mcp) => {
            from.source_thread_id.is_some()
                && from.source_run_id.is_some()
                && from.source_provider_instance_id.is_some()
        }
        (CreatedBy::Agent, CreationSource::Provider) => {
            message.run_id.is_none() || from.source_provider_instance_id.is_some()
        }
        (CreatedBy::Agent, CreationSource::Server) => message.wakes.is_some(),
        (CreatedBy::User, CreationSource::Cli) => message.wakes.is_none(),
        _ => false,
    };
    assert!(says_where, "a message from nowhere: {message:?}");
    assert!(!message.text.is_empty());
}
