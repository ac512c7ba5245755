//! The OpenAI Responses API: `POST /v1/responses`, always streamed.

mod events;
mod history;
mod tools;

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use script::{Consumer, Position, Step, next_step};
use serde_json::{Value, json};

use crate::journal::{Outcome, Recorded};
use crate::server::App;
use crate::sse;
use events::{Call, Play};
use tools::Tools;

/// What `failonce` says when it is played again.
const RECOVERED: &str = "Recovered after one failure.";

pub(crate) async fn create(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut recorded = Recorded {
        number: 0,
        method,
        path: uri.to_string(),
        headers,
        body: Arc::default(),
        history: Arc::default(),
        step: None,
        position: None,
        outcome: Outcome::Open,
    };
    let body: Value = match serde_json::from_slice(&body) {
        Ok(body) => body,
        Err(error) => {
            return refuse(
                &app,
                recorded,
                400,
                &format!("the body is no JSON: {error}"),
            );
        }
    };
    let history = history::read(&body);
    let next = next_step(&history, Consumer::ModelServer);
    recorded.history = history.into();
    let tools = Tools::listed_in(&body);
    let conversation = conversation(&body).to_owned();
    let model = body
        .get("model")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    recorded.body = Arc::new(body);

    let next = match next {
        Ok(next) => next,
        Err(error) => return refuse(&app, recorded, 400, &error.to_string()),
    };
    recorded.step = Some(next.step.clone());
    recorded.position = Some(next.position);
    let play = match play(&app, next.step, &conversation, next.position, &tools) {
        Ok(play) => play,
        Err(Refusal { status, message }) => return refuse(&app, recorded, status, &message),
    };
    let number = app.journal.add(recorded);
    let ids = Arc::clone(&app.ids);
    sse::respond(app.journal, number, |events| async move {
        events::write(&events, &ids, &model, play).await
    })
}

/// An answer that is an HTTP error.
struct Refusal {
    status: u16,
    message: String,
}

/// Turns a step into what this API sends for it.
fn play(
    app: &App,
    step: Step,
    conversation: &str,
    position: Position,
    tools: &Tools,
) -> Result<Play, Refusal> {
    let scripted = |status| Refusal {
        status,
        message: format!("scripted {status}"),
    };
    Ok(match step {
        Step::Say(text) => Play::Message {
            reasoning: None,
            text,
        },
        Step::Think { reasoning, text } => Play::Message {
            reasoning: Some(reasoning),
            text,
        },
        Step::Slow { chunks, pause } => Play::Slow { chunks, pause },
        Step::Call { tool, arguments } => {
            let (namespace, name) = tools.function(&tool);
            Play::Call(Call::Function {
                namespace,
                name,
                arguments: arguments.to_string(),
            })
        }
        Step::Custom { tool, input } => {
            let (namespace, name) = tools::split(&tool);
            Play::Call(Call::Custom {
                namespace,
                name,
                input,
            })
        }
        Step::Shell(command) => {
            let (name, arguments) = tools.shell(&command).ok_or_else(|| Refusal {
                status: 400,
                message: tools.no_shell(),
            })?;
            Play::Call(Call::Function {
                namespace: None,
                name,
                arguments: arguments.to_string(),
            })
        }
        Step::Fail { status } => return Err(scripted(status)),
        Step::FailOnce { status } if app.failures.is_first(conversation, position) => {
            return Err(scripted(status));
        }
        Step::FailOnce { .. } => Play::Message {
            reasoning: None,
            text: RECOVERED.to_owned(),
        },
        Step::Cut => Play::Cut,
        Step::Hang => Play::Hang,
        // `next_step` refuses what this consumer doesn't play.
        Step::Approve { .. }
        | Step::Ask { .. }
        | Step::Noise { .. }
        | Step::Exit { .. }
        | Step::Crash
        | Step::Flood { .. } => {
            let message = format!("the model server doesn't play `{}`", step.name());
            return Err(Refusal {
                status: 400,
                message,
            });
        }
    })
}

/// What tells one conversation from another: the client's own key, else the script itself.
fn conversation(body: &Value) -> &str {
    body.get("prompt_cache_key")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn refuse(app: &App, mut recorded: Recorded, status: u16, message: &str) -> Response {
    recorded.outcome = Outcome::Failed(status);
    app.journal.add(recorded);
    let kind = match status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json!({"error": {"type": kind, "code": kind, "message": message, "param": null}});
    (status, Json(body)).into_response()
}
