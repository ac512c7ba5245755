//! Which session holds which thread, and what is known of an instance.

use std::time::{Duration, Instant};

use domain::ids::{ProviderInstanceId, ThreadId};
use domain::provider::Readiness;
use domain::provider_event::{ProviderEvent, TurnOutcome};
use drivers::pool::Enabled;
use threads::ports::ProviderPort;

use crate::support::{Desk, instance, opening};

const LONG: Duration = Duration::from_secs(1_800);

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_starting_then_ready_with_what_its_probe_found() {
    let desk = Desk::with("");
    assert_eq!(desk.snapshot().readiness, Readiness::Starting);
    let snapshot = desk.settled().await;
    assert_eq!(
        snapshot.readiness,
        Readiness::Ready,
        "{:?}",
        snapshot.constraints
    );
    assert_eq!(snapshot.version.as_deref(), Some("1.2.3"));
    assert_eq!(snapshot.models.len(), 1);
    assert_eq!(snapshot.mcp_wait_ms_max, Some(50_000));
    assert_eq!(snapshot.display_name.as_deref(), Some("Hostile"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_the_way_of_an_instance_is_said_and_fails_its_turns() {
    let with = |change: &dyn Fn(&mut drivers::pool::InstanceConfig)| {
        let mut config = instance("");
        change(&mut config);
        config
    };
    let settings = |json: &'static str| with(&move |c| c.settings_json = json.to_owned());
    let cases = [
        (
            "switched off",
            with(&|c| c.enabled = Enabled::No),
            "enabled = true",
        ),
        (
            "no driver",
            with(&|c| c.kind = domain::ids::DriverKind::new("codex")),
            "cargo xtask build",
        ),
        (
            "no program",
            with(&|c| {
                c.command = vec!["no-such-agent".to_owned()];
                c.install_hint = Some("Install it with `npm i -g agent`.".to_owned());
            }),
            "npm i -g agent",
        ),
        (
            "bad settings",
            settings(r#"{"act":7}"#),
            "`settings.act` must be of type string",
        ),
        (
            "logged out",
            settings(r#"{"act":"probe-logged-out"}"#),
            "agent login",
        ),
        (
            "trap in the probe",
            settings(r#"{"act":"probe-traps"}"#),
            "the probe panics as told",
        ),
    ];
    for (name, config, words) in cases {
        let mut desk = Desk::of(vec![config], LONG);
        let snapshot = desk.settled().await;
        assert_eq!(snapshot.readiness, Readiness::Unusable, "{name}");
        let told = snapshot.constraints.join(" ");
        assert!(told.contains(words), "{name}: {told}");
        desk.start("t", "r", "go");
        let failure = desk.failed("r").await;
        assert!(
            failure.message.contains(words),
            "{name}: {}",
            failure.message
        );
        assert_eq!(failure.code.as_deref(), Some("provider_unusable"));
    }
    let mut desk = Desk::with("");
    desk.start_as(opening("t", "nobody", "/"), "r", "go");
    assert!(
        desk.failed("r")
            .await
            .message
            .contains("no provider instance `nobody`")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_program_is_found_again_once_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("agent");
    let mut config = instance("");
    config.command = vec![program.to_str().unwrap().to_owned()];
    let desk = Desk::of(vec![config], LONG);
    assert_eq!(desk.settled().await.readiness, Readiness::Unusable);
    std::fs::copy("/bin/bash", &program).unwrap();
    desk.pool.reprobe(&ProviderInstanceId::new("one")).await;
    assert_eq!(desk.snapshot().readiness, Readiness::Ready);
    desk.pool.reprobe(&ProviderInstanceId::new("nobody")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_share_a_session_up_to_its_bound() {
    let mut desk = Desk::with("hold");
    for place in 0..6 {
        desk.start(&format!("t{place}"), &format!("r{place}"), "go");
        desk.until(|event| matches!(event, ProviderEvent::TurnStarted { .. }).then_some(()))
            .await;
    }
    let holders: Vec<_> = desk
        .seen
        .iter()
        .filter(|report| matches!(report.event, ProviderEvent::ThreadAttached { .. }))
        .map(|report| report.session_id.clone())
        .collect();
    assert!(
        holders[..4].iter().all(|holder| *holder == holders[0]),
        "the driver's default is 4"
    );
    assert_ne!(holders[4], holders[0]);
    assert_eq!(holders[4], holders[5]);
    let minted = desk.credentials.minted.lock().unwrap().clone();
    assert_eq!(minted.len(), 6, "one credential for each thread");
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_of_one_thread_run_in_order_one_at_a_time() {
    let mut desk = Desk::with("timer");
    for place in 0..4 {
        desk.start("t", &format!("r{place}"), "go");
    }
    desk.ended("r3").await;
    let order: Vec<String> = desk
        .seen
        .iter()
        .filter_map(|report| match &report.event {
            ProviderEvent::TurnStarted { run_id, .. } => Some(format!("+{run_id}")),
            ProviderEvent::TurnEnded { run_id, .. } => Some(format!("-{run_id}")),
            _ => None,
        })
        .collect();
    assert_eq!(
        order,
        ["+r0", "-r0", "+r1", "-r1", "+r2", "-r2", "+r3", "-r3"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_thread_ends_what_runs_and_the_others_go_on() {
    let mut desk = Desk::with("hold");
    for thread in ["a", "b"] {
        desk.start(thread, &format!("run-{thread}"), "go");
        desk.until(|event| matches!(event, ProviderEvent::TurnStarted { .. }).then_some(()))
            .await;
    }
    desk.release("a");
    assert_eq!(desk.ended("run-a").await, TurnOutcome::Interrupted);
    let thread = desk
        .until(|event| match event {
            ProviderEvent::ThreadDetached { thread_id, .. } => Some(thread_id.clone()),
            _ => None,
        })
        .await;
    assert_eq!(thread, ThreadId::new("a"));
    assert_eq!(desk.credentials.revoked.lock().unwrap().len(), 1);
    desk.interrupt("b", "run-b");
    assert_eq!(desk.ended("run-b").await, TurnOutcome::Interrupted);
    desk.release("b");
    desk.session_over().await;
    // A session with no thread left is over; the next turn makes a new one.
    desk.start("a", "run-c", "go");
    desk.until(|event| matches!(event, ProviderEvent::TurnStarted { .. }).then_some(()))
        .await;
    assert_eq!(desk.sessions().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_thread_is_let_go_and_a_busy_one_is_not() {
    let mut desk = Desk::of(vec![instance("")], Duration::from_millis(100));
    desk.start("t", "r", "go");
    desk.ended("r").await;
    let reason = desk
        .until(|event| match event {
            ProviderEvent::ThreadDetached { reason, .. } => Some(reason.clone()),
            _ => None,
        })
        .await;
    assert_eq!(reason, "idle");
    desk.session_over().await;
    let mut desk = Desk::of(vec![instance("hold")], Duration::from_millis(100));
    desk.start("t", "r", "go");
    desk.until(|event| matches!(event, ProviderEvent::TurnStarted { .. }).then_some(()))
        .await;
    // Ten looks at a thread that has been silent for longer than the idle time.
    tokio::time::sleep(drivers::limits::IDLE_SCAN_INTERVAL_MIN * 10).await;
    desk.interrupt("t", "r");
    assert_eq!(desk.ended("r").await, TurnOutcome::Interrupted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_past_its_life_is_renewed_before_the_next_turn() {
    let mut desk = Desk::with("");
    desk.start("t", "r1", "go");
    desk.ended("r1").await;
    desk.credentials
        .overdue
        .lock()
        .unwrap()
        .insert(ThreadId::new("t"));
    desk.start("t", "r2", "go");
    assert_eq!(desk.ended("r2").await, TurnOutcome::Completed);
    assert_eq!(desk.credentials.minted.lock().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_keeps_failing_is_left_alone_and_says_so() {
    let mut desk = Desk::with("panics");
    for run in ["r1", "r2", "r3"] {
        desk.start("t", run, "go");
        desk.failed(run).await;
        desk.session_over().await;
    }
    desk.start("t", "r4", "go");
    let failure = desk.failed("r4").await;
    assert!(
        failure.message.contains("left alone for"),
        "{}",
        failure.message
    );
    let snapshot = desk.snapshot();
    assert_eq!(snapshot.readiness, Readiness::Unusable);
    assert!(
        snapshot.constraints[0].contains("a turn panics as told"),
        "{:?}",
        snapshot.constraints
    );
    assert_eq!(desk.sessions().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_ends_turns_and_processes_in_time() {
    let mut desk = Desk::with("shell");
    for place in 0..3 {
        desk.start(
            &format!("t{place}"),
            &format!("r{place}"),
            "trap '' TERM; echo up; while :; do sleep 1; done",
        );
    }
    let mut pids = Vec::new();
    while pids.len() < 3 {
        if let ProviderEvent::ProcessStarted { pid, .. } = desk.next().await.event {
            pids.push(pid);
        }
    }
    let pool = desk.pool.clone();
    let begun = Instant::now();
    let down = tokio::spawn(async move { pool.shutdown().await });
    for run in ["r0", "r1", "r2"] {
        if desk.ends_of(run) == 0 {
            assert_eq!(desk.ended(run).await, TurnOutcome::Interrupted);
        }
    }
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "turns end before processes"
    );
    desk.session_over().await;
    down.await.unwrap();
    assert!(begun.elapsed() < drivers::limits::SHUTDOWN_TIME_MAX);
    for pid in pids {
        assert!(
            !std::path::Path::new(&format!("/proc/{pid}")).exists(),
            "{pid} is left"
        );
    }
    let left = std::fs::read_dir(desk.data.path().join("sessions"))
        .unwrap()
        .count();
    assert_eq!(left, 0, "session folders are gone");
    desk.start("t9", "r9", "after the end");
}
