//! A recorded client as the host inputs it stands for.

use driver_sdk::harness::Recorded;
use driver_sdk::types::*;
use serde_json::Value;

use crate::common::*;

/// A recorded client as host inputs.
#[derive(Debug, Default)]
pub(crate) struct Translation {
    pub(crate) mcp: Option<McpEndpoint>,
    threads: Vec<String>,
    turns: usize,
    steers: usize,
    answered: usize,
}

impl Translation {
    pub(crate) fn new(mcp: Option<McpEndpoint>) -> Self {
        Self {
            mcp,
            ..Self::default()
        }
    }

    pub(crate) fn inputs(&mut self, recorded: &Recorded, actions: &[Action]) -> Vec<Input> {
        match recorded {
            Recorded::Request { method, params, .. } => self.request(method, params, actions),
            Recorded::Answer { body, .. } => self.answer(body, actions),
            _ => Vec::new(),
        }
    }

    fn request(&mut self, method: &str, params: &Value, actions: &[Action]) -> Vec<Input> {
        let text = |name: &str| params.get(name).and_then(Value::as_str);
        match method {
            "thread/start" | "thread/resume" => {
                let host = format!("T{}", self.threads.len() + 1);
                self.threads.push(host.clone());
                let mut input = open(&host, text("threadId"), self.mcp.clone());
                if let Input::OpenThread(open) = &mut input {
                    open.modes.runtime_mode = runtime_mode(text("sandbox"));
                }
                vec![input]
            }
            "turn/start" if !known(actions, text("threadId")) => Vec::new(),
            "turn/start" => {
                self.turns += 1;
                let thread = self.threads.first().cloned().unwrap_or_default();
                let mut start = start(&thread, &self.turns.to_string());
                let plan = params
                    .pointer("/collaborationMode/mode")
                    .and_then(Value::as_str);
                start.modes = modes("auto-accept-edits", plan.unwrap_or("default"));
                vec![Input::StartTurn(start)]
            }
            "turn/steer" => {
                self.steers += 1;
                vec![steer(&self.turns.to_string(), self.steers)]
            }
            "turn/interrupt" => vec![interrupt(&self.turns.to_string(), "keep")],
            _ => Vec::new(),
        }
    }

    /// The recorded client answered in the order it was asked.
    fn answer(&mut self, body: &Value, actions: &[Action]) -> Vec<Input> {
        let mut asked = actions.iter().filter_map(|action| match action {
            Action::Emit(Event::Request(request)) => Some(request.request_id.clone()),
            _ => None,
        });
        let Some(request_id) = asked.nth(self.answered) else {
            return Vec::new();
        };
        self.answered += 1;
        vec![answer(&request_id, recorded_reply(body))]
    }
}

fn recorded_reply(body: &Value) -> Reply {
    if let Some(answers) = body.get("answers").and_then(Value::as_object) {
        let answers = answers.iter().map(|(id, answer)| QuestionAnswer {
            question_id: id.clone(),
            values: answer["answers"]
                .as_array()
                .unwrap()
                .iter()
                .map(|v| v.as_str().unwrap().to_owned())
                .collect(),
        });
        return Reply::Answers(answers.collect());
    }
    let word = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    let choice = match (
        word("/decision").or(word("/action")),
        word("/_meta/persist"),
    ) {
        (Some("accept"), Some("session")) => "acceptForSession",
        (Some(choice), _) => choice,
        (None, _) => "decline",
    };
    decision(choice)
}

/// The driver holds the thread the recorded client starts a turn on.
fn known(actions: &[Action], native: Option<&str>) -> bool {
    actions.iter().any(|action| match action {
        Action::Emit(Event::ThreadReady(ready)) => Some(ready.native_thread_id.as_str()) == native,
        _ => false,
    })
}

fn runtime_mode(sandbox: Option<&str>) -> String {
    match sandbox {
        Some("danger-full-access") => "full-access",
        Some("workspace-write") => "auto-accept-edits",
        _ => "approval-required",
    }
    .to_owned()
}
