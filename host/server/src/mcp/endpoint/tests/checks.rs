//! What a request must show before a tool sees it, and how refusals read.

use serde_json::json;

use super::fixture::{Host, IDLE};
use super::wire::{Form, Raw, session};

#[tokio::test]
async fn a_good_call_is_answered_in_both_forms() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    let session = session(host.address, &token).await;
    for form in Form::BOTH {
        let reply = Raw::call(form, &token, &session, "echo", json!({ "a": 1 }))
            .send(host.address)
            .await;
        assert_eq!(reply.status, 200, "{form:?}: {}", reply.body);
        let result = &reply.message()["result"];
        let answer = json!({ "caller": "thread-1", "arguments": { "a": 1 } });
        assert_eq!(result["structuredContent"], answer, "{form:?}");
        assert_eq!(result["isError"], false, "{form:?}");
        let text = result["content"][0]["text"]
            .as_str()
            .expect("one text block");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(text).expect("json"),
            answer
        );
    }
    host.stop().await;
}

#[tokio::test]
async fn a_strange_host_or_origin_is_refused_before_anything_is_read() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    let good = |method| Raw::new(method, &token).json(&json!({}));
    type Change = fn(Raw) -> Raw;
    let strangers: [(&str, Change); 12] = [
        ("host: other name", |raw| raw.with("host", "evil.example")),
        ("host: other name with our port", |raw| {
            raw.with("host", "evil.example:80")
        }),
        ("host: name that begins like ours", |raw| {
            raw.with("host", "127.0.0.1.evil.example")
        }),
        ("host: trailing dot", |raw| raw.with("host", "localhost.")),
        ("host: wildcard address", |raw| raw.with("host", "0.0.0.0")),
        ("host: doubled", |raw| raw.and("host", "localhost")),
        ("host: missing", |raw| raw.without("host")),
        ("host: in the request line", |mut raw| {
            raw.target = "http://evil.example/mcp".to_owned();
            raw
        }),
        ("origin: foreign", |raw| {
            raw.with("origin", "https://evil.example")
        }),
        ("origin: null", |raw| raw.with("origin", "null")),
        ("origin: malformed", |raw| raw.with("origin", "localhost")),
        ("origin: doubled", |raw| {
            raw.and("origin", "http://localhost")
                .and("origin", "http://localhost")
        }),
    ];
    for method in ["POST", "GET", "DELETE", "OPTIONS"] {
        for (name, change) in strangers {
            // Neither a token nor a whole body changes the answer.
            for raw in [
                change(good(method)),
                change(good(method).without("authorization")),
            ] {
                let reply = raw.send(host.address).await;
                assert_eq!(reply.status, 403, "{method}, {name}: {}", reply.body);
                assert!(
                    reply.header("access-control-allow-origin").is_none(),
                    "{method}, {name}"
                );
            }
        }
    }
    for (name, change) in [
        (
            "host: address",
            (|raw| raw.with("host", "127.0.0.1")) as Change,
        ),
        ("host: other port", |raw| raw.with("host", "localhost:1")),
        ("host: IPv6 address", |raw| raw.with("host", "[::1]:7420")),
        ("origin: allowed", |raw| {
            raw.with("origin", "http://localhost:3000")
        }),
    ] {
        let raw = change(Raw::call(Form::Stateless, &token, "", "echo", json!({})));
        let reply = raw.send(host.address).await;
        assert_eq!(reply.status, 200, "{name}: {}", reply.body);
    }
    host.stop().await;
}

