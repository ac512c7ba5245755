//! Probes: one snapshot, whatever happens.

use crate::common::*;
use driver_codex::Codex;
use driver_sdk::harness::{Replay, exited, line, stdout};
use driver_sdk::types::*;
use serde_json::{Value, json};

fn snapshot(session: &Replay<Codex>) -> Snapshot {
    let snapshots: Vec<_> = session
        .events()
        .map(|event| match event {
            Event::Snapshot(snapshot) => snapshot.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        snapshots.len(),
        1,
        "a probe gives one snapshot and nothing else"
    );
    snapshots[0].clone()
}

fn probed(account: Value) -> Replay<Codex> {
    let mut session = begun("probe");
    reply(
        &mut session,
        "initialize",
        json!({ "userAgent": "weft/0.171.0 (Linux)" }),
    );
    reply(&mut session, "account/read", account);
    session
}

fn model(id: &str, hidden: bool) -> Value {
    json!({
        "id": id, "model": id, "displayName": id.to_uppercase(), "hidden": hidden, "isDefault": id == "a",
        "supportedReasoningEfforts": [{ "reasoningEffort": "low" }, { "reasoningEffort": "high" }],
        "defaultReasoningEffort": "low",
    })
}

#[test]
fn a_probe_reports_version_login_and_models() {
    for (account, authentication, status) in [
        (
            json!({ "account": null, "requiresOpenaiAuth": false }),
            "authenticated",
            "ready",
        ),
        (
            json!({ "account": { "type": "apiKey" }, "requiresOpenaiAuth": true }),
            "authenticated",
            "ready",
        ),
        (
            json!({ "account": null, "requiresOpenaiAuth": true }),
            "unauthenticated",
            "error",
        ),
    ] {
        let mut session = probed(account.clone());
        reply(
            &mut session,
            "model/list",
            json!({ "data": [model("a", false), model("x", true)], "nextCursor": "2" }),
        );
        reply(
            &mut session,
            "model/list",
            json!({ "data": [model("b", false)], "nextCursor": null }),
        );
        let snapshot = snapshot(&session);
        assert_eq!(snapshot.installation, "installed");
        assert_eq!(snapshot.version.as_deref(), Some("0.171.0"));
        assert_eq!(
            (snapshot.authentication.as_str(), snapshot.status.as_str()),
            (authentication, status),
            "{account}"
        );
        assert_eq!(snapshot.reason.is_some(), status == "error");
        let ids: Vec<_> = snapshot
            .models
            .iter()
            .map(|model| model.id.as_str())
            .collect();
        assert_eq!(ids, ["a", "b"]);
        assert!(snapshot.models[0].preferred && !snapshot.models[1].preferred);
        let effort = &snapshot.models[0].options[0];
        assert_eq!((effort.id.as_str(), effort.choices.len()), ("effort", 2));
        assert!(session.actions.contains(&Action::Stop(APP)));
        assert!(running_timers(&session).is_empty());
    }
}

#[test]
fn a_probe_of_a_missing_program_says_so() {
    let mut session = begun("probe");
    session
        .give(vec![exited(
            APP,
            ExitCause::NotStarted("not found".to_owned()),
        )])
        .unwrap();
    let snapshot = snapshot(&session);
    assert_eq!(
        (snapshot.installation.as_str(), snapshot.status.as_str()),
        ("missing", "error")
    );
    assert!(snapshot.reason.unwrap().contains("npm install"));
}

#[test]
fn a_probe_of_a_program_without_app_server_asks_for_its_version() {
    for (printed, word) in [
        ("codex-cli 0.50.0", "0.50.0 is too old"),
        ("hello", "unrecognized"),
    ] {
        let mut session = begun("probe");
        let stderr = line(
            APP,
            Output::Stderr,
            "unrecognized subcommand",
            LineState::Whole,
        );
        session
            .give(vec![stderr, exited(APP, ExitCause::Code(2))])
            .unwrap();
        let Some(Action::Spawn(spawn)) = session
            .actions
            .iter()
            .rfind(|action| matches!(action, Action::Spawn(_)))
        else {
            panic!("no spawn");
        };
        assert_eq!((spawn.template.as_str(), spawn.process_id), ("version", 2));
        session
            .give(vec![stdout(2, printed), exited(2, ExitCause::Code(0))])
            .unwrap();
        let snapshot = snapshot(&session);
        assert_eq!(snapshot.installation, "installed");
        assert!(
            snapshot.reason.as_ref().unwrap().contains(word),
            "{snapshot:?}"
        );
    }
}

#[test]
fn a_probe_that_gets_no_answer_ends_with_a_snapshot() {
    for (prepare, delay_ms) in [
        ((|| begun("probe")) as fn() -> Replay<Codex>, 10_000),
        (
            || probed(json!({ "account": null, "requiresOpenaiAuth": false })),
            30_000,
        ),
    ] {
        let mut session = prepare();
        run_out(&mut session, delay_ms);
        let snapshot = snapshot(&session);
        assert_eq!(snapshot.status, "error");
        assert!(snapshot.reason.unwrap().contains("did not answer"));
    }
}
