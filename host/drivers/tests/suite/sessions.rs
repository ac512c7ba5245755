//! Turns on a real component and real processes.

use std::time::{Duration, Instant};

use domain::ids::{RequestId, ThreadId};
use domain::provider_event::{ProviderEvent, SessionEnd, TurnOutcome};
use domain::request::{Choice, Prompt, Reply};
use threads::ports::{ProviderPort, ProviderWork};

use crate::support::{CANARY, Desk, instance};

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_runs_from_attachment_to_its_end() {
    let mut desk = Desk::with("");
    desk.start("t", "r", "hello");
    assert_eq!(desk.ended("r").await, TurnOutcome::Completed);
    let kinds: Vec<&str> = desk
        .seen
        .iter()
        .map(|report| match &report.event {
            ProviderEvent::ThreadAttached { .. } => "attached",
            ProviderEvent::ThreadReady { .. } => "ready",
            ProviderEvent::TurnStarted { .. } => "started",
            ProviderEvent::Item(_) => "item",
            ProviderEvent::TurnEnded { .. } => "ended",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        kinds,
        ["attached", "ready", "started", "item", "item", "ended"]
    );
    assert_eq!(desk.texts(), ["instructions: shared instructions", "hello"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn instructions_go_with_the_first_turn_of_a_conversation_alone() {
    let mut desk = Desk::with("");
    desk.start("t", "r1", "one");
    desk.ended("r1").await;
    let mut second = crate::support::opening("t", "one", desk.data.path().to_str().unwrap());
    second.conversation = threads::ports::Conversation::Begun;
    desk.start_as(second, "r2", "two");
    desk.ended("r2").await;
    assert_eq!(
        desk.texts(),
        ["instructions: shared instructions", "one", "two"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_is_reported_and_its_lines_and_exit_reach_the_driver() {
    let mut desk = Desk::with("shell");
    desk.start(
        "t",
        "r",
        "read line; echo \"$line\" | cut -c1-5; echo oops >&2; exit 0",
    );
    assert_eq!(desk.ended("r").await, TurnOutcome::Completed);
    let mut texts = desk.texts();
    texts.sort();
    assert_eq!(
        texts,
        [
            "err: oops",
            "instructions: shared instructions",
            "out: hello"
        ]
    );
    let started = desk.seen.iter().find_map(|report| match report.event {
        ProviderEvent::ProcessStarted { pid, start_ticks } => Some((pid, start_ticks)),
        _ => None,
    });
    let ended = desk.seen.iter().find_map(|report| match report.event {
        ProviderEvent::ProcessEnded { pid } => Some(pid),
        _ => None,
    });
    assert_eq!(started.map(|(pid, _)| pid), ended);
    assert!(started.unwrap().1 > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_exit_fails_the_turn_and_the_session_goes_on() {
    let mut desk = Desk::with("shell");
    desk.start("t", "r1", "exit 7");
    assert!(desk.failed("r1").await.message.contains("Code(7)"));
    desk.start("t", "r2", "kill -9 $$");
    assert!(desk.failed("r2").await.message.contains("Signal(9)"));
    desk.start("t", "r3", "echo fine");
    assert_eq!(desk.ended("r3").await, TurnOutcome::Completed);
    assert_eq!(desk.sessions().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_program_reaches_the_driver_as_an_exit() {
    let mut config = instance("shell");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("agent");
    std::fs::copy("/bin/bash", &program).unwrap();
    config.command = vec![program.to_str().unwrap().to_owned()];
    let mut desk = Desk::of(vec![config], Duration::from_secs(60));
    desk.settled().await;
    std::fs::remove_file(&program).unwrap();
    desk.start("t", "r", "true");
    let failure = desk.failed("r").await;
    assert!(failure.message.contains("not found"), "{}", failure.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_reaches_the_process_and_nothing_else() {
    let mut desk = Desk::with("token-in-environment");
    desk.start(
        "t",
        "r",
        "echo \"env $HOSTILE_TOKEN\"; read line; echo \"stdin $line\"; echo \"bad $HOSTILE_TOKEN\" >&2; \
         [ ${#HOSTILE_TOKEN} = 29 ] && echo right length; cat /proc/$$/cmdline | tr '\\0' ' '; echo",
    );
    assert_eq!(desk.ended("r").await, TurnOutcome::Completed);
    let texts = desk.texts();
    assert!(texts.contains(&"out: right length".to_owned()), "{texts:?}");
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("out: stdin hello weft-secret-")),
        "{texts:?}"
    );
    assert!(!format!("{:?}", desk.seen).contains(CANARY));
    desk.pool.shutdown().await;
    let recordings = recordings(&desk);
    assert!(!recordings.is_empty() && recordings.iter().all(|text| !text.contains(CANARY)));
}

fn recordings(desk: &Desk) -> Vec<String> {
    std::fs::read_dir(desk.data.path().join("recordings"))
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_session_replays_to_the_byte_and_tells_another_driver() {
    let mut desk = Desk::with("shell");
    desk.start(
        "t",
        "r1",
        "read line; for i in 1 2 3; do echo line $i; done; exit 1",
    );
    desk.failed("r1").await;
    desk.start("t", "r2", "echo TRAP");
    desk.failed("r2").await;
    desk.session_over().await;
    desk.pool.shutdown().await;
    let engine = drivers::engine::DriverEngine::start(None).unwrap();
    let bytes = crate::guest::component();
    let driver = drivers::component::LoadedDriver::load(&engine, bytes)
        .await
        .unwrap();
    let recordings = recordings(&desk);
    assert_eq!(recordings.len(), 2, "the probe and the session");
    for text in &recordings {
        assert!(drivers::replay::replay(&driver, text).unwrap() > 0);
        let other = text
            .replace("native-t", "native-x")
            .replace("1.2.3", "9.9.9");
        let error = drivers::replay::replay(&driver, &other).unwrap_err();
        assert!(
            matches!(error, drivers::replay::ReplayError::Differs { .. }),
            "{error}"
        );
    }
    let cut = "{\"inputs\":[]}";
    assert!(drivers::replay::replay(&driver, cut).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_driver_keeps_working_off_the_shared_threads() {
    let mut config = instance("dawdles");
    config.limits.call_time_max = Duration::from_secs(10);
    let mut desk = Desk::of(vec![config], Duration::from_secs(60));
    for run in ["r1", "r2", "r3"] {
        desk.start("t", run, "go");
        assert_eq!(desk.ended(run).await, TurnOutcome::Completed);
    }
    assert_eq!(desk.sessions().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_asked_and_answered_by_the_providers_own_option() {
    let mut desk = Desk::with("ask");
    desk.start("t", "r", "go");
    let (request_id, prompt) = desk
        .until(|event| match event {
            ProviderEvent::RequestOpened {
                request_id, prompt, ..
            } => Some((request_id.clone(), prompt.clone())),
            _ => None,
        })
        .await;
    let Prompt::Approval(approval) = prompt else {
        panic!("an approval")
    };
    assert_eq!(approval.choices, [Choice::Accept, Choice::Decline]);
    let answer = |request_id: RequestId| ProviderWork::Answer {
        thread_id: ThreadId::new("t"),
        request_id,
        reply: Reply::Decision {
            choice: Choice::Accept,
            message: None,
        },
    };
    desk.pool.submit(answer(RequestId::new("somebody-elses")));
    desk.pool.submit(answer(request_id.clone()));
    assert_eq!(desk.ended("r").await, TurnOutcome::Completed);
    assert!(
        desk.texts().iter().any(|text| text.contains("opt-7")),
        "{:?}",
        desk.texts()
    );
    let closed = desk.seen.iter().any(|report| {
        matches!(&report.event, ProviderEvent::RequestClosed { request_id: id, reason }
            if *id == request_id && reason == "answered")
    });
    assert!(closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_steer_is_taken_or_refused_and_never_lost() {
    let mut desk = Desk::with("hold");
    desk.start("t", "r", "go");
    // Before the turn has started: it waits for the start.
    desk.steer("t", "r", "early");
    desk.steer("t", "r", "refuse");
    let answers = |desk: &Desk| -> Vec<(String, bool)> {
        desk.seen
            .iter()
            .filter_map(|report| match &report.event {
                ProviderEvent::SteerEnded {
                    message_id,
                    refusal,
                    ..
                } => Some((message_id.to_string(), refusal.is_none())),
                _ => None,
            })
            .collect()
    };
    while answers(&desk).len() < 2 {
        desk.next().await;
    }
    desk.interrupt("t", "r");
    assert_eq!(desk.ended("r").await, TurnOutcome::Interrupted);
    desk.steer("t", "r", "late");
    while answers(&desk).len() < 3 {
        desk.next().await;
    }
    let expected = [
        ("message-early", true),
        ("message-refuse", false),
        ("message-late", false),
    ];
    assert_eq!(
        answers(&desk),
        expected.map(|(id, taken)| (id.to_owned(), taken))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_before_the_start_ends_the_turn_as_interrupted() {
    for act in ["hold", "turn-refused"] {
        let mut desk = Desk::with(act);
        desk.start("t", "r", "go");
        desk.interrupt("t", "r");
        assert_eq!(desk.ended("r").await, TurnOutcome::Interrupted, "{act}");
        assert_eq!(desk.ends_of("r"), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_or_turn_the_provider_refuses_fails_with_its_words() {
    for (act, words) in [
        ("open-thread-refused", "no thread"),
        ("turn-refused", "no turn"),
    ] {
        let mut desk = Desk::with(act);
        desk.start("t", "r", "go");
        let failure = desk.failed("r").await;
        assert!(
            failure.message.contains(words),
            "{act}: {}",
            failure.message
        );
        assert_eq!(desk.ends_of("r"), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_dies_is_told_within_a_second_even_by_a_deaf_driver() {
    for settings in [r#"{"act":"shell"}"#, r#"{"act":"shell","deaf":true}"#] {
        let mut config = instance("");
        config.settings_json = settings.to_owned();
        let mut desk = Desk::of(vec![config], Duration::from_secs(60));
        desk.settled().await;
        desk.start("t", "r", "echo last words >&2; kill -9 $$");
        desk.until(|event| matches!(event, ProviderEvent::ProcessStarted { .. }).then_some(()))
            .await;
        let begun = Instant::now();
        desk.failed("r").await;
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "{settings}: {:?}",
            begun.elapsed()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_nobody_heeds_ends_the_process_and_the_turn() {
    let mut config = instance("ignores-interrupt");
    config.limits.interrupt_time_max = Duration::from_millis(300);
    let mut desk = Desk::of(vec![config], Duration::from_secs(60));
    desk.start("t", "r", "go");
    desk.until(|event| matches!(event, ProviderEvent::TurnStarted { .. }).then_some(()))
        .await;
    desk.interrupt("t", "r");
    assert_eq!(desk.ended("r").await, TurnOutcome::Interrupted);
    assert!(desk.session_over().await.contains("did not stop"));
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_has_an_end() {
    for act in ["open-thread-silent", "turn-silent"] {
        let mut config = instance(act);
        config.limits.start_silence_max = Duration::from_millis(300);
        let mut desk = Desk::of(vec![config], Duration::from_secs(60));
        desk.start("t", "r", "go");
        let failure = desk.failed("r").await;
        assert_eq!(failure.code.as_deref(), Some("provider_silent"), "{act}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_can_end_its_session() {
    let mut desk = Desk::with("ends-session");
    desk.start("t", "r", "go");
    assert_eq!(desk.ended("r").await, TurnOutcome::Completed);
    let end = desk
        .until(|event| match event {
            ProviderEvent::SessionEnded { end, .. } => Some(*end),
            _ => None,
        })
        .await;
    assert_eq!(end, SessionEnd::Stopped);
    let mut desk = Desk::with("ends-session-with-live-turn");
    desk.start("t", "r", "go");
    desk.ended("r").await;
    assert_eq!(desk.ends_of("r"), 1);
}