#[tokio::test]
async fn without_a_good_bearer_every_method_gets_the_same_401() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    let revoked = host.token("thread-2");
    host.registry
        .revoke_session(&domain::ids::ProviderSessionId::new("session-1"));
    let expired = host.token("thread-3");
    host.clock.advance(IDLE + 1);
    let fresh = host.token("thread-4");
    let session = session(host.address, &fresh).await;
    let mut seen = None;
    for (name, header) in [
        ("missing", None),
        ("empty", Some("Bearer ".to_owned())),
        ("no bearer", Some(format!("Basic {fresh}"))),
        ("unknown", Some(format!("Bearer {}", "A".repeat(43)))),
        ("truncated", Some(format!("Bearer {}", &fresh[..42]))),
        ("revoked", Some(format!("Bearer {token}"))),
        ("also revoked", Some(format!("Bearer {revoked}"))),
        ("expired", Some(format!("Bearer {expired}"))),
    ] {
        for method in ["POST", "GET", "DELETE", "OPTIONS"] {
            // A session id is no credential.
            for raw in [
                Raw::new(method, ""),
                Raw::new(method, "").with("mcp-session-id", &session),
            ] {
                let raw = match &header {
                    Some(value) => raw.with("authorization", value),
                    None => raw.without("authorization"),
                };
                let reply = raw.send(host.address).await;
                assert_eq!(reply.status, 401, "{name}, {method}");
                assert_eq!(reply.header("cache-control"), Some("no-store"));
                assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
                assert_eq!(reply.message()["error"], "invalid_mcp_credential");
                assert!(reply.message()["message"].is_string());
                assert_eq!(
                    *seen.get_or_insert(reply.body.clone()),
                    reply.body,
                    "{name}, {method}"
                );
            }
        }
    }
    let twice = Raw::call(Form::Stateless, &fresh, "", "echo", json!({}))
        .and("authorization", &format!("Bearer {fresh}"));
    assert_eq!(twice.send(host.address).await.status, 401, "two bearers");
    let good = Raw::call(Form::Stateless, &fresh, "", "echo", json!({}))
        .send(host.address)
        .await;
    assert_eq!(good.status, 200, "the fresh one still works");
    host.stop().await;
}

#[tokio::test]
async fn malformed_requests_get_the_status_of_the_protocol() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    let session = session(host.address, &token).await;
    let in_session = || Raw::call(Form::Session, &token, &session, "echo", json!({}));
    let stateless = || Raw::call(Form::Stateless, &token, "", "echo", json!({}));
    for (name, raw, status, text) in [
        (
            "session: unknown version",
            in_session().with("mcp-protocol-version", "1999-01-01"),
            400,
            "Unsupported",
        ),
        (
            "session: accepts JSON only",
            in_session().with("accept", "application/json"),
            406,
            "Accept",
        ),
        (
            "session: accepts nothing",
            in_session().without("accept"),
            406,
            "Accept",
        ),
        (
            "session: other content type",
            in_session().with("content-type", "text/plain"),
            415,
            "Content-Type",
        ),
        (
            "session: missing session",
            in_session().without("mcp-session-id"),
            400,
            "Session ID",
        ),
        (
            "session: unknown session",
            in_session().with("mcp-session-id", "unknown"),
            404,
            "session_not_found",
        ),
        (
            "session: no JSON",
            in_session().body(b"{".to_vec()),
            415,
            "",
        ),
        (
            "stateless: missing Mcp-Method",
            stateless().without("mcp-method"),
            400,
            "-32020",
        ),
        (
            "stateless: other Mcp-Method",
            stateless().with("mcp-method", "tools/list"),
            400,
            "-32020",
        ),
        (
            "stateless: missing Mcp-Name",
            stateless().without("mcp-name"),
            400,
            "-32020",
        ),
        (
            "stateless: other version in the header",
            stateless().with("mcp-protocol-version", "2025-11-25"),
            400,
            "-32020",
        ),
        (
            "stateless: accepts JSON only",
            stateless().with("accept", "application/json"),
            406,
            "Accept",
        ),
        (
            "stateless: unknown method",
            Raw::request(Form::Stateless, &token, "", "tools/none", json!({})),
            404,
            "-32601",
        ),
        ("no method of ours", Raw::new("PUT", &token), 405, ""),
        (
            "a listener without a session",
            Raw::new("GET", &token),
            400,
            "Session ID",
        ),
        (
            "a stateless listener",
            Raw::new("GET", &token).with("mcp-protocol-version", "2026-07-28"),
            405,
            "",
        ),
        (
            "an end without a session",
            Raw::new("DELETE", &token),
            400,
            "Session ID",
        ),
    ] {
        let reply = raw.send(host.address).await;
        assert_eq!(reply.status, status, "{name}: {}", reply.body);
        assert!(reply.body.contains(text), "{name}: {}", reply.body);
    }
    host.stop().await;
}

