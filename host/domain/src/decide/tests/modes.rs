//! A child's modes: parent x explicit x offered, every combination.

use crate::command::{Command, Delegate};
use crate::error::DenialCode::{self, *};
use crate::modes::InteractionMode::{self, Default as Build, Plan};
use crate::modes::Modes;
use crate::modes::RuntimeMode::{self, ApprovalRequired, AutoAcceptEdits, FullAccess};
use crate::task::WakePolicy;

use super::world::World;

const A: RuntimeMode = ApprovalRequired;
const E: RuntimeMode = AutoAcceptEdits;
const F: RuntimeMode = FullAccess;
type Offered<T> = &'static [T];
type Row<T> = (Offered<T>, Option<T>, [Result<T, DenialCode>; 3]);

fn child_modes(
    parent: Modes,
    explicit: (Option<RuntimeMode>, Option<InteractionMode>),
    offered: (&[RuntimeMode], &[InteractionMode]),
) -> Result<Modes, DenialCode> {
    let mut world = World::new();
    let talk = world.starting_in(parent);
    let mut wanted = Delegate {
        runtime_mode: explicit.0,
        interaction_mode: explicit.1,
        ..world.wanted(&talk.thread, WakePolicy::Always)
    };
    let target = wanted.target.as_mut().unwrap();
    target.runtime_modes = offered.0.to_vec();
    target.interaction_modes = offered.1.to_vec();
    let known = world.view.threads.len();
    match world.try_run(&Command::Delegate(wanted)) {
        Ok(_) => {
            assert_eq!(world.view.threads.len(), known + 1);
            let child = world.view.threads.values().find(|it| it.lineage.depth == 1);
            Ok(child.expect("a child").modes)
        }
        Err(denial) => Err(denial.code),
    }
}

#[test]
fn runtime_modes_are_inherited_narrowed_stepped_down_or_refused() {
    const BROADER: Result<RuntimeMode, DenialCode> = Err(RuntimeModeEscalationDenied);
    const LACKING: Result<RuntimeMode, DenialCode> = Err(InvalidRequest);
    // What a parent in A, E and F gets.
    let rows: [Row<RuntimeMode>; 32] = [
        // Nothing said of modes: all are offered.
        (&[], None, [Ok(A), Ok(E), Ok(F)]),
        (&[], Some(A), [Ok(A), Ok(A), Ok(A)]),
        (&[], Some(E), [BROADER, Ok(E), Ok(E)]),
        (&[], Some(F), [BROADER, BROADER, Ok(F)]),
        (&[A, E, F], None, [Ok(A), Ok(E), Ok(F)]),
        (&[A, E, F], Some(A), [Ok(A), Ok(A), Ok(A)]),
        (&[A, E, F], Some(E), [BROADER, Ok(E), Ok(E)]),
        (&[A, E, F], Some(F), [BROADER, BROADER, Ok(F)]),
        (&[A, F], None, [Ok(A), Ok(A), Ok(F)]),
        (&[A, F], Some(A), [Ok(A), Ok(A), Ok(A)]),
        (&[A, F], Some(E), [BROADER, LACKING, LACKING]),
        (&[A, F], Some(F), [BROADER, BROADER, Ok(F)]),
        (&[A, E], None, [Ok(A), Ok(E), Ok(E)]),
        (&[A, E], Some(A), [Ok(A), Ok(A), Ok(A)]),
        (&[A, E], Some(E), [BROADER, Ok(E), Ok(E)]),
        (&[A, E], Some(F), [BROADER, BROADER, LACKING]),
        (&[E, F], None, [Ok(A), Ok(E), Ok(F)]),
        (&[E, F], Some(A), [LACKING, LACKING, LACKING]),
        (&[E, F], Some(E), [BROADER, Ok(E), Ok(E)]),
        (&[E, F], Some(F), [BROADER, BROADER, Ok(F)]),
        (&[A], None, [Ok(A), Ok(A), Ok(A)]),
        (&[A], Some(A), [Ok(A), Ok(A), Ok(A)]),
        (&[A], Some(E), [BROADER, LACKING, LACKING]),
        (&[A], Some(F), [BROADER, BROADER, LACKING]),
        (&[E], None, [Ok(A), Ok(E), Ok(E)]),
        (&[E], Some(A), [LACKING, LACKING, LACKING]),
        (&[E], Some(E), [BROADER, Ok(E), Ok(E)]),
        (&[E], Some(F), [BROADER, BROADER, LACKING]),
        (&[F], None, [Ok(A), Ok(A), Ok(F)]),
        (&[F], Some(A), [LACKING, LACKING, LACKING]),
        (&[F], Some(E), [BROADER, LACKING, LACKING]),
        (&[F], Some(F), [BROADER, BROADER, Ok(F)]),
    ];
    for (offered, explicit, results) in rows {
        for (parent, expected) in RuntimeMode::ALL.into_iter().zip(results) {
            let modes = Modes {
                runtime: parent,
                interaction: Build,
            };
            let got = child_modes(modes, (explicit, None), (offered, &[]));
            let expected = expected.map(|runtime| Modes {
                runtime,
                interaction: Build,
            });
            assert_eq!(
                got, expected,
                "parent {parent:?}, asked {explicit:?}, offered {offered:?}"
            );
        }
    }
}

#[test]
fn interaction_modes_only_ever_narrow() {
    const BROADER: Result<InteractionMode, DenialCode> = Err(InteractionModeEscalationDenied);
    const LACKING: Result<InteractionMode, DenialCode> = Err(InvalidRequest);
    // What a parent in plan and in default gets.
    type Row = (
        Offered<InteractionMode>,
        Option<InteractionMode>,
        [Result<InteractionMode, DenialCode>; 2],
    );
    let rows: [Row; 12] = [
        (&[], None, [Ok(Plan), Ok(Build)]),
        (&[], Some(Plan), [Ok(Plan), Ok(Plan)]),
        (&[], Some(Build), [BROADER, Ok(Build)]),
        (&[Plan, Build], None, [Ok(Plan), Ok(Build)]),
        (&[Plan, Build], Some(Plan), [Ok(Plan), Ok(Plan)]),
        (&[Plan, Build], Some(Build), [BROADER, Ok(Build)]),
        // Nothing lies below plan: an agent that can't plan would work.
        (&[Build], None, [LACKING, Ok(Build)]),
        (&[Build], Some(Plan), [LACKING, LACKING]),
        (&[Build], Some(Build), [BROADER, Ok(Build)]),
        (&[Plan], None, [Ok(Plan), Ok(Plan)]),
        (&[Plan], Some(Plan), [Ok(Plan), Ok(Plan)]),
        (&[Plan], Some(Build), [BROADER, LACKING]),
    ];
    for (offered, explicit, results) in rows {
        for (parent, expected) in InteractionMode::ALL.into_iter().zip(results) {
            let modes = Modes {
                runtime: F,
                interaction: parent,
            };
            let got = child_modes(modes, (None, explicit), (&[], offered));
            let expected = expected.map(|interaction| Modes {
                runtime: F,
                interaction,
            });
            assert_eq!(
                got, expected,
                "parent {parent:?}, asked {explicit:?}, offered {offered:?}"
            );
        }
    }
}
