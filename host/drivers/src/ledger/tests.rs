use std::sync::Mutex;

use domain::modes::{InteractionMode, RuntimeMode};
use domain::provider_event::{Failure, SessionEnd};
use domain::request::{Choice, Reply};
use threads::ports::{Conversation, CredentialRequest, MintedCredential};

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

#[test]
fn a_thread_is_opened_once_and_its_turns_follow_one_another() {
    let mut books = Books::new(ThreadsHeld::Many);
    assert_eq!(books.start("t", "r1"), "attached:t >open:t:new");
    assert_eq!(books.start("t", "r2"), "");
    assert_eq!(books.event(ready("t")), "ready:n-t >start:r1");
    assert_eq!(books.event(started("r1")), "started:r1");
    assert_eq!(
        books.event(ended("r1", "reusable")),
        "completed:r1 >start:r2"
    );
    assert_eq!(books.event(started("r2")), "started:r2");
    assert_eq!(books.event(ended("r2", "reusable")), "completed:r2");
    assert_eq!(
        *books.credentials.log.lock().unwrap(),
        ["mint t", "started t", "over t", "started t", "over t"]
    );
}

#[test]
fn a_turn_handed_out_twice_runs_once() {
    let mut books = Books::running("t", "r");
    assert_eq!(books.start("t", "r"), "");
    assert_eq!(books.event(ended("r", "reusable")), "completed:r");
    assert_eq!(books.start("t", "r"), "");
}

#[test]
fn an_interrupt_reaches_a_turn_in_every_phase() {
    // Waiting for its thread to open.
    let mut books = Books::new(ThreadsHeld::Many);
    books.start("t", "r");
    assert_eq!(books.work(interrupt("t", "r")), "interrupted:r");
    assert_eq!(books.event(ready("t")), "ready:n-t");
    // Behind another turn, with a steer of its own.
    let mut books = Books::running("t", "r1");
    books.start("t", "r2");
    books.work(steer("t", "r2", "m"));
    assert_eq!(
        books.work(interrupt("t", "r2")),
        "unsteered:m interrupted:r2"
    );
    // Given to the driver, not started: it is sent once the turn starts.
    let mut books = Books::new(ThreadsHeld::Many);
    books.start("t", "r");
    books.event(ready("t"));
    assert_eq!(books.work(interrupt("t", "r")), "");
    assert_eq!(books.event(started("r")), "started:r >interrupt:r");
    // Given to the driver and refused by it.
    let mut books = Books::new(ThreadsHeld::Many);
    books.start("t", "r");
    books.event(ready("t"));
    books.work(interrupt("t", "r"));
    assert_eq!(books.event(effect("effect-2", refused())), "interrupted:r");
    // Running, twice.
    let mut books = Books::running("t", "r");
    assert_eq!(books.work(interrupt("t", "r")), ">interrupt:r");
    assert_eq!(books.work(interrupt("t", "r")), "");
    // Over, or never there.
    books.event(ended("r", "reusable"));
    assert_eq!(books.work(interrupt("t", "r")), "");
    assert_eq!(books.work(interrupt("nobody", "r9")), "");
}

#[test]
fn a_steer_reaches_a_turn_in_every_phase() {
    let mut books = Books::new(ThreadsHeld::Many);
    books.start("t", "r");
    assert_eq!(
        books.work(steer("t", "r", "m1")),
        "",
        "waits for the thread"
    );
    assert_eq!(books.event(ready("t")), "ready:n-t >start:r");
    assert_eq!(books.work(steer("t", "r", "m2")), "", "waits for the start");
    assert_eq!(books.event(started("r")), "started:r >steer:r >steer:r");
    assert_eq!(
        books.event(effect("effect-3", wit::EffectOutcome::Done)),
        "steered:m1"
    );
    assert_eq!(books.event(effect("effect-4", refused())), "unsteered:m2");
    assert_eq!(books.work(steer("t", "r", "m3")), ">steer:r");
    assert_eq!(
        books.event(ended("r", "reusable")),
        "unsteered:m3 completed:r"
    );
    assert_eq!(books.work(steer("t", "r", "m4")), "unsteered:m4");
}

