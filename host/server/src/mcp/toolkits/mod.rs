//! The one table of tools. Documentation, schemas and tests are made from it or checked against it.

mod arguments;
mod attendance;
mod describe;
pub(super) mod failure;
mod orchestration;
mod row;
mod schema;

use std::sync::LazyLock;

use domain::authority::Capability;
use threads::ports::{OfferedTool, ToolAccess};
use threads::service::ThreadManagementService;

pub(super) use attendance::Attendance;
pub use describe::{ToolDescription, describe_tools};
pub use row::{EndpointKind, ToolCall, ToolFn, ToolRow};

/// Every tool of the host, in the order clients see.
#[must_use]
pub fn tool_rows() -> &'static [ToolRow<ThreadManagementService>] {
    static ROWS: LazyLock<Vec<ToolRow<ThreadManagementService>>> =
        LazyLock::new(orchestration::rows);
    &ROWS
}

/// Tools a credential with these capabilities is shown.
#[must_use]
pub fn offered_tools(capabilities: &[Capability]) -> Vec<OfferedTool> {
    let offered = tool_rows()
        .iter()
        .filter(|row| row.is_at(EndpointKind::ProviderSession) && row.is_granted(capabilities));
    offered
        .map(|row| OfferedTool {
            name: row.tool.name.to_string(),
            access: row.access(),
        })
        .collect()
}

impl<S> ToolRow<S> {
    fn access(&self) -> ToolAccess {
        let hints = self.tool.annotations.as_ref();
        match hints.and_then(|hints| hints.read_only_hint) {
            Some(true) => ToolAccess::ReadOnly,
            _ => ToolAccess::Changes,
        }
    }
}
