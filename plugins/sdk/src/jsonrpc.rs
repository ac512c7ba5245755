//! JSON-RPC over lines: telling frames apart, writing them, and remembering what was asked.
//!
//! Reading borrows from the line. A frame is split once; only the part a driver needs is parsed again into its own type,
//! so a streamed delta never becomes a tree.
#![forbid(unsafe_code)]

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A method the peer does not have, as JSON-RPC numbers it.
pub const METHOD_NOT_FOUND: i64 = -32_601;

/// A request whose parameters cannot be used, as JSON-RPC numbers it.
pub const INVALID_PARAMS: i64 = -32_602;

/// Whether frames carry the `jsonrpc` member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Without it, as Codex speaks.
    Bare,
    /// With `"jsonrpc":"2.0"`, as the specification says.
    Tagged,
}

/// One frame from the peer.
#[derive(Debug)]
pub enum Frame<'a> {
    /// It wants an answer. `id` is kept as it was written: both sides number from 0, and an id may be a string.
    Request {
        id: &'a RawValue,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// It tells something.
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// It answers. `id` is `None` where it is not a number this side could have used.
    Response {
        id: Option<u64>,
        outcome: Result<&'a RawValue, RpcError<'a>>,
    },
}

/// The error member of a response.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RpcError<'a> {
    #[serde(default)]
    pub code: i64,
    #[serde(borrow, default)]
    pub message: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<RpcError<'a>>,
}

/// Reads one line. `None`: it is no frame (not JSON, not an object, or neither a call nor an answer).
///
/// A call is told from an answer by the presence of `method`, never by the id: the two sides' ids overlap.
#[must_use]
pub fn parse(line: &str) -> Option<Frame<'_>> {
    let envelope: Envelope<'_> = serde_json::from_str(line).ok()?;
    match (envelope.method, envelope.id) {
        (Some(method), Some(id)) => Some(Frame::Request {
            id,
            method,
            params: envelope.params,
        }),
        (Some(method), None) => Some(Frame::Notification {
            method,
            params: envelope.params,
        }),
        (None, Some(id)) => {
            let outcome = match (envelope.error, envelope.result) {
                (Some(error), _) => Err(error),
                (None, Some(result)) => Ok(result),
                (None, None) => return None,
            };
            Some(Frame::Response {
                id: id.get().parse().ok(),
                outcome,
            })
        }
        (None, None) => None,
    }
}

impl Dialect {
    fn frame(self, members: &[(&str, &str)]) -> String {
        let mut text = String::from("{");
        if self == Self::Tagged {
            text.push_str("\"jsonrpc\":\"2.0\"");
        }
        for (name, json) in members {
            if text.len() > 1 {
                text.push(',');
            }
            text.push('"');
            text.push_str(name);
            text.push_str("\":");
            text.push_str(json);
        }
        text.push('}');
        text
    }

    /// A call that wants an answer.
    #[must_use]
    pub fn request(self, id: u64, method: &str, params: &Value) -> String {
        let method = Value::from(method).to_string();
        self.frame(&[
            ("id", &id.to_string()),
            ("method", &method),
            ("params", &params.to_string()),
        ])
    }

    /// A call that wants none.
    #[must_use]
    pub fn notification(self, method: &str, params: Option<&Value>) -> String {
        let method = Value::from(method).to_string();
        match params {
            Some(params) => self.frame(&[("method", &method), ("params", &params.to_string())]),
            None => self.frame(&[("method", &method)]),
        }
    }

    /// The answer to the peer's request `id`, given as it was written.
    #[must_use]
    pub fn reply(self, id: &str, result: &Value) -> String {
        self.frame(&[("id", id), ("result", &result.to_string())])
    }

    /// The refusal of the peer's request `id`.
    #[must_use]
    pub fn refuse(self, id: &str, code: i64, message: &str) -> String {
        let error = serde_json::json!({ "code": code, "message": message });
        self.frame(&[("id", id), ("error", &error.to_string())])
    }
}

/// Requests sent and not yet answered, each with what the driver wants to know when the answer comes.
#[derive(Debug)]
pub struct Calls<T> {
    next_id: u64,
    open: Vec<(u64, T)>,
}

impl<T> Default for Calls<T> {
    fn default() -> Self {
        Self {
            next_id: 1,
            open: Vec::new(),
        }
    }
}

impl<T> Calls<T> {
    /// Takes the next id and keeps `call` until [`Self::end`].
    pub fn begin(&mut self, call: T) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.open.push((id, call));
        id
    }

    /// The call that `id` answers. `None`: nobody asked, or it was answered before.
    pub fn end(&mut self, id: u64) -> Option<T> {
        let position = self.open.iter().position(|(open, _)| *open == id)?;
        Some(self.open.remove(position).1)
    }

    /// Gives up every open call, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        std::mem::take(&mut self.open)
            .into_iter()
            .map(|(_, call)| call)
    }

    /// Calls that wait for an answer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{Calls, Dialect, Frame, parse};
    use serde_json::json;

    #[test]
    fn frames_are_told_apart_by_method_and_id() {
        let request = parse(r#"{"method":"ask","id":0,"params":{"a":1}}"#);
        assert!(matches!(request, Some(Frame::Request { id, .. }) if id.get() == "0"));
        let request = parse(r#"{"method":"ask","id":"x"}"#);
        assert!(matches!(request, Some(Frame::Request { id, .. }) if id.get() == "\"x\""));
        let told = parse(r#"{"method":"tell","params":{},"emittedAtMs":5}"#);
        assert!(matches!(told, Some(Frame::Notification { method, .. }) if method == "tell"));
        let answer = parse(r#"{"id":3,"result":{}}"#);
        assert!(matches!(
            answer,
            Some(Frame::Response {
                id: Some(3),
                outcome: Ok(_)
            })
        ));
        let error = parse(r#"{"error":{"code":-1,"message":"no \"such\""},"id":4}"#);
        let Some(Frame::Response {
            id: Some(4),
            outcome: Err(error),
        }) = error
        else {
            panic!("not an error response");
        };
        assert_eq!((error.code, error.message.as_ref()), (-1, "no \"such\""));
    }

    #[test]
    fn what_is_no_frame_is_none() {
        for line in [
            "",
            "hello",
            "[1]",
            "7",
            "{}",
            r#"{"id":1}"#,
            r#"{"method":"#,
            "null",
            "\"x\"",
        ] {
            assert!(parse(line).is_none(), "{line:?}");
        }
    }

    #[test]
    fn written_frames_follow_the_dialect() {
        let bare = Dialect::Bare.request(1, "a/b", &json!({}));
        assert_eq!(bare, r#"{"id":1,"method":"a/b","params":{}}"#);
        let tagged = Dialect::Tagged.notification("n", None);
        assert_eq!(tagged, r#"{"jsonrpc":"2.0","method":"n"}"#);
        assert_eq!(
            Dialect::Bare.reply("\"x\"", &json!(1)),
            r#"{"id":"x","result":1}"#
        );
        let refusal = Dialect::Bare.refuse("0", -32601, "no");
        assert_eq!(
            refusal,
            r#"{"id":0,"error":{"code":-32601,"message":"no"}}"#
        );
    }

    #[test]
    fn a_call_is_answered_once() {
        let mut calls = Calls::default();
        let first = calls.begin("first");
        let second = calls.begin("second");
        assert_eq!(calls.end(second), Some("second"));
        assert_eq!(calls.end(second), None);
        assert_eq!(calls.drain().collect::<Vec<_>>(), ["first"]);
        assert_eq!(calls.end(first), None);
    }
}
