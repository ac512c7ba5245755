//! Signs of life for the stateless form. rmcp answers a 2026-07-28 request only with its handler's first
//! message; until then no byte is sent, and clients give up on silence. So the stream is begun here.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::response::Response;
use bytes::{BufMut as _, Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::{StreamExt as _, stream};
use http::{HeaderValue, header};
use serde::Deserialize;
use serde_json::Value;

use super::reply::{EVENT_STREAM, is_event_stream};
use crate::mcp::limits::LATE_REPLY_BYTES_MAX;

/// A comment line: ignored by every reader of an event stream.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// Waits for the reply; when it takes longer than `every`, begins an event stream and carries the reply in it.
///
/// `request` is the body that was sent: a reply that fails late is told under its JSON-RPC id. Dropping the
/// returned body drops `reply`, so rmcp sees a client that goes away as if this were not here.
pub(super) async fn early_stream(
    every: Duration,
    request: Bytes,
    reply: BoxFuture<'static, Response>,
) -> Response {
    let mut reply = reply;
    match tokio::time::timeout(every, &mut reply).await {
        Ok(response) => response,
        Err(_) => {
            let rest = stream::unfold(Late::Waiting { reply, request }, move |late| {
                late.next(every)
            });
            let comment = stream::once(async { Ok::<_, Infallible>(COMMENT) });
            event_stream(Body::from_stream(comment.chain(rest)))
        }
    }
}

fn event_stream(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Where a reply is whose stream has begun.
enum Late {
    Waiting {
        reply: BoxFuture<'static, Response>,
        request: Bytes,
    },
    Events(BodyDataStream),
    Told,
}

type Step = Option<(Result<Bytes, Infallible>, Late)>;

impl Late {
    async fn next(self, every: Duration) -> Step {
        match self {
            Self::Waiting { mut reply, request } => {
                match tokio::time::timeout(every, &mut reply).await {
                    Err(_) => Some((Ok(COMMENT), Self::Waiting { reply, request })),
                    Ok(response) if is_event_stream(&response) => {
                        Self::events(response.into_body().into_data_stream()).await
                    }
                    Ok(response) => Some((Ok(late_event(response, &request).await), Self::Told)),
                }
            }
            Self::Events(body) => Self::events(body).await,
            Self::Told => None,
        }
    }

    async fn events(mut body: BodyDataStream) -> Step {
        match body.next().await? {
            Ok(piece) => Some((Ok(piece), Self::Events(body))),
            Err(error) => {
                tracing::warn!(%error, "the event stream of an MCP reply broke off");
                None
            }
        }
    }
}

/// A complete reply as one event. One that is no JSON-RPC message becomes a JSON-RPC error, because its status
/// can no longer be told.
async fn late_event(response: Response, request: &Bytes) -> Bytes {
    let status = response.status();
    let text = match axum::body::to_bytes(response.into_body(), LATE_REPLY_BYTES_MAX).await {
        Ok(bytes) => bytes,
        Err(error) => {
            tracing::error!(%error, "an MCP reply could not be read");
            return event(&failure(
                request,
                "the reply could not be read; read the durable state",
            ));
        }
    };
    match serde_json::from_slice::<Value>(&text) {
        Ok(message) if message.get("jsonrpc").is_some() => event(&message),
        _ => {
            tracing::warn!(%status, "an MCP reply failed after its stream began");
            event(&failure(
                request,
                &format!("{status}: {}", String::from_utf8_lossy(&text)),
            ))
        }
    }
}

fn failure(request: &Bytes, message: &str) -> Value {
    #[derive(Deserialize)]
    struct Asked {
        id: Value,
    }
    // A body without a readable id gets the answer JSON-RPC has for that: an id of null.
    let id = serde_json::from_slice::<Asked>(request).map_or(Value::Null, |asked| asked.id);
    let code = rmcp::model::ErrorCode::INTERNAL_ERROR.0;
    serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn event(message: &Value) -> Bytes {
    let text = message.to_string();
    let mut event = BytesMut::with_capacity(text.len() + 8);
    event.put_slice(b"data: ");
    event.put_slice(text.as_bytes());
    event.put_slice(b"\n\n");
    event.freeze()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use http::StatusCode;

    use super::*;

    const EVERY: Duration = Duration::from_secs(10);

    fn after(wait: Duration, response: Response) -> BoxFuture<'static, Response> {
        async move {
            tokio::time::sleep(wait).await;
            response
        }
        .boxed()
    }

    fn reply(status: u16, kind: &'static str, body: &'static str) -> Response {
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(status).expect("status");
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }

    async fn text(response: Response) -> String {
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
            .await
            .expect("body");
        String::from_utf8(bytes.to_vec()).expect("text")
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_in_time_is_passed_on_untouched() {
        let response = after(Duration::from_secs(9), reply(404, "application/json", "{}"));
        let response = early_stream(EVERY, Bytes::new(), response).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        assert_eq!(text(response).await, "{}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_reply_comes_as_events_after_comments() {
        let message = r#"{"id":1,"jsonrpc":"2.0","result":{}}"#;
        let told = format!("data: {message}\n\n");
        let lost = r#"data: {"error":{"code":-32603,"message":"500 Internal Server Error: lost"},"id":7,"jsonrpc":"2.0"}"#;
        for (response, expected) in [
            (
                reply(200, "text/event-stream", "data: x\n\n"),
                "data: x\n\n".to_owned(),
            ),
            (reply(200, "application/json", message), told.clone()),
            (reply(404, "application/json", message), told),
            (reply(500, "text/plain", "lost"), format!("{lost}\n\n")),
        ] {
            let late = after(Duration::from_secs(35), response);
            let response = early_stream(EVERY, Bytes::from_static(br#"{"id":7}"#), late).await;
            assert_eq!(response.status(), StatusCode::OK);
            assert!(is_event_stream(&response));
            assert_eq!(text(response).await, format!(":\n\n:\n\n:\n\n{expected}"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn dropping_the_stream_drops_the_reply() {
        let (sender, mut receiver) = tokio::sync::oneshot::channel::<()>();
        let reply = async move {
            let _kept = sender;
            std::future::pending().await
        };
        let response = early_stream(EVERY, Bytes::new(), reply.boxed()).await;
        assert_eq!(
            receiver.try_recv(),
            Err(tokio::sync::oneshot::error::TryRecvError::Empty)
        );
        drop(response);
        assert_eq!(
            receiver.try_recv(),
            Err(tokio::sync::oneshot::error::TryRecvError::Closed)
        );
    }
}
