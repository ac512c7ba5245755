//! What the tests share: inputs, the translation of a recorded client, and events as short lines.
#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "test code: what is not as expected stops the test"
)]

use driver_codex::Codex;
use driver_sdk::harness::{Recorded, Replay, session_config};
use driver_sdk::types::*;
use serde_json::{Value, json};

pub(crate) const APP: u32 = 1;
pub(crate) const NATIVE: &str = "native-1";

pub(crate) fn modes(runtime_mode: &str, interaction_mode: &str) -> Modes {
    Modes {
        runtime_mode: runtime_mode.to_owned(),
        interaction_mode: interaction_mode.to_owned(),
    }
}

pub(crate) fn no_model() -> ModelSelection {
    ModelSelection {
        model: None,
        options: Vec::new(),
    }
}

pub(crate) fn endpoint() -> McpEndpoint {
    McpEndpoint {
        server_name: "t3-code".to_owned(),
        url: "http://127.0.0.1:18081/mcp".to_owned(),
        protocol_version: "2025-06-18".to_owned(),
        authorization: "{{mcp:1}}".to_owned(),
        call_ms_max: 840_000,
        tools: Vec::new(),
    }
}

pub(crate) fn open(thread_id: &str, native: Option<&str>, mcp: Option<McpEndpoint>) -> Input {
    Input::OpenThread(OpenThread {
        effect_id: format!("open-{thread_id}"),
        thread_id: thread_id.to_owned(),
        native_thread_id: native.map(str::to_owned),
        workspace_path: "/home/dev/project".to_owned(),
        model: no_model(),
        modes: modes("approval-required", "default"),
        mcp,
        extra: None,
    })
}

pub(crate) fn start(thread_id: &str, turn_id: &str) -> StartTurn {
    StartTurn {
        effect_id: format!("start-{turn_id}"),
        thread_id: thread_id.to_owned(),
        turn_id: turn_id.to_owned(),
        text: "do it".to_owned(),
        attachments: Vec::new(),
        model: no_model(),
        modes: modes("approval-required", "default"),
        instructions: None,
        context_transfer: None,
        extra: None,
    }
}

pub(crate) fn interrupt(turn_id: &str, background: &str) -> Input {
    Input::Interrupt(Interrupt {
        effect_id: format!("interrupt-{turn_id}"),
        turn_id: turn_id.to_owned(),
        reason: "stop".to_owned(),
        background: background.to_owned(),
        extra: None,
    })
}

pub(crate) fn steer(turn_id: &str, number: usize) -> Input {
    Input::Steer(Steer {
        effect_id: format!("steer-{number}"),
        turn_id: turn_id.to_owned(),
        text: "also this".to_owned(),
        attachments: Vec::new(),
        extra: None,
    })
}

pub(crate) fn answer(request_id: &str, reply: Reply) -> Input {
    Input::Answer(Answer {
        effect_id: format!("answer-{request_id}"),
        request_id: request_id.to_owned(),
        reply,
        extra: None,
    })
}

pub(crate) fn decision(choice: &str) -> Reply {
    Reply::Decision(Decision {
        choice: choice.to_owned(),
        message: None,
        option_id: None,
    })
}

/// A session whose process greeted.
pub(crate) fn greeted(settings: &Value) -> Replay<Codex> {
    let mut session = Replay::begin(session_config("session", settings)).unwrap();
    reply(
        &mut session,
        "initialize",
        json!({ "userAgent": "weft/0.171.0 (Linux; x86_64)" }),
    );
    session
}

/// A session with the thread `T`, called [`NATIVE`], and no MCP server.
pub(crate) fn opened() -> Replay<Codex> {
    let mut session = greeted(&json!({}));
    session.give(vec![open("T", None, None)]).unwrap();
    reply(
        &mut session,
        "thread/start",
        json!({ "thread": { "id": NATIVE }, "model": "gpt-5.5" }),
    );
    session
}

/// The same with the turn `1`, called `native-turn-1`, running.
pub(crate) fn running() -> Replay<Codex> {
    let mut session = opened();
    session
        .give(vec![Input::StartTurn(start("T", "1"))])
        .unwrap();
    reply(
        &mut session,
        "turn/start",
        json!({ "turn": { "id": "native-turn-1" } }),
    );
    session
}

