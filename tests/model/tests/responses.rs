//! The server as an OpenAI client sees it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure is the test's failure"
)]

use std::time::Duration;

use anyhow::{Context, Result};
use futures::StreamExt;
use model::{ModelServer, Outcome, Recorded};
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_secs(10);

/// A user's message.
fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

/// The result of a tool call.
fn result(text: &str) -> Value {
    json!({"type": "function_call_output", "call_id": "c", "output": text})
}

fn body(input: &[Value]) -> Value {
    json!({
        "model": "m",
        "stream": true,
        "prompt_cache_key": "conversation",
        "input": input,
        "tools": [
            {"type": "function", "name": "exec_command"},
            {"type": "namespace", "name": "mcp__t3_code", "tools": [{"name": "delegate_task"}]},
        ],
    })
}

async fn post(server: &ModelServer, body: &Value) -> Result<reqwest::Response> {
    let url = format!("{}/responses", server.openai_url());
    Ok(reqwest::Client::new().post(url).json(body).send().await?)
}

/// The events of a whole answer.
async fn events(server: &ModelServer, input: &[Value]) -> Result<Vec<Value>> {
    let response = post(server, &body(input)).await?.error_for_status()?;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    parse(&response.text().await?)
}

fn parse(text: &str) -> Result<Vec<Value>> {
    text.split("\n\n")
        .filter(|frame| !frame.is_empty())
        .map(|frame| {
            let (kind, data) = frame.split_once('\n').context("two lines")?;
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").context("data")?)?;
            assert_eq!(kind.strip_prefix("event: "), data["type"].as_str());
            Ok(data)
        })
        .collect()
}

/// The item that the answer consists of, from `response.completed`, checked against its own event.
fn items(events: &[Value]) -> Vec<Value> {
    let last = events.last().expect("events");
    assert_eq!(last["type"], "response.completed");
    let output = last["response"]["output"]
        .as_array()
        .expect("output")
        .clone();
    let done: Vec<Value> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| event["item"].clone())
        .collect();
    assert_eq!(output, done);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
    output
}

fn deltas(events: &[Value], kind: &str) -> String {
    events
        .iter()
        .filter(|event| event["type"] == kind)
        .filter_map(|event| event["delta"].as_str())
        .collect()
}

#[tokio::test]
async fn a_text_is_streamed_in_pieces() -> Result<()> {
    let server = ModelServer::start().await?;
    let text = "one two three four five six seven eight nine";
    let events = events(&server, &[user(&format!("script: say {text}"))]).await?;
    assert_eq!(deltas(&events, "response.output_text.delta"), text);
    let items = items(&events);
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["role"], "assistant");
    assert_eq!(items[0]["content"][0]["text"], text);
    let usage = &events.last().context("events")?["response"]["usage"];
    assert_eq!(
        (&usage["input_tokens"], &usage["output_tokens"]),
        (&json!(120), &json!(15))
    );
    Ok(())
}

#[tokio::test]
async fn reasoning_comes_before_the_text() -> Result<()> {
    let server = ModelServer::start().await?;
    let events = events(&server, &[user("script: think because of it :: done")]).await?;
    assert_eq!(
        deltas(&events, "response.reasoning_summary_text.delta"),
        "because of it"
    );
    let items = items(&events);
    assert_eq!(items[0]["summary"][0]["text"], "because of it");
    assert_eq!(items[1]["content"][0]["text"], "done");
    let usage = &events.last().context("events")?["response"]["usage"];
    assert_eq!(usage["output_tokens_details"]["reasoning_tokens"], 5);
    Ok(())
}

#[tokio::test]
async fn tool_calls_follow_the_tools_of_the_request() -> Result<()> {
    let server = ModelServer::start().await?;
    let table = [
        (
            r#"call delegate_task {"prompt":"script: say a ;; say b"}"#,
            json!({
                "type": "function_call", "namespace": "mcp__t3_code", "name": "delegate_task",
                "arguments": r#"{"prompt":"script: say a ;; say b"}"#, "status": "completed",
            }),
        ),
        (
            "shell ls -l",
            json!({
                "type": "function_call", "name": "exec_command", "arguments": r#"{"cmd":"ls -l"}"#,
                "status": "completed",
            }),
        ),
        (
            "custom apply_patch *** Begin Patch\\n*** End Patch",
            json!({
                "type": "custom_tool_call", "name": "apply_patch",
                "input": "*** Begin Patch\n*** End Patch", "status": "completed",
            }),
        ),
    ];
    for (step, expected) in table {
        let events = events(&server, &[user(&format!("script: {step}"))]).await?;
        let mut item = items(&events).remove(0);
        let fields = item.as_object_mut().context("an object")?;
        assert!(fields.remove("id").is_some() && fields.remove("call_id").is_some());
        assert_eq!(item, expected, "{step}");
    }
    Ok(())
}

