//! Refusals as clients see them.

use domain::error::Denial;
use serde_json::{Value, json};

/// Tag of every refusal, so that a client can tell it from an answer.
const TAG: &str = "OrchestratorMcpFailure";

/// The structured content of a refused call.
pub(in crate::mcp) fn of(denial: &Denial) -> Value {
    json!({
        "_tag": TAG,
        "code": denial.code.word(),
        "message": denial.message,
        "retryable": denial.code.is_retryable(),
    })
}
