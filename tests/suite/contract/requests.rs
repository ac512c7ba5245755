//! Questions and approvals, answered by a person.

use domain::error::DenialCode;
use domain::ids::{RequestId, ThreadId};
use domain::provider_event::{Blocking, ProviderEvent, TurnOutcome};
use domain::request::{Choice, Prompt, QuestionAnswer, Reply, RequestStatus};
use domain::view::View;
use threads::ports::ProviderWork;

use super::bench::*;

fn decision(choice: Choice) -> Reply {
    Reply::Decision {
        choice,
        message: None,
    }
}

fn answers(values: &[&str]) -> Reply {
    Reply::Answers(vec![QuestionAnswer {
        question_id: "colour".to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    }])
}

async fn asked(bench: &Bench, prompt: Prompt) -> (Talk, RequestId) {
    let talk = bench.working("go").await;
    bench
        .asks(&talk, "request-1", Blocking::Blocking, prompt)
        .await;
    (talk, RequestId::new("request-1"))
}

fn status(bench: &Bench, id: &RequestId) -> RequestStatus {
    bench.reader().request(id).unwrap().unwrap().status
}

#[tokio::test]
async fn an_answer_reaches_the_provider_and_closes_the_request() {
    for (prompt, reply) in [
        (approval(), decision(Choice::Accept)),
        (approval(), decision(Choice::Decline)),
        (question(), answers(&["blue"])),
        (question(), Reply::Dismissed("not now".to_owned())),
        (approval(), Reply::Dismissed("not now".to_owned())),
    ] {
        let bench = Bench::new().await;
        let (talk, id) = asked(&bench, prompt).await;
        bench
            .service
            .respond(&PERSON, &id, reply.clone())
            .await
            .unwrap();
        let told = bench.providers.given(|work| match work {
            ProviderWork::Answer {
                thread_id,
                request_id,
                reply,
            } if *request_id == id => Some((thread_id.clone(), reply.clone())),
            _ => None,
        });
        assert_eq!(told.await, (talk.thread, reply.clone()));
        assert_eq!(status(&bench, &id), RequestStatus::Resolved(reply));
        let open = bench.service.requests(&PERSON, None).await.unwrap();
        assert_eq!(open, []);
    }
}

#[tokio::test]
async fn an_answer_the_provider_does_not_take_is_refused_and_the_request_stays_open() {
    let two = vec![
        QuestionAnswer {
            question_id: "colour".to_owned(),
            values: vec!["blue".to_owned()],
        };
        2
    ];
    let other = vec![QuestionAnswer {
        question_id: "size".to_owned(),
        values: Vec::new(),
    }];
    for (prompt, reply) in [
        (approval(), decision(Choice::AcceptAlways)),
        (approval(), answers(&["blue"])),
        (question(), decision(Choice::Accept)),
        (question(), answers(&[])),
        (question(), answers(&["blue", "green"])),
        (question(), Reply::Answers(Vec::new())),
        (question(), Reply::Answers(two)),
        (question(), Reply::Answers(other)),
    ] {
        let bench = Bench::new().await;
        let (_, id) = asked(&bench, prompt).await;
        let before = bench.stored();
        let refused = bench.service.respond(&PERSON, &id, reply.clone()).await;
        assert_eq!(code(refused), DenialCode::InvalidRequest, "{reply:?}");
        assert_eq!(bench.stored(), before, "{reply:?}");
        assert_eq!(status(&bench, &id), RequestStatus::Pending);
    }
}

