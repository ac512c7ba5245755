//! The parts of Codex's frames this driver reads. Everything borrows from the line; unknown members are skipped.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

type Text<'a> = Cow<'a, str>;

/// Reads `params` or `result` into `T`. `None`: it has another shape than this driver knows.
pub(crate) fn read<'a, T: Deserialize<'a>>(json: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(json?.get()).ok()
}

// ------------------------------------------------------------------- answers

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Greeting<'a> {
    #[serde(borrow, default)]
    pub(crate) user_agent: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Account<'a> {
    #[serde(borrow, default)]
    pub(crate) account: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) requires_openai_auth: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelPage<'a> {
    #[serde(borrow, default)]
    pub(crate) data: Vec<Model<'a>>,
    #[serde(borrow, default)]
    pub(crate) next_cursor: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Model<'a> {
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) model: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) display_name: Option<Text<'a>>,
    #[serde(default)]
    pub(crate) hidden: bool,
    #[serde(default)]
    pub(crate) is_default: bool,
    #[serde(borrow, default)]
    pub(crate) supported_reasoning_efforts: Vec<Effort<'a>>,
    #[serde(borrow, default)]
    pub(crate) default_reasoning_effort: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Effort<'a> {
    #[serde(borrow)]
    pub(crate) reasoning_effort: Text<'a>,
}

/// Answer to `thread/start`, `thread/resume` and `thread/fork`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Opened<'a> {
    #[serde(borrow)]
    pub(crate) thread: Named<'a>,
    #[serde(borrow, default)]
    pub(crate) model: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) reasoning_effort: Option<Text<'a>>,
}

/// Anything of which only the id matters.
#[derive(Deserialize)]
pub(crate) struct Named<'a> {
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
}

/// Answer to `turn/start`.
#[derive(Deserialize)]
pub(crate) struct Started<'a> {
    #[serde(borrow)]
    pub(crate) turn: Named<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnPage<'a> {
    #[serde(borrow, default)]
    pub(crate) data: Vec<Named<'a>>,
    #[serde(borrow, default)]
    pub(crate) next_cursor: Option<Text<'a>>,
}

/// Answer to `thread/read` with its turns.
#[derive(Deserialize)]
pub(crate) struct WholeThread<'a> {
    #[serde(borrow)]
    pub(crate) thread: ThreadTurns<'a>,
}

#[derive(Deserialize)]
pub(crate) struct ThreadTurns<'a> {
    #[serde(borrow, default)]
    pub(crate) turns: Vec<Named<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct Terminals<'a> {
    #[serde(borrow, default)]
    pub(crate) data: Vec<Terminal<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Terminal<'a> {
    #[serde(borrow, default)]
    pub(crate) item_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) process_id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) command: Option<Text<'a>>,
}

// ------------------------------------------------------------- notifications

/// Any streamed piece of an item.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Delta<'a> {
    #[serde(borrow)]
    pub(crate) thread_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) turn_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) item_id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) delta: Text<'a>,
    #[serde(default)]
    pub(crate) summary_index: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ItemNotice<'a> {
    #[serde(borrow)]
    pub(crate) thread_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) turn_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) item: Item<'a>,
}

/// An item of any type: each uses some of the members.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Item<'a> {
    #[serde(rename = "type", borrow)]
    pub(crate) kind: Text<'a>,
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) status: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) command: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) cwd: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) aggregated_output: Option<Text<'a>>,
    #[serde(default)]
    pub(crate) exit_code: Option<i32>,
    #[serde(default)]
    pub(crate) duration_ms: Option<u64>,
    #[serde(borrow, default)]
    pub(crate) changes: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) server: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) tool: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) namespace: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) content_items: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) query: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) action: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) path: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) prompt: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) review: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct Change<'a> {
    #[serde(borrow)]
    pub(crate) path: Text<'a>,
    #[serde(borrow)]
    pub(crate) kind: ChangeKind<'a>,
    #[serde(borrow, default)]
    pub(crate) diff: Text<'a>,
}

