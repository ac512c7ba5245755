//! The table of tools as an rmcp server.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;

use super::admission::Slot;
use crate::credentials::Principal;
use crate::mcp::instructions::INSTRUCTIONS;
use crate::mcp::toolkits::{Attendance, EndpointKind, ToolCall, ToolRow, failure};

/// Protocol versions served: with a session up to 2025-11-25, without one from 2026-07-28.
pub(super) const PROTOCOL_VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Fires when the reader of a request's reply went away.
#[derive(Clone, Debug)]
pub(super) struct Gone(pub(super) CancellationToken);

/// What the steps before rmcp found out about a request, as it travels in the request's extensions.
#[derive(Clone, Debug)]
pub(super) struct Admitted {
    pub(super) principal: Principal,
    pub(super) gone: Gone,
    pub(super) slot: Slot,
}

/// One endpoint's view of the table.
#[derive(Debug)]
pub(super) struct ToolServer<S: 'static> {
    pub(super) kind: EndpointKind,
    pub(super) rows: Arc<[ToolRow<S>]>,
    pub(super) service: S,
    pub(super) keep_alive: Duration,
}

impl<S: Clone> Clone for ToolServer<S> {
    fn clone(&self) -> Self {
        Self {
            kind: self.kind,
            rows: Arc::clone(&self.rows),
            service: self.service.clone(),
            keep_alive: self.keep_alive,
        }
    }
}

impl<S: Clone + Send + Sync + 'static> ServerHandler for ToolServer<S> {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("weft", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(PROTOCOL_VERSIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let granted = &admitted(&context)?.principal.authority.capabilities;
        let offered = self
            .rows
            .iter()
            .filter(|row| row.is_at(self.kind) && row.is_granted(granted));
        Ok(ListToolsResult::with_all_items(
            offered.map(|row| row.tool.clone()).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Admitted {
            principal,
            gone,
            slot,
        } = admitted(&context)?.clone();
        let Some(row) = self
            .rows
            .iter()
            .find(|row| row.is_at(self.kind) && row.tool.name == request.name)
        else {
            return Err(ErrorData::invalid_params(
                format!("unknown tool: {}", request.name),
                None,
            ));
        };
        if !row.is_granted(&principal.authority.capabilities) {
            return Ok(CallToolResult::structured_error(failure::of(&row.not_granted())).into());
        }
        let attendance = Attendance::new(&context, gone.0, slot, self.keep_alive);
        let call = ToolCall {
            principal,
            arguments: request.arguments.unwrap_or_default(),
            attendance,
        };
        let result = match (row.call)(self.service.clone(), call).await {
            Ok(answer) => CallToolResult::structured(answer),
            Err(denial) => {
                tracing::debug!(tool = %row.tool.name, code = denial.code.word(), "a tool call was refused");
                CallToolResult::structured_error(failure::of(&denial))
            }
        };
        Ok(result.into())
    }
}

/// The caller of this one request, whatever session it belongs to.
fn admitted(context: &RequestContext<RoleServer>) -> Result<&Admitted, ErrorData> {
    context
        .extensions
        .get::<Parts>()
        .and_then(|parts| parts.extensions.get::<Admitted>())
        .ok_or_else(|| ErrorData::internal_error("the request came past authentication", None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_served_are_those_rmcp_knows() {
        assert_eq!(
            PROTOCOL_VERSIONS,
            ProtocolVersion::KNOWN_VERSIONS,
            "decide on the new version here"
        );
    }
}
