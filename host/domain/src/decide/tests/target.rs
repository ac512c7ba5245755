//! Where a child runs, row by row of the resolution.

use crate::decide::target::{Wanted, resolve};
use crate::error::DenialCode::{self, *};
use crate::ids::{DriverKind, ProviderInstanceId};
use crate::modes::{InteractionMode, RuntimeMode};
use crate::provider::*;
use crate::thread::Thread;

use super::world::World;

/// A caller's wish in plain words; `None`: as the parent.
#[derive(Clone, Copy, Default)]
pub(super) struct Wish<'a> {
    pub(super) instance: Option<&'a str>,
    pub(super) driver: Option<&'a str>,
    pub(super) model: Option<&'a str>,
    pub(super) options: Option<&'a [(&'a str, Value<'a>)]>,
}

#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    On,
    Word(&'a str),
}

pub(super) fn options(list: &[(&str, Value<'_>)]) -> Vec<ModelOption> {
    list.iter()
        .map(|(id, value)| ModelOption {
            id: (*id).to_owned(),
            value: match value {
                Value::On => OptionValue::Toggle(true),
                Value::Word(word) => OptionValue::Text((*word).to_owned()),
            },
        })
        .collect()
}

fn model(id: &str, options: Vec<ModelOptionInfo>) -> ModelInfo {
    ModelInfo {
        id: id.to_owned(),
        label: None,
        preferred: id == "large",
        options,
    }
}

fn option(id: &str, choices: &[&str]) -> ModelOptionInfo {
    ModelOptionInfo {
        id: id.to_owned(),
        label: None,
        choices: choices.iter().map(|&choice| choice.to_owned()).collect(),
        default_value: None,
    }
}

pub(super) fn snapshot(id: &str, driver: &str, models: Vec<ModelInfo>) -> ProviderSnapshot {
    ProviderSnapshot {
        instance_id: ProviderInstanceId::new(id),
        driver_kind: DriverKind::new(driver),
        display_name: None,
        models,
        runtime_modes: vec![RuntimeMode::FullAccess],
        interaction_modes: vec![InteractionMode::Default],
        steering: Steering::Native,
        mcp_wait_ms_max: None,
        version: None,
        constraints: Vec::new(),
        readiness: Readiness::Ready,
    }
}

fn down(mut snapshot: ProviderSnapshot) -> ProviderSnapshot {
    snapshot.constraints = vec!["Log in first.".to_owned()];
    snapshot.readiness = Readiness::Unusable;
    snapshot
}

fn starting(mut snapshot: ProviderSnapshot) -> ProviderSnapshot {
    snapshot.readiness = Readiness::Starting;
    snapshot
}

/// A thread on `home`, with model `small` at effort `low`.
fn parent() -> Thread {
    let mut world = World::new();
    let id = world.idle_thread();
    let mut thread = world.thread(&id).clone();
    thread.provider_instance_id = ProviderInstanceId::new("home");
    thread.model = ModelSelection {
        model: Some("small".to_owned()),
        options: options(&[("effort", Value::Word("low"))]),
    };
    thread
}

pub(super) fn home() -> ProviderSnapshot {
    let effort = || option("effort", &["low", "high"]);
    snapshot(
        "home",
        "codex",
        vec![
            model("small", vec![effort(), option("fast", &[])]),
            model("bare", Vec::new()),
        ],
    )
}

pub(super) fn away() -> ProviderSnapshot {
    snapshot(
        "away",
        "claude",
        vec![model("haiku", Vec::new()), model("large", Vec::new())],
    )
}

/// Instance, model and options found, or the code and the instance worth another probe.
pub(super) type Found =
    Result<(String, Option<String>, Vec<ModelOption>), (DenialCode, Option<String>)>;

pub(super) fn find(wish: Wish<'_>, snapshots: &[ProviderSnapshot]) -> Found {
    let instance = wish.instance.map(ProviderInstanceId::new);
    let driver = wish.driver.map(DriverKind::new);
    let wanted_options = wish.options.map(options);
    let wanted = Wanted {
        instance_id: instance.as_ref(),
        driver_kind: driver.as_ref(),
        model: wish.model,
        options: wanted_options.as_deref(),
    };
    match resolve(&parent(), wanted, snapshots) {
        Ok(target) => Ok((
            target.instance_id.to_string(),
            target.model.model,
            target.model.options,
        )),
        Err(no) => {
            assert!(!no.denial.message.is_empty());
            Err((no.denial.code, no.reprobe.map(|id| id.to_string())))
        }
    }
}

#[test]
fn an_instance_is_given_found_by_its_driver_or_the_parents() {
    let second = || snapshot("second", "codex", Vec::new());
    let third = || snapshot("third", "claude", Vec::new());
    let by_id = |id| Wish {
        instance: Some(id),
        ..Wish::default()
    };
    let by_driver = |kind| Wish {
        driver: Some(kind),
        ..Wish::default()
    };
    let both = |id, kind| Wish {
        instance: Some(id),
        driver: Some(kind),
        ..Wish::default()
    };
    let none: Option<String> = None;
    let probe = |id: &str| Some(id.to_owned());
    let rows = [
        (
            "nothing said",
            Wish::default(),
            vec![away(), home()],
            Ok("home"),
        ),
        (
            "nothing said, parent's down",
            Wish::default(),
            vec![away(), down(home())],
            Err((ProviderUnavailable, probe("home"))),
        ),
        (
            "nothing said, parent's gone",
            Wish::default(),
            vec![away()],
            Err((ProviderUnavailable, none.clone())),
        ),
        (
            "exactly this one",
            by_id("away"),
            vec![home(), away()],
            Ok("away"),
        ),
        (
            "exactly this one, down",
            by_id("away"),
            vec![home(), down(away()), third()],
            Err((ProviderUnavailable, probe("away"))),
        ),
        (
            "exactly this one, unknown",
            by_id("x"),
            vec![home()],
            Err((ProviderUnavailable, none.clone())),
        ),
        (
            "still starting counts as usable",
            by_id("away"),
            vec![starting(away())],
            Ok("away"),
        ),
        (
            "instance and its driver",
            both("away", "claude"),
            vec![home(), away()],
            Ok("away"),
        ),
        (
            "older word of the driver",
            both("away", "claudeAgent"),
            vec![home(), away()],
            Ok("away"),
        ),
        (
            "instance of another driver",
            both("away", "codex"),
            vec![home(), away()],
            Err((InvalidRequest, none.clone())),
        ),
        (
            "instance of another driver, down",
            both("away", "codex"),
            vec![home(), down(away())],
            Err((InvalidRequest, none.clone())),
        ),
        (
            "driver of the parent",
            by_driver("codex"),
            vec![second(), home()],
            Ok("home"),
        ),
        (
            "driver of the parent, parent's down",
            by_driver("codex"),
            vec![down(home()), second()],
            Ok("second"),
        ),
        (
            "another driver, first usable",
            by_driver("claude"),
            vec![home(), down(away()), third()],
            Ok("third"),
        ),
        (
            "another driver, all down",
            by_driver("claude"),
            vec![home(), down(away())],
            Err((ProviderUnavailable, none.clone())),
        ),
        (
            "unknown driver",
            by_driver("grok"),
            vec![home(), away()],
            Err((ProviderUnavailable, none.clone())),
        ),
    ];
    for (name, wish, snapshots, expected) in rows {
        let found = find(wish, &snapshots).map(|(instance, _, _)| instance);
        assert_eq!(found, expected.map(str::to_owned), "{name}");
    }
}

#[test]
fn a_target_carries_the_modes_its_instance_offers() {
    let wanted = Wanted {
        instance_id: None,
        driver_kind: None,
        model: None,
        options: None,
    };
    let target = resolve(&parent(), wanted, &[home()]).expect("resolved");
    assert_eq!(target.runtime_modes, [RuntimeMode::FullAccess]);
    assert_eq!(target.interaction_modes, [InteractionMode::Default]);
}

#[test]
fn a_refusal_says_what_would_have_been_right() {
    let tell = |wish: Wish<'_>, word: &str| {
        let instance = wish.instance.map(ProviderInstanceId::new);
        let wanted_options = wish.options.map(options);
        let wanted = Wanted {
            instance_id: instance.as_ref(),
            driver_kind: None,
            model: wish.model,
            options: wanted_options.as_deref(),
        };
        let no = resolve(&parent(), wanted, &[home(), down(away())]).expect_err("refused");
        assert!(no.denial.message.contains(word), "{}", no.denial);
    };
    tell(
        Wish {
            instance: Some("away"),
            ..Wish::default()
        },
        "Log in first.",
    );
    tell(
        Wish {
            model: Some("x"),
            ..Wish::default()
        },
        "small, bare",
    );
    tell(
        Wish {
            options: Some(&[("effort", Value::Word("x"))]),
            ..Wish::default()
        },
        "low, high",
    );
    tell(
        Wish {
            options: Some(&[("x", Value::On)]),
            ..Wish::default()
        },
        "effort, fast",
    );
}
