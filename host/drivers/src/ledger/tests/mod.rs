//! The books of one session, in words.

mod legality;
mod turns;

use std::sync::Mutex;

use domain::modes::{InteractionMode, RuntimeMode};
use domain::provider_event::{Failure, SessionEnd};
use domain::request::{Choice, Reply};
use threads::ports::{Conversation, CredentialRequest, MintedCredential, ThreadOpening};

use super::*;
use crate::limits;

/// Tools are switched off; a thread's credential can be made overdue.
#[derive(Debug, Default)]
struct Credentials {
    overdue: Mutex<BTreeSet<ThreadId>>,
    log: Mutex<Vec<String>>,
}

impl CredentialPort for Credentials {
    fn mint(&self, request: &CredentialRequest) -> Option<MintedCredential> {
        self.overdue.lock().unwrap().remove(&request.thread_id);
        self.log
            .lock()
            .unwrap()
            .push(format!("mint {}", request.thread_id));
        None
    }

    fn turn_started(&self, thread: &ThreadId, _: &ProviderSessionId) {
        self.log.lock().unwrap().push(format!("started {thread}"));
    }

    fn turn_over(&self, thread: &ThreadId, _: &ProviderSessionId) {
        self.log.lock().unwrap().push(format!("over {thread}"));
    }

    fn is_overdue(&self, thread: &ThreadId, _: &ProviderSessionId) -> bool {
        self.overdue.lock().unwrap().contains(thread)
    }

    fn revoke(&self, thread: &ThreadId, _: &ProviderSessionId) {
        self.log.lock().unwrap().push(format!("revoke {thread}"));
    }
}

struct Books {
    ledger: Ledger,
    credentials: Arc<Credentials>,
    now: Instant,
}

impl Books {
    fn new(held: ThreadsHeld) -> Self {
        let credentials = Arc::new(Credentials::default());
        let now = Instant::now();
        let identity = Identity {
            session: ProviderSessionId::new("s"),
            instance: ProviderInstanceId::new("i"),
            held,
            mode_switch: Switch::Process,
            model_switch: Switch::Session,
            call_ms_max: 1_000,
            credentials: credentials.clone(),
            secrets: SessionSecrets::default(),
            measure: Measure {
                text_bytes_max: 1_000,
            },
            start_silence_max: limits::START_SILENCE_MAX,
            interrupt_time_max: limits::INTERRUPT_TIME_MAX,
        };
        Self {
            ledger: Ledger::new(identity, now),
            credentials,
            now,
        }
    }

    fn work(&mut self, work: ProviderWork) -> String {
        shown(&self.ledger.work(work, self.now))
    }

    fn start(&mut self, thread: &str, run: &str) -> String {
        self.work(start(thread, run, RuntimeMode::FullAccess))
    }

    fn event(&mut self, event: wit::Event) -> String {
        match self.ledger.event(event, self.now) {
            Ok(effects) => shown(&effects),
            Err(violation) => format!("VIOLATION {violation}"),
        }
    }

    /// A thread that is open and runs a turn.
    fn running(thread: &str, run: &str) -> Self {
        let mut books = Self::new(ThreadsHeld::Many);
        books.start(thread, run);
        books.event(ready(thread));
        books.event(started(run));
        books
    }
}

fn start(thread: &str, run: &str, runtime: RuntimeMode) -> ProviderWork {
    ProviderWork::StartTurn {
        thread: ThreadOpening {
            thread_id: ThreadId::new(thread),
            instance_id: ProviderInstanceId::new("i"),
            native: None,
            workspace_path: "/w".to_owned(),
            model: ModelSelection::default(),
            modes: Modes {
                runtime,
                interaction: InteractionMode::Default,
            },
            conversation: Conversation::New,
        },
        run_id: RunId::new(run),
        text: "text".to_owned(),
    }
}

fn steer(thread: &str, run: &str, message: &str) -> ProviderWork {
    ProviderWork::Steer {
        thread_id: ThreadId::new(thread),
        run_id: RunId::new(run),
        message_id: MessageId::new(message),
        text: "more".to_owned(),
    }
}

fn interrupt(thread: &str, run: &str) -> ProviderWork {
    ProviderWork::Interrupt {
        thread_id: ThreadId::new(thread),
        run_id: RunId::new(run),
        reason: "why".to_owned(),
    }
}

fn release(thread: &str) -> ProviderWork {
    ProviderWork::Release {
        thread_id: ThreadId::new(thread),
        reason: "idle".to_owned(),
    }
}

fn ready(thread: &str) -> wit::Event {
    wit::Event::ThreadReady(wit::ThreadReady {
        thread_id: thread.to_owned(),
        native_thread_id: format!("n-{thread}"),
        resumable: true,
        capabilities: None,
        model: None,
        extra: None,
    })
}

fn started(run: &str) -> wit::Event {
    wit::Event::TurnStarted(wit::TurnStarted {
        turn_id: run.to_owned(),
        native_turn_id: None,
    })
}

