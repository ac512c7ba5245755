//! What the tests share: inputs, sessions at a given point, and frames of the agent.

use crate::show::lines;
use driver_codex::Codex;
use driver_sdk::harness::{Replay, session_config};
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

/// Codex takes the turn `1`, calls it `native-turn-1`, and begins to work on it.
pub(crate) fn begin_turn(session: &mut Replay<Codex>) {
    reply(
        session,
        "turn/start",
        json!({ "turn": { "id": "native-turn-1" } }),
    );
    tell(
        session,
        "turn/started",
        json!({ "turn": { "id": "native-turn-1" } }),
    );
}

/// The same with the turn `1`, called `native-turn-1`, running.
pub(crate) fn running() -> Replay<Codex> {
    let mut session = opened();
    session
        .give(vec![Input::StartTurn(start("T", "1"))])
        .unwrap();
    begin_turn(&mut session);
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

/// Lines of the events from number `from` on.
pub(crate) fn tail(session: &Replay<Codex>, from: usize) -> Vec<String> {
    lines(session.events()).split_off(from)
}

/// How many lines of events there are.
pub(crate) fn count(session: &Replay<Codex>) -> usize {
    lines(session.events()).len()
}

/// Frames of a method, oldest first.
pub(crate) fn sent(session: &Replay<Codex>, method: &str) -> Vec<Value> {
    session
        .frames()
        .map(|frame| serde_json::from_str::<Value>(frame).unwrap())
        .filter(|frame| frame["method"] == method)
        .collect()
}

/// A report about an MCP server.
pub(crate) fn mcp_status(session: &mut Replay<Codex>, native: Value, name: &str, status: &str) {
    let params = json!({ "threadId": native, "name": name, "status": status, "error": "no route" });
    say(
        session,
        &json!({ "method": "mcpServer/startupStatus/updated", "params": params }),
    );
}

/// A first turn with instructions and a hand-over.
pub(crate) fn instructed(thread_id: &str, turn_id: &str) -> Input {
    Input::StartTurn(StartTurn {
        instructions: Some("INSTRUCTIONS".to_owned()),
        context_transfer: Some("CONTEXT".to_owned()),
        ..start(thread_id, turn_id)
    })
}

/// Texts of the input of a turn.
pub(crate) fn texts(frame: &Value) -> Vec<&str> {
    frame["params"]["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["text"].as_str().unwrap())
        .collect()
}

/// A session whose thread `T` waits for its opening, with the host's tools.
pub(crate) fn greeted_with_thread(injection: &str) -> Replay<Codex> {
    let config = session_config("session", &json!({ "mcp_injection": injection }));
    let mut session = Replay::<Codex>::begin(config).unwrap();
    session
        .give(vec![open("T", None, Some(endpoint()))])
        .unwrap();
    reply(
        &mut session,
        "initialize",
        json!({ "userAgent": "weft/0.171.0 (Linux)" }),
    );
    session
}

/// A session or probe that began.
pub(crate) fn begun(purpose: &str) -> Replay<Codex> {
    Replay::begin(session_config(purpose, &json!({}))).unwrap()
}
