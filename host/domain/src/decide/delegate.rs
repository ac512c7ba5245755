//! Delegation: one child thread, its first run and the task that ties it to its parent, in one commit.

use crate::command::{AgentCaller, Answer, Delegate, ResolvedTarget, Role};
use crate::error::{Denial, DenialCode};
use crate::ids::{RunId, TaskId, ThreadId, TransferId};
use crate::item::{ItemKind, ItemStatus};
use crate::limits::{
    ACTIVE_CHILDREN_MAX, DELEGATION_DEPTH_MAX, DERIVED_TITLE_UNITS_MAX, TITLE_UNITS_MAX,
};
use crate::message::{CreatedBy, CreationSource, Provenance};
use crate::modes::{InteractionMode, Modes, RuntimeMode};
use crate::run::Run;
use crate::task::{ContextTransfer, Task, TransferKind, TransferStatus};
use crate::text::{title_from, utf16_len};
use crate::thread::{Lineage, ParentLink, Thread, Upkeep};
use crate::view::View;

use super::caller::live_caller;
use super::create::queue_message;
use super::draft::Draft;
use super::send::{check_host_room, check_prompt};
use super::{Ruled, refuse};

pub(super) fn delegate<V: View>(draft: &mut Draft<'_, V>, wanted: &Delegate) -> Ruled<V> {
    let caller = AgentCaller {
        thread_id: wanted.parent_thread_id.clone(),
        instance_id: wanted.caller_instance_id.clone(),
    };
    let Some((parent, parent_run)) = live_caller(draft, &caller)? else {
        refuse!(
            ParentNotActive,
            "Only a thread with an active run of its own provider instance can delegate: \
             this thread has none now."
        );
    };
    if let Err(denial) = check_texts(wanted) {
        return Ok(Err(denial));
    }
    let target = match &wanted.target {
        Ok(target) => target,
        Err(denial) => return Ok(Err(denial.clone())),
    };
    let modes = match child_modes(parent.modes, wanted, target) {
        Ok(modes) => modes,
        Err(denial) => return Ok(Err(denial)),
    };
    if let Err(denial) = check_room(draft, &parent, wanted.depth_max)? {
        return Ok(Err(denial));
    }

    let task_id = TaskId::from_random(draft.next_bits());
    let child_thread_id = add_child(
        draft,
        &parent,
        &parent_run,
        wanted,
        (target, modes),
        &task_id,
    );
    let provenance = written_by(&parent, &parent_run);
    let prompt = prompt_for(wanted);
    let queued = queue_message(draft, &child_thread_id, &prompt, provenance, None)?;
    let Some((_, child_run_id)) = queued else {
        refuse!(OrchestrationError, "The child thread could not be made.")
    };
    let transfer = ContextTransfer {
        id: TransferId::from_random(draft.next_bits()),
        kind: TransferKind::SubagentSpawn,
        source_thread_id: parent.id.clone(),
        target_thread_id: child_thread_id.clone(),
        run_id: child_run_id.clone(),
        created_at: draft.now(),
        status: TransferStatus::Consumed,
        strategy: None,
        consumed_by_run_id: Some(child_run_id.clone()),
        error: None,
    };
    draft.add_transfer(transfer);
    draft.put_task(Task {
        id: task_id.clone(),
        parent_thread_id: parent.id.clone(),
        parent_run_id: parent_run.id.clone(),
        child_thread_id: child_thread_id.clone(),
        child_run_id: child_run_id.clone(),
        provider_instance_id: target.instance_id.clone(),
        model: target.model.model.clone(),
        prompt: wanted.task.clone(),
        wake: wanted.wake,
        delivery: None,
        result: None,
        created_at: draft.now(),
    });
    show_task(
        draft,
        parent,
        &parent_run.id,
        &task_id,
        &child_thread_id,
        wanted,
    );
    Ok(Ok(Answer::Delegated {
        task_id,
        child_thread_id,
        child_run_id,
    }))
}

fn check_texts(wanted: &Delegate) -> Result<(), Denial> {
    check_prompt(&wanted.task)?;
    match &wanted.title {
        Some(title) if title.trim().is_empty() || utf16_len(title) > TITLE_UNITS_MAX => {
            Err(Denial::new(
                DenialCode::InvalidRequest,
                format!("A title has 1 to {TITLE_UNITS_MAX} characters."),
            ))
        }
        Some(_) | None => Ok(()),
    }
}

/// The child's modes: never broader than the parent's, and offered by its provider. Both escalations are
/// refused before what the provider lacks is looked at.
pub(super) fn child_modes(
    parent: Modes,
    wanted: &Delegate,
    target: &ResolvedTarget,
) -> Result<Modes, Denial> {
    if let Some(mode) = wanted.runtime_mode
        && mode > parent.runtime
    {
        return Err(Denial::new(
            DenialCode::RuntimeModeEscalationDenied,
            format!(
                "This thread works in {}: a child can't work in {}.",
                parent.runtime.word(),
                mode.word()
            ),
        ));
    }
    if let Some(mode) = wanted.interaction_mode
        && mode > parent.interaction
    {
        return Err(Denial::new(
            DenialCode::InteractionModeEscalationDenied,
            format!(
                "This thread works in {} mode: a child can't work in {} mode.",
                parent.interaction.word(),
                mode.word()
            ),
        ));
    }
    Ok(Modes {
        runtime: runtime_mode(parent.runtime, wanted.runtime_mode, &target.runtime_modes)?,
        interaction: interaction_mode(
            parent.interaction,
            wanted.interaction_mode,
            &target.interaction_modes,
        )?,
    })
}

