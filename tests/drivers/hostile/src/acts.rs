//! The ways to misbehave, each at the start of a turn.

use driver_sdk::logging;
use driver_sdk::types::*;

use crate::Guest;
use crate::well_behaved::{effect_ended, head, session_ended, turn_ended};

/// Never returns.
pub(crate) fn spin() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = std::hint::black_box(turns.wrapping_add(1));
    }
}

#[inline(never)]
fn recurse(depth: u64) -> u64 {
    let room = std::hint::black_box([depth; 64]);
    if depth == u64::MAX {
        room[0]
    } else {
        recurse(depth + 1) + room[7]
    }
}

fn exhaust_memory() {
    let mut hoard: Vec<Vec<u8>> = Vec::new();
    loop {
        hoard.push(std::hint::black_box(vec![1; 1 << 20]));
    }
}

impl Guest {
    /// Does the act; `true`: nothing else is to be done for this turn.
    pub(crate) fn hostile(
        &mut self,
        text: &str,
        actions: &mut Vec<Action>,
    ) -> Result<bool, DriverError> {
        let thread_id = self.thread.clone().unwrap_or_default();
        let turn_id = self.turn.clone().unwrap_or_default();
        let text_item = |item_id: &str, appended: String| {
            Action::Emit(Event::Text(Text {
                item_id: item_id.to_owned(),
                appended,
            }))
        };
        let item = |thread_id: &str, turn_id: Option<String>| {
            Action::Emit(Event::Item(Item {
                item_id: "stray".to_owned(),
                thread_id: thread_id.to_owned(),
                turn_id,
                parent_item_id: None,
                kind: "message".to_owned(),
                status: ItemStatus::Running,
                title: None,
                text: None,
                head: head(),
                body_json: "{}".to_owned(),
                extra: None,
            }))
        };
        let spawn = |template: &str, arguments: Vec<String>, environment: &[(&str, &str)]| {
            Action::Spawn(Spawn {
                process_id: 1,
                template: template.to_owned(),
                arguments,
                environment: environment
                    .iter()
                    .map(|(name, value)| EnvironmentVariable {
                        name: (*name).to_owned(),
                        value: (*value).to_owned(),
                    })
                    .collect(),
            })
        };
        let file = |name: &str, text: String| {
            Action::WriteFile(WriteFile {
                name: name.to_owned(),
                text,
            })
        };
        let words = |text: &str| vec![text.to_owned()];
        match self.act.as_str() {
            "spins" => spin(),
            "panics" => panic!("a turn panics as told"),
            "hoards" => exhaust_memory(),
            "recurses" => {
                std::hint::black_box(recurse(0));
            }
            "gives-up" => return Err(DriverError::Protocol("the agent spoke Klingon".to_owned())),
            // Many short actions whose strings are large together.
            "returns-much" => {
                for _ in 0..60 {
                    actions.push(text_item("none", "x".repeat(1 << 20)));
                }
            }
            "returns-many" => {
                for _ in 0..2_000 {
                    actions.push(text_item("none", String::new()));
                }
            }
            "returns-long" => actions.push(text_item("none", "x".repeat((1 << 20) + 1))),
            "foreign-thread" => actions.push(item("thread-of-somebody-else", None)),
            "foreign-turn" => {
                actions.push(item(&thread_id, Some("run-of-somebody-else".to_owned())))
            }
            "foreign-effect" => {
                actions.push(effect_ended("effect-999".to_owned(), EffectOutcome::Done));
            }
            "starts-twice" => actions.push(Action::Emit(Event::TurnStarted(TurnStarted {
                turn_id,
                native_turn_id: None,
            }))),
            "ends-twice" => {
                actions.push(turn_ended(turn_id.clone(), TurnOutcome::Completed));
                actions.push(turn_ended(turn_id, TurnOutcome::Completed));
            }
            "bad-json" => {
                let Action::Emit(Event::Item(mut broken)) = item(&thread_id, Some(turn_id)) else {
                    return Ok(true);
                };
                broken.body_json = "[1,".to_owned();
                actions.push(Action::Emit(Event::Item(broken)));
            }
            "unknown-template" => actions.push(spawn("sudo", Vec::new(), &[])),
            "unknown-program" => actions.push(spawn("other", Vec::new(), &[])),
            "nul-argument" => actions.push(spawn("shell", words("echo\0hi"), &[])),
            "long-argument" => actions.push(spawn("shell", words(&"x".repeat(1 << 20)), &[])),
            "preload" => actions.push(spawn("shell", words("true"), &[("LD_PRELOAD", "/evil.so")])),
            "sets-path" => actions.push(spawn("shell", words("true"), &[("PATH", "/evil")])),
            "secret-argument" => {
                let token = self.authorization.clone().unwrap_or_default();
                actions.push(spawn("shell", words(&format!("echo {token}")), &[]));
            }
            "secret-file" => {
                actions.push(file(
                    "token.txt",
                    self.authorization.clone().unwrap_or_default(),
                ));
            }
            "file-outside" => actions.push(file("../escape", String::new())),
            "file-hidden" => actions.push(file(".hidden", String::new())),
            "file-large" => actions.push(file("large", "x".repeat((1 << 20) + 1))),
            "frame-break" => {
                actions.push(spawn("shell", words("cat"), &[]));
                actions.push(Action::Write(Write {
                    process_id: 1,
                    frame: "a\nb".to_owned(),
                }));
            }
            "foreign-process" => {
                actions.push(Action::Write(Write {
                    process_id: 9,
                    frame: "a".to_owned(),
                }));
            }
            "foreign-stop" => actions.push(Action::Stop(9)),
            "process-twice" => {
                actions.push(spawn("shell", words("cat"), &[]));
                actions.push(spawn("shell", words("cat"), &[]));
            }
            "many-processes" => {
                for process_id in 1..=8 {
                    actions.push(Action::Spawn(Spawn {
                        process_id,
                        template: "shell".to_owned(),
                        arguments: words("cat"),
                        environment: Vec::new(),
                    }));
                }
            }
            "timer-now" => actions.push(Action::SetTimer(SetTimer {
                timer_id: 1,
                delay_ms: 0,
            })),
            "timer-never" => {
                actions.push(Action::SetTimer(SetTimer {
                    timer_id: 1,
                    delay_ms: u32::MAX,
                }));
            }
            "many-timers" => {
                for timer_id in 0..1_000 {
                    actions.push(Action::SetTimer(SetTimer {
                        timer_id,
                        delay_ms: 1_000,
                    }));
                }
            }
            "stalls" => {
                actions.push(spawn("shell", words("exec sleep 600"), &[]));
                for _ in 0..300 {
                    let frame = "x".repeat(64 << 10);
                    actions.push(Action::Write(Write {
                        process_id: 1,
                        frame,
                    }));
                }
            }
            "dawdles" => {
                // Some tens of milliseconds: long, and within the limit of a call.
                for turns in 0..20_000_000_u64 {
                    std::hint::black_box(turns);
                }
                return Ok(false);
            }
            "logs" => {
                for line in 0..10_000 {
                    logging::write(LogLevel::Info, &format!("\u{1b}[2Jline {line}: {text}"));
                }
                return Ok(false);
            }
            "ends-session" => {
                actions.push(turn_ended(turn_id, TurnOutcome::Completed));
                actions.push(session_ended(None));
            }
            "ends-session-with-live-turn" => actions.push(session_ended(None)),
            "extension" => {
                actions.push(Action::Extension(Extension {
                    thread_id: None,
                    name: "from-the-future".to_owned(),
                    json: "{}".to_owned(),
                }));
                return Ok(false);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
