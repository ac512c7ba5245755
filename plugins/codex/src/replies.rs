//! Replies of the host in Codex's words.
#![forbid(unsafe_code)]

use driver_sdk::types::{Decision, Reply};
use serde_json::{Value, json};

use crate::questions::{self, FormField};

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

/// The `result` a reply becomes, or why it does not fit the request.
pub(crate) fn result_of(kind: &RequestKind, reply: &Reply) -> Result<Value, String> {
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

/// The result of `mcpServer/elicitation/request`.
pub(crate) fn elicitation_answer(action: &str, content: &Value, meta: &Value) -> Value {
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
