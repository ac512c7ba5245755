use std::sync::Arc;
use std::time::Duration;

use domain::authority::Capability;
use domain::ids::{ProviderInstanceId, ProviderSessionId, ThreadId};
use domain::time::Timestamp;
use threads::clock::SimulatedClock;
use threads::ports::{CredentialPort, CredentialRequest, MintedCredential};

use super::*;

const START: u64 = 1_800_000_000_000;
const IDLE: u64 = 1_000;
const LIFE: u64 = 5_000;

/// A registry whose time moves only when told to: idle 1,000 ms, life 5,000 ms.
struct Fixture {
    registry: CredentialRegistry,
    clock: SimulatedClock,
}

impl Fixture {
    fn new() -> Self {
        Self::with(vec![Capability::Orchestration])
    }

    fn with(capabilities: Vec<Capability>) -> Self {
        let clock = SimulatedClock::at(Timestamp::from_millis(START));
        let settings = CredentialSettings {
            environment_id: EnvironmentId::new("environment-1"),
            server_name: "t3-code".to_owned(),
            url: "http://127.0.0.1:7420/mcp".to_owned(),
            capabilities,
            idle: Duration::from_millis(IDLE),
            life: Duration::from_millis(LIFE),
        };
        Self {
            registry: CredentialRegistry::new(settings, Arc::new(clock.clone())),
            clock,
        }
    }

    fn mint(&self, thread: &str, session: &str) -> MintedCredential {
        let request = CredentialRequest {
            thread_id: ThreadId::new(thread),
            instance_id: ProviderInstanceId::new("codex-main"),
            session_id: ProviderSessionId::new(session),
        };
        self.registry.mint(&request).expect("tools are on")
    }

    fn at(&self, millis: u64) -> &Self {
        self.clock.set(Timestamp::from_millis(START + millis));
        self
    }

    fn is_good(&self, credential: &MintedCredential) -> bool {
        self.registry.resolve(credential.token.expose()).is_some()
    }

    fn turn_started(&self) {
        self.registry.turn_started(&thread(), &session());
    }

    fn turn_over(&self) {
        self.registry.turn_over(&thread(), &session());
    }

    fn is_overdue(&self) -> bool {
        self.registry.is_overdue(&thread(), &session())
    }
}

fn thread() -> ThreadId {
    ThreadId::new("thread-1")
}

fn session() -> ProviderSessionId {
    ProviderSessionId::new("session-1")
}

#[test]
fn a_token_resolves_to_the_scope_it_was_minted_for() {
    let host = Fixture::new();
    let minted = host.mint("thread-1", "session-1");
    let principal = host
        .registry
        .resolve(minted.token.expose())
        .expect("a fresh credential");
    assert_eq!(principal.authority.thread_id.as_str(), "thread-1");
    assert_eq!(principal.authority.instance_id.as_str(), "codex-main");
    assert_eq!(principal.authority.session_id.as_str(), "session-1");
    assert_eq!(
        principal.authority.capabilities,
        [Capability::Orchestration]
    );
    assert_eq!(minted.server_name, "t3-code");
    assert_eq!(minted.url, "http://127.0.0.1:7420/mcp");
    assert_eq!(minted.protocol_version, "2025-06-18");
    assert!(!minted.tools.is_empty() && !minted.instructions.is_empty());
}

#[test]
fn anything_but_the_whole_token_is_unknown() {
    let host = Fixture::new();
    let minted = host.mint("thread-1", "session-1");
    let token = minted.token.expose();
    for wrong in [
        String::new(),
        token[..42].to_owned(),
        format!("{token}A"),
        format!(" {token}"),
        token.to_ascii_uppercase(),
        "0".repeat(43),
    ] {
        assert!(
            host.registry.resolve(&wrong).is_none(),
            "{} characters",
            wrong.len()
        );
    }
    assert!(host.is_good(&minted));
}

#[test]
fn an_idle_credential_is_good_at_its_limit_and_not_beyond() {
    for (age, good) in [(IDLE - 1, true), (IDLE, true), (IDLE + 1, false)] {
        let host = Fixture::new();
        let minted = host.mint("thread-1", "session-1");
        assert_eq!(host.at(age).is_good(&minted), good, "{age} ms");
    }
}

#[test]
fn every_use_starts_the_idle_time_again() {
    let host = Fixture::new();
    let minted = host.mint("thread-1", "session-1");
    for at in [IDLE, 2 * IDLE, 3 * IDLE] {
        assert!(host.at(at).is_good(&minted), "{at} ms");
    }
    assert!(!host.at(4 * IDLE + 1).is_good(&minted));
}

