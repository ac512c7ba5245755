//! Where a child runs.

use domain::error::DenialCode;
use domain::ids::{DriverKind, ProviderInstanceId};
use domain::provider::{ModelOption, OptionValue};
use domain::view::View;
use threads::service::{DelegateRequest, NewThread, TargetRequest};

use super::bench::*;
use crate::support::fake_providers::{instance, unusable};

/// A wanted target: instance, driver, model.
type Wanted = (
    Option<&'static str>,
    Option<&'static str>,
    Option<&'static str>,
);

fn at((instance, driver, model): Wanted) -> DelegateRequest {
    DelegateRequest {
        target: TargetRequest {
            instance_id: instance.map(ProviderInstanceId::new),
            driver_kind: driver.map(DriverKind::new),
            model: model.map(str::to_owned),
            options: None,
        },
        ..asking("look")
    }
}

async fn parent_with_model(bench: &Bench, model: &str) -> Talk {
    let talk = bench.create(NewThread {
        model: Some(model.to_owned()),
        prompt: Some("go".to_owned()),
        ..new_thread()
    });
    let talk = talk.await;
    bench.turn_starts(&talk).await;
    talk
}

#[tokio::test]
async fn a_target_is_found_by_instance_driver_and_model() {
    let bench = Bench::new().await;
    // On alpha with m2.
    let parent = parent_with_model(&bench, "m2").await;
    let found: &[(Wanted, (&str, Option<&str>))] = &[
        ((None, None, None), (OWN, Some("m2"))),
        ((None, None, Some("m1")), (OWN, Some("m1"))),
        ((Some(OWN), None, None), (OWN, Some("m2"))),
        ((Some("second"), None, None), ("second", Some("m2"))),
        ((Some("beta"), None, None), ("beta", None)),
        ((Some("beta"), None, Some("any")), ("beta", Some("any"))),
        ((None, Some("codex"), None), (OWN, Some("m2"))),
        ((None, Some("claude"), None), ("beta", None)),
        ((None, Some("claudeAgent"), None), ("beta", None)),
        (
            (Some("second"), Some("codex"), Some("m2")),
            ("second", Some("m2")),
        ),
    ];
    for (wanted, (instance, model)) in found {
        let task = bench.try_delegate(&parent, at(*wanted)).await.unwrap().task;
        assert_eq!(task.provider_instance_id.as_str(), *instance, "{wanted:?}");
        assert_eq!(task.model.as_deref(), *model, "{wanted:?}");
        let (opening, _) = bench.providers.turn(&task.child_run_id).await;
        assert_eq!(opening.instance_id.as_str(), *instance, "{wanted:?}");
        assert_eq!(opening.model.model.as_deref(), *model, "{wanted:?}");
    }
}

#[tokio::test]
async fn a_target_that_is_not_there_is_refused_and_nothing_is_stored() {
    use DenialCode::{InvalidRequest, ModelUnavailable, ProviderUnavailable};
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let refused: &[(Wanted, DenialCode, &str)] = &[
        (
            (Some("gamma"), None, None),
            ProviderUnavailable,
            "instance gamma",
        ),
        (
            (None, Some("grok"), None),
            ProviderUnavailable,
            "driver grok",
        ),
        (
            (Some("broken"), None, None),
            ProviderUnavailable,
            "codex login",
        ),
        ((Some(OWN), Some("claude"), None), InvalidRequest, "codex"),
        ((None, None, Some("m9")), ModelUnavailable, "m1, m2"),
        ((Some("second"), None, Some("m1")), ModelUnavailable, "m2"),
    ];
    for (wanted, expected, says) in refused {
        let before = bench.stored();
        let denial = bench.try_delegate(&parent, at(*wanted)).await.unwrap_err();
        assert_eq!(denial.code, *expected, "{wanted:?}");
        assert!(denial.message.contains(says), "{wanted:?}: {denial}");
        assert_eq!(bench.stored(), before, "{wanted:?}");
    }
}

#[tokio::test]
async fn an_unusable_instance_is_looked_at_once_more_before_it_is_refused() {
    for (wanted, cured, looks) in [
        ((Some("broken"), None, None), true, 1),
        ((Some("broken"), None, None), false, 1),
        // Without a definite instance there is none to look at.
        ((None, Some("grok"), None), false, 0),
        ((Some("gamma"), None, None), false, 0),
    ] {
        let bench = Bench::new().await;
        let parent = bench.working("go").await;
        if cured {
            bench.providers.cure(instance("broken", "codex", &[]));
        }
        let answer = bench.try_delegate(&parent, at(wanted)).await;
        assert_eq!(answer.is_ok(), cured, "{wanted:?}");
        assert_eq!(bench.providers.looks_at("broken"), looks, "{wanted:?}");
        assert_eq!(bench.providers.looks_at("gamma"), 0);
    }
}

#[tokio::test]
async fn the_inherited_instance_is_looked_at_once_more_as_well() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let own = instance(OWN, "codex", &["m1"]);
    bench.providers.show(unusable(own.clone(), "It is ill."));
    let refused = bench.try_delegate(&parent, asking("look")).await;
    assert_eq!(code(refused), DenialCode::ProviderUnavailable);
    bench.providers.cure(own);
    bench.try_delegate(&parent, asking("look")).await.unwrap();
    assert_eq!(bench.providers.looks_at(OWN), 2);
}

#[tokio::test]
async fn a_driver_without_a_usable_own_instance_means_another_of_its_instances() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let own = instance(OWN, "codex", &[]);
    bench.providers.show(unusable(own, "It is ill."));
    let task = bench.try_delegate(&parent, at((None, Some("codex"), None)));
    let task = task.await.unwrap().task;
    assert_eq!(task.provider_instance_id.as_str(), "second");
    assert_eq!(bench.providers.looks_at(OWN), 0);
}

#[tokio::test]
async fn an_option_given_twice_is_refused() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let option = |value: &str| ModelOption {
        id: "effort".to_owned(),
        value: OptionValue::Text(value.to_owned()),
    };
    let with = |options: Vec<ModelOption>| {
        let mut request = asking("look");
        request.target.options = Some(options);
        request
    };
    let twice = with(vec![option("high"), option("low")]);
    let refused = bench.try_delegate(&parent, twice).await;
    assert_eq!(code(refused), DenialCode::InvalidRequest);
    let task = bench.try_delegate(&parent, with(vec![option("high")]));
    let task = task.await.unwrap().task;
    let thread = bench.reader().thread(&task.child_thread_id);
    assert_eq!(thread.unwrap().unwrap().model.options, vec![option("high")]);
}