#[tokio::test]
async fn a_body_over_the_bound_is_refused_in_both_forms() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    let session = session(host.address, &token).await;
    for form in Form::BOTH {
        let raw = Raw::call(form, &token, &session, "echo", json!({}));
        let fill = |to: usize| {
            let mut body = raw.body.clone();
            body.resize(to, b' ');
            raw.clone().body(body)
        };
        const MAX: usize = 16 * 1024 * 1024;
        let full = fill(MAX).send(host.address).await;
        assert_eq!(full.status, 200, "{form:?}: {}", full.body);
        // The host answers and closes while the rest is still on its way.
        let over = fill(MAX + 1).send(host.address).await;
        assert_eq!(over.status, 413, "{form:?}");
    }
    host.stop().await;
}

#[tokio::test]
async fn protocol_faults_are_json_rpc_errors_and_refusals_are_results() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    let session = session(host.address, &token).await;
    for form in Form::BOTH {
        let call = async |tool: &str| {
            Raw::call(form, &token, &session, tool, json!({}))
                .send(host.address)
                .await
                .message()
        };
        let unknown = call("nothing").await;
        assert_eq!(unknown["error"]["code"], -32602, "{form:?}");
        let mut elsewhere = call("elsewhere").await;
        elsewhere["error"]["message"] = json!(
            elsewhere["error"]["message"]
                .as_str()
                .map(|text| text.replace("elsewhere", "nothing"))
        );
        assert_eq!(
            elsewhere, unknown,
            "{form:?}: a tool of another endpoint is unknown here"
        );
        for (tool, code, retryable) in [
            ("refuse", "parent_not_active", true),
            ("ungranted", "capability_denied", false),
        ] {
            let result = call(tool).await["result"].clone();
            assert_eq!(result["isError"], true, "{form:?}, {tool}");
            let failure = &result["structuredContent"];
            assert_eq!(
                failure["_tag"], "OrchestratorMcpFailure",
                "{form:?}, {tool}"
            );
            assert_eq!(failure["code"], code, "{form:?}");
            assert_eq!(failure["retryable"], retryable, "{form:?}, {tool}");
            assert!(failure["message"].is_string(), "{form:?}, {tool}");
            let text = result["content"][0]["text"]
                .as_str()
                .expect("one text block");
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(text).expect("json"),
                *failure
            );
            assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
        }
    }
    host.stop().await;
}

#[tokio::test]
async fn a_caller_is_shown_the_tools_it_can_call() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    let session = session(host.address, &token).await;
    for form in Form::BOTH {
        let list = Raw::request(form, &token, &session, "tools/list", json!({}));
        let list = list.send(host.address).await.message();
        let names: Vec<_> = list["result"]["tools"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|tool| tool["name"].as_str().expect("a name"))
            .collect();
        assert_eq!(names, ["echo", "wait", "work", "refuse"], "{form:?}");
    }
    host.stop().await;
}

#[tokio::test]
async fn every_version_with_a_handshake_is_taken_up() {
    let host = Host::start().await;
    let token = host.token("thread-1");
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let reply = Raw::initialize(&token, asked).send(host.address).await;
        let result = &reply.message()["result"];
        assert_eq!(result["protocolVersion"], answered, "{asked}");
        assert_eq!(result["serverInfo"]["name"], "weft");
        assert_eq!(result["instructions"], crate::mcp::INSTRUCTIONS);
    }
    let discover = Raw::request(Form::Stateless, &token, "", "server/discover", json!({}));
    let reply = discover.send(host.address).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(reply.body.contains("2026-07-28"), "{}", reply.body);
    host.stop().await;
}
