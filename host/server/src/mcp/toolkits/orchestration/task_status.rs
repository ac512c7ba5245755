//! `task_status`: read one delegated task.

use domain::error::Denial;
use domain::ids::TaskId;
use futures::FutureExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use threads::service::{ThreadManagementService, WaitEnd};

use super::super::arguments::decode;
use super::super::row::{ToolCall, ToolRow};
use super::task_output::TaskOutput;
use super::{Hint, Hints, answer, row as tool_row};

const NAME: &str = "task_status";
const DESCRIPTION: &str = "\
Read one task this thread delegated: its status, what the child is doing, and its result in summary once it \
has ended. Reading an ended task also tells the host that you have seen it, so no wake follows. Call it once \
for each task a wake names, or after waitTimedOut, when the child's work simply goes on. Do not call it in a \
loop: end your turn and you are woken. hasPendingQuestion: the child waits for an answer. To start work use \
delegate_task instead, to stop it task_cancel.";

pub(super) fn row() -> ToolRow<ThreadManagementService> {
    let hints = Hints {
        title: "Status of a delegated task",
        read_only: Hint::No,
        destructive: Hint::No,
        idempotent: Hint::Yes,
        open_world: Hint::No,
    };
    tool_row::<Input, TaskOutput>(NAME, DESCRIPTION, hints, |service, call| {
        run(service, call).boxed()
    })
}

async fn run(service: ThreadManagementService, call: ToolCall) -> Result<Value, Denial> {
    let caller = call.authority();
    let input: Input = decode(NAME, call.arguments)?;
    let task = service
        .task_status(&caller, &TaskId::new(input.task_id))
        .await?;
    answer(&TaskOutput::new(task, WaitEnd::Met))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// From delegate_task.
    task_id: String,
}
