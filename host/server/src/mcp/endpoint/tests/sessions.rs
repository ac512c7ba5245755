//! MCP sessions belong to the credential they were made under.

use domain::ids::{ProviderSessionId, ThreadId};
use serde_json::json;
use threads::ports::CredentialPort as _;

use super::fixture::Host;
use super::wire::{Form, Raw, session};
use crate::mcp::McpSettings;
use crate::mcp::limits::SESSIONS_PER_CREDENTIAL_MAX;

fn listener(token: &str, session: &str) -> Raw {
    Raw::new("GET", token)
        .with("mcp-session-id", session)
        .with("mcp-protocol-version", "2025-11-25")
}

fn end(token: &str, session: &str) -> Raw {
    Raw::new("DELETE", token).with("mcp-session-id", session)
}

fn echo(token: &str, session: &str) -> Raw {
    Raw::call(Form::Session, token, session, "echo", json!({}))
}

#[tokio::test]
async fn another_callers_session_is_as_unknown_as_one_that_never_was() {
    let host = Host::start().await;
    let (owner, other) = (host.token("thread-1"), host.token("thread-2"));
    let session = session(host.address, &owner).await;
    let requests: [fn(&str, &str) -> Raw; 4] = [echo, listener, end, |token, session| {
        listener(token, session).with("last-event-id", "0/0")
    }];
    for request in requests {
        let foreign = request(&other, &session).send(host.address).await;
        let unknown = request(&other, "unknown").send(host.address).await;
        assert_eq!((foreign.status, unknown.status), (404, 404));
        assert_eq!(foreign.body, unknown.body);
    }
    let stateless = Raw::call(Form::Stateless, &other, "", "echo", json!({}))
        .with("mcp-session-id", &session)
        .send(host.address)
        .await;
    assert_eq!(stateless.status, 404, "also where the id means nothing");
    assert_eq!(
        echo(&owner, &session).send(host.address).await.status,
        200,
        "it still stands"
    );
    host.stop().await;
}

#[tokio::test]
async fn a_session_ends_once() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    let session = session(host.address, &token).await;
    assert_eq!(end(&token, &session).send(host.address).await.status, 202);
    assert_eq!(end(&token, &session).send(host.address).await.status, 404);
    assert_eq!(echo(&token, &session).send(host.address).await.status, 404);
    host.stop().await;
}

#[tokio::test]
async fn the_end_of_a_credential_closes_its_sessions_streams() {
    let host = Host::start().await;
    let (token, other) = (host.token("thread-1"), host.token("thread-2"));
    let (mine, theirs) = (
        session(host.address, &token).await,
        session(host.address, &other).await,
    );
    let stream = listener(&token, &mine).open(host.address).await;
    assert_eq!(stream.status, 200);
    host.registry.revoke(
        &ThreadId::new("thread-1"),
        &ProviderSessionId::new("session-1"),
    );
    // The stream would stay open for ever if its session did.
    stream.whole().await;
    assert_eq!(echo(&token, &mine).send(host.address).await.status, 401);
    assert_eq!(echo(&other, &theirs).send(host.address).await.status, 200);
    host.stop().await;
}

#[tokio::test]
async fn a_new_credential_of_the_same_thread_does_not_inherit_its_sessions() {
    let host = Host::start().await;
    let old = host.token("thread-1");
    let session = session(host.address, &old).await;
    let new = host.token("thread-1");
    assert_eq!(echo(&new, &session).send(host.address).await.status, 404);
    host.stop().await;
}

#[tokio::test]
async fn over_the_bound_the_least_used_session_is_closed() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS_PER_CREDENTIAL_MAX {
        sessions.push(session(host.address, &token).await);
    }
    // The first is used again, so the second is the least used one.
    assert_eq!(
        echo(&token, &sessions[0]).send(host.address).await.status,
        200
    );
    sessions.push(session(host.address, &token).await);
    let mut closed = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        if echo(&token, session).send(host.address).await.status == 404 {
            closed.push(at);
        }
    }
    assert_eq!(closed, [1]);
    host.stop().await;
}

#[tokio::test]
async fn an_event_nobody_knows_is_answered_so_that_clients_stop_asking() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    let session = session(host.address, &token).await;
    for event in ["nonsense", "0/9999", "5/77", ""] {
        let reply = listener(&token, &session)
            .with("last-event-id", event)
            .send(host.address)
            .await;
        assert_eq!(reply.status, 405, "{event:?}: {}", reply.body);
        assert!(
            reply.body.contains("task_status"),
            "{event:?}: {}",
            reply.body
        );
    }
    host.stop().await;
}

#[tokio::test]
async fn listening_streams_are_bounded_and_leave_room_for_calls() {
    let host = Host::with(McpSettings {
        parked_waits_max: 1,
        ..McpSettings::default()
    })
    .await;
    let token = host.token("thread-1");
    let session = session(host.address, &token).await;
    let first = listener(&token, &session).open(host.address).await;
    assert_eq!(first.status, 200);
    let second = listener(&token, &session).send(host.address).await;
    assert_eq!(second.status, 503);
    assert_eq!(second.header("retry-after"), Some("1"));
    let refused = Raw::call(Form::Session, &token, &session, "wait", json!({}))
        .send(host.address)
        .await;
    let failure = &refused.message()["result"]["structuredContent"];
    assert_eq!(
        (&failure["code"], &failure["retryable"]),
        (&json!("invalid_request"), &json!(true))
    );
    assert_eq!(echo(&token, &session).send(host.address).await.status, 200);
    drop(first);
    host.stop().await;
}
