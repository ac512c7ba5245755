//! `orchestrator_capabilities`: which providers can run a child, and what a child would inherit.

use domain::error::{Denial, DenialCode};
use domain::modes::RuntimeMode;
use domain::provider::{ModelInfo, ModelOptionInfo, OptionValue, ProviderSnapshot};
use domain::thread::Thread;
use futures::FutureExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use threads::service::{Capabilities, ThreadManagementService};

use super::super::arguments::decode;
use super::super::row::{ToolCall, ToolRow};
use super::modes::{InteractionModeWord, RuntimeModeWord};
use super::{Hint, Hints, answer, row as tool_row};
use crate::mcp::limits::BATCH_THREADS_MAX;
use crate::mcp::tool_rows;

const NAME: &str = "orchestrator_capabilities";
const DESCRIPTION: &str = "\
List the provider instances and models that can run a child agent now, why others can not, and what a child \
of this thread inherits: provider, model, modes. Call it before delegate_task when you want a certain \
provider, model or model option; to delegate to your own provider no look is needed. It changes nothing. \
canRunChildTask is false where constraints says what is missing. runtimeModes is given only for a provider \
that offers some of the modes. For the state of work you delegated use task_status instead.";

pub(super) fn row() -> ToolRow<ThreadManagementService> {
    let hints = Hints {
        title: "Orchestrator capabilities",
        read_only: Hint::Yes,
        destructive: Hint::No,
        idempotent: Hint::Yes,
        open_world: Hint::No,
    };
    tool_row::<Input, Output>(NAME, DESCRIPTION, hints, |service, call| {
        run(service, call).boxed()
    })
}

async fn run(service: ThreadManagementService, call: ToolCall) -> Result<Value, Denial> {
    let caller = call.authority();
    let Input {} = decode(NAME, call.arguments)?;
    let Capabilities { thread, providers } = service.capabilities(&caller).await?;
    let thread = thread.ok_or_else(|| {
        Denial::new(
            DenialCode::ThreadCredentialRequired,
            "the calling thread is not there any more",
        )
    })?;
    answer(&Output::new(&thread, providers))
}

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    parent_thread_id: Option<String>,
    inherited_provider_instance_id: Option<String>,
    inherited_model: Option<String>,
    runtime_mode: RuntimeModeWord,
    interaction_mode: InteractionModeWord,
    providers: Vec<Provider>,
    features: Features,
}

