//! The endpoint `/mcp`: every check a request passes, in order, and rmcp behind them.

mod admission;
mod bearer;
mod body;
mod early_stream;
mod handler;
mod hosts;
mod listen;
mod refusal;
mod reply;
mod sessions;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::any;
use futures::FutureExt as _;
use http::{HeaderMap, Method, StatusCode};
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use threads::service::ThreadManagementService;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::limits::{
    CREDENTIAL_SWEEP_EVERY, REQUEST_BODY_BYTES_MAX, REQUESTS_IN_FLIGHT_MAX, STREAM_RETRY_AFTER,
};
use super::toolkits::{EndpointKind, ToolRow, tool_rows};
use super::{McpSettings, McpSetupError};
use crate::credentials::{CredentialId, CredentialRegistry, Principal};
use handler::{Admitted, Gone, ToolServer};
use hosts::Neighbourhood;
use refusal::Refusal;
use sessions::Sessions;

pub(crate) use admission::{ParkingFull, Slot};
pub use listen::{endpoint_url, listen};

const SESSION_ID: &str = "mcp-session-id";
const LAST_EVENT_ID: &str = "last-event-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";

/// The MCP endpoint of provider sessions.
#[derive(Debug)]
pub struct McpEndpoint {
    router: Router,
}

impl McpEndpoint {
    /// An endpoint over the host's tools. Must be called inside a tokio runtime: it starts a small task that
    /// closes the MCP sessions of credentials as they end. When `stop` fires, open streams end.
    ///
    /// # Errors
    /// A setting that can't be served.
    pub fn new(
        settings: &McpSettings,
        credentials: Arc<CredentialRegistry>,
        service: ThreadManagementService,
        stop: CancellationToken,
    ) -> Result<Self, McpSetupError> {
        Self::with_rows(settings, credentials, tool_rows().into(), service, stop)
    }

    /// An endpoint over any table of tools.
    fn with_rows<S: Clone + Send + Sync + 'static>(
        settings: &McpSettings,
        credentials: Arc<CredentialRegistry>,
        rows: Arc<[ToolRow<S>]>,
        service: S,
        stop: CancellationToken,
    ) -> Result<Self, McpSetupError> {
        settings.check()?;
        let neighbourhood = Neighbourhood::new(&settings.allowed_hosts, &settings.allowed_origins)?;
        let config = rmcp_config(&neighbourhood, settings.keep_alive, stop.clone());
        let sessions = Arc::new(Sessions::new());
        let keep_alive = settings.keep_alive;
        let tools = ToolServer {
            kind: EndpointKind::ProviderSession,
            rows,
            service,
            keep_alive,
        };
        let rmcp =
            StreamableHttpService::new(move || Ok(tools.clone()), sessions.manager(), config);
        let endings = credentials.endings();
        let follower = follow_credentials(
            Arc::clone(&credentials),
            endings,
            Arc::clone(&sessions),
            stop,
        );
        tokio::spawn(follower);
        let admission =
            admission::Admission::new(REQUESTS_IN_FLIGHT_MAX, settings.parked_waits_max);
        let door = Door {
            neighbourhood,
            credentials,
            sessions,
            admission,
            rmcp,
            keep_alive,
        };
        let router = Router::new()
            .route("/mcp", any(serve::<S>))
            .with_state(Arc::new(door));
        Ok(Self { router })
    }

    /// The router with the one route `/mcp`.
    pub fn router(&self) -> Router {
        self.router.clone()
    }
}

/// Everything a request meets on its way.
struct Door<S: 'static> {
    neighbourhood: Neighbourhood,
    credentials: Arc<CredentialRegistry>,
    sessions: Arc<Sessions>,
    admission: admission::Admission,
    rmcp: StreamableHttpService<ToolServer<S>, LocalSessionManager>,
    keep_alive: Duration,
}

async fn serve<S: Clone + Send + Sync + 'static>(
    State(door): State<Arc<Door<S>>>,
    request: Request,
) -> Response {
    door.answer(request)
        .await
        .unwrap_or_else(Refusal::into_response)
}

