//! Delegation: what one decision holds.

use crate::command::{Command, Delegate, Role};
use crate::effect::Effect;
use crate::event::Event;
use crate::ids::ProviderInstanceId;
use crate::item::{ItemKind, ItemStatus};
use crate::message::{CreatedBy, CreationSource, Provenance};
use crate::provider::ModelSelection;
use crate::run::{RunPurpose, RunStatus};
use crate::task::{TransferKind, WakePolicy};

use super::world::{INSTANCE, World};

#[test]
fn one_decision_holds_the_child_its_run_the_task_and_the_start() {
    let mut world = World::new();
    let parent = world.running();
    let wanted = world.wanted(&parent.thread, WakePolicy::Always);
    let decision = world.run(Command::Delegate(wanted));

    let mut words: Vec<&str> = decision
        .events
        .iter()
        .map(|event| match event {
            Event::ThreadCreated(_) => "child thread",
            Event::ThreadUpdated(_) => "parent thread",
            Event::RunCreated(_) => "run",
            Event::RunUpdated(run) if run.status == RunStatus::Starting => "run starts",
            Event::MessageUpdated(_) => "prompt",
            Event::TransferCreated(it) if it.kind == TransferKind::SubagentSpawn => "spawn",
            Event::TaskUpdated(_) => "task",
            Event::ItemUpdated(item) if item.kind == ItemKind::Subagent => "item of the parent",
            Event::ItemUpdated(item) if item.kind == ItemKind::UserMessage => "item of the child",
            other => panic!("{other:?}"),
        })
        .collect();
    words.sort_unstable();
    assert_eq!(
        words,
        [
            "child thread",
            "item of the child",
            "item of the parent",
            "parent thread",
            "prompt",
            "run",
            "run starts",
            "spawn",
            "task"
        ]
    );
    assert!(
        matches!(decision.effects[..], [Effect::StartTurn { .. }]),
        "{:?}",
        decision.effects
    );
}

#[test]
fn a_child_hangs_on_its_parent_and_works_where_the_parent_works() {
    let mut world = World::new();
    let parent = world.running();
    let wanted = Delegate {
        target: Ok(crate::command::ResolvedTarget {
            instance_id: ProviderInstanceId::new("claude"),
            model: ModelSelection {
                model: Some("opus".to_owned()),
                options: Vec::new(),
            },
            runtime_modes: Vec::new(),
            interaction_modes: Vec::new(),
        }),
        ..world.wanted(&parent.thread, WakePolicy::SettledOnly)
    };
    let child = world.delegated(wanted);

    let thread = world.thread(&child.thread).clone();
    let link = thread
        .lineage
        .parent
        .clone()
        .expect("a child names its parent");
    assert_eq!(
        (&link.thread_id, &link.run_id, &link.task_id),
        (&parent.thread, &parent.run, &child.task)
    );
    assert_eq!(
        (thread.lineage.depth, &thread.lineage.root_thread_id),
        (1, &parent.thread)
    );
    assert_eq!(thread.project_id, world.project);
    assert_eq!(thread.workspace_path, "/src/weft");
    assert_eq!(thread.provider_instance_id.as_str(), "claude");
    assert_eq!(thread.model.model.as_deref(), Some("opus"));

    let task = world.task(&child);
    assert_eq!(
        (&task.parent_thread_id, &task.parent_run_id),
        (&parent.thread, &parent.run)
    );
    assert_eq!(
        (&task.child_thread_id, &task.child_run_id),
        (&child.thread, &child.run)
    );
    assert_eq!(
        (task.wake, &task.delivery),
        (WakePolicy::SettledOnly, &None)
    );
    assert_eq!(task.result, None);

    let run = world.run_at(&child.run);
    assert_eq!((run.ordinal, run.purpose), (1, RunPurpose::Work));
    assert_eq!(run.provider_instance_id.as_str(), "claude");

    let items = world.items(&parent.thread, ItemKind::Subagent);
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].status, ItemStatus::Running);
    assert_eq!(items[0].run_id.as_ref(), Some(&parent.run));
    assert_eq!(items[0].head.name.as_deref(), Some(child.task.as_str()));
    assert_eq!(
        items[0].head.native_item_id.as_deref(),
        Some(child.thread.as_str())
    );
}

#[test]
fn the_prompt_of_a_child_says_which_agent_wrote_it() {
    let mut world = World::new();
    let parent = world.running();
    let child = world.delegate(&parent.thread);
    let expected = Provenance {
        created_by: CreatedBy::Agent,
        creation_source: CreationSource::Mcp,
        source_thread_id: Some(parent.thread),
        source_run_id: Some(parent.run),
        source_provider_instance_id: Some(ProviderInstanceId::new(INSTANCE)),
        source_model: None,
    };
    assert_eq!(world.message_of(&child.run).provenance, expected);
    assert_eq!(world.thread(&child.thread).provenance, expected);
}

#[test]
fn a_role_is_named_in_one_sentence_unless_it_is_general() {
    for (role, prompt) in [
        (None, "Look."),
        (Some(Role::General), "Look."),
        (
            Some(Role::Review),
            "Your role in this task is review.\n\nLook.",
        ),
        (
            Some(Role::Implementation),
            "Your role in this task is implementation.\n\nLook.",
        ),
    ] {
        let mut world = World::new();
        let parent = world.running();
        let task = "Look.".to_owned();
        let wanted = Delegate {
            task,
            role,
            ..world.wanted(&parent.thread, WakePolicy::Always)
        };
        let child = world.delegated(wanted);
        assert_eq!(world.message_of(&child.run).text, prompt);
        assert_eq!(world.task(&child).prompt, "Look.");
    }
}

#[test]
fn a_child_is_titled_by_its_title_or_its_prompt_in_72_characters() {
    let (fits, long) = ("a".repeat(72), "b".repeat(73));
    let cut = format!("{}...", "b".repeat(69));
    for (title, task, expected) in [
        (None, " Look.\n", "Look."),
        (Some(" Given "), "Look.", "Given"),
        (None, fits.as_str(), fits.as_str()),
        (None, long.as_str(), cut.as_str()),
        (Some(long.as_str()), "Look.", cut.as_str()),
    ] {
        let mut world = World::new();
        let parent = world.running();
        let wanted = Delegate {
            title: title.map(str::to_owned),
            task: task.to_owned(),
            ..world.wanted(&parent.thread, WakePolicy::Always)
        };
        let child = world.delegated(wanted);
        assert_eq!(world.thread(&child.thread).title, expected);
        assert_eq!(
            world.items(&parent.thread, ItemKind::Subagent)[0]
                .title
                .as_deref(),
            Some(expected)
        );
    }
}
