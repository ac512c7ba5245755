//! The rare parts of Codex's frames: answers, requests and most notifications.
//!
//! They are read through a tree. A derived reader is 2 to 4 KB of code each and is worth that only where lines are
//! frequent; these share one.
#![forbid(unsafe_code)]

use serde_json::Value;
use serde_json::value::RawValue;

/// Something read out of a JSON object. `None`: a member that must be there is missing or of another type.
pub(crate) trait View: Sized {
    fn of(object: &Value) -> Option<Self>;
}

/// A member of an object: required where the type has no way to say "nothing".
trait Member: Sized {
    fn of_member(member: Option<&Value>) -> Option<Self>;
}

impl Member for String {
    fn of_member(member: Option<&Value>) -> Option<Self> {
        member?.as_str().map(str::to_owned)
    }
}

impl Member for bool {
    fn of_member(member: Option<&Value>) -> Option<Self> {
        Some(member.and_then(Value::as_bool).unwrap_or_default())
    }
}

impl Member for u64 {
    fn of_member(member: Option<&Value>) -> Option<Self> {
        Some(member.and_then(Value::as_u64).unwrap_or_default())
    }
}

impl Member for Value {
    fn of_member(member: Option<&Value>) -> Option<Self> {
        member.cloned()
    }
}

/// Missing, null and of another type are the same: nothing.
impl<T: Member> Member for Option<T> {
    fn of_member(member: Option<&Value>) -> Option<Self> {
        Some(
            member
                .filter(|json| !json.is_null())
                .and_then(|json| T::of_member(Some(json))),
        )
    }
}

/// Missing and null are an empty list.
impl<T: View> Member for Vec<T> {
    fn of_member(member: Option<&Value>) -> Option<Self> {
        match member {
            None | Some(Value::Null) => Some(Self::new()),
            Some(list) => list.as_array()?.iter().map(T::of).collect(),
        }
    }
}

/// Reads `params` or `result` into `T`.
pub(crate) fn view<T: View>(json: Option<&RawValue>) -> Option<T> {
    T::of(&tree(json)?)
}

fn tree(json: Option<&RawValue>) -> Option<Value> {
    serde_json::from_str(json?.get()).ok()
}

