//! What Codex asks the host: approvals and questions, and how each answer goes back.

use driver_sdk::clip;
use driver_sdk::failure;
use driver_sdk::jsonrpc::{Dialect, INVALID_PARAMS, METHOD_NOT_FOUND};
use driver_sdk::types::{
    Answer, Approval, Decision, EffectOutcome, Event, Prompt, Reply, Request, RequestClosed,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::changes;
use crate::core::Codex;
use crate::limits::APPROVAL_TITLE_BYTES_MAX;
use crate::questions::{self, FormField};
use crate::thread::{OpenItem, ThreadKey};
use crate::wire::{self, Asked, Elicitation};

/// A request of Codex without an answer yet.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    /// The driver's id, unique in this session.
    request_id: String,
    /// Codex's id, as it wrote it.
    wire_id: String,
    thread: ThreadKey,
    kind: RequestKind,
}

/// What was asked, with what the answer needs.
#[derive(Debug)]
pub(crate) enum RequestKind {
    /// `item/commandExecution/requestApproval`. Holds the proposed rule, where there is one.
    Command { amendment: Option<Value> },
    /// `item/fileChange/requestApproval`
    FileChange,
    /// `item/permissions/requestApproval`. Holds what was asked for.
    Permissions(Value),
    /// `mcpServer/elicitation/request` about a tool call.
    ToolCall,
    /// `mcpServer/elicitation/request` with a form.
    Form(Vec<FormField>),
    /// `item/tool/requestUserInput`
    UserInput,
}

impl Codex {
    /// Any request of Codex. One this driver does not know is refused, so that Codex goes on.
    pub(crate) fn asked(&mut self, wire_id: &RawValue, method: &str, params: Option<&RawValue>) {
        let known = match method {
            "item/commandExecution/requestApproval" => self.command_asked(wire_id, params),
            "item/fileChange/requestApproval" => self.change_asked(wire_id, params),
            "item/permissions/requestApproval" => self.permissions_asked(wire_id, params),
            "item/tool/requestUserInput" => self.input_asked(wire_id, params),
            "mcpServer/elicitation/request" => self.elicitation_asked(wire_id, params),
            _ => {
                let message = format!("`{method}` is not offered by this client");
                self.write_frame(Dialect::Bare.refuse(wire_id.get(), METHOD_NOT_FOUND, &message));
                return;
            }
        };
        if known.is_none() {
            let message = format!("`{method}`: the parameters or the thread are not known");
            self.write_frame(Dialect::Bare.refuse(wire_id.get(), INVALID_PARAMS, &message));
        }
    }

    fn command_asked(&mut self, wire_id: &RawValue, params: Option<&RawValue>) -> Option<()> {
        let asked: Asked<'_> = wire::read(params)?;
        let title = match (&asked.command, asked.network_approval_context) {
            (Some(command), _) => command.to_string(),
            (None, Some(_)) => "Network access".to_owned(),
            (None, None) => "Run a command".to_owned(),
        };
        let amendment: Option<Value> =
            wire::read(asked.proposed_execpolicy_amendment).filter(|json: &Value| !json.is_null());
        let mut choices = vec!["accept", "acceptForSession"];
        if amendment.is_some() {
            choices.push("acceptAlways");
        }
        choices.extend(["decline", "cancel"]);
        let detail = json!({
            "command": asked.command,
            "cwd": asked.cwd,
            "network": asked.network_approval_context,
            "additionalPermissions": asked.additional_permissions,
            "alwaysAllows": amendment,
        });
        let approval = approval("command", &title, asked.reason.as_deref(), &choices);
        self.open_request(
            wire_id,
            &asked,
            RequestKind::Command { amendment },
            Prompt::Approval(approval),
            true,
            &detail,
        )
    }

