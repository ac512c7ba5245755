//! Errors of Codex as failures with a class, a cause and what to do.
#![forbid(unsafe_code)]

use driver_sdk::failure::{self, Class};
use driver_sdk::jsonrpc::RpcError;
use driver_sdk::types::{ExitCause, Failure};
use serde_json::Value;

use crate::describe::MINIMUM_VERSION;
use crate::views::TurnError;

/// Said where the program may be missing or too old.
pub(crate) fn install_hint() -> String {
    format!(
        "Install Codex {MINIMUM_VERSION} or newer (`npm install -g @openai/codex`) or set the command of this provider instance."
    )
}

const LOGIN_HINT: &str = "Log in with `codex login` as the user that runs the host, or give the instance an OPENAI_API_KEY secret.";

/// Why a turn failed, and what to do.
pub(crate) fn of_turn(error: &TurnError) -> Failure {
    let (word, status) = code_of(error.codex_error_info.as_ref().unwrap_or(&Value::Null));
    let class = class_of(&word, status, &error.message);
    let mut message = said(error);
    if let Some(hint) = hint(class, &word) {
        let dot = if message.ends_with(['.', '!', '?']) {
            ""
        } else {
            "."
        };
        message = format!("{message}{dot} {hint}");
    }
    let code = match status {
        Some(status) => format!("{word}:{status}"),
        None => word,
    };
    if code.is_empty() {
        failure::new(class, &message)
    } else {
        failure::with_code(class, &message, &code)
    }
}

/// What Codex said about an error, with its details.
pub(crate) fn said(error: &TurnError) -> String {
    match error
        .additional_details
        .as_deref()
        .filter(|text| !text.is_empty())
    {
        Some(details) => format!("{} ({details})", error.message),
        None => error.message.clone(),
    }
}

/// The name of a `codexErrorInfo` and the HTTP status in it: a word, or an object with one member.
fn code_of(info: &Value) -> (String, Option<u64>) {
    match info {
        Value::String(word) => (word.clone(), None),
        Value::Object(members) => match members.iter().next() {
            Some((word, detail)) => (
                word.clone(),
                detail.get("httpStatusCode").and_then(Value::as_u64),
            ),
            None => (String::new(), None),
        },
        _ => (String::new(), None),
    }
}

fn class_of(word: &str, status: Option<u64>, message: &str) -> Class {
    match status {
        Some(429) => return Class::UsageLimit,
        Some(401 | 403) => return Class::Permission,
        Some(400 | 404 | 413 | 422) => return Class::Validation,
        Some(500..) => return Class::Provider,
        _ => {}
    }
    match word {
        "usageLimitExceeded" | "rateLimitExceeded" | "sessionBudgetExceeded" => Class::UsageLimit,
        "unauthorized"
        | "cyberPolicy"
        | "bioPolicy"
        | "misalignmentPolicyViolation"
        | "tooManyDenials"
        | "inferenceHookDenied" => Class::Permission,
        "badRequest" | "contextWindowExceeded" | "modelNotFound" => Class::Validation,
        "serverOverloaded"
        | "internalServerError"
        | "flexUnavailable"
        | "policyCapacityUnavailable"
        | "sandboxError"
        | "threadRollbackFailed" => Class::Provider,
        "httpConnectionFailed"
        | "responseStreamConnectionFailed"
        | "responseStreamDisconnected"
        | "responseTooManyFailedAttempts" => Class::Transport,
        _ => class_of_message(message),
    }
}

/// `codexErrorInfo` is `other` for many things; the message then tells them apart.
fn class_of_message(message: &str) -> Class {
    let message = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if says(&[
        "stream disconnected",
        "error sending request",
        "connection refused",
        "timed out",
    ]) {
        Class::Transport
    } else if says(&["not logged in", "unauthorized", "401"]) {
        Class::Permission
    } else if says(&[
        "invalid_request_error",
        "missing environment variable",
        "invalid value",
    ]) {
        Class::Validation
    } else {
        Class::Provider
    }
}

