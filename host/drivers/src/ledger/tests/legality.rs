//! What a driver may say, and when patience ends.

use super::*;

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
fn an_answer_the_provider_cannot_use_is_asked_for_again() {
    let mut books = Books::running("t", "r");
    let first = books
        .ledger
        .event(request("q", "t", Some("r")), books.now)
        .unwrap();
    let answer = |effects: &Effects| {
        let Some(ProviderEvent::RequestOpened { request_id, .. }) = effects.reports.last() else {
            panic!("{effects:?}");
        };
        ProviderWork::Answer {
            thread_id: ThreadId::new("t"),
            request_id: request_id.clone(),
            reply: Reply::Decision {
                choice: Choice::AcceptAlways,
                message: None,
            },
        }
    };
    assert_eq!(books.work(answer(&first)), ">answer:q");
    let again = books
        .ledger
        .event(effect("effect-3", refused()), books.now)
        .unwrap();
    assert_eq!(shown(&again), "request-superseded request");
    assert_eq!(
        books.work(answer(&first)),
        "",
        "the old id is no longer open"
    );
    assert_eq!(books.work(answer(&again)), ">answer:q");
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