    fn change_asked(&mut self, wire_id: &RawValue, params: Option<&RawValue>) -> Option<()> {
        let asked: Asked<'_> = wire::read(params)?;
        // The request has no diff: it is in the item that was started before.
        let thread = self.thread_native(&asked.thread_id)?;
        let native_item = asked.item_id.as_deref().unwrap_or_default();
        let item = thread
            .items
            .iter()
            .find(|open| open.native == native_item)
            .map(|open| &open.item);
        let title = item
            .and_then(|item| item.title.clone())
            .unwrap_or_else(|| changes::title(&[]));
        let listed = item.and_then(|item| serde_json::from_str::<Value>(&item.body_json).ok());
        let detail = json!({
            "changes": listed.as_ref().and_then(|body| body.get("changes")),
            "grantRoot": asked.grant_root,
        });
        let choices = ["accept", "acceptForSession", "decline", "cancel"];
        let approval = approval("file-change", &title, asked.reason.as_deref(), &choices);
        self.open_request(
            wire_id,
            &asked,
            RequestKind::FileChange,
            Prompt::Approval(approval),
            true,
            &detail,
        )
    }

    fn permissions_asked(&mut self, wire_id: &RawValue, params: Option<&RawValue>) -> Option<()> {
        let asked: Asked<'_> = wire::read(params)?;
        let permissions: Value = wire::read(asked.permissions)?;
        let detail = json!({ "permissions": permissions, "cwd": asked.cwd });
        let choices = ["accept", "acceptForSession", "decline"];
        let approval = approval(
            "permission",
            "More permissions",
            asked.reason.as_deref(),
            &choices,
        );
        let kind = RequestKind::Permissions(permissions);
        self.open_request(
            wire_id,
            &asked,
            kind,
            Prompt::Approval(approval),
            true,
            &detail,
        )
    }

    fn input_asked(&mut self, wire_id: &RawValue, params: Option<&RawValue>) -> Option<()> {
        let asked: Asked<'_> = wire::read(params)?;
        let prompt = Prompt::Questions(
            asked
                .questions
                .iter()
                .map(questions::of_user_input)
                .collect(),
        );
        let blocking = asked.is_blocking.unwrap_or(true);
        let detail = json!({ "autoResolutionMs": asked.auto_resolution_ms });
        self.open_request(
            wire_id,
            &asked,
            RequestKind::UserInput,
            prompt,
            blocking,
            &detail,
        )
    }

    fn elicitation_asked(&mut self, wire_id: &RawValue, params: Option<&RawValue>) -> Option<()> {
        let elicitation: Elicitation<'_> = wire::read(params)?;
        let key = self.key_of_native(&elicitation.thread_id)?;
        let mut asked = Asked::of_thread(&elicitation.thread_id, elicitation.turn_id.as_deref());
        let meta = elicitation.meta.as_ref();
        let message = elicitation
            .message
            .as_deref()
            .unwrap_or("The MCP server asks something.");
        if let Some(meta) = meta.filter(|meta| meta.codex_approval_kind.is_some()) {
            let persist = wire::persist_words(meta.persist);
            let offers = |word: &str| persist.iter().any(|offered| offered == word);
            let mut choices = vec!["accept"];
            if offers("session") {
                choices.push("acceptForSession");
            }
            if offers("always") {
                choices.push("acceptAlways");
            }
            choices.extend(["decline", "cancel"]);
            let detail = json!({
                "server": elicitation.server_name,
                "tool": meta.tool_name,
                "title": meta.tool_title,
                "arguments": meta.tool_params,
            });
            // It does not say which call it is about: the latest of that tool.
            let tool = meta.tool_name.as_deref();
            let call = self.thread(key).and_then(|thread| {
                let heads = |open: &&OpenItem| {
                    let head = &open.item.head;
                    head.name.as_deref() == tool
                        && head.server_name.as_deref() == Some(&*elicitation.server_name)
                };
                thread
                    .items
                    .iter()
                    .rev()
                    .find(heads)
                    .map(|open| open.native.clone())
            });
            asked.item_id = call.map(Into::into);
            let approval = approval("mcp-elicitation", message, None, &choices);
            return self.open_request(
                wire_id,
                &asked,
                RequestKind::ToolCall,
                Prompt::Approval(approval),
                true,
                &detail,
            );
        }
        let form = match elicitation.mode.as_ref() {
            "form" | "openai/form" | "openaiForm" => {
                questions::of_form(message, elicitation.requested_schema)
            }
            _ => None,
        };
        let Some((questions, fields)) = form else {
            // Nothing a chat could show: a link to open, a verification, a nested form.
            self.write_frame(Dialect::Bare.reply(
                wire_id.get(),
                &elicitation_answer("decline", &Value::Null, &Value::Null),
            ));
            let text = format!(
                "`{}` asked: {message}. This kind of question is not supported and was declined.",
                elicitation.server_name
            );
            self.notice(
                key,
                "A question of an MCP server was declined",
                &text,
                "elicitation",
            );
            return Some(());
        };
        let detail = json!({ "server": elicitation.server_name, "message": message });
        self.open_request(
            wire_id,
            &asked,
            RequestKind::Form(fields),
            Prompt::Questions(questions),
            true,
            &detail,
        )
    }

