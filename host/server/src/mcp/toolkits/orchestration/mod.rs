//! The orchestration toolkit: one file for each tool.

mod capabilities;
mod delegate_task;
mod modes;
mod target;
mod task_cancel;
mod task_output;
mod task_status;
#[cfg(test)]
mod tests;

use domain::authority::Capability;
use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use threads::service::ThreadManagementService;

use super::row::{EndpointKind, ToolFn, ToolRow};
use super::schema;

/// The toolkit's rows, in the order clients see.
pub(super) fn rows() -> Vec<ToolRow<ThreadManagementService>> {
    vec![
        capabilities::row(),
        delegate_task::row(),
        task_status::row(),
        task_cancel::row(),
    ]
}

/// The four hints of a tool. All are always given: what a client assumes without them differs.
#[derive(Clone, Copy, Debug)]
struct Hints {
    title: &'static str,
    read_only: Hint,
    destructive: Hint,
    idempotent: Hint,
    open_world: Hint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hint {
    Yes,
    No,
}

impl From<Hint> for bool {
    fn from(hint: Hint) -> Self {
        hint == Hint::Yes
    }
}

impl From<Hints> for ToolAnnotations {
    fn from(hints: Hints) -> Self {
        Self::with_title(hints.title)
            .read_only(hints.read_only.into())
            .destructive(hints.destructive.into())
            .idempotent(hints.idempotent.into())
            .open_world(hints.open_world.into())
    }
}

/// A row of this toolkit from the types of its arguments `I` and its answer `O`.
fn row<I: JsonSchema, O: JsonSchema>(
    name: &'static str,
    description: &'static str,
    hints: Hints,
    call: ToolFn<ThreadManagementService>,
) -> ToolRow<ThreadManagementService> {
    let tool = Tool::new(name, description, schema::input::<I>())
        .with_raw_output_schema(schema::output::<O>())
        .with_annotations(hints.into());
    ToolRow {
        toolkit: Capability::Orchestration,
        endpoints: &[EndpointKind::ProviderSession],
        tool,
        call,
    }
}

/// An answer as structured content.
fn answer(value: &impl serde::Serialize) -> Result<serde_json::Value, domain::error::Denial> {
    serde_json::to_value(value).map_err(|error| {
        domain::error::Denial::new(
            domain::error::DenialCode::OrchestrationError,
            format!("the answer can't be written: {error}"),
        )
    })
}
