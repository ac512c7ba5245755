use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
    Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{Peer, RoleClient};
use serde_json::Value;

use super::limits::CONNECT_TIMEOUT;
use super::protocol::{Mcp, ToolStatus};

/// Stands between a namespace and the tool's name, for scripts that are written for other agents too.
const NAMESPACE_SEPARATOR: char = '/';

/// The tools of one thread.
#[derive(Debug)]
pub(super) struct Tools {
    server_name: String,
    service: RunningService<RoleClient, ClientConfig>,
}

/// The MCP server can't be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("the MCP version `{0}` is unknown")]
    Version(String),
    #[error("the MCP server {url} did not answer within {timeout:?}", timeout = CONNECT_TIMEOUT)]
    Timeout { url: String },
    #[error("the MCP server {url} can't be used: {reason}")]
    Handshake { url: String, reason: String },
}

/// How a call ended: its status, and what the script sees as its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Called {
    pub(super) status: ToolStatus,
    pub(super) text: String,
}

impl Tools {
    pub(super) async fn connect(mcp: Mcp) -> Result<Self, ConnectError> {
        let version = ProtocolVersion::KNOWN_VERSIONS
            .iter()
            .find(|version| version.as_str() == mcp.protocol_version)
            .ok_or_else(|| ConnectError::Version(mcp.protocol_version.clone()))?;
        let lifecycle = if version.has_initialize() {
            ClientLifecycleMode::Initialize
        } else {
            ClientLifecycleMode::Discover {
                preferred_versions: vec![version.clone()],
            }
        };
        let client = Implementation::new("weft-scripted-agent", env!("CARGO_PKG_VERSION"));
        let info = ClientConfig::new(ClientCapabilities::default(), client)
            .with_protocol_version(version.clone());
        let config = StreamableHttpClientTransportConfig::with_uri(mcp.url.as_str())
            .auth_header(mcp.authorization.0);
        let transport = StreamableHttpClientTransport::from_config(config);
        let url = mcp.url;
        let served = serve_client_with_lifecycle(info, transport, lifecycle);
        match tokio::time::timeout(CONNECT_TIMEOUT, served).await {
            Ok(Ok(service)) => Ok(Self {
                server_name: mcp.server_name,
                service,
            }),
            Ok(Err(error)) => Err(ConnectError::Handshake {
                url,
                reason: error.to_string(),
            }),
            Err(_) => Err(ConnectError::Timeout { url }),
        }
    }

    pub(super) fn server_name(&self) -> &str {
        &self.server_name
    }

    pub(super) fn caller(&self) -> Caller {
        Caller {
            peer: self.service.peer().clone(),
        }
    }

    /// Ends the connection in good order.
    pub(super) async fn close(mut self) {
        if let Err(error) = self.service.close().await {
            tracing::debug!(%error, "the MCP connection ended badly");
        }
    }
}

/// Calls tools, also while the thread does something else.
#[derive(Debug)]
pub(super) struct Caller {
    peer: Peer<RoleClient>,
}

impl Caller {
    /// Calls a tool and waits as long as it takes: the request carries a progress token, and no time limit
    /// is set on it. Dropping the future cancels the call at the server.
    pub(super) async fn call(self, name: String, arguments: Value) -> Called {
        let mut params = CallToolRequestParams::new(bare(&name).to_owned());
        if let Value::Object(arguments) = arguments {
            params = params.with_arguments(arguments);
        }
        match self.peer.call_tool_once(params).await {
            Ok(CallToolResponse::Complete(result)) => called(&result),
            Ok(_) => failed("the tool wants something that this agent can't give"),
            Err(error) => failed(&error.to_string()),
        }
    }
}

/// How a call without a server ends.
pub(super) fn no_server() -> Called {
    failed("this thread has no MCP server")
}

fn failed(why: &str) -> Called {
    Called {
        status: ToolStatus::Failed,
        text: format!("(error) {why}"),
    }
}

/// The tool's own name, without the namespace other agents put before it.
pub(super) fn bare(name: &str) -> &str {
    name.rsplit_once(NAMESPACE_SEPARATOR)
        .map_or(name, |(_, name)| name)
}

fn called(result: &CallToolResult) -> Called {
    let text = match &result.structured_content {
        Some(structured) => structured.to_string(),
        None => {
            let texts: Vec<&str> = result
                .content
                .iter()
                .filter_map(|block| block.as_text().map(|text| text.text.as_str()))
                .collect();
            texts.join("\n")
        }
    };
    let status = match result.is_error {
        Some(true) => ToolStatus::Failed,
        Some(false) | None => ToolStatus::Completed,
    };
    Called { status, text }
}