    fn open_request(
        &mut self,
        wire_id: &RawValue,
        asked: &Asked<'_>,
        kind: RequestKind,
        prompt: Prompt,
        blocking: bool,
        detail: &Value,
    ) -> Option<()> {
        let request_id = format!("request-{}", self.next_request);
        let detail_json = self.body(detail);
        let thread = self.thread_native(&asked.thread_id)?;
        let item = asked
            .item_id
            .as_deref()
            .and_then(|native| thread.items.iter().find(|open| open.native == native));
        let request = Request {
            request_id: request_id.clone(),
            thread_id: thread.host_id.clone(),
            turn_id: match asked.turn_id.as_deref() {
                Some(native) => thread.host_turn(native),
                // Some elicitations name none: then it is the one that runs.
                None => thread
                    .turn
                    .as_ref()
                    .filter(|turn| turn.announced)
                    .map(|turn| turn.host_id.clone()),
            },
            item_id: item.map(|open| open.item.item_id.clone()),
            blocking,
            prompt,
            detail_json,
            extra: None,
        };
        let thread = thread.key;
        self.next_request += 1;
        self.requests.push(OpenRequest {
            request_id,
            wire_id: wire_id.get().to_owned(),
            thread,
            kind,
        });
        self.out.emit(Event::Request(request));
        Some(())
    }

    /// `answer`
    pub(crate) fn answer(&mut self, answer: &Answer) {
        self.effects.begin(&answer.effect_id);
        let position = self
            .requests
            .iter()
            .position(|open| open.request_id == answer.request_id);
        let Some(position) = position else {
            let failure = failure::validation("This request is no longer open.");
            self.end_effect(&answer.effect_id, EffectOutcome::Refused(failure));
            return;
        };
        let result = match self
            .requests
            .get(position)
            .map(|open| result_of(&open.kind, &answer.reply))
        {
            Some(Ok(result)) => result,
            Some(Err(message)) => {
                self.end_effect(
                    &answer.effect_id,
                    EffectOutcome::Refused(failure::validation(&message)),
                );
                return;
            }
            None => return,
        };
        let open = self.requests.remove(position);
        self.write_frame(Dialect::Bare.reply(&open.wire_id, &result));
        self.effects.settle(&answer.effect_id);
        self.close_request(open.request_id, "answered");
    }

    /// `serverRequest/resolved`: Codex no longer waits, because it was answered or because the turn was stopped.
    pub(crate) fn request_resolved(&mut self, wire_id: &RawValue) {
        let position = self
            .requests
            .iter()
            .position(|open| open.wire_id == wire_id.get());
        if let Some(position) = position {
            let open = self.requests.remove(position);
            self.close_request(open.request_id, "withdrawn");
        }
    }

    /// Closes what a thread still asks.
    pub(crate) fn close_requests_of(&mut self, key: ThreadKey, reason: &str) {
        let (mine, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.requests)
            .into_iter()
            .partition(|open| open.thread == key);
        self.requests = others;
        for open in mine {
            self.close_request(open.request_id, reason);
        }
    }

    fn close_request(&mut self, request_id: String, reason: &str) {
        let reason = reason.to_owned();
        self.out
            .emit(Event::RequestClosed(RequestClosed { request_id, reason }));
    }
}

