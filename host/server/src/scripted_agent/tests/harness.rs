//! An agent in this process, the host's end of its pipes, and an MCP server.

use std::io::{BufRead, BufReader, PipeWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

/// Nothing here takes long; a test that waits longer has failed.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Agent {
    input: Option<PipeWriter>,
    lines: mpsc::UnboundedReceiver<String>,
    served: JoinHandle<()>,
}

/// The line that opens a thread with tools.
pub(super) fn open(thread: &str, url: &str, token: &str, version: &str) -> Value {
    json!({
        "op": "open", "thread": thread, "native": null,
        "mcp": {
            "url": url, "authorization": token, "serverName": "t3-code", "protocolVersion": version,
        },
    })
}

impl Agent {
    pub(super) fn start() -> Self {
        let (input, writer) = std::io::pipe().unwrap();
        let (reader, output) = std::io::pipe().unwrap();
        let served = tokio::spawn(async move {
            super::super::serve(BufReader::new(input), output)
                .await
                .unwrap();
        });
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            input: Some(writer),
            lines,
            served,
        }
    }

    pub(super) fn write(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(super) fn say(&mut self, line: &Value) {
        self.write(&line.to_string());
    }

    pub(super) async fn line(&mut self) -> String {
        let line = tokio::time::timeout(TIMEOUT, self.lines.recv()).await;
        line.expect("a line in time").expect("the agent runs")
    }

    /// The next event; lines that are no JSON are skipped.
    pub(super) async fn next(&mut self) -> Value {
        loop {
            if let Ok(event) = serde_json::from_str(&self.line().await) {
                return event;
            }
        }
    }

    /// The next event of this kind.
    pub(super) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next().await;
            if event["event"] == kind {
                return event;
            }
        }
    }

    /// Opens a thread without tools and returns its native id.
    pub(super) async fn open(&mut self, thread: &str) -> Value {
        self.say(&json!({"op": "open", "thread": thread, "native": null, "mcp": null}));
        self.until("opened").await["native"].clone()
    }

    pub(super) async fn open_with(
        &mut self,
        thread: &str,
        server: &McpServer,
        token: &str,
        version: &str,
    ) {
        self.say(&open(thread, &server.url(), token, version));
        let event = self.next().await;
        assert_eq!(event["event"], "opened", "{event}");
    }

    pub(super) fn begin(&mut self, thread: &str, turn: &str, text: &str) {
        self.say(&json!({
            "op": "turn", "thread": thread, "turn": turn, "text": text, "instructions": null,
        }));
    }

    /// Events up to the end of a turn.
    pub(super) async fn rest_of_turn(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await;
            let last = event["event"] == "turn-ended";
            events.push(event);
            if last {
                return events;
            }
        }
    }

    /// Runs a whole turn.
    pub(super) async fn turn(&mut self, thread: &str, text: &str) -> Vec<Value> {
        static TURNS: AtomicUsize = AtomicUsize::new(0);
        let turn = format!("turn-{}", TURNS.fetch_add(1, Ordering::Relaxed));
        self.begin(thread, &turn, text);
        self.rest_of_turn().await
    }

    pub(super) fn answer(&mut self, request: &Value, answer: &Value) {
        let mut line = json!({"op": "answer", "request": request});
        line.as_object_mut()
            .unwrap()
            .extend(answer.as_object().unwrap().clone());
        self.say(&line);
    }

    /// Closes the agent's input and waits for its end.
    pub(super) async fn end_input(mut self) {
        self.input = None;
        tokio::time::timeout(TIMEOUT, self.served)
            .await
            .expect("ends in time")
            .unwrap();
    }

    /// Stops reading the agent's output and waits for its end.
    pub(super) async fn end_output(mut self) {
        self.lines.close();
        tokio::time::timeout(TIMEOUT, self.served)
            .await
            .expect("ends in time")
            .unwrap();
    }
}

/// An MCP server with the tools `echo`, `fail` and `wait`, behind a bearer token.
pub(super) struct McpServer {
    url: String,
    seen: Arc<Seen>,
    serving: JoinHandle<()>,
}

struct Seen {
    token: String,
    progress_tokens: AtomicUsize,
    waiting: Semaphore,
    cancelled: Semaphore,
}

impl McpServer {
    pub(super) async fn start(token: &str) -> Self {
        let seen = Arc::new(Seen {
            token: token.to_owned(),
            progress_tokens: AtomicUsize::new(0),
            waiting: Semaphore::new(0),
            cancelled: Semaphore::new(0),
        });
        let handler = Handler {
            seen: Arc::clone(&seen),
        };
        let service = StreamableHttpService::new(
            move || Ok(handler.clone()),
            Arc::new(LocalSessionManager::default()),
            StreamableHttpServerConfig::default(),
        );
        let router = axum::Router::new().route_service("/mcp", service).layer(
            middleware::from_fn_with_state(Arc::clone(&seen), check_token),
        );
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen, serving }
    }

    pub(super) fn url(&self) -> String {
        self.url.clone()
    }

    pub(super) fn progress_tokens(&self) -> usize {
        self.seen.progress_tokens.load(Ordering::SeqCst)
    }

    pub(super) async fn until_waiting(&self) {
        let permit = tokio::time::timeout(TIMEOUT, self.seen.waiting.acquire()).await;
        permit.expect("a call of `wait`").unwrap().forget();
    }

    pub(super) async fn until_cancelled(&self) {
        let permit = tokio::time::timeout(TIMEOUT, self.seen.cancelled.acquire()).await;
        permit.expect("the call is cancelled").unwrap().forget();
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn check_token(State(seen): State<Arc<Seen>>, request: Request, next: Next) -> Response {
    let wanted = format!("Bearer {}", seen.token);
    match request.headers().get(AUTHORIZATION) {
        Some(given) if given.as_bytes() == wanted.as_bytes() => next.run(request).await,
        _ => StatusCode::UNAUTHORIZED.into_response(),
    }
}

#[derive(Clone)]
struct Handler {
    seen: Arc<Seen>,
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities.tools = Some(Default::default());
        info
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if context.meta.get_progress_token().is_some() {
            self.seen.progress_tokens.fetch_add(1, Ordering::SeqCst);
        }
        let result = match params.name.as_ref() {
            "echo" => {
                let text = params.arguments.unwrap_or_default()["text"].clone();
                CallToolResult::structured(json!({ "echoed": text }))
            }
            "fail" => CallToolResult::error(vec![ContentBlock::text("it failed")]),
            "wait" => {
                self.seen.waiting.add_permits(1);
                context.ct.cancelled().await;
                self.seen.cancelled.add_permits(1);
                CallToolResult::success(Vec::new())
            }
            other => return Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        };
        Ok(CallToolResponse::Complete(result))
    }
}
