//! Waits that outlast the keep-alive, and waits whose caller goes away.

use serde_json::json;
use server::local::wire::Change;

use super::parent::Parent;
use crate::support::people::wait_for;
use crate::support::wire::comments;

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_is_kept_alive_until_the_childs_answer_comes() {
    let parent = Parent::start("say over");
    for form in parent.forms().await {
        // Three seconds of work under a keep-alive of one.
        let call = json!({ "task": "script: slow 6 500", "mode": "wait" });
        let mut reply = parent.begin(&form, "delegate_task", &call).await;
        let before = reply.until(|body| comments(body) >= 2).await.unwrap();
        assert!(!before.contains("structuredContent"), "{form:?}: {before}");
        let whole = reply.whole().await.unwrap();
        let answer = whole.content().unwrap();
        assert_eq!(answer["status"], "completed", "{form:?}: {answer}");
        assert_eq!(answer["waitTimedOut"], false, "{form:?}");
        assert!(answer["summary"].is_string(), "{form:?}: {answer}");
        // Heard is heard: the parent is not woken for it.
        let task = json!({ "taskId": answer["taskId"] });
        assert_eq!(
            parent.call(&form, "task_status", &task).await["summary"],
            answer["summary"]
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_times_out_leaves_the_work_alone() {
    let parent = Parent::start("say over");
    for form in parent.forms().await {
        let call = json!({ "task": "script: hang", "mode": "wait", "timeoutMs": 1_200 });
        let mut reply = parent.begin(&form, "delegate_task", &call).await;
        reply.until(|body| comments(body) >= 1).await.unwrap();
        let answer = reply.whole().await.unwrap().content().unwrap();
        assert_eq!(answer["waitTimedOut"], true, "{form:?}: {answer}");
        assert_eq!(answer["workState"], "working", "{form:?}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_whose_connection_is_lost_is_woken_when_the_child_ends() {
    for at in 0..2 {
        let mut parent = Parent::start("say over");
        let form = parent.forms().await[at].clone();
        let after = parent.sequence().await;
        let call = json!({ "task": "script: slow 8 300", "mode": "wait" });
        let mut reply = parent.begin(&form, "delegate_task", &call).await;
        reply.until(|body| comments(body) >= 1).await.unwrap();
        drop(reply);
        // The turn that delegated ends before its child does.
        parent.steer();
        assert_eq!(parent.run.result()["text"], "over", "{form:?}");
        let thread = parent.thread.clone();
        let person = parent.host.person();
        let task = person.thread(&thread, 0).await.unwrap().tasks.remove(0);
        assert_eq!(task.result_status, None, "{form:?}: it works still");
        let woken = |change: &Change| match change {
            Change::Run(run) if run.thread_id == thread && run.ordinal == 2 => Some(run.id.clone()),
            _ => None,
        };
        let wake = wait_for(&person, after, woken).await.unwrap();
        let told = person.thread(&thread, 0).await.unwrap();
        let message = told
            .items
            .iter()
            .find(|item| item.run_id.as_deref() == Some(&wake))
            .unwrap();
        assert!(
            message.text.contains(&task.id),
            "{form:?}: {}",
            message.text
        );
        assert!(told.tasks[0].result_status.is_some(), "{form:?}");
    }
}
