//! Agents that say nothing, or don't listen: each has its named time.

use std::time::{Duration, Instant};

use serde_json::Value;
use server::local::wire::{SendMessage, SendWord};

use super::fake::{FAULT_TO_END_MAX, check_failed, host_with, refusal, since};

#[test]
fn a_silent_handshake_has_10_seconds() {
    let host = host_with(&["silent", "deaf"]);
    for fault in ["silent", "deaf"] {
        let begun = Instant::now();
        let reason = refusal(&host, fault);
        // A person who asks has it looked at anew, and beside the look there is the start of the host.
        assert!(begun.elapsed() < Duration::from_secs(15), "{fault}");
        for word in [
            "did not answer within 10 s",
            "its greeting is missing",
            "Check the command",
        ] {
            assert!(
                reason.contains(word),
                "{fault} does not say {word:?}: {reason}"
            );
        }
        assert!(since(&host, fault) >= Duration::from_secs(9), "{fault}");
    }
}

#[test]
fn a_thread_that_does_not_open_has_15_seconds() {
    let host = host_with(&["silent-at-open"]);
    let result = host.run("silent-at-open", "go").result();
    let late = since(&host, "silent-at-open");
    // The driver's time and the host's own are the same: either may tell.
    check_failed("silent-at-open", &result, &["within 15 s"]);
    assert!(
        late < Duration::from_secs(15) + FAULT_TO_END_MAX,
        "{late:?}"
    );
    let thread = result["threadId"].as_str().unwrap();
    assert_eq!(host.send(thread, "go on").result()["text"], "fine");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_stops_reading_is_told_of_until_its_queue_is_full() {
    let host = host_with(&["stops-reading"]);
    let mut run = host.run("stops-reading", "go");
    run.change("run", |run| run["status"] == "running");
    let thread = run.thread_id();
    let person = host.person();
    // The queue takes 4 MiB; a message has at most 120,000 characters.
    let mut sent = 0;
    let refused = loop {
        let text = "x".repeat(119_000);
        let message = SendMessage {
            text,
            mode: SendWord::Steer,
        };
        match person.send(&thread, &message).await {
            Ok(_) => sent += 1,
            Err(error) => break error,
        }
        assert!(sent < 300, "nothing bounds what waits for the agent");
    };
    println!("{sent} messages were taken");
    assert!(refused.code().is_some(), "{refused}");
    assert!(sent > 20, "refused after {sent}");
    let result: Value = run.result();
    check_failed("stops-reading", &result, &["does not read"]);
    assert_eq!(host.send(&thread, "go on").result()["text"], "fine");
}
