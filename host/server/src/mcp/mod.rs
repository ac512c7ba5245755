//! The host's tools over MCP: one endpoint, one table of tools.
//!
//! ```text
//! request -> Host, Origin -> bearer -> MCP session's owner -> admission -> body -> rmcp -> tool row -> service
//! ```
//! A toolkit only decodes, maps and shapes. Every rule lives in the service behind it.

mod endpoint;
mod instructions;
pub mod limits;
mod settings;
mod toolkits;

pub use endpoint::{McpEndpoint, endpoint_url, listen};
pub use instructions::INSTRUCTIONS;
pub use settings::{McpSettings, McpSetupError};
pub use toolkits::{
    EndpointKind, ToolCall, ToolDescription, ToolFn, ToolRow, describe_tools, offered_tools,
    tool_rows,
};
