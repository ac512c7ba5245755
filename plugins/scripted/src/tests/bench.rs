//! A session under test, and each action as a line of text.

use driver_sdk::types::{
    Action, Attachment, EffectOutcome, Event, Input, McpEndpoint, ModelSelection, Modes,
    OpenThread, Prompt, StartTurn, TurnOutcome,
};
use driver_sdk::{Driver, harness};
use serde_json::{Value, json};

use crate::core::Scripted;

pub(super) struct Bench {
    driver: Scripted,
    /// Every action so far.
    pub(super) seen: Vec<String>,
}

impl Bench {
    pub(super) fn new(purpose: &str) -> Self {
        Self::with_settings(purpose, &json!({}))
    }

    pub(super) fn with_settings(purpose: &str, settings: &Value) -> Self {
        let config = harness::session_config(purpose, settings);
        Self {
            driver: Scripted::open(config).unwrap(),
            seen: Vec::new(),
        }
    }

    /// A session whose agent answered the greeting.
    pub(super) fn greeted() -> Self {
        let mut bench = Self::new("session");
        bench.give(Input::Begin);
        bench.say(r#"{"event":"hello","version":"9"}"#);
        bench
    }

    /// A session with the open thread `T`.
    pub(super) fn open() -> Self {
        let mut bench = Self::greeted();
        bench.give(open_thread("T"));
        bench.say(super::OPENED);
        bench
    }

    /// A session that runs the turn `U` in the thread `T`.
    pub(super) fn running() -> Self {
        let mut bench = Self::open();
        bench.give(start_turn("T", "U", "script: hang"));
        bench.say(super::STARTED);
        bench
    }

    pub(super) fn give(&mut self, input: Input) -> Vec<String> {
        self.give_all(vec![input])
    }

    /// One line of the agent.
    pub(super) fn say(&mut self, line: &str) -> Vec<String> {
        self.say_all(&[line])
    }

    /// Lines that arrive together.
    pub(super) fn say_all(&mut self, lines: &[&str]) -> Vec<String> {
        self.give_all(lines.iter().map(|line| harness::stdout(1, line)).collect())
    }

    fn give_all(&mut self, inputs: Vec<Input>) -> Vec<String> {
        let actions = self.driver.handle(inputs).unwrap();
        let shown: Vec<String> = actions.iter().map(show).collect();
        self.seen.extend(shown.clone());
        shown
    }
}

pub(super) fn open_thread(thread: &str) -> Input {
    Input::OpenThread(OpenThread {
        effect_id: format!("E-{thread}"),
        thread_id: thread.to_owned(),
        native_thread_id: None,
        workspace_path: "/home/dev/project".to_owned(),
        model: ModelSelection {
            model: None,
            options: Vec::new(),
        },
        modes: modes(),
        mcp: Some(McpEndpoint {
            server_name: "t3-code".to_owned(),
            url: "http://127.0.0.1:1/mcp".to_owned(),
            protocol_version: "2025-06-18".to_owned(),
            authorization: format!("{{{{token-{thread}}}}}"),
            call_ms_max: 1,
            tools: Vec::new(),
        }),
        extra: None,
    })
}

pub(super) fn start_turn(thread: &str, turn: &str, text: &str) -> Input {
    Input::StartTurn(StartTurn {
        effect_id: format!("E-{turn}"),
        thread_id: thread.to_owned(),
        turn_id: turn.to_owned(),
        text: text.to_owned(),
        attachments: Vec::new(),
        model: ModelSelection {
            model: Some("scripted".to_owned()),
            options: Vec::new(),
        },
        modes: modes(),
        instructions: Some("be good".to_owned()),
        context_transfer: None,
        extra: None,
    })
}

pub(super) fn attachment() -> Attachment {
    Attachment {
        name: "a.png".to_owned(),
        media_type: "image/png".to_owned(),
        size_bytes: 1,
        path: "/home/dev/a.png".to_owned(),
        base64_placeholder: "{{a}}".to_owned(),
    }
}

fn modes() -> Modes {
    Modes {
        runtime_mode: "approval-required".to_owned(),
        interaction_mode: "default".to_owned(),
    }
}

fn show(action: &Action) -> String {
    match action {
        Action::Spawn(spawn) => {
            assert!(spawn.arguments.is_empty() && spawn.environment.is_empty());
            format!("spawn {}", spawn.template)
        }
        Action::Write(write) => format!("> {}", write.frame),
        Action::CloseStdin(_) => "close-stdin".to_owned(),
        Action::Stop(_) => "stop".to_owned(),
        Action::SetTimer(timer) => format!("timer {}", timer.delay_ms),
        Action::ClearTimer(_) => "timer off".to_owned(),
        Action::Emit(event) => show_event(event),
        other => panic!("never asked for: {other:?}"),
    }
}

fn show_event(event: &Event) -> String {
    match event {
        Event::Snapshot(snapshot) => {
            let models: Vec<&str> = snapshot
                .models
                .iter()
                .map(|model| model.id.as_str())
                .collect();
            let line = format!(
                "snapshot {} {} {} {} [{}] {}",
                snapshot.installation,
                snapshot.version.as_deref().unwrap_or("-"),
                snapshot.authentication,
                snapshot.status,
                models.join(" "),
                snapshot.reason.as_deref().unwrap_or_default(),
            );
            line.trim_end().to_owned()
        }
        Event::ThreadReady(ready) => {
            let resumable = if ready.resumable { " resumable" } else { "" };
            format!(
                "thread-ready {} {}{resumable}",
                ready.thread_id, ready.native_thread_id
            )
        }
        Event::TurnStarted(started) => format!("turn-started {}", started.turn_id),
        Event::TurnEnded(ended) => {
            let outcome = match &ended.outcome {
                TurnOutcome::Failed(failure) => {
                    format!("Failed({}: {})", failure.class, failure.message)
                }
                TurnOutcome::Completed => "Completed".to_owned(),
                TurnOutcome::Interrupted => "Interrupted".to_owned(),
            };
            format!(
                "turn-ended {} {outcome} {}",
                ended.turn_id, ended.native_thread_state
            )
        }
        Event::EffectEnded(ended) => {
            let outcome = match &ended.outcome {
                EffectOutcome::Done => "done".to_owned(),
                EffectOutcome::Forked(native) => format!("forked {native}"),
                EffectOutcome::Refused(failure) => format!("refused: {}", failure.message),
                EffectOutcome::Failed(failure) => format!("failed: {}", failure.message),
            };
            format!("effect {} {outcome}", ended.effect_id)
        }
        Event::Item(item) => {
            assert_eq!(item.thread_id, "T");
            assert_eq!(item.turn_id.as_deref(), Some("U"));
            let status = format!("{:?}", item.status);
            let status = status.trim_start_matches("ItemStatus::");
            let mut line = format!("item {} {} {status}", item.item_id, item.kind);
            if let Some(title) = &item.title {
                line.push_str(&format!(" {title:?}"));
            }
            if let Some(text) = &item.text {
                line.push_str(&format!(" {text}"));
            }
            if item.body_json != "{}" {
                line.push_str(&format!(" {}", item.body_json));
            }
            line
        }
        Event::Text(text) => format!("text {} {}", text.item_id, text.appended),
        Event::Request(request) => {
            assert!(request.blocking);
            let prompt = match &request.prompt {
                Prompt::Approval(approval) => {
                    format!(
                        "{}: {} [{}]",
                        approval.kind,
                        approval.title,
                        approval.choices.join(" ")
                    )
                }
                Prompt::Questions(questions) => questions
                    .iter()
                    .map(|question| {
                        let options: Vec<&str> = question
                            .options
                            .iter()
                            .map(|option| option.value.as_str())
                            .collect();
                        format!(
                            "question {}: {} [{}]",
                            question.question_id,
                            question.text,
                            options.join(" ")
                        )
                    })
                    .collect::<Vec<_>>()
                    .join("; "),
            };
            let turn = request.turn_id.as_deref().unwrap_or("-");
            format!(
                "request {} {} {turn} {prompt}",
                request.request_id, request.thread_id
            )
        }
        Event::RequestClosed(closed) => {
            format!("request-closed {} {}", closed.request_id, closed.reason)
        }
        Event::Usage(usage) => format!(
            "usage {} {} {} {} {}",
            usage.turn_id,
            usage.input_tokens,
            usage.cached_input_tokens,
            usage.output_tokens,
            usage.reasoning_tokens
        ),
        Event::SessionEnded(ended) => match &ended.failure {
            None => "session-ended".to_owned(),
            Some(failure) => format!(
                "session-ended {} {}: {}",
                failure.class,
                failure.code.as_deref().unwrap_or("-"),
                failure.message
            ),
        },
        other => panic!("never said: {other:?}"),
    }
}