impl<S: Clone + Send + Sync + 'static> Door<S> {
    async fn answer(&self, mut request: Request) -> Result<Response, Refusal> {
        self.neighbourhood
            .admit(request.uri(), request.headers())
            .inspect_err(|stranger| {
                tracing::warn!(%stranger, "refused an MCP request");
            })?;
        let principal = bearer::authenticate(&self.credentials, request.headers_mut())?;
        let session = text(request.headers(), SESSION_ID).map(str::to_owned);
        if session
            .as_ref()
            .is_some_and(|id| !self.sessions.is_owner(principal.credential, id))
        {
            return Err(Refusal::Session);
        }
        match *request.method() {
            Method::GET => self.listen(request, principal).await,
            Method::DELETE => Ok(self.delete(request, &principal, session.as_deref()).await),
            _ => self.post(request, principal).await,
        }
    }

    /// A request that is worked on.
    async fn post(&self, request: Request, principal: Principal) -> Result<Response, Refusal> {
        let credential = principal.credential;
        let slot = self.admission.enter()?;
        let gone = CancellationToken::new();
        // Fires when this future is dropped before the reply has begun.
        let unanswered = gone.clone().drop_guard();
        let (mut parts, body) = request.into_parts();
        let body = body::read(body).await?;
        parts.extensions.insert(Admitted {
            principal,
            gone: Gone(gone.clone()),
            slot: slot.clone(),
        });
        let is_stateless = answers_late(&parts.headers);
        let request = Request::from_parts(parts, Body::from(body.clone()));
        let response = if is_stateless {
            let rmcp = self.rmcp.clone();
            let answer = async move { rmcp.handle(request).await.map(Body::new) };
            early_stream::early_stream(self.keep_alive, body, answer.boxed()).await
        } else {
            self.rmcp.handle(request).await.map(Body::new)
        };
        unanswered.disarm();
        if let Some(session) = text(response.headers(), SESSION_ID) {
            self.bind(credential, session).await;
        }
        Ok(accepted_if_empty(watched(response, gone, slot)))
    }

    /// A stream that only listens, or one that takes up a lost reply.
    async fn listen(
        &self,
        mut request: Request,
        principal: Principal,
    ) -> Result<Response, Refusal> {
        let slot = self.admission.listen()?;
        let gone = CancellationToken::new();
        let admitted = Admitted {
            principal,
            gone: Gone(gone.clone()),
            slot: slot.clone(),
        };
        request.extensions_mut().insert(admitted);
        let resumes = request.headers().contains_key(LAST_EVENT_ID);
        let response = self.rmcp.handle(request).await.map(Body::new);
        if !(resumes && reply::is_event_stream(&response)) {
            return Ok(watched(response, gone, slot));
        }
        // rmcp answers an event it does not know with an empty stream, which clients ask for again for ever.
        let (parts, body) = response.into_parts();
        let body = reply::not_over(body).map_err(|_| Refusal::NothingToResume)?;
        Ok(watched(Response::from_parts(parts, body), gone, slot))
    }

    async fn delete(
        &self,
        request: Request,
        principal: &Principal,
        session: Option<&str>,
    ) -> Response {
        let response = self.rmcp.handle(request).await.map(Body::new);
        if let Some(session) = session.filter(|_| response.status().is_success()) {
            self.sessions.unbind(principal.credential, session);
        }
        response
    }

    async fn bind(&self, credential: CredentialId, session: &str) {
        if self.sessions.is_owner(credential, session) {
            return;
        }
        self.sessions.bind(credential, session).await;
        // The credential may have ended while its session was being made.
        if !self.credentials.stands(credential) {
            self.sessions.close_all_of(credential).await;
        }
    }
}

/// The requests rmcp is silent on until their handler speaks. Their revision names every method in a header.
fn answers_late(headers: &HeaderMap) -> bool {
    let stateless = rmcp::model::ProtocolVersion::V_2026_07_28;
    text(headers, PROTOCOL_VERSION).is_some_and(|version| version >= stateless.as_str())
        && text(headers, METHOD) != Some("initialize")
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Tells the handler when the reader of a reply goes away, and keeps the request's place until it is read.
/// A complete reply needs neither.
fn watched(response: Response, gone: CancellationToken, slot: Slot) -> Response {
    if !reply::is_event_stream(&response) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let held = (gone.drop_guard(), slot);
    Response::from_parts(parts, reply::holding(body.into_data_stream(), held))
}

/// A notification has no answer: its empty reply is an acceptance.
fn accepted_if_empty(mut response: Response) -> Response {
    if response.status() == StatusCode::OK && response.body().size_hint().exact() == Some(0) {
        *response.status_mut() = StatusCode::ACCEPTED;
    }
    response
}

/// Every setting of rmcp's endpoint, so that none changes with its defaults.
fn rmcp_config(
    neighbourhood: &Neighbourhood,
    keep_alive: Duration,
    stop: CancellationToken,
) -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .with_allowed_hosts(neighbourhood.hosts_for_rmcp())
        .with_allowed_origins(neighbourhood.origins_for_rmcp())
        .enforce_origin_validation()
        .with_sse_keep_alive(Some(keep_alive))
        .with_sse_retry(Some(STREAM_RETRY_AFTER))
        .with_legacy_session_mode(true)
        // Waits need a stream to be kept alive in.
        .with_json_response(false)
        .with_max_request_body_bytes(REQUEST_BODY_BYTES_MAX)
        .with_stateless_protocol_metadata_required(false)
        .with_cancellation_token(stop)
}

/// Closes the MCP sessions of credentials as they end, and ends those nobody asks for any more.
async fn follow_credentials(
    credentials: Arc<CredentialRegistry>,
    mut endings: mpsc::UnboundedReceiver<CredentialId>,
    sessions: Arc<Sessions>,
    stop: CancellationToken,
) {
    let mut sweep = tokio::time::interval(CREDENTIAL_SWEEP_EVERY);
    loop {
        tokio::select! {
            ended = endings.recv() => match ended {
                Some(credential) => sessions.close_all_of(credential).await,
                None => return,
            },
            _ = sweep.tick() => credentials.sweep(),
            () = stop.cancelled() => return,
        }
    }
}