fn ended(run: &str, state: &str) -> wit::Event {
    wit::Event::TurnEnded(wit::TurnEnded {
        turn_id: run.to_owned(),
        outcome: wit::TurnOutcome::Completed,
        native_point: None,
        native_thread_state: state.to_owned(),
        extra: None,
    })
}

fn effect(id: &str, outcome: wit::EffectOutcome) -> wit::Event {
    wit::Event::EffectEnded(wit::EffectEnded {
        effect_id: id.to_owned(),
        outcome,
    })
}

fn refused() -> wit::EffectOutcome {
    wit::EffectOutcome::Refused(wit::Failure {
        class: "provider_error".to_owned(),
        message: "no".to_owned(),
        code: None,
        retryable: None,
        extra: None,
    })
}

fn item(id: &str, thread: &str, run: Option<&str>, status: wit::ItemStatus) -> wit::Event {
    wit::Event::Item(wit::Item {
        item_id: id.to_owned(),
        thread_id: thread.to_owned(),
        turn_id: run.map(str::to_owned),
        parent_item_id: None,
        kind: "message".to_owned(),
        status,
        title: None,
        text: None,
        head: wit::ItemHead {
            name: None,
            server_name: None,
            path: None,
            exit_code: None,
            lines_added: None,
            lines_removed: None,
            native_item_id: None,
        },
        body_json: "{}".to_owned(),
        extra: None,
    })
}

fn text(id: &str, appended: &str) -> wit::Event {
    wit::Event::Text(wit::Text {
        item_id: id.to_owned(),
        appended: appended.to_owned(),
    })
}

fn request(id: &str, thread: &str, run: Option<&str>) -> wit::Event {
    wit::Event::Request(wit::Request {
        request_id: id.to_owned(),
        thread_id: thread.to_owned(),
        turn_id: run.map(str::to_owned),
        item_id: None,
        blocking: true,
        prompt: wit::Prompt::Approval(wit::Approval {
            kind: "command".to_owned(),
            title: "ls".to_owned(),
            reason: None,
            choices: vec!["accept".to_owned()],
            options: Vec::new(),
        }),
        detail_json: String::new(),
        extra: None,
    })
}

fn cause() -> Failure {
    host_failure(FailureClass::TransportError, "gone", "gone")
}

/// Reports, then inputs, one word each.
fn shown(effects: &Effects) -> String {
    let reports = effects.reports.iter().map(report_word);
    let inputs = effects.inputs.iter().map(input_word);
    let back = effects.handed_back.iter().map(|_| "back".to_owned());
    reports
        .chain(inputs)
        .chain(back)
        .collect::<Vec<_>>()
        .join(" ")
}

fn report_word(event: &ProviderEvent) -> String {
    match event {
        ProviderEvent::ThreadAttached { thread_id } => format!("attached:{thread_id}"),
        ProviderEvent::ThreadReady {
            native_thread_id, ..
        } => format!("ready:{native_thread_id}"),
        ProviderEvent::TurnStarted { run_id, .. } => format!("started:{run_id}"),
        ProviderEvent::TurnEnded {
            run_id, outcome, ..
        } => {
            let outcome = match outcome {
                TurnOutcome::Completed => "completed",
                TurnOutcome::Interrupted => "interrupted",
                TurnOutcome::Failed(_) => "failed",
            };
            format!("{outcome}:{run_id}")
        }
        ProviderEvent::SteerEnded {
            message_id,
            refusal,
            ..
        } => {
            format!(
                "{}:{message_id}",
                if refusal.is_some() {
                    "unsteered"
                } else {
                    "steered"
                }
            )
        }
        ProviderEvent::Item(item) => format!("item:{}", item.driver_item_id),
        ProviderEvent::Text { appended, .. } => format!("text:{appended}"),
        ProviderEvent::RequestOpened { .. } => "request".to_owned(),
        ProviderEvent::RequestClosed { reason, .. } => format!("request-{reason}"),
        ProviderEvent::ThreadDetached { thread_id, .. } => format!("detached:{thread_id}"),
        ProviderEvent::SessionEnded {
            end: SessionEnd::Failed,
            ..
        } => "session-failed".to_owned(),
        other => format!("{other:?}"),
    }
}

fn input_word(input: &wit::Input) -> String {
    match input {
        wit::Input::OpenThread(open) => {
            let native = open.native_thread_id.as_deref().unwrap_or("new");
            format!(">open:{}:{native}", open.thread_id)
        }
        wit::Input::StartTurn(start) => format!(">start:{}", start.turn_id),
        wit::Input::Steer(steer) => format!(">steer:{}", steer.turn_id),
        wit::Input::Interrupt(interrupt) => format!(">interrupt:{}", interrupt.turn_id),
        wit::Input::Answer(answer) => format!(">answer:{}", answer.request_id),
        wit::Input::CloseThread(close) => format!(">close:{}", close.thread_id),
        other => format!("{other:?}"),
    }
}