#[test]
fn what_the_driver_may_not_say_is_refused() {
    let cases: Vec<(&str, wit::Event)> = vec![
        ("a thread that is not its own", ready("other")),
        (
            "a thread that is not its own",
            item("i", "other", None, wit::ItemStatus::Running),
        ),
        (
            "a turn that is not its own",
            item("i", "t", Some("other"), wit::ItemStatus::Running),
        ),
        ("a turn that is not its own", started("other")),
        ("a turn that is not its own", ended("other", "reusable")),
        ("runs already", started("r")),
        (
            "something it was not asked",
            effect("effect-77", wit::EffectOutcome::Done),
        ),
        (
            "something it was not asked",
            effect("effect-0", wit::EffectOutcome::Done),
        ),
        (
            "something it was not asked",
            effect("mine", wit::EffectOutcome::Done),
        ),
        ("a thread that is not its own", request("q", "other", None)),
        ("`text.appended`", text("i", &"x".repeat(1_001))),
        (
            "`text.item-id`",
            text(&"x".repeat(limits::ID_BYTES_MAX + 1), ""),
        ),
    ];
    for (words, event) in cases {
        let mut books = Books::running("t", "r");
        let shown = books.event(event.clone());
        assert!(
            shown.starts_with("VIOLATION") && shown.contains(words),
            "{event:?}: {shown}"
        );
    }
    let mut books = Books::new(ThreadsHeld::Many);
    books.start("t", "r");
    assert!(
        books
            .event(effect("effect-1", wit::EffectOutcome::Done))
            .starts_with("VIOLATION")
    );
    books = Books::new(ThreadsHeld::Many);
    books.start("t", "r");
    books.event(ready("t"));
    assert!(
        books.event(ended("r", "reusable")).starts_with("VIOLATION"),
        "before its start"
    );
    assert!(
        books
            .event(effect("effect-2", wit::EffectOutcome::Done))
            .starts_with("VIOLATION")
    );
}

#[test]
fn a_turn_of_one_thread_cannot_be_named_with_another() {
    let mut books = Books::running("a", "ra");
    books.start("b", "rb");
    books.event(ready("b"));
    let shown = books.event(item("i", "b", Some("ra"), wit::ItemStatus::Running));
    assert!(shown.contains("a turn that is not its own"), "{shown}");
}

#[test]
fn late_words_are_dropped() {
    let mut books = Books::running("t", "r");
    books.event(item("i", "t", Some("r"), wit::ItemStatus::Running));
    assert_eq!(books.event(text("i", "a")), "text:a");
    books.event(request("q", "t", Some("r")));
    assert_eq!(
        books.event(ended("r", "reusable")),
        "request-turn-ended completed:r"
    );
    for event in [
        text("i", "b"),
        started("r"),
        ended("r", "reusable"),
        item("i", "t", Some("r"), wit::ItemStatus::Completed),
        request("q2", "t", Some("r")),
        effect("effect-1", wit::EffectOutcome::Done),
    ] {
        assert_eq!(books.event(event), "");
    }
    books.work(release("t"));
    assert_eq!(books.event(ready("t")), "");
    assert_eq!(
        books.event(item("i", "t", None, wit::ItemStatus::Running)),
        ""
    );
}

#[test]
fn items_and_requests_open_at_once_are_bounded() {
    let mut books = Books::running("t", "r");
    for place in 0..limits::ITEMS_OPEN_MAX {
        books.event(item(
            &format!("i{place}"),
            "t",
            Some("r"),
            wit::ItemStatus::Running,
        ));
    }
    let one_more = books.event(item("more", "t", Some("r"), wit::ItemStatus::Running));
    assert!(
        one_more.contains("VIOLATION") && one_more.contains("items"),
        "{one_more}"
    );
    let mut books = Books::running("t", "r");
    for place in 0..limits::REQUESTS_OPEN_MAX {
        assert_eq!(
            books.event(request(&format!("q{place}"), "t", Some("r"))),
            "request"
        );
    }
    let one_more = books.event(request("more", "t", Some("r")));
    assert!(
        one_more.contains("VIOLATION") && one_more.contains("requests"),
        "{one_more}"
    );
    assert!(
        books
            .event(request("q1", "t", Some("r")))
            .contains("VIOLATION")
    );
}

