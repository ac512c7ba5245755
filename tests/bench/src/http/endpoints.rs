//! The servers under load, each in a process of its own that ends with its standard input.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt as _;
use domain::authority::Capability;
use domain::command::Answer;
use domain::ids::{ProviderInstanceId, ProviderSessionId, ThreadId};
use domain::modes::{InteractionMode, Modes, RuntimeMode};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use server::credentials::{CredentialRegistry, CredentialSettings, EnvironmentId};
use server::mcp::{self, McpEndpoint, McpSettings};
use threads::clock::SystemClock;
use threads::ports::{CredentialPort as _, CredentialRequest};
use threads::service::{ServiceSettings, ThreadDefaults, ThreadManagementService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::journal::{Host, INSTANCE, Nobody, delegate};

/// The product's endpoint over a service, listening.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
    stop: CancellationToken,
}

/// Credentials for an endpoint at this listener.
pub(crate) fn registry(listener: &TcpListener) -> anyhow::Result<Arc<CredentialRegistry>> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let settings = CredentialSettings {
        environment_id: EnvironmentId::new("bench"),
        server_name: mcp::limits::SERVER_NAME_DEFAULT.to_owned(),
        url: mcp::endpoint_url(listener.local_addr()?),
        capabilities: vec![Capability::Orchestration],
        idle: DAY,
        life: DAY,
    };
    Ok(Arc::new(CredentialRegistry::new(
        settings,
        Arc::new(SystemClock),
    )))
}

/// What the service is set to.
pub(crate) fn service_settings() -> ServiceSettings {
    ServiceSettings {
        delegation_depth_max: 4,
        defaults: ThreadDefaults {
            provider: Some(ProviderInstanceId::new(INSTANCE)),
            model: None,
            modes: Modes {
                runtime: RuntimeMode::AutoAcceptEdits,
                interaction: InteractionMode::Default,
            },
        },
    }
}

impl Endpoint {
    /// Serves the host's tools with its usual settings.
    pub(crate) fn start(
        listener: TcpListener,
        registry: Arc<CredentialRegistry>,
        service: ThreadManagementService,
    ) -> anyhow::Result<Self> {
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let endpoint = McpEndpoint::new(&McpSettings::default(), registry, service, stop.clone())?;
        let serving = tokio::spawn(mcp::listen(listener, endpoint.router(), stop.clone()));
        Ok(Self {
            address,
            serving,
            stop,
        })
    }

    /// Stops serving.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.serving.await??;
        Ok(())
    }
}

/// A bearer token of a thread, apart from every other one.
pub(crate) fn mint(
    registry: &CredentialRegistry,
    thread: &ThreadId,
    number: usize,
) -> anyhow::Result<String> {
    let request = CredentialRequest {
        thread_id: thread.clone(),
        instance_id: ProviderInstanceId::new(INSTANCE),
        session_id: ProviderSessionId::new(format!("bench-{number}")),
    };
    let minted = registry.mint(&request);
    let minted = minted.ok_or_else(|| anyhow::anyhow!("the tools are switched off"))?;
    Ok(minted.token.expose().to_owned())
}

/// Serves the product's endpoint over a real service and journal, with a task that can be read.
pub(crate) async fn serve_weft(callers: usize) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let host = Host::open(&folder.path().join("journal.redb")).await?;
    let (parent, _) = host.working_thread().await?;
    let answered = host
        .running
        .writer()
        .submit(None, delegate(&parent))
        .await?;
    let Answer::Delegated { task_id, .. } = answered.answer else {
        anyhow::bail!("nothing was delegated: {answered:?}");
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let registry = registry(&listener)?;
    let tokens = (0..callers)
        .map(|number| mint(&registry, &parent, number))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let service = ThreadManagementService::new(
        host.running.writer(),
        host.running.store(),
        host.running.changes(),
        Arc::new(Nobody),
        service_settings(),
    );
    let endpoint = Endpoint::start(listener, registry, service)?;
    announce(
        &json!({ "address": endpoint.address.to_string(), "tokens": tokens, "taskId": task_id.as_str() }),
    );
    until_input_ends().await?;
    endpoint.stop().await?;
    host.stop().await
}

/// rmcp with one tool that answers its own arguments.
#[derive(Clone, Debug)]
struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut schema = JsonObject::new();
        schema.insert("type".to_owned(), json!("object"));
        Ok(ListToolsResult::with_all_items(vec![Tool::new(
            "echo",
            "Answers its arguments.",
            schema,
        )]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = Value::Object(request.arguments.unwrap_or_default());
        Ok(CallToolResult::structured(answer).into())
    }
}

/// Serves rmcp alone, in both forms.
pub(crate) async fn serve_echo() -> anyhow::Result<()> {
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(true);
    let sessions = Arc::new(LocalSessionManager::default());
    let echo = StreamableHttpService::new(|| Ok(Echo), sessions, config);
    let router = axum::Router::new().route_service("/mcp", echo);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    announce(&json!({ "address": listener.local_addr()?.to_string() }));
    let listener = listener.tap_io(|stream| {
        // Without it each event waits for the acknowledgement of the one before.
        if let Err(error) = stream.set_nodelay(true) {
            eprintln!("a connection keeps its send delay: {error}");
        }
    });
    tokio::select! {
        served = axum::serve(listener, router).into_future() => served?,
        ended = until_input_ends() => ended?,
    }
    Ok(())
}

fn announce(facts: &Value) {
    println!("{facts}");
}

/// Waits until the benchmark lets go of this process.
async fn until_input_ends() -> anyhow::Result<()> {
    let reading =
        tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    reading.await??;
    Ok(())
}