impl<'a> Asked<'a> {
    /// What an elicitation shares with the other requests.
    fn of_thread(thread_id: &'a str, turn_id: Option<&'a str>) -> Self {
        Self {
            thread_id: thread_id.into(),
            turn_id: turn_id.map(Into::into),
            ..Self::default()
        }
    }
}

fn approval(kind: &str, title: &str, reason: Option<&str>, choices: &[&str]) -> Approval {
    Approval {
        kind: kind.to_owned(),
        title: clip::shortened(title, APPROVAL_TITLE_BYTES_MAX),
        reason: reason.map(|reason| clip::shortened(reason, APPROVAL_TITLE_BYTES_MAX)),
        choices: choices.iter().map(|word| (*word).to_owned()).collect(),
        options: Vec::new(),
    }
}

/// The `result` a reply becomes, or why it does not fit the request.
fn result_of(kind: &RequestKind, reply: &Reply) -> Result<Value, String> {
    match (kind, reply) {
        (RequestKind::UserInput, Reply::Answers(answers)) => {
            Ok(questions::user_input_result(answers))
        }
        (RequestKind::UserInput, Reply::Dismissed(_)) => Ok(questions::user_input_result(&[])),
        (RequestKind::Form(fields), Reply::Answers(answers)) => {
            let content = questions::form_content(fields, answers)?;
            Ok(elicitation_answer("accept", &content, &Value::Null))
        }
        (RequestKind::Form(_) | RequestKind::ToolCall, Reply::Dismissed(_)) => {
            Ok(elicitation_answer("cancel", &Value::Null, &Value::Null))
        }
        (RequestKind::UserInput | RequestKind::Form(_), Reply::Decision(_)) => {
            Err("This request asks questions; a decision does not answer it.".to_owned())
        }
        (_, Reply::Answers(_)) => {
            Err("This request is an approval; answers do not decide it.".to_owned())
        }
        (kind, Reply::Decision(decision)) => Ok(decided(kind, decision)),
        (kind, Reply::Dismissed(_)) => Ok(declined(kind)),
    }
}

/// A decision in Codex's words. An unknown word declines.
fn decided(kind: &RequestKind, decision: &Decision) -> Value {
    let choice = decision.choice.as_str();
    match (kind, choice) {
        (
            RequestKind::Command {
                amendment: Some(amendment),
            },
            "acceptAlways",
        ) => {
            json!({ "decision": { "acceptWithExecpolicyAmendment": { "execpolicy_amendment": amendment } } })
        }
        (
            RequestKind::Command { .. } | RequestKind::FileChange,
            "accept" | "acceptForSession" | "cancel",
        ) => {
            json!({ "decision": choice })
        }
        (RequestKind::Permissions(asked), "accept") => {
            json!({ "permissions": granted(asked), "scope": "turn" })
        }
        (RequestKind::Permissions(asked), "acceptForSession") => {
            json!({ "permissions": granted(asked), "scope": "session" })
        }
        (RequestKind::ToolCall, "accept") => elicitation_answer("accept", &json!({}), &Value::Null),
        (RequestKind::ToolCall, "acceptForSession") => {
            elicitation_answer("accept", &json!({}), &json!({ "persist": "session" }))
        }
        (RequestKind::ToolCall, "acceptAlways") => {
            elicitation_answer("accept", &json!({}), &json!({ "persist": "always" }))
        }
        (RequestKind::ToolCall, "cancel") => {
            elicitation_answer("cancel", &Value::Null, &Value::Null)
        }
        _ => declined(kind),
    }
}

fn declined(kind: &RequestKind) -> Value {
    match kind {
        RequestKind::Command { .. } | RequestKind::FileChange => json!({ "decision": "decline" }),
        RequestKind::Permissions(_) => json!({ "permissions": {}, "scope": "turn" }),
        RequestKind::ToolCall | RequestKind::Form(_) => {
            elicitation_answer("decline", &Value::Null, &Value::Null)
        }
        RequestKind::UserInput => questions::user_input_result(&[]),
    }
}

/// The permissions that were asked for: a grant leaves out what is null.
fn granted(asked: &Value) -> Value {
    match asked.as_object() {
        Some(members) => Value::Object(
            members
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
        ),
        None => json!({}),
    }
}

