use std::fs::{File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::failures::Failures;
use crate::journal::{Journal, Outcome, Recorded, WaitError};
use crate::limits::BODY_BYTES_MAX;
use crate::responses;

/// What a server is started with.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// File to which each change of a request is appended as a line of JSON.
    pub log_path: Option<PathBuf>,
}

/// The server can't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("can't listen on 127.0.0.1:{port}: {source}")]
    Listen { port: u16, source: io::Error },
    #[error("can't open the log {}: {source}", path.display())]
    Log { path: PathBuf, source: io::Error },
}

/// A running server. It stops when this is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    journal: Arc<Journal>,
    serving: JoinHandle<()>,
}

impl ModelServer {
    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// [`StartError::Listen`]: no port is free.
    pub async fn start() -> Result<Self, StartError> {
        Self::start_with(Options::default()).await
    }

    /// Starts a server.
    ///
    /// # Errors
    /// The port is taken, or the log can't be opened.
    pub async fn start_with(options: Options) -> Result<Self, StartError> {
        let port = options.port;
        let listen = |source| StartError::Listen { port, source };
        let log = options.log_path.map(open_log).transpose()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;

        let journal = Arc::new(Journal::new(log));
        let app = App {
            journal: Arc::clone(&journal),
            failures: Arc::new(Failures::default()),
            ids: Arc::new(Ids::new()),
        };
        let listener = listener.tap_io(|stream| {
            // Small events must not wait for each other's acknowledgement. Without it the server is slow,
            // not wrong.
            let _ = stream.set_nodelay(true);
        });
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, routes(app)).await {
                eprintln!("scripted-model: {error}");
            }
        });
        Ok(Self {
            address,
            journal,
            serving,
        })
    }

    /// Where it listens, for example `http://127.0.0.1:4711`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base address for OpenAI clients such as codex: [`Self::url`] with `/v1`.
    #[must_use]
    pub fn openai_url(&self) -> String {
        format!("{}/v1", self.url())
    }

    /// The requests so far, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.journal.all()
    }

    /// Waits for a request, present or to come, that is as wanted; also for one whose outcome becomes so.
    ///
    /// # Errors
    /// [`WaitError`]: none came in time. It lists what came instead.
    pub async fn wait_for(
        &self,
        timeout: Duration,
        wanted: impl Fn(&Recorded) -> bool,
    ) -> Result<Recorded, WaitError> {
        self.journal.wait_for(timeout, wanted).await
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn open_log(path: PathBuf) -> Result<File, StartError> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .map_err(|source| StartError::Log { path, source })
}

/// What the handlers share.
#[derive(Debug, Clone)]
pub(crate) struct App {
    pub(crate) journal: Arc<Journal>,
    pub(crate) failures: Arc<Failures>,
    pub(crate) ids: Arc<Ids>,
}

fn routes(app: App) -> Router {
    Router::new()
        .route("/v1/responses", post(responses::create).get(no_websocket))
        .route("/v1/models", get(models))
        .fallback(not_served)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(app)
}

/// Agents ask for the list at their start and are content with an empty one.
async fn models(State(app): State<App>, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    app.record(method, &uri, headers, Value::Null, Outcome::Completed);
    Json(json!({"object": "list", "data": [], "models": []})).into_response()
}

/// Codex tries a WebSocket first with its built-in provider, and this status sends it to plain HTTP at
/// once; any other makes it try again for seconds.
async fn no_websocket(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> StatusCode {
    let status = StatusCode::UPGRADE_REQUIRED;
    app.record(
        method,
        &uri,
        headers,
        Value::Null,
        Outcome::Failed(status.as_u16()),
    );
    status
}

async fn not_served(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let message = format!("the scripted model server has no {method} {}", uri.path());
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let status = StatusCode::NOT_FOUND;
    app.record(
        method,
        &uri,
        headers,
        body,
        Outcome::Failed(status.as_u16()),
    );
    (
        status,
        Json(json!({"error": {"type": "not_found", "message": message}})),
    )
        .into_response()
}

impl App {
    /// Records a request that no script has to do with.
    fn record(&self, method: Method, uri: &Uri, headers: HeaderMap, body: Value, outcome: Outcome) {
        self.journal.add(Recorded {
            number: 0,
            method,
            path: uri.to_string(),
            headers,
            body: Arc::new(body),
            history: Arc::default(),
            step: None,
            position: None,
            outcome,
        });
    }
}

/// Ids of responses, items and calls, unique over servers too: a conversation may outlive its server.
#[derive(Debug)]
pub(crate) struct Ids {
    server: u128,
    count: AtomicU64,
}

impl Ids {
    fn new() -> Self {
        let started = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            server: started.as_nanos(),
            count: AtomicU64::new(0),
        }
    }

    pub(crate) fn next(&self, prefix: &str) -> String {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        format!("{prefix}_{:x}_{count}", self.server)
    }
}