fn hint(class: Class, word: &str) -> Option<&'static str> {
    match (class, word) {
        (Class::UsageLimit, _) => Some("Wait for the limit to reset or use another provider."),
        (Class::Permission, "unauthorized") => Some(LOGIN_HINT),
        (Class::Permission, word) if word.starts_with("http") || word.starts_with("response") => {
            Some(LOGIN_HINT)
        }
        (Class::Validation, "modelNotFound") => Some("Choose a model this account offers."),
        (Class::Validation, "contextWindowExceeded") => {
            Some("Start a new thread or hand over less text.")
        }
        (Class::Transport, _) => Some("Check the network or proxy, then send again."),
        _ => None,
    }
}

/// Why Codex refused a request.
pub(crate) fn of_call(what: &str, error: &RpcError<'_>) -> Failure {
    let message = &error.message;
    let class = if message.contains("no rollout found") {
        Class::Validation
    } else {
        match class_of_message(message) {
            Class::Provider if error.code == -32_600 || error.code == -32_602 => Class::Validation,
            class => class,
        }
    };
    let text = if message.contains("no rollout found") {
        format!("Codex no longer has this conversation ({message}). Start a new thread.")
    } else {
        format!("Codex refused {what}: {message}")
    };
    failure::with_code(class, &text, &error.code.to_string())
}

/// Whether a refusal says that the method does not exist in this version, or not for conversations stored as this one.
pub(crate) fn is_not_offered(error: &RpcError<'_>) -> bool {
    error.code == driver_sdk::jsonrpc::METHOD_NOT_FOUND
        || error.message.contains("unknown variant")
        || error.message.contains("only supports paginated")
}

/// The process ended, or could not start.
pub(crate) fn of_exit(cause: &ExitCause, greeted: bool, tail: Option<&str>, cut: bool) -> Failure {
    let mut message = match cause {
        ExitCause::NotStarted(why) => {
            let message = format!("Codex could not be started: {why}. {}", install_hint());
            return failure::validation(&message);
        }
        ExitCause::Code(code) => format!("`codex app-server` ended with exit code {code}"),
        ExitCause::Signal(signal) => format!("`codex app-server` was ended by signal {signal}"),
    };
    if !greeted {
        message.push_str(" before it answered");
    }
    if cut {
        message.push_str("; its last line was cut off");
    }
    match tail {
        Some(tail) => message.push_str(&format!(". It said: {tail}")),
        None => message.push('.'),
    }
    if greeted {
        message.push_str("\nSend again to go on in a new process.");
    } else {
        message.push_str(&format!(
            "\nRun `codex app-server` by hand to see why. {}",
            install_hint()
        ));
    }
    failure::transport(&message)
}

/// The version is too old.
pub(crate) fn too_old(version: &str) -> Failure {
    failure::with_code(
        Class::Validation,
        &format!(
            "Codex {version} is too old: {MINIMUM_VERSION} or newer is needed. {}",
            install_hint()
        ),
        "version",
    )
}

/// No answer within a named time.
pub(crate) fn silent(what: &str, milliseconds: u32) -> Failure {
    let seconds = milliseconds / 1_000;
    failure::with_code(
        Class::Transport,
        &format!("Codex did not answer {what} within {seconds} s."),
        "timeout",
    )
}

/// Not logged in, as a probe sees it.
pub(crate) fn login_hint() -> &'static str {
    LOGIN_HINT
}

#[cfg(test)]
mod tests {
    use super::{of_call, of_exit, of_turn};
    use crate::views::{TurnError, View};
    use driver_sdk::jsonrpc::RpcError;
    use driver_sdk::types::ExitCause;

