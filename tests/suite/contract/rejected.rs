//! What people may do, an agent may not, however much it was granted.

use domain::authority::{Authority, Capability};
use domain::command::SendMode;
use domain::error::DenialCode;
use domain::ids::RequestId;
use domain::provider_event::Blocking;
use domain::request::{Choice, Reply, RequestStatus};
use domain::view::View;

use super::bench::*;

#[tokio::test]
async fn an_agent_may_make_no_call_of_people() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    bench
        .asks(&talk, "request-1", Blocking::Blocking, approval())
        .await;
    let Authority::Agent(mut agent) = bench.agent(&talk.thread) else {
        panic!("an agent")
    };
    agent.capabilities = vec![Capability::Orchestration, Capability::ThreadControl];
    let agent = &Authority::Agent(agent);
    let service = &bench.service;
    let (thread, request) = (&talk.thread, RequestId::new("request-1"));
    let allow = Reply::Decision {
        choice: Choice::Accept,
        message: None,
    };
    let before = bench.stored();
    let project = service.add_project(agent, "x".to_owned(), "/x".to_owned());
    let sent = service.send(agent, thread, "more".to_owned(), SendMode::Auto);
    for (call, refused) in [
        ("add_project", code(project.await)),
        ("projects", code(service.projects(agent).await)),
        (
            "create_thread",
            code(service.create_thread(agent, new_thread()).await),
        ),
        ("send", code(sent.await)),
        ("stop", code(service.stop(agent, thread, None).await)),
        ("resume", code(service.resume(agent, thread).await)),
        ("threads", code(service.threads(agent, 0, 1).await)),
        ("thread", code(service.thread(agent, thread, 0, 1).await)),
        ("requests", code(service.requests(agent, None).await)),
        (
            "respond",
            code(service.respond(agent, &request, allow).await),
        ),
        ("feed", code(service.feed(agent, 0, 1).await)),
    ] {
        assert_eq!(refused, DenialCode::HumanOnly, "{call}");
    }
    assert_eq!(bench.stored(), before);
    let stored = bench.reader().request(&request).unwrap().unwrap();
    assert_eq!(stored.status, RequestStatus::Pending);
}
