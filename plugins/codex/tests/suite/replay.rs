//! Recorded dialogues of Codex 0.171.0, replayed: each gives the events in `golden/`, and keeps the rules of the interface.
//!
//! `UPDATE_GOLDEN=1 cargo test` writes the files anew.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::common::{APP, endpoint};
use crate::show::lines;
use crate::translation::Translation;
use driver_codex::Codex;
use driver_sdk::harness::{Replay, recording, session_config};
use driver_sdk::types::*;
use serde_json::json;

/// Recording, and whether its thread has the host's MCP server.
const RECORDINGS: [(&str, bool); 10] = [
    ("handshake-models-text", true),
    ("command-approval", false),
    ("file-change-approval", false),
    ("mcp-tool", true),
    ("steer-interrupt", false),
    ("resume-fork-read-revert", false),
    ("plan-mode-questions", false),
    ("errors", false),
    ("code-mode", false),
    ("extra", false),
];

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

fn replay(name: &str, mcp: bool) -> Replay<Codex> {
    let path = folder("transcripts").join(format!("{name}.jsonl"));
    let recording = recording(&std::fs::read_to_string(path).unwrap());
    let mut session = Replay::<Codex>::begin(session_config("session", &json!({}))).unwrap();
    let mut translation = Translation::new(mcp.then(endpoint));
    session
        .play(&recording, APP, &mut |recorded, actions| {
            translation.inputs(recorded, actions)
        })
        .unwrap();
    session
}

#[test]
fn recordings_give_the_expected_events() {
    let mut different = Vec::new();
    for (name, mcp) in RECORDINGS {
        let session = replay(name, mcp);
        let events = lines(session.events()).join("\n") + "\n";
        let path = folder("golden").join(format!("{name}.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &events).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        for (at, (expected, found)) in golden.lines().zip(events.lines()).enumerate() {
            if expected != found {
                different.push(format!(
                    "{name} line {}:\n  expected {expected}\n  found    {found}",
                    at + 1
                ));
                break;
            }
        }
        if golden.lines().count() != events.lines().count() {
            different.push(format!("{name}: another number of events"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn recordings_keep_the_rules_of_the_interface() {
    for (name, mcp) in RECORDINGS {
        let session = replay(name, mcp);
        check_rules(name, session.events());
    }
}

/// One start and one end per turn, one answer per effect, no item or request left open, text only for open items.
fn check_rules<'a>(name: &str, events: impl Iterator<Item = &'a Event>) {
    let mut turns: BTreeMap<String, &str> = BTreeMap::new();
    let mut items: BTreeMap<String, ItemStatus> = BTreeMap::new();
    let mut requests: BTreeMap<String, bool> = BTreeMap::new();
    let mut effects: BTreeMap<String, usize> = BTreeMap::new();
    for event in events {
        match event {
            Event::TurnStarted(turn) => {
                assert_eq!(
                    turns.insert(turn.turn_id.clone(), "running"),
                    None,
                    "{name}: {turn:?}"
                );
            }
            Event::TurnEnded(turn) => {
                assert_eq!(
                    turns.insert(turn.turn_id.clone(), "over"),
                    Some("running"),
                    "{name}: {turn:?}"
                );
            }
            Event::Item(item) => drop(items.insert(item.item_id.clone(), item.status)),
            Event::Text(text) => assert!(items.contains_key(&text.item_id), "{name}: {text:?}"),
            Event::Request(request) => {
                assert_eq!(
                    requests.insert(request.request_id.clone(), true),
                    None,
                    "{name}: {request:?}"
                );
            }
            Event::RequestClosed(closed) => {
                assert_eq!(
                    requests.insert(closed.request_id.clone(), false),
                    Some(true),
                    "{name}: {closed:?}"
                );
            }
            Event::EffectEnded(effect) => {
                *effects.entry(effect.effect_id.clone()).or_default() += 1;
            }
            _ => {}
        }
    }
    assert!(
        turns.values().all(|state| *state == "over"),
        "{name}: {turns:?}"
    );
    let open = |status: &ItemStatus| {
        matches!(
            status,
            ItemStatus::Pending | ItemStatus::Running | ItemStatus::Waiting
        )
    };
    assert!(!items.values().any(open), "{name}: {items:?}");
    assert!(!requests.values().any(|open| *open), "{name}: {requests:?}");
    assert!(
        effects.values().all(|answers| *answers == 1),
        "{name}: {effects:?}"
    );
}

#[test]
fn a_recording_cut_at_any_line_still_ends_every_turn() {
    let path = folder("transcripts").join("command-approval.jsonl");
    let whole = recording(&std::fs::read_to_string(path).unwrap());
    for length in 1..whole.len() {
        let mut session = Replay::<Codex>::begin(session_config("session", &json!({}))).unwrap();
        let mut translation = Translation::default();
        session
            .play(&whole[..length], APP, &mut |recorded, actions| {
                translation.inputs(recorded, actions)
            })
            .unwrap();
        session
            .give(vec![driver_sdk::harness::exited(APP, ExitCause::Code(1))])
            .unwrap();
        check_rules(&format!("cut after {length}"), session.events());
        let last = session.events().last().unwrap();
        assert!(
            matches!(last, Event::SessionEnded(ended) if ended.failure.is_some()),
            "{length}: {last:?}"
        );
    }
}
