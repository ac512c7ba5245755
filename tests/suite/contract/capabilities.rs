//! What a caller may do and where, and who may use the tools at all.

use domain::authority::{Authority, Capability};
use domain::error::DenialCode;
use domain::ids::TaskId;
use tokio_util::sync::CancellationToken;

use super::bench::*;

fn names(capabilities: &threads::service::Capabilities) -> Vec<(&str, &[String])> {
    let row = |snapshot| {
        let snapshot: &domain::provider::ProviderSnapshot = snapshot;
        (
            snapshot.instance_id.as_str(),
            snapshot.constraints.as_slice(),
        )
    };
    capabilities.providers.iter().map(row).collect()
}

#[tokio::test]
async fn every_instance_is_listed_also_one_that_cannot_be_used_and_why() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    let why = ["It is not logged in: run `codex login`.".to_owned()];
    let expected = [
        (OWN, [].as_slice()),
        ("broken", why.as_slice()),
        ("second", &[]),
        ("beta", &[]),
    ];
    for caller in [PERSON.clone(), bench.agent(&talk.thread)] {
        let told = bench.service.capabilities(&caller).await.unwrap();
        assert_eq!(names(&told), expected, "{caller:?}");
    }
}

#[tokio::test]
async fn an_agent_sees_what_its_children_would_inherit_and_a_person_is_no_thread() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    let agent = bench.agent(&talk.thread);
    let told = bench.service.capabilities(&agent).await.unwrap();
    let thread = told.thread.unwrap();
    assert_eq!(thread.id, talk.thread);
    assert_eq!(thread.provider_instance_id.as_str(), OWN);
    assert_eq!(thread.modes, settings().defaults.modes);
    let told = bench.service.capabilities(&PERSON).await.unwrap();
    assert_eq!(told.thread, None);
}

/// Every call of the toolkit, by its name, as this caller makes it.
async fn calls(bench: &Bench, caller: &Authority) -> Vec<(&'static str, DenialCode)> {
    let service = &bench.service;
    let task = TaskId::new("task-x");
    let token = CancellationToken::new();
    vec![
        (
            "delegate_task",
            code(service.delegate(caller, asking("look"), token).await),
        ),
        (
            "task_status",
            code(service.task_status(caller, &task).await),
        ),
        (
            "task_cancel",
            code(
                service
                    .task_cancel(caller, &task, None, call(None, "c"))
                    .await,
            ),
        ),
    ]
}

#[tokio::test]
async fn a_session_without_the_capability_is_refused_everything() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    for granted in [vec![], vec![Capability::ThreadControl]] {
        let Authority::Agent(mut agent) = bench.agent(&talk.thread) else {
            panic!("an agent")
        };
        agent.capabilities = granted;
        let caller = Authority::Agent(agent);
        let before = bench.stored();
        let refused = code(bench.service.capabilities(&caller).await);
        assert_eq!(refused, DenialCode::CapabilityDenied);
        for (tool, refused) in calls(&bench, &caller).await {
            assert_eq!(refused, DenialCode::CapabilityDenied, "{tool}");
        }
        assert_eq!(bench.stored(), before);
    }
}

#[tokio::test]
async fn what_acts_as_the_calling_thread_needs_one() {
    let bench = Bench::new().await;
    for (tool, refused) in calls(&bench, &PERSON).await {
        assert_eq!(refused, DenialCode::ThreadCredentialRequired, "{tool}");
    }
}
