//! Calling again with the same key.

use domain::authority::Authority;
use domain::error::DenialCode;
use domain::ids::ProviderSessionId;
use domain::modes::RuntimeMode;
use domain::provider_event::TurnOutcome;
use domain::view::View;
use threads::service::{DelegateRequest, WaitEnd, WaitMode};
use tokio_util::sync::CancellationToken;

use super::bench::*;
use crate::support::fake_providers::{instance, unusable};

fn keyed(key: &str, digest: &str) -> DelegateRequest {
    DelegateRequest {
        call: call(Some(key), digest),
        ..asking("look")
    }
}

#[tokio::test]
async fn the_same_key_and_call_is_the_same_task_and_nothing_new() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let first = bench.try_delegate(&parent, keyed("k", "a")).await.unwrap();
    bench.providers.turn(&first.task.child_run_id).await;
    let (stored, work) = (bench.stored(), bench.providers.work().len());
    let again = bench.try_delegate(&parent, keyed("k", "a")).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(again.request_key, "k");
    assert_eq!(bench.stored(), stored);
    assert_eq!(bench.providers.work().len(), work);
}

#[tokio::test]
async fn calls_at_the_same_instant_with_one_key_are_one_task() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let calls = (0..16).map(|_| bench.try_delegate(&parent, keyed("k", "a")));
    let answers = futures::future::join_all(calls).await;
    let first = answers[0].as_ref().unwrap().task.task_id.clone();
    for answer in &answers {
        assert_eq!(answer.as_ref().unwrap().task.task_id, first);
    }
    assert_eq!(bench.reader().tasks_of(&parent.thread).unwrap().len(), 1);
}

#[tokio::test]
async fn the_same_key_for_another_call_is_refused() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let task = bench.try_delegate(&parent, keyed("k", "a")).await.unwrap();
    let agent = bench.agent(&parent.thread);
    let stored = bench.stored();
    let other = bench.try_delegate(&parent, keyed("k", "b")).await;
    let other_tool =
        bench
            .service
            .task_cancel(&agent, &task.task.task_id, None, call(Some("k"), "cancel"));
    for refused in [code(other), code(other_tool.await)] {
        assert_eq!(refused, DenialCode::KeyConflict);
        assert_eq!(refused.word(), "invalid_request");
        assert!(!refused.is_retryable());
    }
    assert_eq!(bench.stored(), stored);
}

#[tokio::test]
async fn without_a_key_two_calls_are_two_tasks() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let first = bench.try_delegate(&parent, asking("look")).await.unwrap();
    let second = bench.try_delegate(&parent, asking("look")).await.unwrap();
    assert_ne!(first.task.task_id, second.task.task_id);
    assert_ne!(first.request_key, second.request_key);
}

#[tokio::test]
async fn a_key_belongs_to_one_provider_session() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let first = bench.try_delegate(&parent, keyed("k", "a")).await.unwrap();
    let Authority::Agent(mut agent) = bench.agent(&parent.thread) else {
        panic!("an agent")
    };
    agent.session_id = ProviderSessionId::new("session-other");
    let other = Authority::Agent(agent);
    let token = CancellationToken::new();
    let second = bench.service.delegate(&other, keyed("k", "a"), token).await;
    assert_ne!(second.unwrap().task.task_id, first.task.task_id);
}

#[tokio::test]
async fn two_threads_of_one_session_do_not_share_their_keys() {
    let bench = Bench::new().await;
    let (one, two) = (bench.working("go").await, bench.working("go").await);
    let in_one_session = |talk: &Talk| {
        let Authority::Agent(mut agent) = bench.agent(&talk.thread) else {
            panic!("an agent")
        };
        agent.session_id = ProviderSessionId::new("session-of-both");
        Authority::Agent(agent)
    };
    for talk in [&one, &two] {
        let token = CancellationToken::new();
        let caller = in_one_session(talk);
        let answer = bench.service.delegate(&caller, keyed("k", "a"), token);
        let task = answer.await.unwrap().task;
        assert_eq!(bench.task(&task.task_id).parent_thread_id, talk.thread);
    }
}

#[tokio::test]
async fn a_refusal_that_may_pass_leaves_no_receipt() {
    let bench = Bench::new().await;
    let idle = bench.service.create_thread(&PERSON, new_thread());
    let idle = idle.await.unwrap().thread_id;
    let talk = bench.working("go").await;
    let broken = |digest: &str| {
        let mut request = keyed("broken", digest);
        request.target.instance_id = Some(domain::ids::ProviderInstanceId::new("broken"));
        request
    };
    let before = bench.stored();
    let refused = bench.try_delegate(&talk, broken("a")).await;
    assert_eq!(code(refused), DenialCode::ProviderUnavailable);
    let agent = bench.agent(&idle);
    let token = CancellationToken::new();
    let refused = bench.service.delegate(&agent, keyed("idle", "a"), token);
    assert_eq!(code(refused.await), DenialCode::ParentNotActive);
    assert_eq!(bench.stored(), before);

    // A later try with the same key succeeds, even for another call.
    bench.providers.show(instance("broken", "codex", &[]));
    bench.try_delegate(&talk, broken("b")).await.unwrap();
    let sent = bench.service.send(
        &PERSON,
        &idle,
        "go".to_owned(),
        domain::command::SendMode::Auto,
    );
    let run = sent.await.unwrap().run_id;
    let idle = Talk { thread: idle, run };
    bench.turn_starts(&idle).await;
    bench.try_delegate(&idle, keyed("idle", "b")).await.unwrap();
}

