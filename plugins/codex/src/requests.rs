//! What Codex asks the host: approvals and questions, and how each answer goes back.
#![forbid(unsafe_code)]

use driver_sdk::clip;
use driver_sdk::failure;
use driver_sdk::jsonrpc::{Dialect, INVALID_PARAMS, METHOD_NOT_FOUND};
use driver_sdk::types::{Answer, Approval, EffectOutcome, Event, Prompt, Request, RequestClosed};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::changes;
use crate::core::Codex;
use crate::limits::{APPROVAL_TITLE_BYTES_MAX, ID_BYTES_MAX, LIST_ENTRIES_MAX};
use crate::questions;
use crate::replies::{RequestKind, elicitation_answer, result_of};
use crate::thread::{OpenItem, ThreadKey};
use crate::views::{Asked, Elicitation, persist_words, view};

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

/// A request as it is shown.
struct Opening {
    kind: RequestKind,
    prompt: Prompt,
    /// Codex stands still until it is answered.
    blocking: bool,
    detail: Value,
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
        let asked: Asked = view(params)?;
        let title = match (&asked.command, &asked.network_approval_context) {
            (Some(command), _) => command.clone(),
            (None, Some(_)) => "Network access".to_owned(),
            (None, None) => "Run a command".to_owned(),
        };
        let amendment = asked.proposed_execpolicy_amendment.clone();
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
            Opening {
                kind: RequestKind::Command { amendment },
                prompt: Prompt::Approval(approval),
                blocking: true,
                detail,
            },
        )
    }

    fn change_asked(&mut self, wire_id: &RawValue, params: Option<&RawValue>) -> Option<()> {
        let asked: Asked = view(params)?;
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
            Opening {
                kind: RequestKind::FileChange,
                prompt: Prompt::Approval(approval),
                blocking: true,
                detail,
            },
        )
    }

    fn permissions_asked(&mut self, wire_id: &RawValue, params: Option<&RawValue>) -> Option<()> {
        let asked: Asked = view(params)?;
        let permissions = asked.permissions.clone()?;
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
            Opening {
                kind,
                prompt: Prompt::Approval(approval),
                blocking: true,
                detail,
            },
        )
    }

    fn input_asked(&mut self, wire_id: &RawValue, params: Option<&RawValue>) -> Option<()> {
        let asked: Asked = view(params)?;
        let unfit = |question: &crate::views::Question| question.id.len() > ID_BYTES_MAX;
        if asked.questions.len() > LIST_ENTRIES_MAX || asked.questions.iter().any(unfit) {
            return None;
        }
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
            Opening {
                kind: RequestKind::UserInput,
                prompt,
                blocking,
                detail,
            },
        )
    }

    fn elicitation_asked(&mut self, wire_id: &RawValue, params: Option<&RawValue>) -> Option<()> {
        let elicitation: Elicitation = view(params)?;
        let key = self.key_of_native(&elicitation.thread_id)?;
        let mut asked = Asked::of_thread(&elicitation.thread_id, elicitation.turn_id.as_deref());
        let meta = elicitation.meta.as_ref();
        let message = elicitation
            .message
            .as_deref()
            .unwrap_or("The MCP server asks something.");
        if let Some(meta) = meta.filter(|meta| meta.codex_approval_kind.is_some()) {
            let persist = persist_words(meta.persist.as_ref());
            let offers = |word: &str| persist.contains(&word);
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
                        && head.server_name.as_deref() == Some(elicitation.server_name.as_str())
                };
                thread
                    .items
                    .iter()
                    .rev()
                    .find(heads)
                    .map(|open| open.native.clone())
            });
            asked.item_id = call;
            let approval = approval("mcp-elicitation", message, None, &choices);
            return self.open_request(
                wire_id,
                &asked,
                Opening {
                    kind: RequestKind::ToolCall,
                    prompt: Prompt::Approval(approval),
                    blocking: true,
                    detail,
                },
            );
        }
        let form = match elicitation.mode.as_deref() {
            Some("form" | "openai/form" | "openaiForm") => {
                questions::of_form(message, elicitation.requested_schema.as_ref())
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
            Opening {
                kind: RequestKind::Form(fields),
                prompt: Prompt::Questions(questions),
                blocking: true,
                detail,
            },
        )
    }

    fn open_request(&mut self, wire_id: &RawValue, asked: &Asked, opening: Opening) -> Option<()> {
        let request_id = format!("request-{}", self.next_request);
        let detail_json = self.body(&opening.detail);
        let prompt = self.fitting(opening.prompt);
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
            blocking: opening.blocking,
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
            kind: opening.kind,
        });
        self.out.emit(Event::Request(request));
        Some(())
    }

    /// The prompt with every text within the host's bound: a model writes them.
    fn fitting(&self, prompt: Prompt) -> Prompt {
        let Prompt::Questions(mut questions) = prompt else {
            return prompt;
        };
        let bytes_max = self.out.text_bytes_max();
        let cut = |text: &mut String| {
            if text.len() > bytes_max {
                *text = clip::shortened(text, bytes_max);
            }
        };
        for question in &mut questions {
            cut(&mut question.header);
            cut(&mut question.text);
            question.options.truncate(LIST_ENTRIES_MAX);
            for option in &mut question.options {
                cut(&mut option.label);
                cut(&mut option.value);
                option.description.iter_mut().for_each(cut);
            }
        }
        Prompt::Questions(questions)
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
    pub(crate) fn request_resolved(&mut self, wire_id: &Value) {
        // Numbers and strings are written the same by both sides.
        let wire_id = wire_id.to_string();
        let position = self
            .requests
            .iter()
            .position(|open| open.wire_id == wire_id);
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

impl Asked {
    /// What an elicitation shares with the other requests.
    fn of_thread(thread_id: &str, turn_id: Option<&str>) -> Self {
        Self {
            thread_id: thread_id.to_owned(),
            turn_id: turn_id.map(str::to_owned),
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