#[test]
fn an_answer_goes_to_the_driver_s_own_id_and_closes_once() {
    let mut books = Books::running("t", "r");
    let effects = books
        .ledger
        .event(request("q", "t", Some("r")), books.now)
        .unwrap();
    let [ProviderEvent::RequestOpened { request_id, .. }] = effects.reports.as_slice() else {
        panic!("{effects:?}");
    };
    let answer = ProviderWork::Answer {
        thread_id: ThreadId::new("t"),
        request_id: request_id.clone(),
        reply: Reply::Decision {
            choice: Choice::Accept,
            message: None,
        },
    };
    assert_eq!(books.work(answer.clone()), ">answer:q");
    let closed = || {
        wit::Event::RequestClosed(wit::RequestClosed {
            request_id: "q".to_owned(),
            reason: "answered".to_owned(),
        })
    };
    assert_eq!(books.event(closed()), "request-answered");
    assert_eq!(books.event(closed()), "");
    assert_eq!(books.work(answer), "");
}

#[test]
fn a_broken_conversation_is_opened_again_by_its_native_id() {
    let mut books = Books::running("t", "r1");
    books.event(ended("r1", "broken"));
    assert_eq!(books.start("t", "r2"), ">close:t >open:t:n-t");
    assert_eq!(books.event(ready("t")), "ready:n-t >start:r2");
}

#[test]
fn changed_modes_and_an_old_credential_open_a_thread_again() {
    let mut books = Books::running("t", "r1");
    books.event(ended("r1", "reusable"));
    let narrower = start("t", "r2", RuntimeMode::ApprovalRequired);
    assert_eq!(books.work(narrower), ">close:t >open:t:n-t");
    books.event(ready("t"));
    books.event(started("r2"));
    books.event(ended("r2", "reusable"));
    books
        .credentials
        .overdue
        .lock()
        .unwrap()
        .insert(ThreadId::new("t"));
    let same = start("t", "r3", RuntimeMode::ApprovalRequired);
    assert_eq!(books.work(same), ">close:t >open:t:n-t");
    assert_eq!(books.event(ready("t")), "ready:n-t >start:r3");
}

#[test]
fn a_session_for_one_thread_hands_back_what_needs_another() {
    let mut books = Books::new(ThreadsHeld::One);
    books.start("t", "r1");
    assert_eq!(books.start("other", "r2"), "back");
    books.event(ready("t"));
    books.event(started("r1"));
    books.event(ended("r1", "broken"));
    assert_eq!(books.start("t", "r3"), "back");
    books.work(release("t"));
    assert!(books.ledger.is_spent());
    assert_eq!(books.start("t", "r4"), "back");
}

#[test]
fn a_session_learns_that_it_holds_one_thread() {
    let mut books = Books::new(ThreadsHeld::Many);
    books.start("t", "r");
    let mut capabilities = wit::Capabilities {
        threads: "one".to_owned(),
        steering: String::new(),
        fork: String::new(),
        resume: String::new(),
        rollback: String::new(),
        questions: String::new(),
        plans: String::new(),
        approvals: String::new(),
        model_switch: String::new(),
        mode_switch: String::new(),
        mode_enforcement: String::new(),
        runtime_modes: Vec::new(),
        interaction_modes: Vec::new(),
        attachment_media_types: Vec::new(),
        mcp_wait_ms_max: None,
        extra: None,
    };
    let say = |capabilities: wit::Capabilities| {
        let wit::Event::ThreadReady(mut event) = ready("t") else {
            panic!()
        };
        event.capabilities = Some(capabilities);
        wit::Event::ThreadReady(event)
    };
    books.event(say(capabilities.clone()));
    assert_eq!(books.ledger.held(), ThreadsHeld::One);
    assert_eq!(books.start("other", "r2"), "back");
    // A session never holds more than its driver declared.
    capabilities.threads = "many".to_owned();
    books.event(say(capabilities));
    assert_eq!(books.ledger.held(), ThreadsHeld::One);
}

