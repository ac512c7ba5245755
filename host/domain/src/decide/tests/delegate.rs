//! Delegation: what one decision holds, and what it refuses.

use crate::command::{Command, Delegate, Role};
use crate::effect::Effect;
use crate::error::DenialCode::{self, *};
use crate::event::Event;
use crate::ids::{ProviderInstanceId, ThreadId};
use crate::item::{ItemKind, ItemStatus};
use crate::limits::{ACTIVE_CHILDREN_MAX, ACTIVE_THREADS_MAX, PROMPT_UNITS_MAX, TITLE_UNITS_MAX};
use crate::message::{CreatedBy, CreationSource, Provenance};
use crate::modes::{InteractionMode, Modes, RuntimeMode};
use crate::provider::ModelSelection;
use crate::run::{RunPurpose, RunStatus};
use crate::task::{TransferKind, WakePolicy};
use crate::time::Timestamp;

use super::world::{BROADEST, INSTANCE, Talk, World};

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
        target: crate::command::ResolvedTarget {
            instance_id: ProviderInstanceId::new("claude"),
            model: ModelSelection {
                model: Some("opus".to_owned()),
                options: Vec::new(),
            },
            runtime_modes: Vec::new(),
            interaction_modes: Vec::new(),
        },
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

// -------------------------------------------------------------------- refusals

#[test]
fn refusals_come_in_the_order_of_the_contract() {
    let mut world = World::new();
    let careful = Modes {
        runtime: RuntimeMode::AutoAcceptEdits,
        interaction: InteractionMode::Plan,
    };
    let parent = world.starting_in(careful);
    for _ in 0..ACTIVE_CHILDREN_MAX {
        world.delegate(&parent.thread);
    }
    world.view.other_active_threads = ACTIVE_THREADS_MAX;

    // Everything is wrong; each step mends what the step before it was refused for.
    let mut wanted = world.wanted(&parent.thread, WakePolicy::Always);
    wanted.caller_instance_id = ProviderInstanceId::new("other");
    wanted.task = " ".to_owned();
    wanted.runtime_mode = Some(RuntimeMode::FullAccess);
    wanted.interaction_mode = Some(InteractionMode::Default);
    wanted.target.runtime_modes = vec![RuntimeMode::FullAccess];
    wanted.depth_max = 0;
    type Mend = fn(&mut Delegate);
    let steps: [(DenialCode, &str, Mend); 6] = [
        (ParentNotActive, "active run", |wanted| {
            wanted.caller_instance_id = ProviderInstanceId::new(INSTANCE);
        }),
        (InvalidRequest, "empty", |wanted| {
            wanted.task = "Look.".to_owned()
        }),
        (RuntimeModeEscalationDenied, "full-access", |wanted| {
            wanted.runtime_mode = Some(RuntimeMode::ApprovalRequired);
        }),
        (InteractionModeEscalationDenied, "default mode", |wanted| {
            wanted.interaction_mode = None
        }),
        (
            InvalidRequest,
            "does not offer approval-required",
            |wanted| {
                wanted.target.runtime_modes.clear();
            },
        ),
        (InvalidRequest, "depth is limited to 0", |wanted| {
            wanted.depth_max = 1
        }),
    ];
    for (code, word, mend) in steps {
        let denial = world.denial(Command::Delegate(wanted.clone()));
        assert_eq!(denial.code, code, "{denial}");
        assert!(denial.message.contains(word), "{denial}");
        mend(&mut wanted);
    }
    let denial = world.denial(Command::Delegate(wanted.clone()));
    assert_eq!(
        (denial.code, denial.message.contains("20 active children")),
        (LimitExceeded, true)
    );
    let ended = world
        .view
        .tasks
        .values()
        .next()
        .expect("children")
        .child_run_id
        .clone();
    world.complete(&ended);
    let denial = world.denial(Command::Delegate(wanted.clone()));
    assert_eq!(
        (denial.code, denial.message.contains("1024 active threads")),
        (LimitExceeded, true)
    );
    world.view.other_active_threads = 0;
    world.delegated(wanted);
}

