//! What stands behind the codex driver here: an app-server that does next to nothing, or a window on the real one.
//! Both stamp what comes in and what goes out.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::stamps::{Moment, Writer};

/// Prompt of a turn that goes on until it is stopped.
pub(crate) const HOLD: &str = "hold";

/// The stamp of a method's first byte on its way in.
pub(crate) const THREAD_STARTS: &str = "in thread/start";
/// The stamp of a turn's end on its way out.
pub(crate) const TURN_COMPLETED: &str = "out turn/completed";

/// Largest line that is read, bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// What a request is answered with.
#[derive(Debug, Default)]
struct Said {
    frames: Vec<Value>,
    /// The end of the turn, where it comes at once.
    ended: Option<Value>,
}

/// An app-server whose every turn but [`HOLD`] answers at once.
pub(crate) fn serve(stamps: &Path) -> anyhow::Result<()> {
    let mut stamps = Writer::open(stamps)?;
    let mut input = BufReader::new(std::io::stdin());
    let mut threads = 0_u32;
    while let Some((at, line)) = next_line(&mut input)? {
        let request: Value = serde_json::from_str(&line).context("a frame")?;
        let method = request.get("method").and_then(Value::as_str);
        let (Some(method), Some(id)) = (method, request.get("id")) else {
            continue;
        };
        let params = request.get("params").cloned().unwrap_or_default();
        let said = match method {
            "thread/start" => {
                threads += 1;
                thread_started(id, &format!("native-{threads}"), &params)
            }
            "turn/start" => turn_started(id, &params),
            method => Said {
                frames: vec![reply(id, &plain_answer(method))],
                ended: None,
            },
        };
        write_out(&said.frames)?;
        if let Some(ended) = said.ended {
            let out = Moment::now();
            write_out(&[ended])?;
            stamps.note(TURN_COMPLETED, out)?;
        }
        // Stamped last: writing a stamp must not delay what is measured.
        stamps.note(&format!("in {method}"), at)?;
    }
    Ok(())
}

fn plain_answer(method: &str) -> Value {
    match method {
        "initialize" => json!({ "userAgent": "bench/0.171.0 (Linux; x86_64)" }),
        "account/read" => json!({ "account": { "type": "apiKey" }, "requiresOpenaiAuth": false }),
        "model/list" => json!({ "data": [], "nextCursor": null }),
        _ => json!({}),
    }
}

fn thread_started(id: &Value, native: &str, params: &Value) -> Said {
    let opened = json!({ "thread": { "id": native }, "model": "bench" });
    let mut frames = vec![reply(id, &opened)];
    let servers = params
        .pointer("/config/mcp_servers")
        .and_then(Value::as_object);
    for name in servers.into_iter().flat_map(|servers| servers.keys()) {
        let ready = json!({ "threadId": native, "name": name, "status": "ready", "error": null });
        frames.push(tell("mcpServer/startupStatus/updated", &ready));
    }
    Said {
        frames,
        ended: None,
    }
}

fn turn_started(id: &Value, params: &Value) -> Said {
    let thread = params
        .get("threadId")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let native = format!("turn-of-{thread}");
    let turn = |status: &str| json!({ "id": native, "status": status });
    let of_turn = |turn: Value| json!({ "threadId": thread, "turn": turn });
    let mut frames = vec![
        reply(id, &json!({ "turn": turn("inProgress") })),
        tell("turn/started", &of_turn(turn("inProgress"))),
    ];
    if params.to_string().contains(&format!("\"text\":\"{HOLD}\"")) {
        return Said {
            frames,
            ended: None,
        };
    }
    let item =
        json!({ "type": "agentMessage", "id": format!("item-of-{thread}"), "text": "Done." });
    let completed = json!({ "threadId": thread, "turnId": native, "item": item });
    frames.push(tell("item/completed", &completed));
    Said {
        frames,
        ended: Some(tell("turn/completed", &of_turn(turn("completed")))),
    }
}

fn reply(id: &Value, result: &Value) -> Value {
    json!({ "id": id, "result": result })
}

fn tell(method: &str, params: &Value) -> Value {
    json!({ "method": method, "params": params })
}

/// Writes frames in one piece.
fn write_out(frames: &[Value]) -> anyhow::Result<()> {
    let text: String = frames.iter().map(|frame| format!("{frame}\n")).collect();
    pass_on(&text)
}

fn pass_on(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// A line and when its first byte was there.
fn next_line(input: &mut impl std::io::BufRead) -> anyhow::Result<Option<(Moment, String)>> {
    let is_over = input.fill_buf()?.is_empty();
    let at = Moment::now();
    if is_over {
        return Ok(None);
    }
    let mut line = String::new();
    input.take(LINE_BYTES_MAX).read_line(&mut line)?;
    Ok(Some((at, line)))
}

/// Runs a real agent and stamps what goes through.
pub(crate) fn window(stamps: &Path, words: &[String]) -> anyhow::Result<()> {
    let Some((program, arguments)) = words.split_first() else {
        bail!("no program to run");
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut into = child.stdin.take().context("its input")?;
    let output = child.stdout.take().context("its output")?;
    let mut stamps_in = Writer::open(stamps)?;
    let feeding = std::thread::spawn(move || -> anyhow::Result<()> {
        let mut input = BufReader::new(std::io::stdin());
        while let Some((at, line)) = next_line(&mut input)? {
            into.write_all(line.as_bytes())?;
            let frame: Value = serde_json::from_str(&line).unwrap_or_default();
            if let Some(method) = frame.get("method").and_then(Value::as_str) {
                stamps_in.note(&format!("in {method}"), at)?;
            }
        }
        Ok(())
    });
    let mut stamps_out = Writer::open(stamps)?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        let out = Moment::now();
        pass_on(&format!("{line}\n"))?;
        if line.contains("\"method\":\"turn/completed\"") {
            stamps_out.note(TURN_COMPLETED, out)?;
        }
    }
    let status = child.wait()?;
    // The agent is gone: whoever still reads for it is not waited for.
    drop(feeding);
    std::process::exit(status.code().unwrap_or(1));
}