    #[test]
    fn turn_errors_have_their_class() {
        for (json, class, code, word) in [
            (
                r#"{"message":"m","codexErrorInfo":"internalServerError"}"#,
                "provider_error",
                Some("internalServerError"),
                "m",
            ),
            (
                r#"{"message":"m","codexErrorInfo":{"responseTooManyFailedAttempts":{"httpStatusCode":429}}}"#,
                "usage_limit",
                Some("responseTooManyFailedAttempts:429"),
                "limit",
            ),
            (
                r#"{"message":"m","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":401}}}"#,
                "permission_error",
                Some("httpConnectionFailed:401"),
                "codex login",
            ),
            (
                r#"{"message":"m","codexErrorInfo":"unauthorized"}"#,
                "permission_error",
                Some("unauthorized"),
                "codex login",
            ),
            (
                r#"{"message":"m","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}}}"#,
                "transport_error",
                Some("responseStreamDisconnected"),
                "network",
            ),
            (
                r#"{"message":"m","codexErrorInfo":"usageLimitExceeded"}"#,
                "usage_limit",
                Some("usageLimitExceeded"),
                "limit",
            ),
            (
                r#"{"message":"m","codexErrorInfo":"contextWindowExceeded"}"#,
                "validation_error",
                Some("contextWindowExceeded"),
                "new thread",
            ),
            (
                r#"{"message":"{\"type\":\"invalid_request_error\"}","codexErrorInfo":"other"}"#,
                "validation_error",
                Some("other"),
                "invalid",
            ),
            (
                r#"{"message":"stream disconnected before completion","codexErrorInfo":"other"}"#,
                "transport_error",
                Some("other"),
                "stream",
            ),
            (
                r#"{"message":"Missing environment variable: `X`.","codexErrorInfo":"other"}"#,
                "validation_error",
                Some("other"),
                "`X`",
            ),
            (
                r#"{"message":"new","codexErrorInfo":{"someNewThing":{"a":1}}}"#,
                "provider_error",
                Some("someNewThing"),
                "new",
            ),
            (
                r#"{"message":"none","codexErrorInfo":null}"#,
                "provider_error",
                None,
                "none",
            ),
        ] {
            let error = TurnError::of(&serde_json::from_str(json).unwrap()).unwrap();
            let failure = of_turn(&error);
            assert_eq!(failure.class, class, "{json}");
            assert_eq!(failure.code.as_deref(), code, "{json}");
            assert!(
                failure.message.contains(word),
                "{json}: {}",
                failure.message
            );
        }
    }

    #[test]
    fn an_end_names_cause_and_remedy() {
        for (cause, greeted, tail, cut, words) in [
            (
                ExitCause::NotStarted("not found".to_owned()),
                false,
                None,
                false,
                &["not found", "npm install", "0.113.0"][..],
            ),
            (
                ExitCause::Code(1),
                false,
                Some("error: unrecognized subcommand"),
                false,
                &[
                    "exit code 1",
                    "before it answered",
                    "unrecognized",
                    "0.113.0",
                ],
            ),
            (
                ExitCause::Code(0),
                true,
                None,
                true,
                &["exit code 0", "cut off", "Send again"],
            ),
            (
                ExitCause::Signal(9),
                true,
                Some("oom"),
                false,
                &["signal 9", "oom"],
            ),
        ] {
            let failure = of_exit(&cause, greeted, tail, cut);
            for word in words {
                assert!(
                    failure.message.contains(word),
                    "{cause:?}: {}",
                    failure.message
                );
            }
        }
    }

    #[test]
    fn refused_requests_are_told_apart() {
        let error = |code, message: &'static str| RpcError {
            code,
            message: message.into(),
        };
        let lost = of_call(
            "thread/resume",
            &error(-32_600, "no rollout found for thread id x"),
        );
        assert_eq!(lost.class, "validation_error");
        assert!(lost.message.contains("new thread"));
        assert_eq!(
            of_call("turn/start", &error(-32_600, "invalid thread id")).class,
            "validation_error"
        );
        assert_eq!(
            of_call("turn/start", &error(-32_603, "boom")).class,
            "provider_error"
        );
    }
}