#[test]
fn a_release_ends_what_runs_and_what_waits() {
    let mut books = Books::running("t", "r1");
    books.start("t", "r2");
    books.event(request("q", "t", Some("r1")));
    assert_eq!(
        books.work(release("t")),
        "request-turn-ended interrupted:r1 interrupted:r2 detached:t >interrupt:r1 >close:t"
    );
    assert_eq!(books.work(release("t")), "");
    assert_eq!(
        books.credentials.log.lock().unwrap().last().unwrap(),
        "revoke t"
    );
}

#[test]
fn a_refused_opening_fails_everything_that_waited() {
    let mut books = Books::new(ThreadsHeld::Many);
    books.start("t", "r1");
    books.start("t", "r2");
    books.work(steer("t", "r2", "m"));
    assert_eq!(
        books.event(effect("effect-1", refused())),
        "failed:r1 failed:r2 unsteered:m detached:t"
    );
}

#[test]
fn the_end_of_a_session_ends_each_turn_once() {
    let mut books = Books::running("a", "ra1");
    books.start("a", "ra2");
    books.start("b", "rb");
    books.event(request("q", "a", None));
    books.work(interrupt("a", "ra1"));
    let reports: Vec<String> = books
        .ledger
        .end_all(&Broken::Failed(cause()))
        .iter()
        .map(report_word)
        .collect();
    assert_eq!(
        reports,
        [
            "interrupted:ra1",
            "failed:ra2",
            "failed:rb",
            "request-process-ended"
        ]
    );
    assert!(books.ledger.end_all(&Broken::Stopped).is_empty());
}

#[test]
fn patience_ends_for_openings_starts_and_interrupts() {
    let mut books = Books::new(ThreadsHeld::Many);
    assert_eq!(books.ledger.deadline(), None);
    books.start("t", "r");
    let begun = books.now;
    let code = |books: &Books, at: Instant| books.ledger.overdue(at).and_then(|late| late.0.code);
    let silent = begun + limits::START_SILENCE_MAX;
    assert_eq!(books.ledger.deadline(), Some(silent));
    assert_eq!(
        code(&books, silent - std::time::Duration::from_millis(1)),
        None
    );
    assert_eq!(code(&books, silent).as_deref(), Some("provider_silent"));
    // A sign of life starts the silence anew, but not the time to start.
    books.ledger.sign(begun + limits::START_TIME_MAX);
    let latest = begun + limits::START_TIME_MAX;
    assert_eq!(code(&books, latest).as_deref(), Some("start_timeout"));
    books.event(ready("t"));
    assert!(books.ledger.deadline().is_some());
    books.event(started("r"));
    assert_eq!(
        books.ledger.deadline(),
        None,
        "a turn may take as long as it likes"
    );
    books.work(interrupt("t", "r"));
    let late = begun + limits::INTERRUPT_TIME_MAX;
    assert_eq!(code(&books, late).as_deref(), Some("interrupt_timeout"));
}

#[test]
fn a_thread_is_busy_while_anything_is_open_on_it() {
    let busy = |books: &Books| {
        books
            .ledger
            .activity()
            .get(&ThreadId::new("t"))
            .map(|a| a.busy)
    };
    let mut books = Books::new(ThreadsHeld::Many);
    assert_eq!(busy(&books), None);
    books.start("t", "r");
    assert_eq!(busy(&books), Some(true), "opening");
    books.event(ready("t"));
    books.event(started("r"));
    assert_eq!(busy(&books), Some(true), "running");
    let background = |tasks: Vec<wit::BackgroundTask>| {
        wit::Event::Background(wit::Background {
            thread_id: "t".to_owned(),
            tasks,
        })
    };
    let task = wit::BackgroundTask {
        task_id: "b".to_owned(),
        kind: "command".to_owned(),
        description: None,
    };
    books.event(background(vec![task]));
    books.event(ended("r", "reusable"));
    assert_eq!(busy(&books), Some(true), "background work");
    books.event(background(Vec::new()));
    assert_eq!(busy(&books), Some(false));
    books.event(request("q", "t", None));
    assert_eq!(busy(&books), Some(true), "a question");
}