fn runtime_mode(
    parent: RuntimeMode,
    explicit: Option<RuntimeMode>,
    offered: &[RuntimeMode],
) -> Result<RuntimeMode, Denial> {
    if offered.is_empty() {
        return Ok(explicit.unwrap_or(parent));
    }
    match explicit {
        Some(mode) if offered.contains(&mode) => Ok(mode),
        Some(mode) => {
            let words: Vec<&str> = offered.iter().map(|m| m.word()).collect();
            Err(not_offered(mode.word(), &words))
        }
        // An inherited mode the provider lacks steps down: it would silently run as its most careful one.
        None => Ok(broadest(offered, parent).unwrap_or(RuntimeMode::ApprovalRequired)),
    }
}

fn interaction_mode(
    parent: InteractionMode,
    explicit: Option<InteractionMode>,
    offered: &[InteractionMode],
) -> Result<InteractionMode, Denial> {
    if offered.is_empty() {
        return Ok(explicit.unwrap_or(parent));
    }
    let found = match explicit {
        Some(mode) => offered.contains(&mode).then_some(mode),
        None => broadest(offered, parent),
    };
    // Below `plan` there is nothing to step down to: a provider that can't plan would work.
    found.ok_or_else(|| {
        let words: Vec<&str> = offered.iter().map(|m| m.word()).collect();
        not_offered(explicit.unwrap_or(parent).word(), &words)
    })
}

/// The broadest offered mode that is not above the parent's.
fn broadest<M: Copy + Ord>(offered: &[M], parent: M) -> Option<M> {
    offered.iter().copied().filter(|mode| *mode <= parent).max()
}

fn not_offered(mode: &str, offered: &[&str]) -> Denial {
    Denial::new(
        DenialCode::InvalidRequest,
        format!(
            "The provider does not offer {mode}. It offers: {}.",
            offered.join(", ")
        ),
    )
}

fn check_room<V: View>(
    draft: &Draft<'_, V>,
    parent: &Thread,
    depth_max: u32,
) -> Result<Result<(), Denial>, V::Fault> {
    // A stop goes no deeper than this.
    let depth_max = depth_max.min(DELEGATION_DEPTH_MAX);
    let depth = parent.lineage.depth + 1;
    if depth > depth_max {
        refuse!(
            InvalidRequest,
            "Delegation depth is limited to {depth_max} and this child would be at {depth}: \
             do the work in this thread."
        );
    }
    let tasks = draft.tasks_of(&parent.id)?;
    let active = tasks.iter().filter(|task| task.result.is_none()).count();
    if active >= ACTIVE_CHILDREN_MAX as usize {
        refuse!(
            LimitExceeded,
            "This thread has {active} active children and may have {ACTIVE_CHILDREN_MAX}: \
             wait for one to end or cancel one."
        );
    }
    check_host_room(draft)
}

fn add_child<V: View>(
    draft: &mut Draft<'_, V>,
    parent: &Thread,
    parent_run: &Run,
    wanted: &Delegate,
    (target, modes): (&ResolvedTarget, Modes),
    task_id: &TaskId,
) -> ThreadId {
    let id = ThreadId::from_random(draft.next_bits());
    let now = draft.now();
    draft.add_thread(Thread {
        id: id.clone(),
        project_id: parent.project_id.clone(),
        title: title_of(wanted),
        provenance: written_by(parent, parent_run),
        provider_instance_id: target.instance_id.clone(),
        model: target.model.clone(),
        modes,
        workspace_path: parent.workspace_path.clone(),
        lineage: Lineage {
            parent: Some(ParentLink {
                thread_id: parent.id.clone(),
                run_id: parent_run.id.clone(),
                task_id: task_id.clone(),
            }),
            root_thread_id: parent.lineage.root_thread_id.clone(),
            depth: parent.lineage.depth + 1,
        },
        native: None,
        session_id: None,
        background: Vec::new(),
        run_ordinal_last: 0,
        item_position_last: 0,
        created_at: now,
        updated_at: now,
        archived_at: None,
        deleted_at: None,
        branch: None,
        worktree_id: None,
        forked_from: None,
        rolling_back_to: None,
        upkeep: Upkeep::default(),
    });
    id
}

fn title_of(wanted: &Delegate) -> String {
    title_from(
        wanted.title.as_deref().unwrap_or(&wanted.task),
        DERIVED_TITLE_UNITS_MAX,
    )
}

fn written_by(parent: &Thread, parent_run: &Run) -> Provenance {
    Provenance {
        created_by: CreatedBy::Agent,
        creation_source: CreationSource::Mcp,
        source_thread_id: Some(parent.id.clone()),
        source_run_id: Some(parent_run.id.clone()),
        source_provider_instance_id: Some(parent.provider_instance_id.clone()),
        source_model: None,
    }
}

/// The task, preceded by one sentence naming the role where there is one to name.
fn prompt_for(wanted: &Delegate) -> String {
    match wanted.role {
        Some(role) if role != Role::General => {
            format!(
                "Your role in this task is {}.\n\n{}",
                role.word(),
                wanted.task
            )
        }
        Some(_) | None => wanted.task.clone(),
    }
}

/// Puts the task into the parent's timeline.
fn show_task<V: View>(
    draft: &mut Draft<'_, V>,
    mut parent: Thread,
    parent_run_id: &RunId,
    task_id: &TaskId,
    child_thread_id: &ThreadId,
    wanted: &Delegate,
) {
    let mut item = draft.new_item(&mut parent, ItemKind::Subagent);
    item.run_id = Some(parent_run_id.clone());
    item.status = ItemStatus::Running;
    item.title = Some(title_of(wanted));
    item.head.name = Some(task_id.to_string());
    item.head.native_item_id = Some(child_thread_id.to_string());
    draft.put_item(item);
}