#[tokio::test]
async fn the_script_goes_on_with_the_conversation() -> Result<()> {
    let server = ModelServer::start().await?;
    let script = user(r#"script: call delegate_task {} ;; say waiting ;; say {{1.taskId}} ended"#);
    let answer = json!({"type": "message", "role": "assistant", "content": []});
    let text = |events: &[Value]| items(events)[0]["content"][0]["text"].clone();

    let called = vec![script, result("Output:\n{\"taskId\":\"t-1\"}")];
    assert_eq!(text(&events(&server, &called).await?), "waiting");
    let mut woken = called.clone();
    woken.extend([answer, user("delegated task t-1 ended")]);
    assert_eq!(text(&events(&server, &woken).await?), "t-1 ended");
    Ok(())
}

#[tokio::test]
async fn errors_have_the_status_of_the_script() -> Result<()> {
    let server = ModelServer::start().await?;
    let table = [
        ("script: fail 500", 500, "scripted 500"),
        ("script: fail 401", 401, "scripted 401"),
        ("script: dance", 400, "step 1: unknown step `dance`"),
        (
            "script: crash",
            400,
            "step 1: `crash` can't be played by the scripted model server",
        ),
    ];
    for (script, status, message) in table {
        let response = post(&server, &body(&[user(script)])).await?;
        assert_eq!(response.status().as_u16(), status, "{script}");
        let body: Value = response.json().await?;
        let text = body["error"]["message"].as_str().context("a message")?;
        assert!(text.starts_with(message), "{text}");
        server
            .wait_for(TIMEOUT, |request| {
                request.outcome == Outcome::Failed(status)
            })
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_single_failure_is_remembered_per_conversation() -> Result<()> {
    let server = ModelServer::start().await?;
    let of = |key: &str| {
        let mut body = body(&[user("script: failonce 503")]);
        body["prompt_cache_key"] = key.into();
        body
    };
    for key in ["a", "b"] {
        assert_eq!(post(&server, &of(key)).await?.status().as_u16(), 503);
        let text = post(&server, &of(key))
            .await?
            .error_for_status()?
            .text()
            .await?;
        assert_eq!(
            items(&parse(&text)?)[0]["content"][0]["text"],
            "Recovered after one failure."
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_cut_breaks_the_stream_off_after_its_first_text() -> Result<()> {
    let server = ModelServer::start().await?;
    let response = post(&server, &body(&[user("script: cut")]))
        .await?
        .error_for_status()?;
    let mut stream = response.bytes_stream();
    let mut text = String::new();
    let error = loop {
        match stream
            .next()
            .await
            .context("the stream must not end in good order")?
        {
            Ok(bytes) => text.push_str(&String::from_utf8(bytes.to_vec())?),
            Err(error) => break error,
        }
    };
    assert!(error.is_body() || error.is_decode(), "{error:?}");
    assert!(text.contains("response.output_text.delta"), "{text}");
    assert!(!text.contains("response.completed"), "{text}");
    server
        .wait_for(TIMEOUT, |request| request.outcome == Outcome::Cut)
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_client_that_leaves_is_recorded() -> Result<()> {
    let server = ModelServer::start().await?;
    for script in ["script: hang", "script: slow 1000 60000"] {
        let mut response = post(&server, &body(&[user(script)])).await?;
        response.chunk().await?.context("the first event")?;
        let open = |request: &Recorded| {
            request.outcome == Outcome::Open && request.messages().any(|text| text == script)
        };
        server.wait_for(TIMEOUT, open).await?;
        drop(response);
        let gone = |request: &Recorded| {
            request.outcome == Outcome::ClientGone && request.messages().any(|text| text == script)
        };
        server.wait_for(TIMEOUT, gone).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_websocket_is_refused_with_the_status_that_sends_codex_to_http() -> Result<()> {
    let server = ModelServer::start().await?;
    let url = format!("{}/responses", server.openai_url());
    assert_eq!(reqwest::get(url).await?.status().as_u16(), 426);
    Ok(())
}

#[tokio::test]
async fn every_request_is_recorded() -> Result<()> {
    let server = ModelServer::start().await?;
    let client = reqwest::Client::new();
    let models = client
        .get(format!("{}/models", server.openai_url()))
        .send()
        .await?;
    assert_eq!(models.json::<Value>().await?["data"], json!([]));
    let unknown = client
        .post(format!("{}/v1/other?a=b", server.url()))
        .body("x")
        .send()
        .await?;
    assert_eq!(unknown.status().as_u16(), 404);
    let url = format!("{}/responses", server.openai_url());
    let broken = client.post(url).bearer_auth("key").body("{").send().await?;
    assert_eq!(broken.status().as_u16(), 400);
    events(&server, &[user("script: say x"), result("r")]).await?;

    let fourth = |request: &Recorded| request.number == 4 && request.outcome == Outcome::Completed;
    let last = server.wait_for(TIMEOUT, fourth).await?;
    assert_eq!(last.results().collect::<Vec<_>>(), ["r"]);
    assert_eq!(last.body["model"], "m");
    let requests = server.requests();
    let paths: Vec<&str> = requests
        .iter()
        .map(|request| request.path.as_str())
        .collect();
    assert_eq!(
        paths,
        [
            "/v1/models",
            "/v1/other?a=b",
            "/v1/responses",
            "/v1/responses"
        ]
    );
    assert_eq!(requests[2].header("authorization"), Some("Bearer key"));
    assert_eq!(requests[3].step_name(), "say");
    Ok(())
}

#[tokio::test]
async fn a_wait_that_fails_tells_what_came_instead() -> Result<()> {
    let server = ModelServer::start().await?;
    events(&server, &[user("script: say x")]).await?;
    server
        .wait_for(TIMEOUT, |request| request.outcome == Outcome::Completed)
        .await?;
    let error = server
        .wait_for(Duration::ZERO, |_| false)
        .await
        .expect_err("nothing is wanted");
    assert_eq!(
        error.to_string(),
        "no such request within 0ns; there were 1: /v1/responses say Completed"
    );
    Ok(())
}
