//! Tables of the contracts: status moves, sets of statuses, words.

use crate::command::Role;
use crate::error::DenialCode::{self, *};
use crate::ids::DriverKind;
use crate::modes::{InteractionMode, RuntimeMode};
use crate::request::Choice;
use crate::run::RunStatus::{self, *};
use crate::task::TaskStatus;

#[test]
fn a_run_moves_along_the_table_and_nowhere_else() {
    let table: [(RunStatus, &[RunStatus]); 10] = [
        (Preparing, &[Starting, Failed, Interrupted, Cancelled]),
        (Queued, &[Starting, Failed, Cancelled]),
        (Starting, &[Running, Interrupted, Failed, Cancelled]),
        (
            Running,
            &[Waiting, Completed, Interrupted, Failed, Cancelled],
        ),
        (Waiting, &[Completed, Interrupted, Failed, Cancelled]),
        (Completed, &[RolledBack]),
        (Failed, &[Preparing]),
        (Interrupted, &[]),
        (Cancelled, &[]),
        (RolledBack, &[]),
    ];
    assert_eq!(table.map(|(from, _)| from).len(), RunStatus::ALL.len());
    for (from, targets) in table {
        for to in RunStatus::ALL {
            assert_eq!(
                from.may_become(to),
                targets.contains(&to),
                "{from:?} to {to:?}"
            );
        }
    }
}

#[test]
fn statuses_fall_into_the_sets_of_the_contract() {
    for (set, has, members) in [
        (
            "terminal",
            RunStatus::is_terminal as fn(RunStatus) -> bool,
            vec![Completed, Failed, Cancelled, Interrupted, RolledBack],
        ),
        (
            "active",
            RunStatus::is_active,
            vec![Preparing, Starting, Running, Waiting],
        ),
        (
            "live for wakes",
            RunStatus::is_live,
            vec![Preparing, Starting, Running],
        ),
    ] {
        for status in RunStatus::ALL {
            assert_eq!(has(status), members.contains(&status), "{set}: {status:?}");
        }
    }
}

#[test]
fn a_runs_status_says_what_its_task_is() {
    for (run, task) in [
        (Preparing, TaskStatus::Running),
        (Queued, TaskStatus::Queued),
        (Starting, TaskStatus::Running),
        (Running, TaskStatus::Running),
        (Waiting, TaskStatus::Waiting),
        (Completed, TaskStatus::Completed),
        (Interrupted, TaskStatus::Interrupted),
        (Failed, TaskStatus::Failed),
        (Cancelled, TaskStatus::Cancelled),
        (RolledBack, TaskStatus::Cancelled),
    ] {
        assert_eq!(TaskStatus::from_run(run), task, "{run:?}");
        assert_eq!(task.is_terminal(), run.is_terminal(), "{run:?}");
    }
}

#[test]
fn words_are_read_as_they_are_written() {
    for mode in RuntimeMode::ALL {
        assert_eq!(RuntimeMode::from_word(mode.word()), Some(mode));
        assert_eq!(serde_json::json!(mode), mode.word());
    }
    for mode in InteractionMode::ALL {
        assert_eq!(InteractionMode::from_word(mode.word()), Some(mode));
        assert_eq!(serde_json::json!(mode), mode.word());
    }
    for role in Role::ALL {
        assert_eq!(Role::from_word(role.word()), Some(role));
    }
    for choice in [
        Choice::Accept,
        Choice::AcceptForSession,
        Choice::AcceptAlways,
        Choice::Decline,
        Choice::Cancel,
    ] {
        assert_eq!(Choice::from_word(choice.word()), Some(choice));
        assert_eq!(serde_json::json!(choice), choice.word());
    }
    for unknown in ["", "auto", "FULL-ACCESS", "inherit"] {
        assert_eq!(RuntimeMode::from_word(unknown), None);
        assert_eq!(InteractionMode::from_word(unknown), None);
        assert_eq!(Role::from_word(unknown), None);
        assert_eq!(Choice::from_word(unknown), None);
    }
}

#[test]
fn the_older_word_of_a_driver_reads_as_the_present_one_wherever_it_is_read() {
    let read: DriverKind = serde_json::from_str("\"claudeAgent\"").expect("a word");
    assert_eq!(read, DriverKind::new("claude"));
    assert_eq!(DriverKind::new("claudeAgent"), DriverKind::new("claude"));
    assert_eq!(serde_json::json!(read), "claude");
}

#[test]
fn trying_again_helps_only_where_something_passes() {
    let retryable = [
        ParentNotActive,
        ProviderUnavailable,
        LimitExceeded,
        StorageUnavailable,
        OrchestrationError,
    ];
    for code in [
        CapabilityDenied,
        ThreadCredentialRequired,
        TargetRequired,
        ParentNotActive,
        ProviderUnavailable,
        ModelUnavailable,
        RuntimeModeEscalationDenied,
        InteractionModeEscalationDenied,
        TaskNotFound,
        TaskNotCancellable,
        ThreadNotFound,
        RunNotFound,
        ThreadNotSendable,
        ThreadNotInterruptible,
        ProjectNotFound,
        RequestNotFound,
        RequestNotPending,
        HumanOnly,
        InvalidRequest,
        LimitExceeded,
        KeyConflict,
        StorageUnavailable,
        OrchestrationError,
    ] {
        assert_eq!(code.is_retryable(), retryable.contains(&code), "{code:?}");
        let one_word_for_the_caller = matches!(code, DenialCode::LimitExceeded | KeyConflict);
        let stored = serde_json::json!(code);
        assert_eq!(
            stored != code.word(),
            one_word_for_the_caller,
            "{code:?}: {stored}"
        );
    }
}