#[derive(Deserialize)]
pub(crate) struct ChangeKind<'a> {
    #[serde(rename = "type", borrow)]
    pub(crate) word: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) move_path: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnNotice<'a> {
    #[serde(borrow)]
    pub(crate) thread_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) turn: Turn<'a>,
}

#[derive(Deserialize)]
pub(crate) struct Turn<'a> {
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) status: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) error: Option<TurnError<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnError<'a> {
    #[serde(borrow, default)]
    pub(crate) message: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) codex_error_info: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) additional_details: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorNotice<'a> {
    #[serde(borrow)]
    pub(crate) error: TurnError<'a>,
    #[serde(default)]
    pub(crate) will_retry: bool,
    #[serde(borrow)]
    pub(crate) thread_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) turn_id: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanNotice<'a> {
    #[serde(borrow)]
    pub(crate) thread_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) turn_id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) explanation: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) plan: Vec<PlanStep<'a>>,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct PlanStep<'a> {
    #[serde(borrow)]
    pub(crate) step: Text<'a>,
    #[serde(borrow)]
    pub(crate) status: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageNotice<'a> {
    #[serde(borrow)]
    pub(crate) thread_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) turn_id: Text<'a>,
    pub(crate) token_usage: TokenUsage,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenUsage {
    pub(crate) total: Tokens,
    pub(crate) last: Tokens,
    #[serde(default)]
    pub(crate) model_context_window: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Tokens {
    pub(crate) total_tokens: u64,
    pub(crate) input_tokens: u64,
    pub(crate) cached_input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) reasoning_output_tokens: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct McpNotice<'a> {
    #[serde(borrow, default)]
    pub(crate) thread_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) name: Text<'a>,
    #[serde(borrow)]
    pub(crate) status: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) error: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WarningNotice<'a> {
    #[serde(borrow, default)]
    pub(crate) thread_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) message: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) summary: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resolved<'a> {
    #[serde(borrow)]
    pub(crate) request_id: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadNotice<'a> {
    #[serde(borrow)]
    pub(crate) thread_id: Text<'a>,
}

// ------------------------------------------------------ requests of the agent

/// Parameters of any request that concerns a turn.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Asked<'a> {
    #[serde(borrow)]
    pub(crate) thread_id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) turn_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) item_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) reason: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) command: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) cwd: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) grant_root: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) network_approval_context: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) additional_permissions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) proposed_execpolicy_amendment: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) permissions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) questions: Vec<Question<'a>>,
    #[serde(default)]
    pub(crate) is_blocking: Option<bool>,
    #[serde(default)]
    pub(crate) auto_resolution_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Question<'a> {
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) header: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) question: Text<'a>,
    #[serde(default)]
    pub(crate) is_other: bool,
    #[serde(default)]
    pub(crate) is_secret: bool,
    #[serde(borrow, default)]
    pub(crate) options: Option<Vec<Choice<'a>>>,
}

#[derive(Deserialize)]
pub(crate) struct Choice<'a> {
    #[serde(borrow)]
    pub(crate) label: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) description: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Elicitation<'a> {
    #[serde(borrow)]
    pub(crate) thread_id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) turn_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) server_name: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) mode: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) message: Option<Text<'a>>,
    #[serde(rename = "_meta", borrow, default)]
    pub(crate) meta: Option<ElicitationMeta<'a>>,
    #[serde(borrow, default)]
    pub(crate) requested_schema: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(crate) struct ElicitationMeta<'a> {
    #[serde(borrow, default)]
    pub(crate) codex_approval_kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) persist: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) tool_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) tool_title: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) tool_params: Option<&'a RawValue>,
}

/// The words of a `persist` member, which is one word or several.
pub(crate) fn persist_words(persist: Option<&RawValue>) -> Vec<String> {
    let Some(json) = persist else {
        return Vec::new();
    };
    match serde_json::from_str::<Vec<String>>(json.get()) {
        Ok(words) => words,
        Err(_) => serde_json::from_str::<String>(json.get())
            .into_iter()
            .collect(),
    }
}
