use std::time::Duration;

use serde_json::{Value, json};

use crate::limits::usage;
use crate::pieces;
use crate::server::Ids;
use crate::sse::{ClientGone, End, Events};

/// What is sent for one step.
#[derive(Debug)]
pub(crate) enum Play {
    Message {
        reasoning: Option<String>,
        text: String,
    },
    Slow {
        chunks: u64,
        pause: Duration,
    },
    Call(Call),
    Cut,
    Hang,
}

/// A tool call; without a namespace it is one of the client's own tools.
#[derive(Debug)]
pub(crate) enum Call {
    Function {
        namespace: Option<String>,
        name: String,
        arguments: String,
    },
    Custom {
        namespace: Option<String>,
        name: String,
        input: String,
    },
}

/// Text that a `cut` sends before it breaks off.
const CUT_TEXT: &str = "This answer breaks off";

/// Writes one response.
pub(crate) async fn write(
    events: &Events,
    ids: &Ids,
    model: &str,
    play: Play,
) -> Result<End, ClientGone> {
    let mut writer = Writer {
        events,
        ids,
        output: Vec::new(),
        sequence: 0,
    };
    let response = json!({
        "id": ids.next("resp"), "object": "response", "status": "in_progress", "model": model, "output": [],
    });
    writer
        .send("response.created", json!({ "response": response }))
        .await?;
    let mut reasoning_tokens = 0;
    match play {
        Play::Message { reasoning, text } => {
            if let Some(reasoning) = reasoning {
                writer.reasoning(&reasoning).await?;
                reasoning_tokens = usage::REASONING;
            }
            let item = writer.open_message().await?;
            for piece in pieces::of_text(&text) {
                writer.text(&item, &piece).await?;
            }
            writer.close_message(&item, &text).await?;
        }
        Play::Slow { chunks, pause } => {
            let item = writer.open_message().await?;
            let mut text = String::new();
            for number in 1..=chunks {
                let piece = pieces::of_slow(number);
                writer.text(&item, &piece).await?;
                text.push_str(&piece);
                events.pause(pause).await?;
            }
            writer.close_message(&item, &text).await?;
        }
        Play::Call(call) => writer.call(call).await?,
        Play::Cut => {
            let item = writer.open_message().await?;
            writer.text(&item, CUT_TEXT).await?;
            return Ok(End::Cut);
        }
        Play::Hang => match events.hang().await? {},
    }
    writer.completed(response, reasoning_tokens).await?;
    Ok(End::Completed)
}

/// The items of one response as they grow.
struct Writer<'a> {
    events: &'a Events,
    ids: &'a Ids,
    /// Items that are done.
    output: Vec<Value>,
    sequence: u64,
}

