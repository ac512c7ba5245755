//! Every way to misbehave: contained, named, and without effect on others.

use std::time::{Duration, Instant};

use domain::provider_event::{ProviderEvent, TurnOutcome};

use crate::support::{CANARY, Desk, instance, opening};

/// Runs one act beside a well-behaved instance and checks what the turn failed with.
async fn check(act: &str, code: &str, words: &str) {
    let mut good = instance("shell");
    good.id = domain::ids::ProviderInstanceId::new("good");
    let mut bad = instance(act);
    if act != "spins" {
        // On a busy machine a call may be late for reasons that are not its own.
        bad.limits.call_time_max = Duration::from_secs(10);
    }
    let mut desk = Desk::of(vec![bad, good], Duration::from_secs(60));
    let workspace = desk.data.path().to_str().unwrap().to_owned();
    desk.start_as(
        opening("bystander", "good", &workspace),
        "steady",
        "read line; read line",
    );
    desk.until(|event| matches!(event, ProviderEvent::ProcessStarted { .. }).then_some(()))
        .await;
    let begun = Instant::now();
    desk.start("t", "r", "go");
    let failure = desk.failed("r").await;
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{act} took {:?}",
        begun.elapsed()
    );
    assert_eq!(
        failure.code.as_deref(),
        Some(code),
        "{act}: {}",
        failure.message
    );
    assert!(
        failure.message.contains(words),
        "{act}: {}",
        failure.message
    );
    desk.session_over().await;
    assert_eq!(desk.ends_of("r"), 1, "{act}");
    // The other session and the host are untouched.
    assert_eq!(desk.ends_of("steady"), 0, "{act}: {:#?}", desk.seen);
    desk.interrupt("bystander", "steady");
    assert_eq!(
        desk.ended("steady").await,
        TurnOutcome::Interrupted,
        "{act}"
    );
    assert!(!format!("{:?}", desk.seen).contains(CANARY));
    desk.pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_fails_inside_is_contained() {
    for (act, code, words) in [
        ("spins", "driver_timeout", "longer than 1000 ms"),
        ("panics", "driver_trap", "a turn panics as told"),
        ("hoards", "driver_memory", "64 MiB"),
        ("recurses", "driver_trap", "crashed"),
        ("gives-up", "protocol", "Klingon"),
        ("open-panics", "driver_trap", "open panics as told"),
        ("open-spins", "driver_timeout", "1000 ms"),
        ("open-refuses", "invalid_config", "`act` says so"),
    ] {
        // These fail the probe too, so the reason comes from there where the session itself is never tried.
        if act.starts_with("open-") {
            let mut desk = Desk::with(act);
            desk.start("t", "r", "go");
            assert!(desk.failed("r").await.message.contains(words), "{act}");
        } else {
            check(act, code, words).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_returns_too_much_is_contained() {
    for (act, code, words) in [
        ("returns-much", "driver_result", "32 MiB"),
        ("returns-many", "driver_violation", "1024"),
        ("returns-long", "driver_violation", "`text.appended`"),
    ] {
        check(act, code, words).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_speaks_of_what_is_not_its_own_is_contained() {
    for (act, words) in [
        ("foreign-thread", "a thread that is not its own"),
        ("foreign-turn", "a turn that is not its own"),
        ("foreign-effect", "something it was not asked"),
        ("starts-twice", "runs already"),
        ("ends-unstarted", "has not started"),
        ("bad-json", "`item.body-json`"),
    ] {
        check(act, "driver_violation", words).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_end_of_a_turn_is_dropped() {
    let mut desk = Desk::with("ends-twice");
    desk.start("t", "r1", "go");
    assert_eq!(desk.ended("r1").await, TurnOutcome::Completed);
    desk.start("t", "r2", "go");
    desk.ended("r2").await;
    assert_eq!((desk.ends_of("r1"), desk.ends_of("r2")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_beyond_the_grant_is_refused() {
    for (act, code, words) in [
        ("unknown-template", "not_granted", "`sudo`"),
        ("unknown-program", "not_granted", "grants.programs"),
        ("nul-argument", "not_granted", "NUL"),
        ("long-argument", "not_granted", "4096 bytes"),
        ("preload", "not_granted", "LD_PRELOAD"),
        ("sets-path", "not_granted", "`PATH`"),
        ("secret-argument", "not_granted", "placeholder"),
        ("secret-file", "driver_violation", "placeholder"),
        ("file-outside", "driver_violation", "not plain"),
        ("file-hidden", "driver_violation", "not plain"),
        ("file-large", "driver_violation", "size"),
        ("frame-break", "driver_violation", "line end"),
        ("foreign-process", "driver_violation", "process 9"),
        ("foreign-stop", "driver_violation", "process 9"),
        ("process-twice", "driver_violation", "twice"),
        ("many-processes", "driver_violation", "4 processes"),
        ("timer-now", "driver_violation", "timer of 0 ms"),
        ("timer-never", "driver_violation", "timer of 4294967295 ms"),
        ("many-timers", "driver_violation", "64 timers"),
    ] {
        check(act, code, words).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_does_not_read_is_named() {
    check("stalls", "provider_stalled", "does not read").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_flood_and_an_unknown_extension_hurt_nobody() {
    for act in ["logs", "extension"] {
        let mut desk = Desk::with(act);
        desk.start("t", "r", "go");
        assert_eq!(desk.ended("r").await, TurnOutcome::Completed, "{act}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trap_on_a_line_ends_one_session_and_the_next_one_works() {
    let mut desk = Desk::with("shell");
    desk.start("t", "r1", "echo TRAP; sleep 600");
    let failure = desk.failed("r1").await;
    assert!(
        failure.message.contains("a line panics as told"),
        "{}",
        failure.message
    );
    desk.session_over().await;
    desk.start("t", "r2", "echo fine");
    assert_eq!(desk.ended("r2").await, TurnOutcome::Completed);
    assert_eq!(desk.sessions().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn noise_of_every_kind_reaches_the_driver_in_bounded_pieces() {
    let mut desk = Desk::with("shell");
    desk.start(
        "t",
        "r",
        "printf 'plain\\r\\nnul\\0here\\n\\xff\\xfe\\n\\n'; head -c 10000000 /dev/zero | tr '\\0' x; echo; printf half",
    );
    assert_eq!(desk.ended("r").await, TurnOutcome::Completed);
    let texts = desk.texts();
    let expected = [
        "out: plain",
        "out: nul\0here",
        "out: \u{fffd}\u{fffd}",
        "out: ",
    ];
    assert_eq!(texts[1..5], expected);
    assert!(texts[5].starts_with("out: xxx") && texts[5].ends_with("(over limit)"));
    assert_eq!(texts[6], "out: half (unterminated)");
}
