//! The local socket, call by call.

use domain::ids::RequestId;
use domain::provider_event::{Blocking, ProviderEvent, TurnOutcome};
use domain::request::{Approval, Choice, Prompt, Reply};
use server::local::client::{ClientError, FeedReader};
use server::local::wire::{AddProject, Change, CreateThread, FeedLine, RespondTo, StopThread};
use threads::ports::ProviderWork;

use crate::host::{Everybody, Host};

#[tokio::test]
async fn a_project_is_registered_once_under_its_canonical_path() {
    let host = Host::start(Everybody::People).await;
    let link = host.folder.path().join("link");
    std::os::unix::fs::symlink(host.folder.path(), &link).unwrap();
    let root = link.to_str().unwrap().to_owned();
    let added = host
        .client
        .add_project(&AddProject { name: None, root })
        .await
        .unwrap();
    let canonical = host.folder.path().canonicalize().unwrap();
    assert_eq!(added.root, canonical.to_str().unwrap());
    assert_eq!(added.name, canonical.file_name().unwrap().to_str().unwrap());
    let projects = host.client.projects().await.unwrap();
    assert_eq!(
        projects.iter().map(|p| &p.id).collect::<Vec<_>>(),
        [&added.id]
    );

    let missing = AddProject {
        name: None,
        root: "/no/such/folder".to_owned(),
    };
    let error = host.client.add_project(&missing).await.unwrap_err();
    assert_eq!(error.code(), Some("invalid_request"), "{error}");
}

#[tokio::test]
async fn a_run_is_followed_from_its_start_over_an_approval_to_its_end() {
    let mut host = Host::start(Everybody::People).await;
    let project = host.add_project().await;
    let (thread_id, run_id) = host.start_thread(project).await;
    let detail = host.client.thread(thread_id.as_str(), 0).await.unwrap();
    assert_eq!(detail.row.thread.provider_instance_id, "hand");
    let mut feed = host.client.feed(detail.sequence).await.unwrap();

    assert!(matches!(
        host.work.recv().await,
        Some(ProviderWork::StartTurn { .. })
    ));
    host.report(ProviderEvent::ThreadAttached {
        thread_id: thread_id.clone(),
    })
    .await;
    host.report(ProviderEvent::TurnStarted {
        run_id: run_id.clone(),
        native_turn_id: None,
    })
    .await;
    let approval = Approval {
        kind: "command".to_owned(),
        title: "rm -rf build".to_owned(),
        reason: None,
        choices: vec![Choice::Accept, Choice::Decline],
        options: Vec::new(),
    };
    host.report(ProviderEvent::RequestOpened {
        request_id: RequestId::new("request-1"),
        thread_id: thread_id.clone(),
        run_id: Some(run_id.clone()),
        blocking: Blocking::Blocking,
        prompt: Prompt::Approval(approval),
        detail_json: "{}".to_owned(),
    })
    .await;
    let asked = until(&mut feed, |change| matches!(change, Change::Request(_))).await;
    assert!(matches!(asked.change, Change::Request(request) if request.status == "pending"));
    let pending = host.client.requests(None).await.unwrap();
    assert_eq!(pending.len(), 1);

    let reply = Reply::Decision {
        choice: Choice::Accept,
        message: None,
    };
    host.client
        .respond(
            "request-1",
            &RespondTo {
                reply: reply.clone(),
            },
        )
        .await
        .unwrap();
    let answered = host.work.recv().await;
    assert!(matches!(&answered, Some(ProviderWork::Answer { reply: r, .. }) if *r == reply));
    let error = host
        .client
        .respond("request-1", &RespondTo { reply })
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some("request_not_pending"), "{error}");

    let outcome = TurnOutcome::Completed;
    host.report(ProviderEvent::TurnEnded {
        run_id,
        outcome,
        native_point: None,
    })
    .await;
    until(
        &mut feed,
        |change| matches!(change, Change::Run(run) if run.status.is_terminal()),
    )
    .await;
    let rows = host.client.threads(0, 10).await.unwrap();
    assert_eq!(rows[0].state, "completed");
}

async fn until(feed: &mut FeedReader, wanted: impl Fn(&Change) -> bool) -> FeedLine {
    loop {
        let line = feed.next().await.unwrap().unwrap();
        if wanted(&line.change) {
            return line;
        }
    }
}

#[tokio::test]
async fn an_agents_process_is_refused_whatever_it_asks() {
    let host = Host::start(Everybody::Agents).await;
    let stop = StopThread { reason: None };
    let reply = Reply::Decision {
        choice: Choice::Accept,
        message: None,
    };
    let refused = [
        host.client.projects().await.map(drop),
        host.client.host().await.map(drop),
        host.client.stop("thread-1", &stop).await.map(drop),
        host.client.resume("thread-1").await.map(drop),
        host.client.respond("request-1", &RespondTo { reply }).await,
        host.client.feed(0).await.map(drop),
    ];
    for result in refused {
        let error = result.unwrap_err();
        assert_eq!(error.code(), Some("human_only"), "{error}");
    }
}

#[tokio::test]
async fn faults_are_told_in_the_sockets_own_shape() {
    let host = Host::start(Everybody::People).await;
    let unknown = host.client.thread("thread/../x?y", 0).await.unwrap_err();
    assert_eq!(unknown.code(), Some("thread_not_found"), "{unknown}");
    let unknown = host.client.resume("thread-none").await.unwrap_err();
    assert_eq!(unknown.code(), Some("thread_not_found"), "{unknown}");
    let project = host.add_project().await;
    let request = |provider: Option<&str>| CreateThread {
        project: project.clone(),
        provider: provider.map(str::to_owned),
        model: None,
        runtime_mode: None,
        interaction_mode: None,
        title: None,
        prompt: None,
    };
    for (provider, code, told) in [
        (None, "target_required", "[defaults]"),
        (Some("other"), "provider_unavailable", "hand"),
    ] {
        let error = host
            .client
            .create_thread(&request(provider))
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some(code));
        assert!(error.to_string().contains(told), "{error}");
    }
}

#[tokio::test]
async fn a_host_that_goes_down_ends_its_feeds_and_then_nobody_listens() {
    let host = Host::start(Everybody::People).await;
    host.add_project().await;
    let mut feed = host.client.feed(0).await.unwrap();
    host.stop.cancel();
    let end = until(&mut feed, |change| matches!(change, Change::End(_))).await;
    assert!(matches!(end.change, Change::End(error) if error.code == "storage_unavailable"));
    assert!(feed.next().await.unwrap().is_none());
    host.listening.await.unwrap().unwrap();
    let error = host.client.projects().await.unwrap_err();
    assert!(matches!(error, ClientError::NotRunning { .. }), "{error}");
    assert!(error.to_string().contains("weft serve"), "{error}");
}
