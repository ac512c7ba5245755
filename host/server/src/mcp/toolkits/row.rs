//! One row of the table.

use std::fmt;

use domain::authority::{AgentAuthority, Authority, Capability};
use domain::error::{Denial, DenialCode};
use futures::future::BoxFuture;
use rmcp::model::{JsonObject, Tool};
use serde_json::Value;

use super::Attendance;
use crate::credentials::Principal;

/// Which endpoint a tool is offered at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndpointKind {
    /// `/mcp`: agents inside provider sessions.
    ProviderSession,
    /// `/mcp/external`: paired integrations.
    External,
}

impl EndpointKind {
    /// Its path.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::ProviderSession => "/mcp",
            Self::External => "/mcp/external",
        }
    }
}

/// What a call of a tool does: the service it works on, the call, and the structured answer.
pub type ToolFn<S> = fn(S, ToolCall) -> BoxFuture<'static, Result<Value, Denial>>;

/// A tool.
pub struct ToolRow<S> {
    /// Toolkit it belongs to: a credential without it can't call the tool.
    pub toolkit: Capability,
    /// Endpoints it is offered at.
    pub endpoints: &'static [EndpointKind],
    /// What clients see: name, description, schemas, annotations.
    pub tool: Tool,
    /// What a call does.
    pub call: ToolFn<S>,
}

impl<S> Clone for ToolRow<S> {
    fn clone(&self) -> Self {
        let Self {
            toolkit,
            endpoints,
            ref tool,
            call,
        } = *self;
        Self {
            toolkit,
            endpoints,
            tool: tool.clone(),
            call,
        }
    }
}

impl<S> fmt::Debug for ToolRow<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolRow")
            .field("toolkit", &self.toolkit)
            .field("endpoints", &self.endpoints)
            .field("tool", &self.tool.name)
            .finish_non_exhaustive()
    }
}

impl<S> ToolRow<S> {
    /// Whether the tool is offered at this endpoint.
    #[must_use]
    pub fn is_at(&self, endpoint: EndpointKind) -> bool {
        self.endpoints.contains(&endpoint)
    }

    /// Whether these capabilities reach the tool.
    #[must_use]
    pub fn is_granted(&self, capabilities: &[Capability]) -> bool {
        capabilities.contains(&self.toolkit)
    }

    /// The refusal of a caller whose credential lacks the toolkit.
    #[must_use]
    pub fn not_granted(&self) -> Denial {
        Denial::new(
            DenialCode::CapabilityDenied,
            format!(
                "this credential does not grant the {} toolkit",
                toolkit_word(self.toolkit)
            ),
        )
    }
}

/// The toolkit's word in the configuration.
pub(super) const fn toolkit_word(toolkit: Capability) -> &'static str {
    match toolkit {
        Capability::Orchestration => "orchestration",
        Capability::ThreadControl => "thread-control",
    }
}

/// One call of a tool.
#[derive(Debug)]
pub struct ToolCall {
    /// Who calls.
    pub principal: Principal,
    /// Arguments as they were sent.
    pub arguments: JsonObject,
    /// The caller's patience: progress, loss of the connection, the place a wait takes.
    pub attendance: Attendance,
}

impl ToolCall {
    /// The caller as the service knows it.
    pub(super) fn authority(&self) -> Authority {
        Authority::Agent(self.agent().clone())
    }

    pub(super) const fn agent(&self) -> &AgentAuthority {
        &self.principal.authority
    }
}
