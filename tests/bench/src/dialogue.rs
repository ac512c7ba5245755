//! A codex session brought to the middle of an answer, once with the component's types and once with the native ones.
//!
//! Both are generated from the same interface, so one text serves both.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

/// The driver's number for the app-server.
const APP_SERVER: u32 = 1;

/// Most calls until the driver is where it is wanted.
const CALLS_MAX: usize = 32;

/// A line of this many bytes is what the figure is about.
pub(crate) const LINE_BYTES: usize = 300;

/// A piece of an answer, [`LINE_BYTES`] long.
pub(crate) fn delta() -> String {
    let frame = |text: &str| {
        json!({ "method": "item/agentMessage/delta", "params": {
            "threadId": "native-thread", "turnId": "native-turn", "itemId": "native-item", "delta": text,
        }})
        .to_string()
    };
    let rest = LINE_BYTES.saturating_sub(frame("").len());
    frame(
        &"word "
            .repeat(LINE_BYTES)
            .chars()
            .take(rest)
            .collect::<String>(),
    )
}

/// What the app-server answers to a request of the driver, and what it says after that.
fn answers(request: &Value) -> Vec<Value> {
    let id = request.get("id").cloned().unwrap_or_default();
    let reply = |result: Value| json!({ "id": id, "result": result });
    let tell = |method: &str, params: Value| json!({ "method": method, "params": params });
    let turn = json!({ "id": "native-turn" });
    match request.get("method").and_then(Value::as_str) {
        Some("initialize") => vec![reply(
            json!({ "userAgent": "weft/0.171.0 (Linux; x86_64)" }),
        )],
        Some("thread/start") => {
            vec![reply(
                json!({ "thread": { "id": "native-thread" }, "model": "gpt-5.5" }),
            )]
        }
        Some("turn/start") => vec![
            reply(json!({ "turn": turn })),
            tell(
                "turn/started",
                json!({ "threadId": "native-thread", "turn": turn }),
            ),
            tell(
                "item/started",
                json!({ "threadId": "native-thread", "turnId": "native-turn",
                        "item": { "type": "agentMessage", "id": "native-item", "text": "" } }),
            ),
        ],
        _ => Vec::new(),
    }
}

/// Something that takes inputs and gives actions.
pub(crate) trait Guest {
    /// Its inputs.
    type Input;
    /// Its actions.
    type Action;
    /// One call.
    fn call(&mut self, inputs: Vec<Self::Input>) -> anyhow::Result<Vec<Self::Action>>;
}

macro_rules! dialogue {
    ($side:ident, $types:path) => {
        /// The dialogue in one side's types.
        pub(crate) mod $side {
            use types::{
                Action, Event, Input, Limits, Line, LineState, ModelSelection, Modes, OpenThread,
                Output, SessionConfig, StartTurn,
            };
            use $types as types;

            use super::*;

            /// What a session is opened with.
            pub(crate) fn config() -> SessionConfig {
                SessionConfig {
                    purpose: "session".to_owned(),
                    provider_session_id: "session-1".to_owned(),
                    working_folder_path: "/tmp".to_owned(),
                    session_folder_path: "/tmp".to_owned(),
                    secrets: Vec::new(),
                    settings_json: "{}".to_owned(),
                    seed: (1, 2),
                    limits: Limits {
                        line_bytes_max: 1 << 20,
                        actions_max: 4_096,
                        text_bytes_max: 1 << 20,
                        file_bytes_max: 1 << 20,
                        processes_max: 4,
                        timers_max: 64,
                        timer_ms_min: 1,
                        timer_ms_max: 3_600_000,
                    },
                    extra: None,
                }
            }

            /// A line of the app-server.
            pub(crate) fn line(text: &str) -> Input {
                Input::Line(Line {
                    process_id: APP_SERVER,
                    output: Output::Stdout,
                    text: text.to_owned(),
                    state: LineState::Whole,
                })
            }

            /// The pieces of text among actions.
            pub(crate) fn texts(actions: &[Action]) -> usize {
                let is_text = |action: &&Action| matches!(action, Action::Emit(Event::Text(_)));
                actions.iter().filter(is_text).count()
            }

            /// Begins, opens a thread and starts a turn, until the agent has begun to answer.
            pub(crate) fn begin<G: Guest<Input = Input, Action = Action>>(
                guest: &mut G,
            ) -> anyhow::Result<()> {
                let mut actions = guest.call(vec![Input::Begin])?;
                actions.extend(guest.call(vec![open(), start()])?);
                let mut is_answering = false;
                for _ in 0..CALLS_MAX {
                    let mut lines = Vec::new();
                    for action in &actions {
                        match action {
                            Action::Write(write) => {
                                let request =
                                    serde_json::from_str(&write.frame).context("a frame")?;
                                lines.extend(answers(&request));
                            }
                            Action::Emit(Event::Item(_)) => is_answering = true,
                            _ => {}
                        }
                    }
                    if is_answering {
                        return Ok(());
                    }
                    let inputs = lines.iter().map(|said| line(&said.to_string())).collect();
                    actions = guest.call(inputs)?;
                }
                bail!("the driver never came to an answer")
            }

            fn open() -> Input {
                Input::OpenThread(OpenThread {
                    effect_id: "open".to_owned(),
                    thread_id: "thread".to_owned(),
                    native_thread_id: None,
                    workspace_path: "/tmp".to_owned(),
                    model: model(),
                    modes: modes(),
                    mcp: None,
                    extra: None,
                })
            }

            fn start() -> Input {
                Input::StartTurn(StartTurn {
                    effect_id: "start".to_owned(),
                    thread_id: "thread".to_owned(),
                    turn_id: "turn".to_owned(),
                    text: "Write.".to_owned(),
                    attachments: Vec::new(),
                    model: model(),
                    modes: modes(),
                    instructions: None,
                    context_transfer: None,
                    extra: None,
                })
            }

            fn model() -> ModelSelection {
                ModelSelection {
                    model: None,
                    options: Vec::new(),
                }
            }

            fn modes() -> Modes {
                Modes {
                    runtime_mode: "approval-required".to_owned(),
                    interaction_mode: "default".to_owned(),
                }
            }
        }
    };
}

dialogue!(component, drivers::direct::interface);
dialogue!(native, driver_sdk::types);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_size_the_figure_is_about() {
        assert_eq!(delta().len(), LINE_BYTES);
    }
}
