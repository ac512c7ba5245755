//! What a delegation is refused for, and in which order.

use crate::command::{Command, Delegate, ResolvedTarget};
use crate::error::Denial;
use crate::error::DenialCode::{self, *};
use crate::ids::{ProviderInstanceId, ThreadId};
use crate::limits::{ACTIVE_CHILDREN_MAX, ACTIVE_THREADS_MAX, PROMPT_UNITS_MAX, TITLE_UNITS_MAX};
use crate::modes::{InteractionMode, Modes, RuntimeMode};
use crate::provider::ModelSelection;
use crate::run::RunStatus;
use crate::task::WakePolicy;
use crate::time::Timestamp;

use super::world::{BROADEST, INSTANCE, Talk, World};

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
    wanted.target = Err(Denial::new(ModelUnavailable, "Not that model."));
    wanted.depth_max = 0;
    type Mend = fn(&mut Delegate);
    let steps: [(DenialCode, &str, Mend); 7] = [
        (ParentNotActive, "active run", |wanted| {
            wanted.caller_instance_id = ProviderInstanceId::new(INSTANCE);
        }),
        (InvalidRequest, "empty", |wanted| {
            wanted.task = "Look.".to_owned();
        }),
        (ModelUnavailable, "Not that model", |wanted| {
            wanted.target = Ok(ResolvedTarget {
                instance_id: ProviderInstanceId::new(INSTANCE),
                model: ModelSelection::default(),
                runtime_modes: vec![RuntimeMode::FullAccess],
                interaction_modes: Vec::new(),
            });
        }),
        (RuntimeModeEscalationDenied, "full-access", |wanted| {
            wanted.runtime_mode = Some(RuntimeMode::ApprovalRequired);
        }),
        (InteractionModeEscalationDenied, "default mode", |wanted| {
            wanted.interaction_mode = None;
        }),
        (
            InvalidRequest,
            "does not offer approval-required",
            |wanted| {
                wanted.target.as_mut().unwrap().runtime_modes.clear();
            },
        ),
        (InvalidRequest, "depth is limited to 0", |wanted| {
            wanted.depth_max = 1;
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
            drop(world.complete(&talk.run));
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