#[test]
fn only_a_live_run_of_the_callers_own_instance_delegates() {
    type Change = fn(&mut World, &Talk);
    let force = |world: &mut World, talk: &Talk, status| {
        world.view.runs.get_mut(&talk.run).expect("run").status = status;
    };
    let cases: [(&str, Option<DenialCode>, Change); 10] = [
        ("starting", None, |_, _| {}),
        ("running", None, |world, talk| drop(world.start(&talk.run))),
        ("completed", Some(ParentNotActive), |world, talk| {
            drop(world.complete(&talk.run))
        }),
        ("stopping", Some(ParentNotActive), |world, talk| {
            world.start(&talk.run);
            world.stop(&talk.thread);
        }),
        (
            "stopping before it started",
            Some(ParentNotActive),
            |world, talk| {
                world.stop(&talk.thread);
            },
        ),
        (
            "run of another instance",
            Some(ParentNotActive),
            |world, talk| {
                let run = world.view.runs.get_mut(&talk.run).expect("run");
                run.provider_instance_id = ProviderInstanceId::new("claude");
            },
        ),
        ("archived", Some(ParentNotActive), |world, talk| {
            let thread = world.view.threads.get_mut(&talk.thread).expect("thread");
            thread.archived_at = Some(Timestamp::from_millis(1));
        }),
        ("deleted", Some(ParentNotActive), |world, talk| {
            let thread = world.view.threads.get_mut(&talk.thread).expect("thread");
            thread.deleted_at = Some(Timestamp::from_millis(1));
        }),
        ("ended with another run active", None, |world, talk| {
            world.complete(&talk.run);
            world.send(&talk.thread);
        }),
        (
            "ended with another run held",
            Some(ParentNotActive),
            |world, talk| {
                world.send(&talk.thread);
                world.stop(&talk.thread);
                world.complete(&talk.run);
            },
        ),
    ];
    for (name, refused, change) in cases {
        let mut world = World::new();
        let talk = world.starting();
        change(&mut world, &talk);
        let wanted = Command::Delegate(world.wanted(&talk.thread, WakePolicy::Always));
        assert_eq!(
            world.try_run(&wanted).err().map(|denial| denial.code),
            refused,
            "{name}"
        );
    }

    let mut world = World::new();
    let talk = world.starting();
    force(&mut world, &talk, RunStatus::Waiting);
    world.delegate(&talk.thread);
    let nowhere = world.wanted(&ThreadId::new("thread-x"), WakePolicy::Always);
    assert_eq!(world.deny(Command::Delegate(nowhere)), ParentNotActive);
}

#[test]
fn texts_keep_their_bounds_in_utf_16_units() {
    let clef = "\u{1d11e}";
    let half = PROMPT_UNITS_MAX / 2;
    for (name, task, title, taken) in [
        ("longest task", "t".repeat(PROMPT_UNITS_MAX), None, true),
        (
            "one too long",
            "t".repeat(PROMPT_UNITS_MAX + 1),
            None,
            false,
        ),
        ("longest of wide characters", clef.repeat(half), None, true),
        (
            "one wide character too long",
            clef.repeat(half + 1),
            None,
            false,
        ),
        ("empty", String::new(), None, false),
        ("blank", " \n\t".to_owned(), None, false),
        (
            "longest title",
            "t".to_owned(),
            Some("t".repeat(TITLE_UNITS_MAX)),
            true,
        ),
        (
            "title one too long",
            "t".to_owned(),
            Some("t".repeat(TITLE_UNITS_MAX + 1)),
            false,
        ),
        (
            "wide title",
            "t".to_owned(),
            Some(clef.repeat(TITLE_UNITS_MAX / 2 + 1)),
            false,
        ),
        ("blank title", "t".to_owned(), Some(" ".to_owned()), false),
    ] {
        let mut world = World::new();
        let parent = world.starting_in(BROADEST);
        let wanted = Delegate {
            task,
            title,
            ..world.wanted(&parent.thread, WakePolicy::Always)
        };
        let code = world
            .try_run(&Command::Delegate(wanted))
            .err()
            .map(|denial| denial.code);
        assert_eq!(code, (!taken).then_some(InvalidRequest), "{name}");
    }
}
