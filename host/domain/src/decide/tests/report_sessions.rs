//! What sessions say of themselves, their processes and the requests they open.

use std::slice::from_ref;

use crate::ids::{ProviderSessionId, RequestId, ThreadId};
use crate::provider_event::{Blocking, ProviderEvent, Resume, SessionEnd};
use crate::request::RequestStatus;
use crate::session::{ProcessRecord, ProviderSession};

use super::respond::{approval, questions};
use super::world::{SESSION, World};

fn session(world: &World) -> ProviderSession {
    world.view.sessions[&ProviderSessionId::new(SESSION)].clone()
}

fn ended(reason: &str) -> ProviderEvent {
    ProviderEvent::SessionEnded {
        reason: reason.to_owned(),
        end: SessionEnd::Failed,
    }
}

fn detached(thread: &ThreadId) -> ProviderEvent {
    ProviderEvent::ThreadDetached {
        thread_id: thread.clone(),
        reason: "idle".to_owned(),
    }
}

#[test]
fn a_session_holds_threads_until_it_lets_go() {
    let mut world = World::new();
    let (one, two) = (world.running(), world.running());
    world.attach(&one.thread);
    world.attach(&two.thread);
    assert!(world.attach(&one.thread).events.len() <= 1, "known already");
    assert_eq!(
        session(&world).threads,
        [one.thread.clone(), two.thread.clone()]
    );
    assert_eq!(
        world.thread(&one.thread).session_id,
        Some(ProviderSessionId::new(SESSION))
    );

    world.report(detached(&one.thread));
    assert_eq!(session(&world).threads, from_ref(&two.thread));
    assert_eq!(world.thread(&one.thread).session_id, None);
    world.report(ended("crash"));
    assert_eq!(world.thread(&two.thread).session_id, None);
    assert!(session(&world).threads.is_empty());
}

#[test]
fn a_session_that_goes_takes_nothing_from_the_one_that_holds_the_thread_now() {
    for last_word in [detached as fn(&ThreadId) -> ProviderEvent, |_| {
        ended("crash")
    }] {
        let mut world = World::new();
        let talk = world.running();
        world.attach(&talk.thread);
        let attached = ProviderEvent::ThreadAttached {
            thread_id: talk.thread.clone(),
        };
        world.report_from("session-2", attached);
        world.background(&talk.thread, &["watch"]);
        world.report(last_word(&talk.thread));
        let thread = world.thread(&talk.thread);
        assert_eq!(thread.session_id, Some(ProviderSessionId::new("session-2")));
        assert_eq!(thread.background, ["watch"]);
    }
}

#[test]
fn processes_are_known_while_they_run() {
    let mut world = World::new();
    world.report(ProviderEvent::ProcessStarted {
        pid: 7,
        start_ticks: 70,
    });
    world.report(ProviderEvent::ProcessStarted {
        pid: 8,
        start_ticks: 80,
    });
    world.report(ProviderEvent::ProcessEnded { pid: 7 });
    assert_eq!(
        session(&world).processes,
        [ProcessRecord {
            pid: 8,
            start_ticks: 80
        }]
    );
    world.report(ended("crash"));
    let session = session(&world);
    assert!(session.processes.is_empty());
    let end = session.ended.expect("ended");
    assert_eq!(
        (end.end, end.reason.as_str()),
        (SessionEnd::Failed, "crash")
    );
}

#[test]
fn the_conversation_of_a_thread_is_remembered() {
    let mut world = World::new();
    let talk = world.running();
    world.report(ProviderEvent::ThreadReady {
        thread_id: talk.thread.clone(),
        native_thread_id: "native-1".to_owned(),
        resume: Resume::Possible,
        model: None,
    });
    let native = world.thread(&talk.thread).native.clone().expect("known");
    assert_eq!(
        (native.id.as_str(), native.resume),
        ("native-1", Resume::Possible)
    );
    world.attach(&talk.thread);
    world.report(ended("crash"));
    assert!(
        world.thread(&talk.thread).native.is_some(),
        "a later session takes it up again"
    );
}

#[test]
fn a_session_that_goes_leaves_no_request_of_its_own_open() {
    let mut world = World::new();
    let (talk, other) = (world.running(), world.running());
    let asked = world.ask("request-1", &talk.run, approval(&[]));
    let elsewhere = RequestId::new("request-2");
    world.report_from(
        "session-2",
        ProviderEvent::RequestOpened {
            request_id: elsewhere.clone(),
            thread_id: other.thread.clone(),
            run_id: None,
            blocking: Blocking::NonBlocking,
            prompt: questions(),
            detail_json: "{}".to_owned(),
        },
    );
    world.report(ended("crash"));
    assert!(matches!(
        world.request(&asked).status,
        RequestStatus::Invalidated(_)
    ));
    assert!(world.request(&elsewhere).is_pending());
}

#[test]
fn a_request_is_open_until_its_session_closes_it() {
    let mut world = World::new();
    let talk = world.running();
    let asked = world.ask("request-1", &talk.run, approval(&[]));
    assert!(world.request(&asked).is_pending());
    let closed = |reason: &str| ProviderEvent::RequestClosed {
        request_id: RequestId::new("request-1"),
        reason: reason.to_owned(),
    };
    world.report(closed("withdrawn"));
    let status = RequestStatus::Invalidated("withdrawn".to_owned());
    assert_eq!(world.request(&asked).status, status);
    assert!(
        world.report(closed("superseded")).events.is_empty(),
        "closed once"
    );
}

#[test]
fn a_request_of_an_ended_turn_is_never_open() {
    let mut world = World::new();
    let talk = world.running();
    world.complete(&talk.run);
    let late = world.ask("request-1", &talk.run, approval(&[]));
    assert!(matches!(
        world.request(&late).status,
        RequestStatus::Invalidated(_)
    ));
    assert!(world.request(&late).resolved_at.is_some());
}

#[test]
fn a_request_told_twice_does_not_open_again() {
    let mut world = World::new();
    let talk = world.running();
    let asked = world.ask("request-1", &talk.run, approval(&[]));
    world.report(ProviderEvent::RequestClosed {
        request_id: asked.clone(),
        reason: "withdrawn".to_owned(),
    });
    world.ask("request-1", &talk.run, approval(&[]));
    assert!(!world.request(&asked).is_pending());
}

#[test]
fn reports_of_unknown_threads_change_no_thread() {
    let mut world = World::new();
    let nowhere = ThreadId::new("thread-x");
    world.attach(&nowhere);
    world.background(&nowhere, &["watch"]);
    world.report(detached(&nowhere));
    assert!(world.view.threads.is_empty());
    world.report(ProviderEvent::RequestOpened {
        request_id: RequestId::new("request-1"),
        thread_id: nowhere,
        run_id: None,
        blocking: Blocking::Blocking,
        prompt: questions(),
        detail_json: "{}".to_owned(),
    });
    assert!(world.view.requests.is_empty());
}