/// Declares a record and how it is read: each field with its type and the name of its member.
macro_rules! view {
    ($(#[$attribute:meta])* $name:ident { $($field:ident: $type:ty = $member:literal,)* }) => {
        $(#[$attribute])*
        pub(crate) struct $name {
            $(pub(crate) $field: $type,)*
        }

        impl View for $name {
            fn of(object: &Value) -> Option<Self> {
                object.as_object()?;
                Some(Self { $($field: Member::of_member(object.get($member))?,)* })
            }
        }

        impl Member for $name {
            fn of_member(member: Option<&Value>) -> Option<Self> {
                Self::of(member?)
            }
        }
    };
}

view! {
    #[derive(Debug)]
    Greeting {
        user_agent: Option<String> = "userAgent",
    }
}

view! {
    #[derive(Debug)]
    Account {
        account: Option<Value> = "account",
        requires_openai_auth: bool = "requiresOpenaiAuth",
    }
}

view! {
    #[derive(Debug)]
    ModelPage {
        data: Vec<Model> = "data",
        next_cursor: Option<String> = "nextCursor",
    }
}

view! {
    #[derive(Debug)]
    Model {
        id: String = "id",
        model: Option<String> = "model",
        display_name: Option<String> = "displayName",
        hidden: bool = "hidden",
        is_default: bool = "isDefault",
        supported_reasoning_efforts: Vec<Effort> = "supportedReasoningEfforts",
        default_reasoning_effort: Option<String> = "defaultReasoningEffort",
    }
}

view! {
    #[derive(Debug)]
    Effort {
        reasoning_effort: String = "reasoningEffort",
    }
}

view! {
    /// Answer to `thread/start`, `thread/resume` and `thread/fork`.
    #[derive(Debug)]
    Opened {
        thread: Named = "thread",
        model: Option<String> = "model",
        reasoning_effort: Option<String> = "reasoningEffort",
    }
}

view! {
    /// Anything of which only the id matters.
    #[derive(Debug)]
    Named {
        id: String = "id",
    }
}

view! {
    /// Answer to `turn/start`.
    #[derive(Debug)]
    Started {
        turn: Named = "turn",
    }
}

view! {
    #[derive(Debug)]
    TurnPage {
        data: Vec<Named> = "data",
        next_cursor: Option<String> = "nextCursor",
    }
}

view! {
    /// Answer to `thread/read` with its turns.
    #[derive(Debug)]
    WholeThread {
        thread: ThreadTurns = "thread",
    }
}

view! {
    #[derive(Debug)]
    ThreadTurns {
        turns: Vec<Named> = "turns",
    }
}

view! {
    #[derive(Debug)]
    Terminals {
        data: Vec<Terminal> = "data",
    }
}

view! {
    #[derive(Debug)]
    Terminal {
        item_id: Option<String> = "itemId",
        process_id: String = "processId",
        command: Option<String> = "command",
    }
}

view! {
    #[derive(Debug)]
    TurnNotice {
        thread_id: String = "threadId",
        turn: Turn = "turn",
    }
}

view! {
    #[derive(Debug)]
    Turn {
        id: String = "id",
        status: Option<String> = "status",
        error: Option<TurnError> = "error",
    }
}

view! {
    #[derive(Debug)]
    TurnError {
        message: String = "message",
        codex_error_info: Option<Value> = "codexErrorInfo",
        additional_details: Option<String> = "additionalDetails",
    }
}

view! {
    #[derive(Debug)]
    ErrorNotice {
        error: TurnError = "error",
        will_retry: bool = "willRetry",
        thread_id: String = "threadId",
        turn_id: String = "turnId",
    }
}

view! {
    #[derive(Debug)]
    PlanNotice {
        thread_id: String = "threadId",
        turn_id: String = "turnId",
        explanation: Option<String> = "explanation",
        plan: Vec<PlanStep> = "plan",
    }
}

view! {
    #[derive(Debug)]
    PlanStep {
        step: String = "step",
        status: String = "status",
    }
}

view! {
    #[derive(Debug)]
    UsageNotice {
        thread_id: String = "threadId",
        turn_id: String = "turnId",
        token_usage: TokenUsage = "tokenUsage",
    }
}

view! {
    #[derive(Debug)]
    TokenUsage {
        total: Tokens = "total",
        last: Tokens = "last",
        model_context_window: Option<u64> = "modelContextWindow",
    }
}

view! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    Tokens {
        total_tokens: u64 = "totalTokens",
        input_tokens: u64 = "inputTokens",
        cached_input_tokens: u64 = "cachedInputTokens",
        output_tokens: u64 = "outputTokens",
        reasoning_output_tokens: u64 = "reasoningOutputTokens",
    }
}

view! {
    #[derive(Debug)]
    McpNotice {
        thread_id: Option<String> = "threadId",
        name: String = "name",
        status: String = "status",
        error: Option<String> = "error",
    }
}

view! {
    /// The form of [`McpNotice`] before 0.128.
    #[derive(Debug)]
    OldMcpNotice {
        thread_id: Option<String> = "conversationId",
        msg: OldMcpUpdate = "msg",
    }
}

view! {
    #[derive(Debug)]
    OldMcpUpdate {
        server: String = "server",
        status: OldMcpStatus = "status",
    }
}

view! {
    #[derive(Debug)]
    OldMcpStatus {
        state: String = "state",
        error: Option<String> = "error",
    }
}

impl From<OldMcpNotice> for McpNotice {
    fn from(old: OldMcpNotice) -> Self {
        let OldMcpNotice {
            thread_id,
            msg: OldMcpUpdate { server, status },
        } = old;
        Self {
            thread_id,
            name: server,
            status: status.state,
            error: status.error,
        }
    }
}

view! {
    #[derive(Debug)]
    WarningNotice {
        thread_id: Option<String> = "threadId",
        message: Option<String> = "message",
        summary: Option<String> = "summary",
    }
}

view! {
    #[derive(Debug)]
    Resolved {
        request_id: Value = "requestId",
    }
}

view! {
    #[derive(Debug)]
    ThreadNotice {
        thread_id: String = "threadId",
    }
}

view! {
    /// Parameters of any request that concerns a turn.
    #[derive(Debug, Default)]
    Asked {
        thread_id: String = "threadId",
        turn_id: Option<String> = "turnId",
        item_id: Option<String> = "itemId",
        reason: Option<String> = "reason",
        command: Option<String> = "command",
        cwd: Option<String> = "cwd",
        grant_root: Option<String> = "grantRoot",
        network_approval_context: Option<Value> = "networkApprovalContext",
        additional_permissions: Option<Value> = "additionalPermissions",
        proposed_execpolicy_amendment: Option<Value> = "proposedExecpolicyAmendment",
        permissions: Option<Value> = "permissions",
        questions: Vec<Question> = "questions",
        is_blocking: Option<bool> = "isBlocking",
        auto_resolution_ms: Option<u64> = "autoResolutionMs",
    }
}

view! {
    #[derive(Debug)]
    Question {
        id: String = "id",
        header: Option<String> = "header",
        question: Option<String> = "question",
        is_other: bool = "isOther",
        is_secret: bool = "isSecret",
        options: Option<Vec<Choice>> = "options",
    }
}

view! {
    #[derive(Debug)]
    Choice {
        label: String = "label",
        description: Option<String> = "description",
    }
}

view! {
    #[derive(Debug)]
    Elicitation {
        thread_id: String = "threadId",
        turn_id: Option<String> = "turnId",
        server_name: String = "serverName",
        mode: Option<String> = "mode",
        message: Option<String> = "message",
        meta: Option<ElicitationMeta> = "_meta",
        requested_schema: Option<Value> = "requestedSchema",
    }
}

view! {
    #[derive(Debug)]
    ElicitationMeta {
        codex_approval_kind: Option<String> = "codex_approval_kind",
        persist: Option<Value> = "persist",
        tool_name: Option<String> = "tool_name",
        tool_title: Option<String> = "tool_title",
        tool_params: Option<Value> = "tool_params",
    }
}

/// The words of a `persist` member, which is one word or several.
pub(crate) fn persist_words(persist: Option<&Value>) -> Vec<&str> {
    match persist {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
