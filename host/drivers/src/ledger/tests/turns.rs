//! What becomes of work, in every phase of a thread and a turn.

use super::*;

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
    // Given to the driver, which holds it still: it will not start.
    let given = || {
        let mut books = Books::new(ThreadsHeld::Many);
        books.start("t", "r");
        books.event(ready("t"));
        assert_eq!(books.work(interrupt("t", "r")), ">interrupt:r");
        books
    };
    let mut books = given();
    assert_eq!(books.event(effect("effect-2", refused())), "interrupted:r");
    assert_eq!(
        books.event(effect("effect-3", wit::EffectOutcome::Done)),
        ""
    );
    let mut books = given();
    assert_eq!(
        books.event(effect("effect-3", wit::EffectOutcome::Done)),
        "interrupted:r"
    );
    assert_eq!(books.event(started("r")), "", "too late");
    // Given to the driver and started meanwhile: its end tells.
    let mut books = given();
    assert_eq!(books.event(started("r")), "started:r");
    assert_eq!(
        books.event(effect("effect-3", wit::EffectOutcome::Done)),
        ""
    );
    assert_eq!(books.event(ended("r", "reusable")), "completed:r");
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