/// Answers the driver's oldest open request of `method`.
pub(crate) fn reply(session: &mut Replay<Codex>, method: &str, result: Value) {
    let id = session
        .take_asked(method)
        .unwrap_or_else(|| panic!("nobody asked {method}"));
    say(session, &json!({ "id": id, "result": result }));
}

/// Refuses the driver's oldest open request of `method`.
pub(crate) fn refuse(session: &mut Replay<Codex>, method: &str, message: &str) {
    let id = session
        .take_asked(method)
        .unwrap_or_else(|| panic!("nobody asked {method}"));
    say(
        session,
        &json!({ "id": id, "error": { "code": -32600, "message": message } }),
    );
}

/// A frame of the agent.
pub(crate) fn say(session: &mut Replay<Codex>, frame: &Value) {
    session
        .give(vec![driver_sdk::harness::stdout(APP, &frame.to_string())])
        .unwrap();
}

/// A notification of the agent about the running turn.
pub(crate) fn tell(session: &mut Replay<Codex>, method: &str, params: Value) {
    let mut params = params;
    let object = params.as_object_mut().unwrap();
    object.entry("threadId").or_insert(json!(NATIVE));
    object.entry("turnId").or_insert(json!("native-turn-1"));
    say(session, &json!({ "method": method, "params": params }));
}

/// `turn/completed` of the running turn.
pub(crate) fn complete(session: &mut Replay<Codex>, status: &str, error: Value) {
    let turn = json!({ "id": "native-turn-1", "status": status, "error": error });
    tell(session, "turn/completed", json!({ "turn": turn }));
}

/// The last frame the driver wrote.
pub(crate) fn last_frame(session: &Replay<Codex>) -> Value {
    serde_json::from_str(session.frames().last().unwrap()).unwrap()
}

/// Ids of timers that run, oldest first.
pub(crate) fn running_timers(session: &Replay<Codex>) -> Vec<(u32, u32)> {
    let mut timers: Vec<(u32, u32)> = Vec::new();
    for action in &session.actions {
        match action {
            Action::SetTimer(timer) => timers.push((timer.timer_id, timer.delay_ms)),
            Action::ClearTimer(timer_id) => timers.retain(|(id, _)| id != timer_id),
            _ => {}
        }
    }
    timers
}

/// Lets the running timer that was set for `delay_ms` run out.
pub(crate) fn run_out(session: &mut Replay<Codex>, delay_ms: u32) {
    let timers = running_timers(session);
    let found = timers.iter().find(|(_, delay)| *delay == delay_ms);
    let (timer_id, _) = *found.unwrap_or_else(|| panic!("no timer of {delay_ms} ms: {timers:?}"));
    // It no longer runs, whatever the driver does about it.
    session.actions.push(Action::ClearTimer(timer_id));
    session.give(vec![Input::Timer(timer_id)]).unwrap();
}

/// Events as short lines, without native ids.
pub(crate) fn lines<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for event in events {
        let line = line(event);
        // Pieces of one item in a row are one line, so that the cutting does not matter.
        if let (Event::Text(text), Some(last)) = (event, lines.last_mut()) {
            let head = format!("text {} ", text.item_id);
            if last.starts_with(&head) {
                let joined = format!(
                    "{}{}",
                    last.trim_end_matches('"'),
                    quoted(&text.appended).trim_start_matches('"')
                );
                *last = joined;
                continue;
            }
        }
        lines.push(line);
    }
    lines
}

fn quoted(text: &str) -> String {
    json!(text).to_string()
}