impl Writer<'_> {
    /// Sends an event; its type stands in its data too.
    async fn send(&mut self, kind: &str, mut data: Value) -> Result<(), ClientGone> {
        if let Value::Object(fields) = &mut data {
            fields.insert("type".to_owned(), kind.into());
            fields.insert("sequence_number".to_owned(), self.sequence.into());
        }
        self.sequence += 1;
        self.events.send(kind, &data).await
    }

    async fn added(&mut self, item: Value) -> Result<(), ClientGone> {
        let index = self.output.len();
        self.send(
            "response.output_item.added",
            json!({"output_index": index, "item": item}),
        )
        .await
    }

    async fn done(&mut self, item: Value) -> Result<(), ClientGone> {
        let index = self.output.len();
        let data = json!({"output_index": index, "item": item});
        self.output.push(item);
        self.send("response.output_item.done", data).await
    }

    async fn reasoning(&mut self, text: &str) -> Result<(), ClientGone> {
        let id = self.ids.next("rs");
        let place = json!({"item_id": id, "output_index": self.output.len(), "summary_index": 0});
        let with = |name: &str, value: Value| merge(&place, name, value);
        let part = json!({"type": "summary_text", "text": ""});
        let added = with("part", part);
        self.added(json!({"type": "reasoning", "id": id, "summary": []}))
            .await?;
        self.send("response.reasoning_summary_part.added", added)
            .await?;
        for piece in pieces::of_text(text) {
            let delta = with("delta", piece.into());
            self.send("response.reasoning_summary_text.delta", delta)
                .await?;
        }
        let whole = with("text", text.into());
        self.send("response.reasoning_summary_text.done", whole)
            .await?;
        let summary = json!([{"type": "summary_text", "text": text}]);
        self.done(json!({"type": "reasoning", "id": id, "summary": summary}))
            .await
    }

    /// Opens a message and returns its id.
    async fn open_message(&mut self) -> Result<String, ClientGone> {
        let id = self.ids.next("msg");
        self.added(message(&id, "in_progress", &[])).await?;
        let data = self.at_content(&id, "part", output_text(""));
        self.send("response.content_part.added", data).await?;
        Ok(id)
    }

    async fn text(&mut self, id: &str, piece: &str) -> Result<(), ClientGone> {
        let data = self.at_content(id, "delta", piece.into());
        self.send("response.output_text.delta", data).await
    }

    async fn close_message(&mut self, id: &str, text: &str) -> Result<(), ClientGone> {
        let whole = self.at_content(id, "text", text.into());
        self.send("response.output_text.done", whole).await?;
        let part = self.at_content(id, "part", output_text(text));
        self.send("response.content_part.done", part).await?;
        self.done(message(id, "completed", &[output_text(text)]))
            .await
    }

    fn at_content(&self, id: &str, name: &str, value: Value) -> Value {
        let index = self.output.len();
        merge(
            &json!({"item_id": id, "output_index": index, "content_index": 0}),
            name,
            value,
        )
    }

    async fn call(&mut self, call: Call) -> Result<(), ClientGone> {
        let call_id = self.ids.next("call");
        let (kind, prefix, events, namespace, name, field, input) = match call {
            Call::Function {
                namespace,
                name,
                arguments,
            } => {
                let events = "response.function_call_arguments";
                (
                    "function_call",
                    "fc",
                    events,
                    namespace,
                    name,
                    "arguments",
                    arguments,
                )
            }
            Call::Custom {
                namespace,
                name,
                input,
            } => {
                let events = "response.custom_tool_call_input";
                (
                    "custom_tool_call",
                    "ctc",
                    events,
                    namespace,
                    name,
                    "input",
                    input,
                )
            }
        };
        let id = self.ids.next(prefix);
        let index = self.output.len();
        let mut item = json!({"type": kind, "id": id, "call_id": call_id, "name": name});
        if let Some(namespace) = namespace {
            item = merge(&item, "namespace", namespace.into());
        }
        let open = merge(
            &merge(&item, field, "".into()),
            "status",
            "in_progress".into(),
        );
        self.added(open).await?;
        let place = json!({"item_id": id, "output_index": index});
        let delta = merge(&place, "delta", input.clone().into());
        self.send(&format!("{events}.delta"), delta).await?;
        let whole = merge(&place, field, input.clone().into());
        self.send(&format!("{events}.done"), whole).await?;
        self.done(merge(
            &merge(&item, field, input.into()),
            "status",
            "completed".into(),
        ))
        .await
    }

    async fn completed(&mut self, response: Value, reasoning: u64) -> Result<(), ClientGone> {
        let usage = json!({
            "input_tokens": usage::INPUT,
            "input_tokens_details": {"cached_tokens": usage::CACHED},
            "output_tokens": usage::OUTPUT,
            "output_tokens_details": {"reasoning_tokens": reasoning},
            "total_tokens": usage::INPUT + usage::OUTPUT,
        });
        let output = Value::Array(std::mem::take(&mut self.output));
        let response = merge(&response, "status", "completed".into());
        let response = merge(&merge(&response, "output", output), "usage", usage);
        self.send("response.completed", json!({ "response": response }))
            .await
    }
}

fn message(id: &str, status: &str, content: &[Value]) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": content})
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

/// An object with one more field.
fn merge(object: &Value, name: &str, value: Value) -> Value {
    let mut object = object.clone();
    if let Value::Object(fields) = &mut object {
        fields.insert(name.to_owned(), value);
    }
    object
}
