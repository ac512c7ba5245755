//! `delegate_task`: start one child agent, and wait for it where asked.

use domain::command::Role;
use domain::error::Denial;
use domain::limits::{PROMPT_UNITS_MAX, TITLE_UNITS_MAX, WAIT_MS_DEFAULT, WAIT_MS_MAX};
use futures::FutureExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use threads::service::{DelegateRequest, ThreadManagementService, WaitMode};

use super::super::arguments::{call_key, check_optional, check_text, decode};
use super::super::row::{ToolCall, ToolRow};
use super::modes::{InteractionModeChoice, RuntimeModeChoice};
use super::target::Target;
use super::task_output::TaskOutput;
use super::{Hint, Hints, answer, row as tool_row};

const NAME: &str = "delegate_task";
const DESCRIPTION: &str = "\
Start one child agent of this thread on a task that stands alone. It sees only `task`, not this \
conversation, and may run on another provider: see orchestrator_capabilities. mode async (default) answers at \
once with a taskId; you are woken when the child ends, so end your turn and do not poll. mode wait answers \
with the result; a timeout does not stop the child: waitTimedOut is true, the work goes on, keep the taskId \
and read it with task_status. A new review round is a new call. To look at a task you already started use \
task_status instead, to stop it task_cancel.";
const WAITING: &str =
    "The child agent goes on. This call answers with its result or when the wait is over.";

pub(super) fn row() -> ToolRow<ThreadManagementService> {
    let hints = Hints {
        title: "Delegate a task to a child agent",
        read_only: Hint::No,
        destructive: Hint::Yes,
        idempotent: Hint::No,
        open_world: Hint::Yes,
    };
    tool_row::<Input, Output>(NAME, DESCRIPTION, hints, |service, call| {
        run(service, call).boxed()
    })
}

async fn run(service: ThreadManagementService, mut call: ToolCall) -> Result<Value, Denial> {
    let caller = call.authority();
    let (request, mode) = Input::read(std::mem::take(&mut call.arguments))?;
    let gone = call.attendance.gone();
    let delegated = match mode {
        Mode::Async => service.delegate(&caller, request, gone).await?,
        Mode::Wait => {
            call.attendance.park()?;
            let request = capped(&service, &call, request).await?;
            let work = service.delegate(&caller, request, gone);
            call.attendance.during(WAITING, work).await?
        }
    };
    answer(&Output {
        task: TaskOutput::new(delegated.task, delegated.wait),
        client_request_id: delegated.request_key,
    })
}

/// The request with a wait no longer than the caller's own MCP client surely bears.
async fn capped(
    service: &ThreadManagementService,
    call: &ToolCall,
    request: DelegateRequest,
) -> Result<DelegateRequest, Denial> {
    let providers = service.capabilities(&call.authority()).await?.providers;
    let own = providers
        .iter()
        .find(|provider| provider.instance_id == call.agent().instance_id);
    let cap = own.and_then(|provider| provider.mcp_wait_ms_max);
    Ok(DelegateRequest {
        wait: shorter(request.wait, cap),
        ..request
    })
}