pub(crate) fn line(event: &Event) -> String {
    match event {
        Event::Snapshot(s) => format!(
            "snapshot {} {:?} {} {} models={} reason={:?}",
            s.installation,
            s.version,
            s.authentication,
            s.status,
            s.models.len(),
            s.reason
        ),
        Event::ThreadReady(ready) => {
            format!(
                "thread-ready {} model={:?} resumable={}",
                ready.thread_id, ready.model, ready.resumable
            )
        }
        Event::TurnStarted(turn) => format!("turn-started {}", turn.turn_id),
        Event::TurnEnded(turn) => {
            format!(
                "turn-ended {} {} {}",
                turn.turn_id,
                outcome(&turn.outcome),
                turn.native_thread_state
            )
        }
        Event::EffectEnded(effect) => format!(
            "effect-ended {} {}",
            effect.effect_id,
            effect_outcome(&effect.outcome)
        ),
        Event::Item(item) => item_line(item),
        Event::Text(text) => format!("text {} {}", text.item_id, quoted(&text.appended)),
        Event::Request(request) => format!(
            "request {} turn={:?} item={:?} blocking={} {}",
            request.request_id,
            request.turn_id,
            request.item_id,
            request.blocking,
            prompt(&request.prompt)
        ),
        Event::RequestClosed(closed) => {
            format!("request-closed {} {}", closed.request_id, closed.reason)
        }
        Event::Usage(usage) => format!(
            "usage {} in={} cached={} out={} reasoning={} context={:?}/{:?}",
            usage.turn_id,
            usage.input_tokens,
            usage.cached_input_tokens,
            usage.output_tokens,
            usage.reasoning_tokens,
            usage.context_tokens,
            usage.context_tokens_max
        ),
        Event::Background(background) => {
            let tasks: Vec<_> = background
                .tasks
                .iter()
                .map(|task| task.task_id.as_str())
                .collect();
            format!("background {} {tasks:?}", background.thread_id)
        }
        Event::SessionEnded(ended) => match &ended.failure {
            None => "session-ended".to_owned(),
            Some(failure) => format!(
                "session-ended {}: {}",
                failure.class,
                quoted(&failure.message)
            ),
        },
        Event::Extension(extension) => format!("extension {}", extension.name),
    }
}

fn item_line(item: &Item) -> String {
    let mut line = format!("item {} {} {:?}", item.item_id, item.kind, item.status)
        .replace("ItemStatus::", "");
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            line.push_str(&format!(" {name}={value}"));
        }
    };
    add("turn", item.turn_id.clone());
    add("title", item.title.as_deref().map(quoted));
    add("text", item.text.as_deref().map(quoted));
    add("server", item.head.server_name.clone());
    add("path", item.head.path.clone());
    add("exit", item.head.exit_code.map(|code| code.to_string()));
    add(
        "added",
        item.head.lines_added.map(|lines| lines.to_string()),
    );
    add(
        "removed",
        item.head.lines_removed.map(|lines| lines.to_string()),
    );
    line
}

pub(crate) fn outcome(outcome: &TurnOutcome) -> String {
    match outcome {
        TurnOutcome::Completed => "completed".to_owned(),
        TurnOutcome::Interrupted => "interrupted".to_owned(),
        TurnOutcome::Failed(failure) => {
            format!("failed {}: {}", failure.class, quoted(&failure.message))
        }
    }
}

fn effect_outcome(outcome: &EffectOutcome) -> String {
    match outcome {
        EffectOutcome::Done => "done".to_owned(),
        EffectOutcome::Forked(native) => format!("forked {native}"),
        EffectOutcome::Refused(failure) => {
            format!("refused {}: {}", failure.class, quoted(&failure.message))
        }
        EffectOutcome::Failed(failure) => {
            format!("failed {}: {}", failure.class, quoted(&failure.message))
        }
    }
}

fn prompt(prompt: &Prompt) -> String {
    match prompt {
        Prompt::Approval(a) => {
            format!(
                "{} {} reason={:?} choices={}",
                a.kind,
                quoted(&a.title),
                a.reason,
                a.choices.join(",")
            )
        }
        Prompt::Questions(questions) => questions
            .iter()
            .map(|q| {
                let options: Vec<_> = q
                    .options
                    .iter()
                    .map(|option| option.value.as_str())
                    .collect();
                format!(
                    "question {} {} {options:?} custom={}",
                    q.question_id,
                    quoted(&q.text),
                    q.custom_answer
                )
            })
            .collect::<Vec<_>>()
            .join("; "),
    }
}

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
