//! Calls that take long: signs of life, progress, lost connections, room for others.

use serde_json::{Value, json};

use super::fixture::Host;
use super::wire::{Form, Raw, comments, last_message, session};
use crate::mcp::limits::REQUESTS_IN_FLIGHT_MAX;

fn wait(form: Form, token: &str, session: &str) -> Raw {
    Raw::call(form, token, session, "wait", json!({}))
}

#[tokio::test]
async fn a_wait_longer_than_the_keep_alive_is_kept_alive_and_answered_in_both_forms() {
    for form in Form::BOTH {
        let mut host = Host::start().await;
        let token = host.token("thread-1");
        let session = session(host.address, &token).await;
        let mut reply = wait(form, &token, &session).open(host.address).await;
        assert_eq!(reply.status, 200, "{form:?}");
        assert_eq!(
            reply.header("content-type"),
            Some("text/event-stream"),
            "{form:?}"
        );
        reply.until(|body| comments(body) >= 3).await;
        host.bench.release.add_permits(1);
        let whole = reply.whole().await;
        let answer = &whole.message()["result"]["structuredContent"];
        assert_eq!(
            *answer,
            json!({ "ended": "released" }),
            "{form:?}: {}",
            whole.body
        );
        assert_eq!(host.call_ended().await, "released", "{form:?}");
        host.stop().await;
    }
}

#[tokio::test]
async fn a_client_that_gave_a_token_is_told_of_progress_with_rising_values() {
    for form in Form::BOTH {
        let host = Host::start().await;
        let token = host.token("thread-1");
        let session = session(host.address, &token).await;
        let params =
            json!({ "name": "wait", "arguments": {}, "_meta": { "progressToken": "p-1" } });
        let call = Raw::request(form, &token, &session, "tools/call", params);
        let call = if form == Form::Stateless {
            call.with("mcp-name", "wait")
        } else {
            call
        };
        let mut reply = call.open(host.address).await;
        let body = reply
            .until(|body| body.matches("notifications/progress").count() >= 3)
            .await;
        let told: Vec<Value> = body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .filter(|data| {
                data.contains("notifications/progress") && data.trim_end().ends_with('}')
            })
            .map(|data| serde_json::from_str(data.trim()).expect("json"))
            .collect();
        assert!(
            told.iter()
                .all(|note| note["params"]["progressToken"] == "p-1"),
            "{form:?}"
        );
        let values: Vec<_> = told
            .iter()
            .filter_map(|note| note["params"]["progress"].as_f64())
            .collect();
        assert!(
            values.len() >= 2 && values.is_sorted_by(|one, other| one < other),
            "{form:?}: {values:?}"
        );
        host.bench.release.add_permits(1);
        let whole = reply.whole().await;
        assert_eq!(whole.message()["result"]["isError"], false, "{form:?}");
        host.stop().await;
    }
}

#[tokio::test]
async fn a_lost_connection_reaches_the_handler_in_both_forms() {
    for form in Form::BOTH {
        let mut host = Host::start().await;
        let token = host.token("thread-1");
        let session = session(host.address, &token).await;
        let reply = wait(form, &token, &session).open(host.address).await;
        host.call_begun().await;
        drop(reply);
        assert_eq!(host.call_ended().await, "gone", "{form:?}");
        host.stop().await;
    }
}

#[tokio::test]
async fn a_request_that_is_taken_back_reaches_the_handler() {
    let mut host = Host::start().await;
    let token = host.token("thread-1");
    let session = session(host.address, &token).await;
    let _reply = wait(Form::Session, &token, &session)
        .open(host.address)
        .await;
    host.call_begun().await;
    let cancel = Raw::new("POST", &token)
        .with("mcp-session-id", &session)
        .with("mcp-protocol-version", "2025-11-25")
        .json(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 },
        }));
    assert_eq!(cancel.send(host.address).await.status, 202);
    assert_eq!(host.call_ended().await, "gone");
    host.stop().await;
}

#[tokio::test]
async fn a_lost_reply_can_be_taken_up_while_its_call_goes_on() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    let session = session(host.address, &token).await;
    let call = Raw::call(Form::Session, &token, &session, "work", json!({}));
    let mut reply = call.open(host.address).await;
    let body = reply
        .until(|body| body.contains("id:") && body.contains("\n\n"))
        .await;
    let event = body
        .lines()
        .find_map(|line| line.strip_prefix("id:"))
        .expect("an event id")
        .trim();
    host.call_begun().await;
    drop(reply);
    let taken_up = Raw::new("GET", &token)
        .with("mcp-session-id", &session)
        .with("mcp-protocol-version", "2025-11-25")
        .with("last-event-id", event);
    let mut reply = taken_up.open(host.address).await;
    assert_eq!(reply.status, 200);
    host.bench.release.add_permits(1);
    let body = reply
        .until(|body| body.contains("structuredContent") && body.ends_with("\n\n"))
        .await;
    assert_eq!(
        last_message(&body)["result"]["structuredContent"],
        json!({ "ended": "released" })
    );
    host.stop().await;
}

#[tokio::test]
async fn waits_do_not_keep_calls_out_and_calls_are_bounded() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    let call = |tool: &str| Raw::call(Form::Stateless, &token, "", tool, json!({}));
    let mut open = Vec::new();
    for (tool, count) in [
        ("wait", REQUESTS_IN_FLIGHT_MAX + 1),
        ("work", REQUESTS_IN_FLIGHT_MAX),
    ] {
        for _ in 0..count {
            let (call, address) = (call(tool), host.address);
            open.push(tokio::spawn(async move { call.send(address).await.status }));
            host.call_begun().await;
        }
    }
    let over = call("echo").send(host.address).await;
    assert_eq!(over.status, 503, "{}", over.body);
    assert_eq!(over.header("retry-after"), Some("1"));
    assert_eq!(over.message()["error"], "too_many_requests");
    host.bench.release.add_permits(open.len());
    for call in open {
        assert_eq!(call.await.expect("no panic"), 200);
    }
    assert_eq!(call("echo").send(host.address).await.status, 200);
    host.stop().await;
}

#[tokio::test]
async fn a_stopping_host_ends_open_streams() {
    for form in Form::BOTH {
        let mut host = Host::start().await;
        let token = host.token("thread-1");
        let session = session(host.address, &token).await;
        let reply = wait(form, &token, &session).open(host.address).await;
        let begun = std::time::Instant::now();
        let mut ended =
            std::mem::replace(&mut host.ended, tokio::sync::mpsc::unbounded_channel().1);
        host.stop().await;
        assert!(
            begun.elapsed() < crate::mcp::limits::SHUTDOWN_GRACE,
            "{form:?}: the grace ran out"
        );
        reply.whole().await;
        assert_eq!(ended.recv().await, Some("gone"), "{form:?}");
    }
}
