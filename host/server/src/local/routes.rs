//! The human API: HTTP with JSON over the local socket, every call with a person's authority.

use std::sync::Arc;

use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRequest, Path, Query, Request, State};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use domain::authority::{Authority, HumanEntry};
use domain::error::{Denial, DenialCode};
use domain::ids::{ProviderInstanceId, RequestId, ThreadId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use threads::service::{NewThread, ThreadManagementService};
use tokio_util::sync::CancellationToken;

use super::feed;
use super::limits::{BODY_BYTES_MAX, PAGE_MAX};
use super::peer::{Kinship, Peer, Stranger};
use super::wire::{
    AddProject, CreateThread, Created, ErrorView, HostView, PROTOCOL, PROTOCOL_HEADER, ProjectView,
    ProviderView, RequestView, RespondTo, Resumed, SendMessage, SentView, StopThread, Stopped,
    ThreadDetailView, ThreadRowView,
};

/// What the routes need.
#[derive(Clone, Debug)]
pub struct LocalApi {
    /// The one service.
    pub service: ThreadManagementService,
    /// Tells agents from people.
    pub kinship: Arc<dyn Kinship>,
    /// User that runs the host.
    pub own_uid: u32,
    /// Where agents reach the tools; told to people.
    pub mcp_url: String,
    /// Fires when the host starts to go down: calls that change something are refused, feeds tell how runs end.
    pub closing: CancellationToken,
    /// Fires when there is nothing more to tell: feeds end.
    pub stop: CancellationToken,
}

/// A person at the command line.
pub(super) const PERSON: Authority = Authority::Human(HumanEntry::CommandLine);

/// The routes. Serve them with [`Peer`] as connection info.
pub fn router(api: LocalApi) -> Router {
    Router::new()
        .route("/v1/host", get(host))
        .route("/v1/projects", get(projects).post(add_project))
        .route("/v1/threads", get(list_threads).post(create_thread))
        .route("/v1/threads/{id}", get(show_thread))
        .route("/v1/threads/{id}/messages", post(send))
        .route("/v1/threads/{id}/stop", post(stop))
        .route("/v1/threads/{id}/resume", post(resume))
        .route("/v1/requests", get(requests))
        .route("/v1/requests/{id}/reply", post(respond))
        .route("/v1/feed", get(feed::follow))
        .fallback(|| async { refusal(StatusCode::NOT_FOUND, "not_found", "No such call.") })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(api.clone(), let_people_in))
        .with_state(api)
}

/// Refuses everybody but people before a byte of the body is read.
async fn let_people_in(
    State(api): State<LocalApi>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let (own_uid, kinship) = (api.own_uid, Arc::clone(&api.kinship));
    // The process table is read: not on a thread that serves others.
    let checking = tokio::task::spawn_blocking(move || peer.check(own_uid, kinship.as_ref()));
    let mut response = match checking.await.unwrap_or(Err(Stranger::Untraceable)) {
        Ok(()) if api.closing.is_cancelled() && request.method() != Method::GET => {
            Refused(going_down()).into_response()
        }
        Ok(()) if speaks_our_protocol(&request) => next.run(request).await,
        Ok(()) => refusal(
            StatusCode::BAD_REQUEST,
            "protocol_mismatch",
            "This command and the running server are different versions of weft: use the server's.",
        ),
        Err(stranger) => {
            tracing::warn!(
                pid = peer.pid,
                uid = peer.uid,
                call = %request.uri().path(),
                method = %request.method(),
                reason = ?stranger,
                "refused a call at the local socket"
            );
            refuse_stranger(stranger)
        }
    };
    response
        .headers_mut()
        .insert(PROTOCOL_HEADER, HeaderValue::from(PROTOCOL));
    response
}

fn speaks_our_protocol(request: &Request) -> bool {
    let Some(version) = request.headers().get(PROTOCOL_HEADER) else {
        return true;
    };
    version.to_str().ok().and_then(|text| text.parse().ok()) == Some(PROTOCOL)
}

fn refuse_stranger(stranger: Stranger) -> Response {
    refusal(
        StatusCode::FORBIDDEN,
        DenialCode::HumanOnly.word(),
        &stranger.to_string(),
    )
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    let error = ErrorView {
        code: code.to_owned(),
        message: message.to_owned(),
        retryable: false,
    };
    (status, Json(error)).into_response()
}

/// Told to callers and followers of a host that goes down.
pub(super) fn going_down() -> Denial {
    Denial::new(DenialCode::StorageUnavailable, "the host is going down")
}

/// A denial on its way out.
#[derive(Debug)]
pub(super) struct Refused(Denial);

impl From<Denial> for Refused {
    fn from(denial: Denial) -> Self {
        Self(denial)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = match self.0.code {
            DenialCode::HumanOnly | DenialCode::CapabilityDenied => StatusCode::FORBIDDEN,
            DenialCode::TaskNotFound
            | DenialCode::ThreadNotFound
            | DenialCode::RunNotFound
            | DenialCode::ProjectNotFound
            | DenialCode::RequestNotFound => StatusCode::NOT_FOUND,
            code if code.is_retryable() => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        (status, Json(ErrorView::from(&self.0))).into_response()
    }
}

/// A JSON body whose faults are told in the socket's own shape.
#[derive(Debug)]
struct Body<T>(T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(value)) => Ok(Self(value)),
            Err(rejection) => Err(refusal(
                rejection.status(),
                "invalid_request",
                &rejection.body_text(),
            )),
        }
    }
}

