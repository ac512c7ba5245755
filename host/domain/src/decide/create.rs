//! Projects and top-level threads.

use crate::command::{AddProject, Answer, CreateThread};
use crate::event::Event;
use crate::ids::{MessageId, ProjectId, RunId, ThreadId};
use crate::limits::{DERIVED_TITLE_UNITS_MAX, TITLE_UNITS_MAX};
use crate::message::{Message, Provenance, Role, Wake};
use crate::project::{Project, ProjectKind};
use crate::provider_event::Usage;
use crate::run::{QueueState, Run, RunPurpose, RunStatus};
use crate::text::{title_from, utf16_len};
use crate::thread::{Lineage, Thread, Upkeep};
use crate::view::View;

use super::draft::Draft;
use super::send::{check_host_room, check_prompt};
use super::{Ruled, refuse};

pub(super) fn add_project<V: View>(draft: &mut Draft<'_, V>, add: &AddProject) -> Ruled<V> {
    if add.name.trim().is_empty() || utf16_len(&add.name) > TITLE_UNITS_MAX {
        refuse!(
            InvalidRequest,
            "A Project's name has 1 to {TITLE_UNITS_MAX} characters."
        );
    }
    for project in draft.view.projects()? {
        if project.root == add.root {
            refuse!(
                InvalidRequest,
                "{} is registered already, as Project {} ({}).",
                add.root,
                project.name,
                project.id
            );
        }
        if project.name == add.name {
            refuse!(
                InvalidRequest,
                "The name {} is taken by the Project at {}: choose another name.",
                add.name,
                project.root
            );
        }
    }
    let project = Project {
        id: ProjectId::from_random(draft.next_bits()),
        name: add.name.clone(),
        root: add.root.clone(),
        created_at: draft.now(),
        kind: ProjectKind::Registered,
    };
    let project_id = project.id.clone();
    draft.push(Event::ProjectAdded(project));
    Ok(Ok(Answer::Project { project_id }))
}

pub(super) fn create_thread<V: View>(draft: &mut Draft<'_, V>, create: &CreateThread) -> Ruled<V> {
    let Some(project) = draft.view.project(&create.project_id)? else {
        refuse!(
            ProjectNotFound,
            "There is no Project {}.",
            create.project_id
        );
    };
    if let Some(title) = &create.title
        && (title.trim().is_empty() || utf16_len(title) > TITLE_UNITS_MAX)
    {
        refuse!(
            InvalidRequest,
            "A title has 1 to {TITLE_UNITS_MAX} characters."
        );
    }
    if let Some(prompt) = &create.prompt
        && let Err(denial) = check_prompt(prompt)
    {
        return Ok(Err(denial));
    }
    if create.prompt.is_some()
        && let Err(denial) = check_host_room(draft)?
    {
        return Ok(Err(denial));
    }
    let id = ThreadId::from_random(draft.next_bits());
    let title = create.title.clone().unwrap_or_else(|| {
        title_from(
            create.prompt.as_deref().unwrap_or("New thread"),
            DERIVED_TITLE_UNITS_MAX,
        )
    });
    let now = draft.now();
    let thread = Thread {
        id: id.clone(),
        project_id: project.id,
        title,
        provenance: create.provenance.clone(),
        provider_instance_id: create.provider_instance_id.clone(),
        model: create.model.clone(),
        modes: create.modes,
        workspace_path: project.root,
        lineage: Lineage {
            parent: None,
            root_thread_id: id.clone(),
            depth: 0,
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
    };
    draft.add_thread(thread);
    let run_id = match &create.prompt {
        Some(prompt) => {
            let ids = queue_message(draft, &id, prompt, create.provenance.clone(), None)?;
            ids.map(|(_, run)| run)
        }
        None => None,
    };
    Ok(Ok(Answer::Thread {
        thread_id: id,
        run_id,
    }))
}

/// Stores a message with a queued run of its own. The run starts when the thread is settled, if nothing is
/// before it. `None`: no such thread.
pub(super) fn queue_message<V: View>(
    draft: &mut Draft<'_, V>,
    thread_id: &ThreadId,
    text: &str,
    provenance: Provenance,
    wakes: Option<Wake>,
) -> Result<Option<(MessageId, RunId)>, V::Fault> {
    let message = Message {
        id: MessageId::from_random(draft.next_bits()),
        thread_id: thread_id.clone(),
        run_id: None,
        role: Role::User,
        text: text.to_owned(),
        provenance,
        wakes,
        created_at: draft.now(),
        asks: None,
    };
    queue_run(draft, message)
}

/// Gives a message a queued run of its own.
pub(super) fn queue_run<V: View>(
    draft: &mut Draft<'_, V>,
    mut message: Message,
) -> Result<Option<(MessageId, RunId)>, V::Fault> {
    let Some(mut thread) = draft.thread(&message.thread_id)? else {
        return Ok(None);
    };
    thread.run_ordinal_last += 1;
    let run = Run {
        id: RunId::from_random(draft.next_bits()),
        thread_id: thread.id.clone(),
        ordinal: thread.run_ordinal_last,
        status: RunStatus::Queued,
        purpose: if message.wakes.is_some() {
            RunPurpose::Wake
        } else {
            RunPurpose::Work
        },
        queue: QueueState::Free,
        provider_instance_id: thread.provider_instance_id.clone(),
        model: thread.model.clone(),
        message_id: message.id.clone(),
        native_turn_id: None,
        native_point: None,
        reason: None,
        usage: Usage::default(),
        requested_at: draft.now(),
        started_at: None,
        completed_at: None,
        attempts: Vec::new(),
        restart: None,
        checkpoint_id: None,
        awaits_worktree_id: None,
    };
    message.run_id = Some(run.id.clone());
    let ids = (message.id.clone(), run.id.clone());
    draft.settle_later(&thread.id);
    draft.put_thread(thread);
    draft.put_message(message);
    draft.add_run(run);
    Ok(Some(ids))
}