impl Output {
    fn new(thread: &Thread, providers: Vec<ProviderSnapshot>) -> Self {
        Self {
            parent_thread_id: Some(thread.id.to_string()),
            inherited_provider_instance_id: Some(thread.provider_instance_id.to_string()),
            inherited_model: thread.model.model.clone(),
            runtime_mode: thread.modes.runtime.into(),
            interaction_mode: thread.modes.interaction.into(),
            providers: providers.into_iter().map(Provider::new).collect(),
            features: Features::of_this_build(),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Provider {
    provider_instance_id: String,
    driver_kind: String,
    display_name: Option<String>,
    models: Vec<Model>,
    can_run_child_task: bool,
    can_run_cross_provider_child_task: bool,
    /// What is missing. Empty: usable.
    constraints: Vec<String>,
    /// Given only where some of the modes are offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<RuntimeModeWord>")]
    runtime_modes: Option<Vec<RuntimeModeWord>>,
}

impl Provider {
    fn new(snapshot: ProviderSnapshot) -> Self {
        let usable = snapshot.constraints.is_empty();
        Self {
            provider_instance_id: snapshot.instance_id.to_string(),
            driver_kind: snapshot.driver_kind.to_string(),
            display_name: snapshot.display_name,
            models: snapshot.models.into_iter().map(Model::new).collect(),
            can_run_child_task: usable,
            can_run_cross_provider_child_task: usable,
            constraints: snapshot.constraints,
            runtime_modes: some_but_not_all(&snapshot.runtime_modes),
        }
    }
}

fn some_but_not_all(offered: &[RuntimeMode]) -> Option<Vec<RuntimeModeWord>> {
    let all = RuntimeMode::ALL.iter().all(|mode| offered.contains(mode));
    (!all && !offered.is_empty()).then(|| offered.iter().map(|mode| (*mode).into()).collect())
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Model {
    id: String,
    label: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    options: Vec<OptionDescriptor>,
}

impl Model {
    fn new(model: ModelInfo) -> Self {
        let options = model
            .options
            .into_iter()
            .map(OptionDescriptor::new)
            .collect();
        Self {
            id: model.id,
            label: model.label,
            options,
        }
    }
}

/// An option of a model: a `select` with its choices or a `boolean`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OptionDescriptor {
    id: String,
    label: Option<String>,
    #[serde(rename = "type")]
    kind: OptionKind,
    /// Values of a select.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    options: Vec<Choice>,
    /// What holds when nothing is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = ["string", "boolean"]))]
    default_value: Option<Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum OptionKind {
    Select,
    Boolean,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Choice {
    id: String,
}

impl OptionDescriptor {
    fn new(option: ModelOptionInfo) -> Self {
        let kind = if option.choices.is_empty() {
            OptionKind::Boolean
        } else {
            OptionKind::Select
        };
        Self {
            id: option.id,
            label: option.label,
            kind,
            options: option.choices.into_iter().map(|id| Choice { id }).collect(),
            default_value: option.default_value.map(|value| match value {
                OptionValue::Toggle(on) => Value::Bool(on),
                OptionValue::Text(text) => Value::String(text),
            }),
        }
    }
}

// What this build can do: read from its table, so that nothing is promised that is not there.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Features {
    app_owned_subagents: bool,
    async_polling: bool,
    cancellation: bool,
    batch_thread_creation: bool,
    thread_management: bool,
    incremental_thread_read: bool,
    scheduled_tasks: bool,
    max_batch_threads: u32,
}

impl Features {
    fn of_this_build() -> Self {
        let has = |name: &str| tool_rows().iter().any(|row| row.tool.name == name);
        Self {
            app_owned_subagents: has("delegate_task"),
            async_polling: has("task_status"),
            cancellation: has("task_cancel"),
            batch_thread_creation: has("create_threads"),
            thread_management: has("t3_thread_send"),
            incremental_thread_read: has("t3_thread_read"),
            scheduled_tasks: has("schedule_task"),
            max_batch_threads: BATCH_THREADS_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::ids::{DriverKind, ProviderInstanceId};
    use domain::modes::InteractionMode;
    use domain::provider::{Readiness, Steering};
    use serde_json::json;

    use super::*;

    fn snapshot(runtime_modes: &[RuntimeMode], constraints: &[&str]) -> ProviderSnapshot {
        ProviderSnapshot {
            instance_id: ProviderInstanceId::new("codex-main"),
            driver_kind: DriverKind::new("codex"),
            display_name: None,
            models: vec![ModelInfo {
                id: "gpt".to_owned(),
                label: None,
                preferred: true,
                options: vec![
                    ModelOptionInfo {
                        id: "effort".to_owned(),
                        label: Some("Effort".to_owned()),
                        choices: vec!["low".to_owned(), "high".to_owned()],
                        default_value: Some(OptionValue::Text("low".to_owned())),
                    },
                    ModelOptionInfo {
                        id: "fast".to_owned(),
                        label: None,
                        choices: Vec::new(),
                        default_value: None,
                    },
                ],
            }],
            runtime_modes: runtime_modes.to_vec(),
            interaction_modes: InteractionMode::ALL.to_vec(),
            steering: Steering::Native,
            mcp_wait_ms_max: None,
            version: None,
            constraints: constraints.iter().map(|text| (*text).to_owned()).collect(),
            readiness: Readiness::Ready,
        }
    }

    fn wire(snapshot: ProviderSnapshot) -> Value {
        serde_json::to_value(Provider::new(snapshot)).expect("json")
    }

    #[test]
    fn a_provider_is_told_with_its_models_and_options() {
        assert_eq!(
            wire(snapshot(&RuntimeMode::ALL, &[])),
            json!({
                "providerInstanceId": "codex-main",
                "driverKind": "codex",
                "displayName": null,
                "models": [{ "id": "gpt", "label": null, "options": [
                    { "id": "effort", "label": "Effort", "type": "select",
                      "options": [{ "id": "low" }, { "id": "high" }], "defaultValue": "low" },
                    { "id": "fast", "label": null, "type": "boolean" },
                ] }],
                "canRunChildTask": true,
                "canRunCrossProviderChildTask": true,
                "constraints": [],
            })
        );
    }

    #[test]
    fn a_constraint_makes_a_provider_unusable() {
        let wire = wire(snapshot(
            &RuntimeMode::ALL,
            &["codex is not installed: run npm i -g @openai/codex"],
        ));
        assert_eq!(wire["canRunChildTask"], false);
        assert_eq!(wire["canRunCrossProviderChildTask"], false);
        assert_eq!(
            wire["constraints"][0],
            "codex is not installed: run npm i -g @openai/codex"
        );
    }

    #[test]
    fn runtime_modes_are_told_only_where_some_are_missing() {
        let some = [RuntimeMode::ApprovalRequired, RuntimeMode::FullAccess];
        let told = wire(snapshot(&some, &[]));
        assert_eq!(
            told["runtimeModes"],
            json!(["approval-required", "full-access"])
        );
        assert_eq!(
            wire(snapshot(&RuntimeMode::ALL, &[])).get("runtimeModes"),
            None
        );
        assert_eq!(wire(snapshot(&[], &[])).get("runtimeModes"), None);
    }
}