async fn host(State(api): State<LocalApi>) -> Result<Json<HostView>, Refused> {
    let capabilities = api.service.capabilities(&PERSON).await?;
    Ok(Json(HostView {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        mcp_url: api.mcp_url,
        providers: capabilities
            .providers
            .iter()
            .map(ProviderView::from)
            .collect(),
    }))
}

async fn projects(State(api): State<LocalApi>) -> Result<Json<Vec<ProjectView>>, Refused> {
    let projects = api.service.projects(&PERSON).await?;
    Ok(Json(projects.iter().map(ProjectView::from).collect()))
}

async fn add_project(
    State(api): State<LocalApi>,
    Body(request): Body<AddProject>,
) -> Result<Json<ProjectView>, Refused> {
    let root = canonical_folder(request.root).await?;
    let name = match request.name {
        Some(name) => name,
        None => root
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty())
            .unwrap_or("root")
            .to_owned(),
    };
    let id = api.service.add_project(&PERSON, name, root).await?;
    let projects = api.service.projects(&PERSON).await?;
    let added = projects
        .iter()
        .find(|project| project.id == id)
        .ok_or_else(|| {
            Denial::new(
                DenialCode::OrchestrationError,
                "The Project was stored and is not there.",
            )
        })?;
    Ok(Json(added.into()))
}

/// The one spelling of a folder's path, so that a Project is not registered twice.
async fn canonical_folder(path: String) -> Result<String, Denial> {
    let shown = path.clone();
    let invalid = |why: &str| Denial::new(DenialCode::InvalidRequest, format!("{shown}: {why}"));
    let found = tokio::task::spawn_blocking(move || {
        let path = std::fs::canonicalize(path)?;
        Ok::<_, std::io::Error>((path.is_dir(), path))
    });
    match found.await {
        Ok(Ok((true, path))) => path
            .to_str()
            .map(str::to_owned)
            .ok_or_else(|| invalid("the path is not UTF-8, which agents can't be told")),
        Ok(Ok((false, _))) => Err(invalid("not a folder")),
        Ok(Err(error)) => Err(invalid(&error.to_string())),
        Err(_) => Err(Denial::new(
            DenialCode::OrchestrationError,
            "Looking at the folder failed.",
        )),
    }
}

/// A page of a list.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Page {
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
}

async fn list_threads(
    State(api): State<LocalApi>,
    Query(page): Query<Page>,
) -> Result<Json<Vec<ThreadRowView>>, Refused> {
    let limit = page.limit.unwrap_or(PAGE_MAX);
    let rows = api.service.threads(&PERSON, page.offset, limit).await?;
    Ok(Json(rows.iter().map(ThreadRowView::from).collect()))
}

async fn create_thread(
    State(api): State<LocalApi>,
    Body(request): Body<CreateThread>,
) -> Result<Json<Created>, Refused> {
    let request = NewThread {
        project: request.project,
        provider: request.provider.map(ProviderInstanceId::new),
        model: request.model,
        runtime_mode: request.runtime_mode,
        interaction_mode: request.interaction_mode,
        title: request.title,
        prompt: request.prompt,
    };
    let created = api.service.create_thread(&PERSON, request).await?;
    Ok(Json(Created {
        thread_id: created.thread_id.to_string(),
        run_id: created.run_id.map(|id| id.to_string()),
    }))
}

/// A page of a timeline.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Timeline {
    #[serde(default)]
    after: u64,
    limit: Option<usize>,
}

async fn show_thread(
    State(api): State<LocalApi>,
    Path(id): Path<String>,
    Query(page): Query<Timeline>,
) -> Result<Json<ThreadDetailView>, Refused> {
    let limit = page.limit.unwrap_or(PAGE_MAX);
    let detail = api
        .service
        .thread(&PERSON, &ThreadId::new(id), page.after, limit)
        .await?;
    Ok(Json((&detail).into()))
}

async fn send(
    State(api): State<LocalApi>,
    Path(id): Path<String>,
    Body(request): Body<SendMessage>,
) -> Result<Json<SentView>, Refused> {
    let mode = request.mode.into();
    let sent = api
        .service
        .send(&PERSON, &ThreadId::new(id), request.text, mode)
        .await?;
    Ok(Json(SentView {
        message_id: sent.message_id.to_string(),
        run_id: sent.run_id.to_string(),
        delivery: sent.delivery,
    }))
}

async fn stop(
    State(api): State<LocalApi>,
    Path(id): Path<String>,
    Body(request): Body<StopThread>,
) -> Result<Json<Stopped>, Refused> {
    let runs = api
        .service
        .stop(&PERSON, &ThreadId::new(id), request.reason)
        .await?;
    Ok(Json(Stopped { runs }))
}

async fn resume(
    State(api): State<LocalApi>,
    Path(id): Path<String>,
) -> Result<Json<Resumed>, Refused> {
    let runs = api.service.resume(&PERSON, &ThreadId::new(id)).await?;
    Ok(Json(Resumed { runs }))
}

/// Whose requests.
#[derive(Clone, Debug, Deserialize)]
struct RequestFilter {
    thread: Option<String>,
}

async fn requests(
    State(api): State<LocalApi>,
    Query(filter): Query<RequestFilter>,
) -> Result<Json<Vec<RequestView>>, Refused> {
    let thread = filter.thread.map(ThreadId::new);
    let requests = api.service.requests(&PERSON, thread.as_ref()).await?;
    Ok(Json(requests.iter().map(RequestView::from).collect()))
}

async fn respond(
    State(api): State<LocalApi>,
    Path(id): Path<String>,
    Body(request): Body<RespondTo>,
) -> Result<StatusCode, Refused> {
    api.service
        .respond(&PERSON, &RequestId::new(id), request.reply)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