fn elicitation_answer(action: &str, content: &Value, meta: &Value) -> Value {
    json!({ "action": action, "content": content, "_meta": meta })
}

#[cfg(test)]
mod tests {
    use super::{RequestKind, result_of};
    use driver_sdk::types::{Decision, QuestionAnswer, Reply};
    use serde_json::{Value, json};

    fn decision(choice: &str) -> Reply {
        Reply::Decision(Decision {
            choice: choice.to_owned(),
            message: None,
            option_id: None,
        })
    }

    #[test]
    fn each_decision_has_its_word_and_an_unknown_one_declines() {
        let command = || RequestKind::Command {
            amendment: Some(json!(["touch"])),
        };
        let bare = || RequestKind::Command { amendment: None };
        let permissions = || {
            RequestKind::Permissions(json!({ "network": { "enabled": true }, "fileSystem": null }))
        };
        let elicitation = |action: &str, content: Value, meta: Value| json!({ "action": action, "content": content, "_meta": meta });
        for (kind, choice, expected) in [
            (command(), "accept", json!({ "decision": "accept" })),
            (
                command(),
                "acceptForSession",
                json!({ "decision": "acceptForSession" }),
            ),
            (
                command(),
                "acceptAlways",
                json!({ "decision": { "acceptWithExecpolicyAmendment": { "execpolicy_amendment": ["touch"] } } }),
            ),
            (command(), "decline", json!({ "decision": "decline" })),
            (command(), "cancel", json!({ "decision": "cancel" })),
            (command(), "whatever", json!({ "decision": "decline" })),
            (bare(), "acceptAlways", json!({ "decision": "decline" })),
            (
                RequestKind::FileChange,
                "accept",
                json!({ "decision": "accept" }),
            ),
            (
                RequestKind::FileChange,
                "acceptAlways",
                json!({ "decision": "decline" }),
            ),
            (
                permissions(),
                "accept",
                json!({ "permissions": { "network": { "enabled": true } }, "scope": "turn" }),
            ),
            (
                permissions(),
                "acceptForSession",
                json!({ "permissions": { "network": { "enabled": true } }, "scope": "session" }),
            ),
            (
                permissions(),
                "decline",
                json!({ "permissions": {}, "scope": "turn" }),
            ),
            (
                RequestKind::ToolCall,
                "accept",
                elicitation("accept", json!({}), Value::Null),
            ),
            (
                RequestKind::ToolCall,
                "acceptForSession",
                elicitation("accept", json!({}), json!({ "persist": "session" })),
            ),
            (
                RequestKind::ToolCall,
                "acceptAlways",
                elicitation("accept", json!({}), json!({ "persist": "always" })),
            ),
            (
                RequestKind::ToolCall,
                "cancel",
                elicitation("cancel", Value::Null, Value::Null),
            ),
            (
                RequestKind::ToolCall,
                "whatever",
                elicitation("decline", Value::Null, Value::Null),
            ),
        ] {
            assert_eq!(
                result_of(&kind, &decision(choice)),
                Ok(expected),
                "{kind:?} {choice}"
            );
        }
    }

    #[test]
    fn a_reply_of_the_other_kind_is_refused_and_nobody_answering_is_passed_on() {
        let answers = Reply::Answers(vec![QuestionAnswer {
            question_id: "db".to_owned(),
            values: vec!["A".to_owned()],
        }]);
        assert!(result_of(&RequestKind::FileChange, &answers).is_err());
        assert!(result_of(&RequestKind::UserInput, &decision("accept")).is_err());
        assert_eq!(
            result_of(&RequestKind::UserInput, &answers),
            Ok(json!({ "answers": { "db": { "answers": ["A"] } } }))
        );
        let dismissed = Reply::Dismissed("nobody".to_owned());
        assert_eq!(
            result_of(&RequestKind::UserInput, &dismissed),
            Ok(json!({ "answers": {} }))
        );
        assert_eq!(
            result_of(&RequestKind::FileChange, &dismissed),
            Ok(json!({ "decision": "decline" }))
        );
    }
}