fn shorter(wait: WaitMode, cap: Option<u64>) -> WaitMode {
    match (wait, cap) {
        (WaitMode::WaitMs(asked), Some(cap)) => WaitMode::WaitMs(asked.min(cap)),
        (wait, _) => wait,
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// Everything the child is to know: goal, files, constraints, form of the answer.
    #[schemars(length(min = 1, max = 120_000))]
    task: String,
    /// Where to run. Left out: as this thread.
    #[serde(default)]
    target: Option<Target>,
    /// For people. Left out: made from the task.
    #[serde(default)]
    #[schemars(length(min = 1, max = 512))]
    title: Option<String>,
    /// Told to the child in one sentence before the task.
    #[serde(default)]
    role: Option<RoleWord>,
    /// async: answer at once. wait: answer with the result.
    #[serde(default)]
    mode: Mode,
    /// Longest wait in milliseconds, taken into 1..3,600,000 and shortened to what your client bears. Only
    /// with mode wait.
    #[serde(default = "timeout_default")]
    #[schemars(extend("default" = WAIT_MS_DEFAULT))]
    timeout_ms: f64,
    /// The same word on a retry finds the first call's task instead of making another one.
    #[serde(default)]
    #[schemars(length(min = 1, max = 256))]
    client_request_id: Option<String>,
    /// Not broader than this thread's own.
    #[serde(default)]
    runtime_mode: RuntimeModeChoice,
    /// Not broader than this thread's own.
    #[serde(default)]
    interaction_mode: InteractionModeChoice,
}

impl Input {
    fn read(arguments: rmcp::model::JsonObject) -> Result<(DelegateRequest, Mode), Denial> {
        let mut input: Self = decode(NAME, arguments)?;
        check_text("task", &input.task, 1, PROMPT_UNITS_MAX)?;
        check_optional("title", input.title.as_deref(), 1, TITLE_UNITS_MAX)?;
        let key = input.client_request_id.take();
        let target = input.target.take().unwrap_or_default().normalised()?;
        let wait = match input.mode {
            Mode::Async => WaitMode::Async,
            Mode::Wait => WaitMode::WaitMs(whole_millis(input.timeout_ms)),
        };
        // The digest is of what the call means: a timeout without a wait means nothing.
        input.timeout_ms = match input.mode {
            Mode::Async => timeout_default(),
            Mode::Wait => input.timeout_ms.clamp(1.0, timeout_most()).floor(),
        };
        input.target = Some(target.clone());
        let call = call_key(NAME, key, &input)?;
        let request = DelegateRequest {
            task: input.task,
            target: target.request(),
            title: input.title,
            role: input.role.map(Into::into),
            runtime_mode: input.runtime_mode.explicit(),
            interaction_mode: input.interaction_mode.explicit(),
            wait,
            call,
        };
        Ok((request, input.mode))
    }
}

const fn timeout_default() -> f64 {
    WAIT_MS_DEFAULT as f64
}

const fn timeout_most() -> f64 {
    WAIT_MS_MAX as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value was taken into 1..3,600,000 first"
)]
fn whole_millis(asked: f64) -> u64 {
    asked.clamp(1.0, timeout_most()) as u64
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Async,
    Wait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum RoleWord {
    Implementation,
    Research,
    Review,
    Design,
    Test,
    General,
}

impl From<RoleWord> for Role {
    fn from(word: RoleWord) -> Self {
        match word {
            RoleWord::Implementation => Self::Implementation,
            RoleWord::Research => Self::Research,
            RoleWord::Review => Self::Review,
            RoleWord::Design => Self::Design,
            RoleWord::Test => Self::Test,
            RoleWord::General => Self::General,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    #[serde(flatten)]
    task: TaskOutput,
    /// The key of this call, also where you gave none.
    client_request_id: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(arguments: Value) -> Result<(DelegateRequest, Mode), Denial> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        Input::read(arguments)
    }

    fn good(arguments: Value) -> DelegateRequest {
        read(arguments).expect("good arguments").0
    }

    #[test]
    fn what_is_left_out_is_inherited() {
        let request = good(json!({ "task": "look" }));
        assert_eq!(request.wait, WaitMode::Async);
        assert_eq!(request.target, threads::service::TargetRequest::default());
        assert_eq!(
            (request.runtime_mode, request.interaction_mode),
            (None, None)
        );
        assert_eq!(
            (request.title, request.role, request.call.key),
            (None, None, None)
        );
    }

    #[test]
    fn every_field_reaches_the_service() {
        use domain::modes::{InteractionMode, RuntimeMode};
        let request = good(json!({
            "task": "look", "title": "Look", "role": "review", "mode": "wait", "timeoutMs": 5_000,
            "clientRequestId": "round-1", "runtimeMode": "auto-accept-edits", "interactionMode": "plan",
            "target": { "providerInstanceId": "claude-main", "driverKind": "claudeAgent", "model": "opus" },
        }));
        assert_eq!(request.title.as_deref(), Some("Look"));
        assert_eq!(request.role, Some(Role::Review));
        assert_eq!(request.wait, WaitMode::WaitMs(5_000));
        assert_eq!(request.call.key.as_deref(), Some("round-1"));
        assert_eq!(request.runtime_mode, Some(RuntimeMode::AutoAcceptEdits));
        assert_eq!(request.interaction_mode, Some(InteractionMode::Plan));
        assert_eq!(
            request.target.instance_id.expect("given").as_str(),
            "claude-main"
        );
        assert_eq!(
            request.target.driver_kind.expect("given").as_str(),
            "claude"
        );
        assert_eq!(request.target.model.as_deref(), Some("opus"));
    }

    #[test]
    fn a_timeout_is_taken_into_its_bounds() {
        for (asked, wait) in [
            (json!(-5), 1),
            (json!(0), 1),
            (json!(1), 1),
            (json!(1.9), 1),
            (json!(600_000), 600_000),
            (json!(3_599_999), 3_599_999),
            (json!(3_600_000), 3_600_000),
            (json!(3_600_001), 3_600_000),
            (json!(1e300), 3_600_000),
        ] {
            let request = good(json!({ "task": "look", "mode": "wait", "timeoutMs": asked }));
            assert_eq!(request.wait, WaitMode::WaitMs(wait), "{asked}");
        }
        assert_eq!(
            good(json!({ "task": "look", "mode": "wait" })).wait,
            WaitMode::WaitMs(600_000)
        );
    }

    #[test]
    fn a_wait_is_no_longer_than_the_client_bears() {
        for (asked, cap, wait) in [
            (600_000, Some(290_000), 290_000),
            (1_000, Some(290_000), 1_000),
            (600_000, None, 600_000),
        ] {
            assert_eq!(
                shorter(WaitMode::WaitMs(asked), cap),
                WaitMode::WaitMs(wait)
            );
        }
        assert_eq!(shorter(WaitMode::Async, Some(1)), WaitMode::Async);
    }

    #[test]
    fn texts_are_bounded() {
        for (task, title, key, fits) in [
            (0, 1, 1, false),
            (1, 1, 1, true),
            (120_000, 512, 256, true),
            (120_001, 1, 1, false),
            (1, 0, 1, false),
            (1, 513, 1, false),
            (1, 1, 0, false),
            (1, 1, 257, false),
        ] {
            let arguments = json!({
                "task": "x".repeat(task), "title": "x".repeat(title), "clientRequestId": "x".repeat(key),
            });
            assert_eq!(read(arguments).is_ok(), fits, "{task} {title} {key}");
        }
    }

    #[test]
    fn wrong_arguments_are_refused_with_the_field_and_what_it_takes() {
        for (arguments, texts) in [
            (json!({}), &["delegate_task", "missing field `task`"][..]),
            (json!({ "task": 3 }), &["`task`", "string"]),
            (
                json!({ "task": "x", "path": "/" }),
                &["`path`", "unknown field", "`timeoutMs`"],
            ),
            (
                json!({ "task": "x", "mode": "block" }),
                &["`mode`", "`async`", "`wait`"],
            ),
            (
                json!({ "task": "x", "role": "boss" }),
                &["`role`", "`review`"],
            ),
            (
                json!({ "task": "x", "runtimeMode": "auto" }),
                &["`runtimeMode`", "`full-access`"],
            ),
            (json!({ "task": "x", "timeoutMs": "1" }), &["`timeoutMs`"]),
            (
                json!({ "task": "x", "target": { "modle": "y" } }),
                &["`target.modle`", "`model`"],
            ),
            (
                json!({ "task": "x", "target": { "options": 3 } }),
                &["`target.options`", "a map"],
            ),
        ] {
            let denial = read(arguments.clone()).expect_err("refused");
            assert_eq!(denial.code.word(), "invalid_request");
            for text in texts {
                assert!(
                    denial.message.contains(text),
                    "{arguments}: {}",
                    denial.message
                );
            }
        }
    }

    #[test]
    fn the_same_call_has_the_same_digest_however_it_is_written() {
        let digest = |arguments| good(arguments).call.digest;
        let plain = digest(json!({ "task": "look" }));
        for same in [
            json!({ "task": "look", "mode": "async", "runtimeMode": "inherit", "target": {} }),
            json!({ "task": "look", "clientRequestId": "k", "timeoutMs": 5, "title": null }),
            json!({ "task": "look", "mode": null, "runtimeMode": null, "target": { "model": null } }),
        ] {
            assert_eq!(digest(same.clone()), plain, "{same}");
        }
        let options = |options| digest(json!({ "task": "look", "target": { "options": options } }));
        assert_eq!(
            options(json!({ "effort": "high" })),
            options(json!([{ "id": "effort", "value": "high" }]))
        );
        for other in [
            json!({ "task": "look again" }),
            json!({ "task": "look", "mode": "wait" }),
            json!({ "task": "look", "target": { "model": "m" } }),
            json!({ "task": "look", "runtimeMode": "full-access" }),
        ] {
            assert_ne!(digest(other.clone()), plain, "{other}");
        }
    }
}
