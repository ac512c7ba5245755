//! The orchestration tools over the real service and journal.

use serde_json::{Value, json};

use super::parent::Parent;
use super::wire::Form;

#[tokio::test]
async fn the_capabilities_of_a_real_host() {
    let parent = Parent::start(None).await;
    for form in Form::BOTH {
        let told = parent
            .call(form, "orchestrator_capabilities", json!({}))
            .await;
        assert_eq!(told["parentThreadId"], parent.thread.as_str());
        assert_eq!(told["inheritedProviderInstanceId"], "hand");
        assert_eq!(told["inheritedModel"], Value::Null);
        assert_eq!(told["runtimeMode"], "full-access");
        assert_eq!(told["interactionMode"], "default");
        assert_eq!(told["providers"][0]["providerInstanceId"], "hand");
        assert_eq!(told["providers"][0]["canRunChildTask"], true);
        assert_eq!(told["features"]["appOwnedSubagents"], true);
        assert_eq!(told["features"]["maxBatchThreads"], 20);
    }
}

#[tokio::test]
async fn an_async_task_is_started_read_repeated_and_cancelled() {
    for form in Form::BOTH {
        let mut parent = Parent::start(None).await;
        let arguments = json!({ "task": "look", "role": "review", "clientRequestId": "round-1" });
        let begun = parent.call(form, "delegate_task", arguments.clone()).await;
        let (child, run, prompt) = parent.turn_begins().await;
        assert!(
            prompt.ends_with("\n\nlook") && prompt.len() > "\n\nlook".len(),
            "{prompt:?}"
        );
        assert_eq!(begun["childThreadId"], child.as_str());
        assert_eq!(begun["childRunId"], run.as_str());
        assert_eq!(begun["childNodeId"], begun["taskId"]);
        assert_eq!(begun["clientRequestId"], "round-1");
        assert_eq!(begun["workState"], "working");
        assert_eq!(
            (&begun["summary"], &begun["waitTimedOut"]),
            (&Value::Null, &json!(false))
        );

        let again = parent.call(form, "delegate_task", arguments).await;
        assert_eq!(
            again["taskId"], begun["taskId"],
            "the same call finds the same task"
        );
        let other = json!({ "task": "look again", "clientRequestId": "round-1" });
        let other = parent.call(form, "delegate_task", other).await;
        assert_eq!(
            other["code"], "invalid_request",
            "the same key with another call"
        );

        parent.turn_ends(&child, &run, "found nothing").await;
        let task = json!({ "taskId": begun["taskId"] });
        let ended = loop {
            let told = parent.call(form, "task_status", task.clone()).await;
            if told["status"] == "completed" {
                break told;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(ended["summary"], "found nothing");
        assert_eq!(ended["workState"], "result_available");
        assert_eq!(ended["latestTerminalStatus"], "completed");
        assert_eq!(ended.get("clientRequestId"), None);

        let cancelled = parent.call(form, "task_cancel", task).await;
        assert_eq!(cancelled["status"], "completed", "it had ended");
        assert!(cancelled["clientRequestId"].is_string(), "a key was made");
        let unknown = parent
            .call(form, "task_status", json!({ "taskId": "task-0" }))
            .await;
        assert_eq!(
            (&unknown["code"], &unknown["retryable"]),
            (&json!("task_not_found"), &json!(false))
        );
    }
}

#[tokio::test]
async fn a_waiting_parent_gets_the_answer_itself() {
    for form in Form::BOTH {
        let mut parent = Parent::start(None).await;
        let wait = parent.request(
            form,
            "delegate_task",
            json!({ "task": "look", "mode": "wait" }),
        );
        let address = parent.address;
        let answer = tokio::spawn(async move { wait.send(address).await.message() });
        let (child, run, _) = parent.turn_begins().await;
        parent.turn_ends(&child, &run, "found it").await;
        let answer = answer.await.expect("no panic")["result"]["structuredContent"].clone();
        assert_eq!(
            (&answer["status"], &answer["summary"]),
            (&json!("completed"), &json!("found it"))
        );
        assert_eq!(answer["waitTimedOut"], false);
    }
}

#[tokio::test]
async fn a_wait_ends_at_what_the_client_bears_and_the_work_goes_on() {
    let mut parent = Parent::start(Some(50)).await;
    let wait = json!({ "task": "look", "mode": "wait", "timeoutMs": 3_600_000 });
    let answer = parent.call(Form::Session, "delegate_task", wait).await;
    assert_eq!(answer["waitTimedOut"], true);
    assert_eq!(answer["workState"], "working");
    let (child, run, _) = parent.turn_begins().await;
    assert_eq!(answer["childThreadId"], child.as_str());
    parent.turn_ends(&child, &run, "found it").await;
    parent
        .turn_ends(&parent.thread, &parent.run, "waiting")
        .await;
    let (woken, _, text) = parent.turn_begins().await;
    assert_eq!(woken, parent.thread);
    assert!(
        text.contains(answer["taskId"].as_str().expect("an id")),
        "{text}"
    );
}

#[tokio::test]
async fn a_parent_whose_connection_broke_is_woken_instead() {
    for form in Form::BOTH {
        let mut parent = Parent::start(None).await;
        let wait = parent.request(
            form,
            "delegate_task",
            json!({ "task": "look", "mode": "wait" }),
        );
        let address = parent.address;
        let call = tokio::spawn(async move { wait.open(address).await.whole().await });
        let (child, run, _) = parent.turn_begins().await;
        call.abort();
        assert!(call.await.is_err(), "the connection is dropped");
        parent.wake_is_owed().await;
        parent.turn_ends(&parent.thread, &parent.run, "gone").await;
        parent.turn_ends(&child, &run, "found it").await;
        let (woken, _, _) = parent.turn_begins().await;
        assert_eq!(woken, parent.thread, "{form:?}");
    }
}
