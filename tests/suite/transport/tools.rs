//! The four tools over raw requests, down to the store.

use serde_json::{Value, json};

use super::parent::Parent;
use crate::support::people::all_threads;
use crate::support::wire::{Form, Raw};

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_acts_on_the_store_in_both_forms() {
    let parent = Parent::start("say over");
    for form in parent.forms().await {
        let offered = parent
            .call(&form, "orchestrator_capabilities", &json!({}))
            .await;
        assert_eq!(offered["parentThreadId"], parent.thread, "{form:?}");
        let providers = offered["providers"].as_array().unwrap();
        let ids: Vec<&Value> = providers
            .iter()
            .map(|provider| &provider["providerInstanceId"])
            .collect();
        assert_eq!(ids, ["scripted", "overheard"], "{form:?}");

        let title = format!("child of {form:?}");
        let call = json!({
            "task": "script: hang", "title": title, "clientRequestId": format!("{form:?}"),
            "target": { "providerInstanceId": "scripted" },
        });
        let begun = parent.call(&form, "delegate_task", &call).await;
        let again = parent.call(&form, "delegate_task", &call).await;
        assert_eq!(again["taskId"], begun["taskId"], "{form:?}");
        let task = json!({ "taskId": begun["taskId"] });
        let status = parent.call(&form, "task_status", &task).await;
        assert_eq!(status["childThreadId"], begun["childThreadId"], "{form:?}");
        assert_eq!(status["workState"], "working", "{form:?}");

        let threads = all_threads(&parent.host.person()).await.unwrap();
        let children: Vec<_> = threads
            .iter()
            .filter(|row| row.thread.title == title)
            .collect();
        assert_eq!(children.len(), 1, "{form:?}");
        let child = &children[0].thread;
        assert_eq!(begun["childThreadId"], child.id, "{form:?}");
        assert_eq!(
            child.parent_thread_id.as_deref(),
            Some(parent.thread.as_str())
        );

        let cancelled = parent.call(&form, "task_cancel", &task).await;
        assert_eq!(cancelled["taskId"], begun["taskId"], "{form:?}");
        loop {
            let status = parent.call(&form, "task_status", &task).await;
            if status["status"] == "interrupted" {
                break;
            }
            assert_eq!(status["status"], "running", "{form:?}: {status}");
        }
        let shown = parent
            .host
            .weft_json(&["thread", "show", &child.id, "--json"]);
        assert_eq!(shown["runs"][0]["status"], "interrupted", "{form:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_given_in_one_form_is_known_in_the_other() {
    let parent = Parent::start("say over");
    let [session, stateless] = parent.forms().await;
    let call = json!({ "task": "script: say done", "clientRequestId": "k" });
    let one = parent.call(&session, "delegate_task", &call).await;
    let other = parent.call(&stateless, "delegate_task", &call).await;
    assert_eq!(one["taskId"], other["taskId"]);
    let otherwise = json!({ "task": "script: say more", "clientRequestId": "k" });
    let refused = parent.call(&stateless, "delegate_task", &otherwise).await;
    assert_eq!(
        (&refused["code"], &refused["retryable"]),
        (&json!("invalid_request"), &json!(false))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_another_thread_is_as_unknown_as_one_that_never_was() {
    let parent = Parent::start("say over");
    let form = &parent.session().await;
    let begun = parent
        .call(form, "delegate_task", &json!({ "task": "script: hang" }))
        .await;
    let mut other = parent.host.run("overheard", "script: hang");
    other.change("run", |run| run["status"] == "running");
    let token = parent.host.bearer(&other.thread_id()).unwrap();
    for tool in ["task_status", "task_cancel"] {
        let mut told = Vec::new();
        for task in [begun["taskId"].clone(), json!("task-0")] {
            let arguments = json!({ "taskId": task });
            let mut own = parent.raw(form, tool, &arguments);
            own = own.with("authorization", &format!("Bearer {token}"));
            // The session belongs to the other bearer, so the stateless form is used.
            let raw = Raw::call(&Form::Stateless, &token, tool, &arguments);
            assert_eq!(
                parent.send(&own).await.status,
                404,
                "{tool}: another's session"
            );
            let mut answer = parent.send(&raw).await.content().unwrap();
            let id = task.as_str().unwrap();
            assert_eq!(answer["code"], "task_not_found", "{tool}");
            let message = answer["message"].as_str().unwrap().replace(id, "TASK");
            answer["message"] = json!(message);
            told.push(answer);
        }
        assert_eq!(told[0], told[1], "{tool}");
    }
    let still = parent
        .call(form, "task_status", &json!({ "taskId": begun["taskId"] }))
        .await;
    assert_eq!(still["workState"], "working");
}
