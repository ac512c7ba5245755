//! What the running server turns away: strangers, ended credentials, ended sessions, too much. None of it leaves a
//! trace in the store.

use serde_json::json;

use super::parent::Parent;
use crate::support::wire::{Form, Raw};

/// The body bound of both endpoints, bytes.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A call that would leave a trace.
fn delegation(form: &Form, token: &str) -> Raw {
    Raw::call(
        form,
        token,
        "delegate_task",
        &json!({ "task": "script: say refused" }),
    )
}

/// Asserts the one answer to every bad bearer.
async fn check_401(parent: &Parent, raw: &Raw, what: &str) {
    let reply = parent.send(raw).await;
    assert_eq!(reply.status, 401, "{what}: {}", reply.body);
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{what}");
    assert_eq!(reply.header("cache-control"), Some("no-store"), "{what}");
    assert_eq!(
        reply.header("content-type"),
        Some("application/json"),
        "{what}"
    );
    let expected = json!({
        "error": "invalid_mcp_credential",
        "message": "the bearer token is missing, unknown or expired; it ends with its provider session",
    });
    assert_eq!(reply.message().unwrap(), expected, "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bearer_is_good_for_the_life_of_its_session_and_no_longer() {
    let mut parent = Parent::start("exit 0");
    let [session, stateless] = parent.forms().await;
    let before = parent.sequence().await;
    for form in [&session, &stateless] {
        let good = delegation(form, &parent.token);
        check_401(&parent, &good.clone().without("authorization"), "missing").await;
        check_401(
            &parent,
            &good.clone().with("authorization", "Bearer"),
            "empty",
        )
        .await;
        let other = format!("Basic {}", parent.token);
        check_401(
            &parent,
            &good.clone().with("authorization", &other),
            "no bearer",
        )
        .await;
        let unknown = format!("Bearer {}", "A".repeat(parent.token.len()));
        check_401(&parent, &good.with("authorization", &unknown), "unknown").await;
    }
    assert_eq!(
        parent.sequence().await,
        before,
        "a refused call left a trace"
    );
    // The agent ends, its session with it, and so does its bearer.
    parent.steer();
    assert_eq!(parent.run.result()["status"], "failed");
    for form in [&session, &stateless] {
        check_401(
            &parent,
            &delegation(form, &parent.token),
            "its session is over",
        )
        .await;
    }
    // The next session of the thread has a bearer of its own.
    let mut again = parent.host.send(&parent.thread, "script: hang");
    again.change("run", |run| run["status"] == "running");
    let newer = parent.host.bearer(&parent.thread).unwrap();
    assert_ne!(newer, parent.token);
    let reply = parent.send(&delegation(&stateless, &newer)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let inherited = parent.send(&delegation(&session, &newer)).await;
    assert_eq!(
        inherited.status, 404,
        "an MCP session of the ended one: {}",
        inherited.body
    );
    // Nor does a bearer outlive its host.
    parent.host.kill();
    parent.host.start_again();
    parent.address = crate::support::wire::address_of(parent.host.mcp_url());
    for token in [&parent.token, &newer] {
        check_401(&parent, &delegation(&stateless, token), "of the last host").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_refused_by_name_in_both_forms() {
    let parent = Parent::start("say over");
    let before = parent.sequence().await;
    for form in parent.forms().await {
        for (header, value, word) in [
            ("host", "evil.example", "host_not_allowed"),
            ("host", "127.0.0.1.evil.example", "host_not_allowed"),
            ("host", "localhost.", "host_not_allowed"),
            ("host", "0.0.0.0", "host_not_allowed"),
            ("origin", "https://evil.example", "origin_not_allowed"),
            ("origin", "null", "origin_not_allowed"),
            // Not even a page of this machine is let in unless the operator says so.
            ("origin", "http://localhost:3000", "origin_not_allowed"),
        ] {
            let what = format!("{form:?}, {header}: {value}");
            let raw = delegation(&form, &parent.token).with(header, value);
            let reply = parent.send(&raw).await;
            assert_eq!(reply.status, 403, "{what}: {}", reply.body);
            assert_eq!(reply.message().unwrap()["error"], word, "{what}");
            assert!(
                reply.header("access-control-allow-origin").is_none(),
                "{what}"
            );
        }
    }
    assert_eq!(
        parent.sequence().await,
        before,
        "a refused call left a trace"
    );
    for form in parent.forms().await {
        for (header, value) in [
            ("host", "localhost:1"),
            ("host", "[::1]"),
            ("host", "weft.test"),
            ("origin", "http://weft.test"),
        ] {
            let raw = parent.raw(&form, "orchestrator_capabilities", &json!({}));
            let reply = parent.send(&raw.with(header, value)).await;
            assert_eq!(
                reply.status, 200,
                "{form:?}, {header}: {value}: {}",
                reply.body
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_session_is_over_and_another_of_the_same_bearer_goes_on() {
    let parent = Parent::start("say over");
    let (one, other) = (parent.session().await, parent.session().await);
    let Form::Session(id) = &one else {
        panic!("a session")
    };
    let delete = Raw::new("DELETE", &parent.token).with("mcp-session-id", id);
    assert_eq!(parent.send(&delete).await.status, 202);
    assert_eq!(parent.send(&delete).await.status, 404);
    let before = parent.sequence().await;
    let late = parent.send(&delegation(&one, &parent.token)).await;
    assert_eq!(late.status, 404, "{}", late.body);
    assert_eq!(parent.sequence().await, before);
    let offered = parent
        .call(&other, "orchestrator_capabilities", &json!({}))
        .await;
    assert_eq!(offered["parentThreadId"], parent.thread);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_the_bound_is_refused_and_a_long_task_within_it_is_stored() {
    let parent = Parent::start("say over");
    for form in parent.forms().await {
        let call = delegation(&form, &parent.token);
        let before = parent.sequence().await;
        let over = parent
            .send(&call.body(vec![b' '; BODY_BYTES_MAX + 1]))
            .await;
        assert_eq!(over.status, 413, "{form:?}: {}", over.body);
        assert_eq!(
            over.message().unwrap()["error"],
            "body_too_large",
            "{form:?}"
        );
        // The longest task a parent may hand over, written as wide as JSON allows.
        let longest = "\u{20ac}".repeat(120_000);
        let begun = parent
            .call(&form, "delegate_task", &json!({ "task": longest }))
            .await;
        let child = begun["childThreadId"].as_str().unwrap();
        let stored = parent.host.person().thread(child, 0).await.unwrap();
        assert!(stored.items[0].text.ends_with(&longest), "{form:?}");
        let longer = json!({ "task": format!("{longest}!") });
        let refused = parent.call(&form, "delegate_task", &longer).await;
        assert_eq!(refused["code"], "invalid_request", "{form:?}: {refused}");
        assert!(parent.sequence().await > before);
    }
}