#[tokio::test]
async fn a_request_is_answered_once_and_late_answers_are_told_so() {
    let bench = Bench::new().await;
    let (talk, id) = asked(&bench, approval()).await;
    let allow = || {
        bench
            .service
            .respond(&PERSON, &id, decision(Choice::Accept))
    };
    // Two people at the same instant.
    let (one, two) = tokio::join!(allow(), allow());
    assert_eq!([&one, &two].iter().filter(|it| it.is_ok()).count(), 1);
    assert_eq!(code(allow().await), DenialCode::RequestNotPending);

    let second = RequestId::new("request-2");
    bench
        .asks(&talk, "request-2", Blocking::Blocking, approval())
        .await;
    bench.turn_ends(&talk, TurnOutcome::Completed).await;
    let late = bench
        .service
        .respond(&PERSON, &second, decision(Choice::Accept));
    assert_eq!(code(late.await), DenialCode::RequestNotPending);
    let never = RequestId::new("request-never");
    let never = bench
        .service
        .respond(&PERSON, &never, decision(Choice::Accept));
    assert_eq!(code(never.await), DenialCode::RequestNotFound);
}

#[tokio::test]
async fn a_request_ends_with_whatever_it_was_for() {
    for how in ["its turn", "a stop", "its session", "its provider's word"] {
        let bench = Bench::new().await;
        let (talk, id) = asked(&bench, approval()).await;
        match how {
            "its turn" => bench.turn_ends(&talk, TurnOutcome::Completed).await,
            "a stop" => {
                let stopped = bench.service.stop(&PERSON, &talk.thread, None).await;
                assert_eq!(stopped.unwrap(), 1);
            }
            "its session" => {
                let ended = ProviderEvent::SessionEnded {
                    reason: "the process exited with 1".to_owned(),
                    end: domain::provider_event::SessionEnd::Failed,
                };
                bench.report(&talk.thread, ended).await;
            }
            _ => {
                let closed = ProviderEvent::RequestClosed {
                    request_id: id.clone(),
                    reason: "withdrawn".to_owned(),
                };
                bench.report(&talk.thread, closed).await;
            }
        }
        bench
            .until(how, |reader| {
                let status = reader.request(&id).unwrap().unwrap().status;
                matches!(status, RequestStatus::Invalidated(_))
            })
            .await;
        let late = bench
            .service
            .respond(&PERSON, &id, decision(Choice::Accept));
        assert_eq!(code(late.await), DenialCode::RequestNotPending, "{how}");
    }
}

#[tokio::test]
async fn requests_are_listed_for_one_thread_or_for_all() {
    let bench = Bench::new().await;
    let (one, two) = (bench.working("go").await, bench.working("go").await);
    bench
        .asks(&one, "request-1", Blocking::Blocking, approval())
        .await;
    bench
        .asks(&two, "request-2", Blocking::NonBlocking, question())
        .await;
    bench
        .asks(&two, "request-3", Blocking::Blocking, approval())
        .await;
    let listed = async |thread: Option<&ThreadId>| {
        let requests = bench.service.requests(&PERSON, thread).await.unwrap();
        let mut ids: Vec<String> = requests.iter().map(|it| it.id.to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(listed(Some(&one.thread)).await, ["request-1"]);
    assert_eq!(listed(Some(&two.thread)).await, ["request-2", "request-3"]);
    assert_eq!(listed(None).await.len(), 3);
    let unknown = ThreadId::new("thread-unknown");
    let unknown = bench.service.requests(&PERSON, Some(&unknown)).await;
    assert_eq!(code(unknown), DenialCode::ThreadNotFound);
}

#[tokio::test]
async fn a_secret_answer_reaches_the_provider_and_no_row() {
    let bench = Bench::new().await;
    let Prompt::Questions(mut questions) = question() else {
        panic!("questions")
    };
    questions[0].secret = true;
    let (_, id) = asked(&bench, Prompt::Questions(questions)).await;
    let canary = "canary-4711";
    bench
        .service
        .respond(&PERSON, &id, answers(&[canary]))
        .await
        .unwrap();
    let told = bench.providers.given(|work| match work {
        ProviderWork::Answer { reply, .. } => Some(reply.clone()),
        _ => None,
    });
    assert_eq!(told.await, answers(&[canary]));
    let left = bench.killed_now("copy.redb");
    let bytes = std::fs::read(left.file()).unwrap();
    let found = bytes
        .windows(canary.len())
        .any(|it| it == canary.as_bytes());
    assert!(!found, "the secret stands in the file");
}
