//! Real codex parent, real codex child; and either with a scripted agent at the other end.

use model::ModelServer;
use serde_json::json;

use crate::support::scripts::{call, script};
use crate::support::told::{hanging, json_results};
use crate::support::{Configuration, Sleeper, TestHost};

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_parent_waits_for_a_codex_child() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let delegate = json!({"task": "script: say The answer is 42.", "mode": "wait"});
    let steps = [
        &call("delegate_task", &delegate),
        "say Child: {{1.summary}}",
    ];
    let mut run = host.run("codex", &script(&steps));
    assert_eq!(run.completed(), "Child: The answer is 42.");

    let task = run.result()["tasks"][0].clone();
    assert_eq!(task["status"], "completed");
    assert_eq!(task["summary"], "The answer is 42.");
    // The tool call was answered, so its bearer was the right one; and the model was told the answer.
    let told = json_results(&model, "delegate_task");
    assert_eq!(told[0]["taskId"], task["taskId"]);
    assert_eq!(told[0]["childThreadId"], task["childThreadId"]);
    assert_eq!(told[0]["summary"], "The answer is 42.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_parent_is_woken_when_its_codex_child_ends() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let delegate = json!({"task": "script: hang ;; say The answer is 42."});
    let look = json!({"taskId": "{{1.taskId}}"});
    let steps = [
        &call("delegate_task", &delegate),
        "say Started {{1.taskId}}",
        &call("task_status", &look),
        "say Child: {{2.summary}}",
    ];
    let mut feed = host.feed();
    let mut run = host.run("codex", &script(&steps));
    let parent = run.thread_id();
    let said = run.completed();
    let task = run.result()["tasks"][0].clone();
    assert_eq!(
        task["status"], "running",
        "the parent's turn ends before the child"
    );
    let task_id = task["taskId"].as_str().unwrap();
    assert_eq!(said, format!("Started {task_id}"));

    let child = task["childThreadId"].as_str().unwrap();
    hanging(&model, 1).await;
    host.tell(child, "Go on.");
    assert_eq!(feed.end_of(child, 1)["status"], "completed");

    let wake = feed.end_of(&parent, 2);
    assert_eq!(wake["status"], "completed", "{wake}");
    // The wake reached the parent's model, names the task and leaves the result to the tool.
    let woken = model.requests().into_iter().find_map(|request| {
        let last = request.messages().last()?.to_owned();
        last.contains(task_id).then_some(last)
    });
    let woken = woken.expect("no request of the parent holds the wake");
    assert!(woken.contains("task_status"), "{woken}");
    assert!(!woken.contains("The answer is 42."), "{woken}");
    let told = json_results(&model, "task_status");
    assert_eq!(told[0]["status"], "completed");
    assert_eq!(told[0]["summary"], "The answer is 42.");
    assert_eq!(host.last_text(&parent), "Child: The answer is 42.");
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_of_different_providers_delegate_to_each_other() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model).scripted());
    for (parent, child) in [("scripted", "codex"), ("codex", "scripted")] {
        let delegate = json!({
            "task": format!("script: say I am {child}."),
            "target": {"providerInstanceId": child},
            "mode": "wait",
        });
        let steps = [
            &call("delegate_task", &delegate),
            "say {{1.providerInstanceId}}: {{1.summary}}",
        ];
        let mut run = host.run(parent, &script(&steps));
        assert_eq!(run.completed(), format!("{child}: I am {child}."));
        assert_eq!(run.result()["tasks"][0]["providerInstanceId"], child);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_codex_children_work_at_the_same_time() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let delegate = |text: &str| {
        call(
            "delegate_task",
            &json!({"task": format!("script: hang ;; say {text}")}),
        )
    };
    let steps = [&delegate("One."), &delegate("Two."), "say Started"];
    let mut feed = host.feed();
    let mut run = host.run("codex", &script(&steps));
    let parent = run.thread_id();
    run.completed();

    hanging(&model, 2).await;
    for number in [1, 2] {
        let child = feed.child(&parent, number);
        host.tell(&child, "Go on.");
        assert_eq!(feed.end_of(&child, 1)["status"], "completed");
    }
    // Both are told, in one wake or in two.
    for number in [1, 2] {
        let child = feed.child(&parent, number);
        let told = feed.change("task", |task| {
            task["childThreadId"] == child.as_str() && !task["summary"].is_null()
        });
        assert_eq!(told["summary"], ["One.", "Two."][number - 1]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_a_codex_child_ends_the_command_it_runs() {
    let model = ModelServer::start().await.unwrap();
    let host = TestHost::start(&Configuration::default().codex(&model));
    let sleeper = Sleeper::new(host.folder());
    let delegate = json!({"task": format!("script: shell {}", sleeper.command())});
    let cancel = json!({"taskId": "{{1.taskId}}", "reason": "not needed"});
    let steps = [
        &call("delegate_task", &delegate),
        "hang",
        &call("task_cancel", &cancel),
        "say {{2.status}}",
    ];
    let mut feed = host.feed();
    let mut run = host.run_with("codex", &["--runtime-mode", "full-access"], &script(&steps));
    let parent = run.thread_id();
    let child = feed.child(&parent, 1);
    let command = sleeper.process();
    hanging(&model, 1).await;
    host.tell(&parent, "Go on.");

    assert_eq!(run.completed(), "cancel_requested");
    command.wait_gone();
    let ended = feed.end_of(&child, 1);
    assert_eq!(ended["status"], "interrupted", "{ended}");
    let task = host.thread(&parent)["tasks"][0].clone();
    assert_eq!(task["resultStatus"], "interrupted", "{task}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_agent_is_told_what_it_can_delegate_to() {
    let model = ModelServer::start().await.unwrap();
    let missing = "id = \"absent\"\ndriver = \"codex\"\ncommand = [\"no-such-codex\"]";
    let configuration = Configuration::default()
        .codex(&model)
        .scripted()
        .provider(missing);
    let host = TestHost::start(&configuration);
    let steps = [
        &call("orchestrator_capabilities", &json!({})),
        "say Thanks.",
    ];
    let mut run = host.run("codex", &script(&steps));
    let thread = run.thread_id();
    run.completed();

    let told = json_results(&model, "orchestrator_capabilities").remove(0);
    assert_eq!(told["parentThreadId"], thread);
    assert_eq!(told["inheritedProviderInstanceId"], "codex");
    assert_eq!(told["runtimeMode"], "approval-required");
    let providers = told["providers"].as_array().unwrap();
    let usable = |id: &str| {
        let provider = providers
            .iter()
            .find(|p| p["providerInstanceId"] == id)
            .unwrap();
        (
            provider["driverKind"].clone(),
            provider["canRunChildTask"].clone(),
            provider["constraints"].clone(),
        )
    };
    assert_eq!(usable("codex"), (json!("codex"), json!(true), json!([])));
    assert_eq!(
        usable("scripted"),
        (json!("scripted"), json!(true), json!([]))
    );
    let (_, can_run, constraints) = usable("absent");
    assert_eq!(can_run, false);
    assert!(
        constraints[0].as_str().unwrap().contains("no-such-codex"),
        "{constraints}"
    );
}
