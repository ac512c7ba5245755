//! `task_cancel`: stop one delegated task and everything it delegated.

use domain::command::CancelOutcome;
use domain::error::{Denial, DenialCode};
use domain::ids::TaskId;
use domain::limits::REASON_UNITS_MAX;
use domain::task::TaskStatus;
use futures::FutureExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use threads::service::{CallKey, ThreadManagementService};

use super::super::arguments::{call_key, check_optional, decode};
use super::super::row::{ToolCall, ToolRow};
use super::{Hint, Hints, answer, row as tool_row};

const NAME: &str = "task_cancel";
const DESCRIPTION: &str = "\
Stop a task this thread delegated, with everything its child delegated, and drop the wake that was to tell \
of its end. Results it had published stay readable with task_status. status cancel_requested means work was \
going on and is being stopped; any other status means the task had ended that way before. Use it when the \
answer is no longer needed or the child went the wrong way. A child that only takes long needs no cancel: \
end your turn and you are woken; to see how far it is use task_status instead.";

pub(super) fn row() -> ToolRow<ThreadManagementService> {
    let hints = Hints {
        title: "Cancel a delegated task",
        read_only: Hint::No,
        destructive: Hint::Yes,
        idempotent: Hint::No,
        open_world: Hint::No,
    };
    tool_row::<Input, Output>(NAME, DESCRIPTION, hints, |service, call| {
        run(service, call).boxed()
    })
}

async fn run(service: ThreadManagementService, mut call: ToolCall) -> Result<Value, Denial> {
    let caller = call.authority();
    let (input, key) = Input::read(std::mem::take(&mut call.arguments))?;
    let task_id = TaskId::new(input.task_id);
    let cancelled = service
        .task_cancel(&caller, &task_id, input.reason, key)
        .await?;
    answer(&Output {
        task_id: cancelled.task_id.to_string(),
        status: status(cancelled.outcome)?,
        client_request_id: cancelled.request_key,
    })
}

fn status(outcome: CancelOutcome) -> Result<CancelStatus, Denial> {
    match outcome {
        CancelOutcome::Requested => Ok(CancelStatus::CancelRequested),
        CancelOutcome::Ended(TaskStatus::Completed) => Ok(CancelStatus::Completed),
        CancelOutcome::Ended(TaskStatus::Failed) => Ok(CancelStatus::Failed),
        CancelOutcome::Ended(TaskStatus::Cancelled) => Ok(CancelStatus::Cancelled),
        CancelOutcome::Ended(TaskStatus::Interrupted) => Ok(CancelStatus::Interrupted),
        CancelOutcome::Ended(
            status @ (TaskStatus::Queued | TaskStatus::Running | TaskStatus::Waiting),
        ) => Err(Denial::new(
            DenialCode::OrchestrationError,
            format!(
                "the task is told to have ended and to be {}; read it with task_status",
                status.word()
            ),
        )),
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// From delegate_task.
    task_id: String,
    /// For people.
    #[serde(default)]
    #[schemars(length(max = 2_000))]
    reason: Option<String>,
    /// The same word on a retry repeats only stops that failed.
    #[serde(default)]
    #[schemars(length(min = 1, max = 256))]
    client_request_id: Option<String>,
}

impl Input {
    fn read(arguments: rmcp::model::JsonObject) -> Result<(Self, CallKey), Denial> {
        let mut input: Self = decode(NAME, arguments)?;
        check_optional("reason", input.reason.as_deref(), 0, REASON_UNITS_MAX)?;
        let key = input.client_request_id.take();
        let call = call_key(NAME, key, &input)?;
        Ok((input, call))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    task_id: String,
    status: CancelStatus,
    /// The key of this call, also where you gave none.
    client_request_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CancelStatus {
    CancelRequested,
    Completed,
    Failed,
    Cancelled,
    Interrupted,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(arguments: Value) -> Result<(Input, CallKey), Denial> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        Input::read(arguments)
    }

    #[test]
    fn the_status_is_what_the_cancel_met() {
        let word =
            |outcome| serde_json::to_value(status(outcome).expect("a status")).expect("json");
        assert_eq!(word(CancelOutcome::Requested), "cancel_requested");
        for ended in [
            TaskStatus::Completed,
            TaskStatus::Failed,
            TaskStatus::Cancelled,
            TaskStatus::Interrupted,
        ] {
            assert_eq!(word(CancelOutcome::Ended(ended)), ended.word());
        }
        assert!(status(CancelOutcome::Ended(TaskStatus::Running)).is_err());
    }

    #[test]
    fn a_reason_is_bounded_and_a_key_is_no_part_of_the_digest() {
        assert!(read(json!({ "taskId": "t", "reason": "x".repeat(2_000) })).is_ok());
        assert!(read(json!({ "taskId": "t", "reason": "x".repeat(2_001) })).is_err());
        let digest = |arguments| read(arguments).expect("good").1.digest;
        let plain = digest(json!({ "taskId": "t" }));
        assert_eq!(
            plain,
            digest(json!({ "taskId": "t", "clientRequestId": "k" }))
        );
        assert_ne!(plain, digest(json!({ "taskId": "t", "reason": "r" })));
        assert_ne!(plain, digest(json!({ "taskId": "u" })));
    }
}