#[test]
fn the_end_of_a_turn_starts_the_idle_time_again() {
    for (after, good) in [(IDLE, true), (IDLE + 1, false)] {
        let host = Fixture::new();
        let minted = host.mint("thread-1", "session-1");
        host.turn_started();
        host.at(3 * IDLE).turn_over();
        assert_eq!(
            host.at(3 * IDLE + after).is_good(&minted),
            good,
            "{after} ms"
        );
    }
}

#[test]
fn a_live_turn_keeps_a_silent_credential_good() {
    let host = Fixture::new();
    let minted = host.mint("thread-1", "session-1");
    host.turn_started();
    host.at(4 * IDLE).registry.sweep();
    assert!(host.is_good(&minted));
}

#[test]
fn a_used_credential_is_good_at_its_maximum_life_and_not_beyond() {
    for (age, good) in [(LIFE - 1, true), (LIFE, true), (LIFE + 1, false)] {
        let host = Fixture::new();
        let minted = host.mint("thread-1", "session-1");
        for at in (0..LIFE).step_by(500) {
            assert!(host.at(at).is_good(&minted), "{at} ms");
        }
        assert_eq!(host.at(age).is_overdue(), !good, "{age} ms");
        assert_eq!(host.is_good(&minted), good, "{age} ms");
    }
}

#[test]
fn a_turn_in_flight_at_the_maximum_life_stays_good_until_it_ends() {
    let host = Fixture::new();
    let minted = host.mint("thread-1", "session-1");
    host.turn_started();
    host.at(LIFE + 1).registry.sweep();
    assert!(host.is_overdue(), "to be renewed");
    assert!(host.is_good(&minted), "still in use");
    host.turn_over();
    assert!(!host.is_good(&minted), "over");
}

#[test]
fn a_renewed_credential_replaces_the_old_one_and_takes_over_its_turn() {
    let host = Fixture::new();
    let old = host.mint("thread-1", "session-1");
    host.turn_started();
    let new = host.at(LIFE + 1).mint("thread-1", "session-1");
    assert!(!host.is_good(&old));
    assert!(host.is_good(&new));
    assert!(!host.is_overdue());
    assert!(
        host.at(LIFE + 1 + 2 * IDLE).is_good(&new),
        "the turn still lives"
    );
}

#[test]
fn a_clock_that_jumps_back_ends_nothing() {
    let host = Fixture::new();
    host.at(LIFE);
    let minted = host.mint("thread-1", "session-1");
    assert!(host.at(0).is_good(&minted));
    assert!(host.at(LIFE).is_good(&minted));
}

#[test]
fn ends_reach_exactly_the_credentials_they_name() {
    type End = fn(&CredentialRegistry);
    let cases: [(&str, End, [bool; 3]); 4] = [
        (
            "thread and session",
            |r| r.revoke(&thread(), &session()),
            [false, true, true],
        ),
        (
            "session",
            |r| r.revoke_session(&session()),
            [false, false, true],
        ),
        ("all", CredentialRegistry::revoke_all, [false, false, false]),
        (
            "other thread",
            |r| r.revoke(&ThreadId::new("thread-9"), &session()),
            [true, true, true],
        ),
    ];
    for (name, end, good) in cases {
        let host = Fixture::new();
        let minted = [
            ("thread-1", "session-1"),
            ("thread-2", "session-1"),
            ("thread-1", "session-2"),
        ]
        .map(|(thread, session)| host.mint(thread, session));
        end(&host.registry);
        assert_eq!(
            minted.each_ref().map(|credential| host.is_good(credential)),
            good,
            "{name}"
        );
    }
}

#[test]
fn every_ending_is_told_once() {
    let host = Fixture::new();
    let mut endings = host.registry.endings();
    let ids = ["session-1", "session-2", "session-3"].map(|session| {
        let minted = host.mint("thread-1", session);
        host.registry
            .resolve(minted.token.expose())
            .expect("fresh")
            .credential
    });
    host.registry.revoke(&thread(), &session());
    host.registry.revoke(&thread(), &session());
    host.registry
        .revoke_session(&ProviderSessionId::new("session-2"));
    host.at(IDLE + 1).registry.sweep();
    let told: Vec<_> = std::iter::from_fn(|| endings.try_recv().ok()).collect();
    assert_eq!(told, ids);
    assert!(ids.iter().all(|id| !host.registry.stands(*id)));
}

#[test]
fn without_toolkits_nothing_is_minted() {
    let host = Fixture::with(Vec::new());
    let request = CredentialRequest {
        thread_id: thread(),
        instance_id: ProviderInstanceId::new("codex-main"),
        session_id: session(),
    };
    assert!(host.registry.mint(&request).is_none());
}

#[test]
fn no_token_shows_in_what_is_printed_for_debugging() {
    let host = Fixture::new();
    let minted = host.mint("thread-1", "session-1");
    let principal = host.registry.resolve(minted.token.expose());
    let printed = format!("{:?} {minted:?} {principal:?}", host.registry);
    assert!(!printed.contains(minted.token.expose()));
}
