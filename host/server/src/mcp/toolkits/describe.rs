//! The table as data, for people and for tests.

use rmcp::model::{JsonObject, ToolAnnotations};
use serde::Serialize;
use std::sync::Arc;

use super::row::toolkit_word;
use super::tool_rows;
use crate::mcp::limits::BYTES_PER_TOKEN;

/// A tool as `weft tools` shows it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDescription {
    /// Its name.
    pub name: String,
    /// Its toolkit's word.
    pub toolkit: &'static str,
    /// Paths of the endpoints it is offered at.
    pub endpoints: Vec<&'static str>,
    /// What it does and when to prefer its neighbour.
    pub description: String,
    /// Hints for clients.
    pub annotations: ToolAnnotations,
    /// Schema of its arguments.
    pub input_schema: Arc<JsonObject>,
    /// Schema of its answer.
    pub output_schema: Arc<JsonObject>,
    /// What its entry in `tools/list` costs each conversation, in tokens: an estimate, its bytes as JSON
    /// divided by four.
    pub token_cost: usize,
}

/// Every tool of the table.
#[must_use]
pub fn describe_tools() -> Vec<ToolDescription> {
    tool_rows()
        .iter()
        .map(|row| ToolDescription {
            name: row.tool.name.to_string(),
            toolkit: toolkit_word(row.toolkit),
            endpoints: row
                .endpoints
                .iter()
                .map(|endpoint| endpoint.path())
                .collect(),
            description: row
                .tool
                .description
                .as_deref()
                .unwrap_or_default()
                .to_owned(),
            annotations: row.tool.annotations.clone().unwrap_or_default(),
            input_schema: Arc::clone(&row.tool.input_schema),
            output_schema: row.tool.output_schema.clone().unwrap_or_default(),
            token_cost: token_cost(&row.tool),
        })
        .collect()
}

fn token_cost(tool: &impl Serialize) -> usize {
    // A tool is made of texts and JSON, so it can be written as JSON; a failure would count as free.
    serde_json::to_vec(tool).map_or(0, |json| json.len().div_ceil(BYTES_PER_TOKEN))
}
