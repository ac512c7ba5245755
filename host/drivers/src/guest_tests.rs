//! The guest alone, without processes and sessions around it.

use super::*;
use crate::bindings::v0_1::types::{Limits, OpenThread, StartTurn};

#[path = "../tests/suite/guest.rs"]
#[allow(dead_code, reason = "shared with the tests of the whole crate")]
mod component;

fn driver() -> LoadedDriver {
    let cache = component::build_folder().join("cache");
    let engine = DriverEngine::start(Some(&cache)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime
        .block_on(LoadedDriver::load(&engine, component::component()))
        .unwrap()
}

fn open(driver: &LoadedDriver, act: &str) -> GuestSession {
    let mut bounds = SessionLimits::default();
    if act != "spins" {
        // On a busy machine a call may be late for reasons that are not its own.
        bounds.call_time_max = Duration::from_secs(10);
    }
    let config = SessionConfig {
        purpose: "session".to_owned(),
        provider_session_id: "s".to_owned(),
        working_folder_path: "/w".to_owned(),
        session_folder_path: "/s".to_owned(),
        secrets: Vec::new(),
        settings_json: format!(r#"{{"act":"{act}"}}"#),
        seed: (1, 2),
        limits: Limits {
            line_bytes_max: bounds.line_bytes_max,
            actions_max: bounds.actions_max,
            text_bytes_max: bounds.text_bytes_max,
            file_bytes_max: bounds.file_bytes_max,
            processes_max: bounds.processes_max,
            timers_max: limits::TIMERS_MAX,
            timer_ms_min: limits::TIMER_MS_MIN,
            timer_ms_max: limits::TIMER_MS_MAX,
        },
        extra: None,
    };
    let log = GuestLog::new("test".to_owned(), Arc::new(str::to_owned));
    let mut guest = GuestSession::open(driver, &config, &bounds, log).unwrap();
    let thread = Input::OpenThread(OpenThread {
        effect_id: "effect-1".to_owned(),
        thread_id: "t".to_owned(),
        native_thread_id: None,
        workspace_path: "/w".to_owned(),
        model: types::ModelSelection {
            model: None,
            options: Vec::new(),
        },
        modes: modes(),
        mcp: None,
        extra: None,
    });
    assert_eq!(guest.handle(&[Input::Begin]).unwrap().len(), 0);
    assert_eq!(guest.handle(&[thread]).unwrap().len(), 1);
    guest
}

fn modes() -> types::Modes {
    types::Modes {
        runtime_mode: "full-access".to_owned(),
        interaction_mode: "default".to_owned(),
    }
}

fn turn(run: &str) -> Input {
    Input::StartTurn(StartTurn {
        effect_id: "effect-2".to_owned(),
        thread_id: "t".to_owned(),
        turn_id: run.to_owned(),
        text: "hello".to_owned(),
        attachments: Vec::new(),
        model: types::ModelSelection {
            model: None,
            options: Vec::new(),
        },
        modes: modes(),
        instructions: None,
        context_transfer: None,
        extra: None,
    })
}

#[test]
fn twenty_thousand_calls_in_one_guest_all_come_back() {
    let driver = driver();
    let mut guest = open(&driver, "");
    let input = [turn("r")];
    for call in 0..20_000 {
        let actions = guest.handle(&input).unwrap();
        assert_eq!(actions.len(), 3, "call {call}");
    }
}

#[test]
fn a_thousand_traps_leave_twenty_other_guests_alone() {
    let driver = driver();
    let mut others: Vec<GuestSession> = (0..20).map(|_| open(&driver, "")).collect();
    for round in 0..1_000 {
        let mut victim = open(&driver, "panics");
        let error = victim.handle(&[turn("r")]).unwrap_err();
        assert!(matches!(error, GuestError::Trap(_)), "{error}");
        assert_eq!(victim.handle(&[turn("r")]), Err(GuestError::Discarded));
        let count = others.len();
        let actions = others[round % count].handle(&[turn("r")]).unwrap();
        assert_eq!(actions.len(), 3);
    }
}

#[test]
fn memory_of_a_greedy_guest_is_given_back() {
    let driver = driver();
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: usize = status.split(' ').nth(1).unwrap().parse().unwrap();
        pages * 4_096
    };
    let before = resident();
    for _ in 0..10 {
        let mut guest = open(&driver, "hoards");
        let error = guest.handle(&[turn("r")]).unwrap_err();
        assert_eq!(
            error,
            GuestError::OutOfMemory {
                bytes_max: limits::GUEST_MEMORY_BYTES_MAX
            }
        );
    }
    let grown = resident().saturating_sub(before);
    assert!(
        grown < limits::GUEST_MEMORY_BYTES_MAX,
        "grew by {grown} bytes"
    );
}

#[test]
fn a_guest_that_rests_longer_than_its_deadline_still_answers() {
    let driver = driver();
    let mut guest = open(&driver, "spins");
    std::thread::sleep(limits::CALL_TIME_MAX * 2);
    assert!(guest.handle(&[Input::Begin]).is_ok());
}

#[test]
fn a_guest_that_never_returns_is_stopped_even_when_the_clock_slept() {
    let driver = driver();
    for act in ["spins", "hold", "spins"] {
        let mut guest = open(&driver, act);
        std::thread::sleep(limits::EPOCH_TICK * (limits::QUIET_TICKS + 20));
        let begun = Instant::now();
        let result = guest.handle(&[turn("r")]);
        assert_eq!(result.is_err(), act == "spins");
        assert!(
            begun.elapsed() < limits::CALL_TIME_MAX * 4,
            "took {:?}",
            begun.elapsed()
        );
    }
}