#[tokio::test]
async fn a_refusal_for_good_is_kept_and_told_again() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let broader = |digest: &str| DelegateRequest {
        runtime_mode: Some(RuntimeMode::FullAccess),
        ..keyed("broader", digest)
    };
    let no_model = |digest: &str| {
        let mut request = keyed("model", digest);
        request.target.model = Some("m9".to_owned());
        request
    };
    let too_long = |digest: &str| DelegateRequest {
        title: Some("x".repeat(513)),
        ..keyed("long", digest)
    };
    let before = bench.stored();
    type Request<'a> = &'a dyn Fn(&str) -> DelegateRequest;
    let cases: [(Request<'_>, DenialCode); 3] = [
        (&broader, DenialCode::RuntimeModeEscalationDenied),
        (&no_model, DenialCode::ModelUnavailable),
        (&too_long, DenialCode::InvalidRequest),
    ];
    for (request, expected) in cases {
        bench.providers.show(instance(OWN, "codex", &["m1", "m2"]));
        let first = bench.try_delegate(&parent, request("a")).await;
        let first = first.unwrap_err();
        assert_eq!(first.code, expected);
        // Even when it would go well by now.
        bench
            .providers
            .show(instance(OWN, "codex", &["m1", "m2", "m9"]));
        let again = bench.try_delegate(&parent, request("a")).await;
        assert_eq!(again.unwrap_err(), first);
        let other = bench.try_delegate(&parent, request("b")).await;
        assert_eq!(code(other), DenialCode::KeyConflict, "{expected:?}");
    }
    assert_eq!(bench.stored(), before);
}

#[tokio::test]
async fn a_retry_finds_its_task_whatever_has_become_of_caller_and_provider() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let first = bench.try_delegate(&parent, keyed("k", "a")).await.unwrap();
    let own = instance(OWN, "codex", &[]);
    bench.providers.show(unusable(own, "It is ill."));
    bench.turn_ends(&parent, TurnOutcome::Completed).await;
    let again = bench.try_delegate(&parent, keyed("k", "a")).await.unwrap();
    assert_eq!(again.task.task_id, first.task.task_id);
}

#[tokio::test]
async fn a_wait_that_was_cut_can_be_repeated_and_gets_the_result() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let request = || DelegateRequest {
        wait: LONG,
        ..keyed("k", "a")
    };
    let agent = bench.agent(&parent.thread);
    let gone = CancellationToken::new();
    gone.cancel();
    let cut = bench.service.delegate(&agent, request(), gone).await;
    let cut = cut.unwrap();
    assert_eq!(cut.wait, WaitEnd::TimedOut);
    let child = Child::of(&cut.task);
    bench.turn_starts(&child.talk()).await;
    let again = bench.try_delegate(&parent, request());
    let talk = child.talk();
    let ends = bench.answers(&talk, "found it");
    let (again, ()) = tokio::join!(again, ends);
    let again = again.unwrap();
    assert_eq!(Child::of(&again.task), child);
    assert_eq!(again.wait, WaitEnd::Met);
    assert_eq!(again.task.summary.as_deref(), Some("found it"));
    assert_eq!(bench.wakes_of(&parent.thread, &child.task), []);
}

#[tokio::test]
async fn a_cancel_is_done_once_for_its_key() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let child = bench.delegate_working(&parent, "look").await;
    let agent = bench.agent(&parent.thread);
    let cancel = || {
        let key = call(Some("k"), "cancel");
        bench.service.task_cancel(&agent, &child.task, None, key)
    };
    let first = cancel().await.unwrap();
    let stored = bench.stored();
    assert_eq!(cancel().await.unwrap(), first);
    assert_eq!(bench.stored(), stored);
    assert_eq!(first.request_key, "k");
}

#[tokio::test]
async fn a_made_key_is_as_good_as_a_given_one() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let first = bench.try_delegate(&parent, waiting("look", WaitMode::Async));
    let first = first.await.unwrap();
    let again = keyed(&first.request_key, "look");
    let again = bench.try_delegate(&parent, again).await.unwrap();
    assert_eq!(again.task.task_id, first.task.task_id);
}
