//! How freely a child works: never more freely than its parent.

use domain::error::DenialCode;
use domain::modes::{InteractionMode, Modes, RuntimeMode};
use domain::provider::ProviderSnapshot;
use domain::view::View;
use threads::service::{DelegateRequest, NewThread};

use super::bench::*;
use crate::support::fake_providers::instance;

async fn parent_in(bench: &Bench, modes: Modes) -> Talk {
    let talk = bench.create(NewThread {
        runtime_mode: Some(modes.runtime),
        interaction_mode: Some(modes.interaction),
        prompt: Some("go".to_owned()),
        ..new_thread()
    });
    let talk = talk.await;
    bench.turn_starts(&talk).await;
    talk
}

/// The child's modes, or the code of the refusal.
async fn child_modes(
    bench: &Bench,
    parent: &Talk,
    wanted: (Option<RuntimeMode>, Option<InteractionMode>),
    on: &str,
) -> Result<Modes, DenialCode> {
    let mut request = DelegateRequest {
        runtime_mode: wanted.0,
        interaction_mode: wanted.1,
        ..asking("look")
    };
    request.target.instance_id = Some(domain::ids::ProviderInstanceId::new(on));
    let delegated = bench.try_delegate(parent, request).await;
    let task = delegated.map_err(|denial| denial.code)?.task;
    // Told to the provider as it stands in the store.
    let (opening, _) = bench.providers.turn(&task.child_run_id).await;
    let stored = bench.reader().thread(&task.child_thread_id);
    assert_eq!(stored.unwrap().unwrap().modes, opening.modes);
    Ok(opening.modes)
}

fn wishes<M: Copy>(all: &[M]) -> Vec<Option<M>> {
    std::iter::once(None)
        .chain(all.iter().copied().map(Some))
        .collect()
}

#[tokio::test]
async fn every_parent_mode_with_every_wish() {
    for runtime in RuntimeMode::ALL {
        for interaction in InteractionMode::ALL {
            let bench = Bench::new().await;
            let modes = Modes {
                runtime,
                interaction,
            };
            let parent = parent_in(&bench, modes).await;
            for wanted_runtime in wishes(&RuntimeMode::ALL) {
                for wanted_interaction in wishes(&InteractionMode::ALL) {
                    let wanted = (wanted_runtime, wanted_interaction);
                    let found = child_modes(&bench, &parent, wanted, OWN).await;
                    let expected = if wanted_runtime.is_some_and(|mode| mode > runtime) {
                        Err(DenialCode::RuntimeModeEscalationDenied)
                    } else if wanted_interaction.is_some_and(|mode| mode > interaction) {
                        Err(DenialCode::InteractionModeEscalationDenied)
                    } else {
                        Ok(Modes {
                            runtime: wanted_runtime.unwrap_or(runtime),
                            interaction: wanted_interaction.unwrap_or(interaction),
                        })
                    };
                    assert_eq!(found, expected, "{modes:?} {wanted:?}");
                }
            }
        }
    }
}

fn offering(runtime: &[RuntimeMode], interaction: &[InteractionMode]) -> ProviderSnapshot {
    let mut snapshot = instance("narrow", "codex", &[]);
    snapshot.runtime_modes = runtime.to_vec();
    snapshot.interaction_modes = interaction.to_vec();
    snapshot
}

#[tokio::test]
async fn what_the_provider_lacks_is_refused_when_asked_for_and_stepped_down_when_inherited() {
    use InteractionMode::{Default, Plan};
    use RuntimeMode::{ApprovalRequired, AutoAcceptEdits, FullAccess};
    let broad = Modes {
        runtime: FullAccess,
        interaction: Default,
    };
    let bench = Bench::new().await;
    let parent = parent_in(&bench, broad).await;
    let any = InteractionMode::ALL.as_slice();
    for (offered, wanted, expected) in [
        (
            (&[ApprovalRequired, FullAccess][..], any),
            (Some(AutoAcceptEdits), None),
            Err(DenialCode::InvalidRequest),
        ),
        (
            (&[ApprovalRequired, AutoAcceptEdits][..], any),
            (None, None),
            Ok((AutoAcceptEdits, Default)),
        ),
        (
            (&[ApprovalRequired][..], any),
            (None, None),
            Ok((ApprovalRequired, Default)),
        ),
        (
            (&[][..], &[][..]),
            (Some(AutoAcceptEdits), Some(Plan)),
            Ok((AutoAcceptEdits, Plan)),
        ),
        (
            (&[FullAccess][..], &[Default][..]),
            (None, Some(Plan)),
            Err(DenialCode::InvalidRequest),
        ),
        (
            (&[FullAccess][..], &[Plan][..]),
            (None, None),
            Ok((FullAccess, Plan)),
        ),
    ] {
        bench.providers.show(offering(offered.0, offered.1));
        let found = child_modes(&bench, &parent, wanted, "narrow").await;
        let expected = expected.map(|(runtime, interaction)| Modes {
            runtime,
            interaction,
        });
        assert_eq!(found, expected, "{offered:?} {wanted:?}");
    }
}

#[tokio::test]
async fn a_provider_that_works_more_freely_than_the_parent_runs_its_child_with_approval() {
    let bench = Bench::new().await;
    let careful = Modes {
        runtime: RuntimeMode::AutoAcceptEdits,
        interaction: InteractionMode::Default,
    };
    let parent = parent_in(&bench, careful).await;
    bench
        .providers
        .show(offering(&[RuntimeMode::FullAccess], &[]));
    let found = child_modes(&bench, &parent, (None, None), "narrow").await;
    assert_eq!(found.unwrap().runtime, RuntimeMode::ApprovalRequired);
}
