//! The program itself, as a person or a script calls it.

use std::process::{Output, Stdio};

use domain::ids::RunId;
use domain::ids::ThreadId;
use domain::item::{ItemHead, ItemKind, ItemStatus};
use domain::provider_event::{ProviderEvent, ProviderItem, TurnOutcome};
use threads::ports::ProviderWork;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use crate::host::{Everybody, Host};

/// More than a pipe and every buffer on the way holds.
const LONG_BYTES: usize = 3 << 20;

fn weft(host: &Host, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    command
        .arg("--data-folder")
        .arg(host.folder.path())
        .args(words);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn run(host: &Host, words: &[&str]) -> Output {
    weft(host, words).output().await.unwrap()
}

/// A thread whose agent says this and completes.
async fn said(host: &mut Host, said: &str) -> ThreadId {
    let project = host.add_project().await;
    let (thread_id, run_id) = host.start_thread(project).await;
    let mut feed = host.client.feed(0).await.unwrap();
    assert!(matches!(
        host.work.recv().await,
        Some(ProviderWork::StartTurn { .. })
    ));
    say(host, &thread_id, &run_id, said).await;
    loop {
        let line = feed.next().await.unwrap().unwrap();
        match line.change {
            server::local::wire::Change::Run(run) if run.status.is_terminal() => return thread_id,
            _ => {}
        }
    }
}

async fn say(host: &Host, thread_id: &ThreadId, run_id: &RunId, said: &str) {
    host.report(ProviderEvent::ThreadAttached {
        thread_id: thread_id.clone(),
    })
    .await;
    host.report(ProviderEvent::TurnStarted {
        run_id: run_id.clone(),
        native_turn_id: None,
    })
    .await;
    host.report(ProviderEvent::Item(ProviderItem {
        driver_item_id: "item".to_owned(),
        thread_id: thread_id.clone(),
        run_id: Some(run_id.clone()),
        parent_driver_item_id: None,
        kind: ItemKind::AssistantMessage,
        status: ItemStatus::Completed,
        title: None,
        text: Some(said.to_owned()),
        head: ItemHead::default(),
        body_json: "{}".to_owned(),
    }))
    .await;
    host.report(ProviderEvent::TurnEnded {
        run_id: run_id.clone(),
        outcome: TurnOutcome::Completed,
        native_point: None,
    })
    .await;
}

#[tokio::test]
async fn long_output_through_a_pipe_is_whole() {
    let mut host = Host::start(Everybody::People).await;
    let long = "0123456789abcde\n".repeat(LONG_BYTES / 16);
    let thread_id = said(&mut host, &long).await;
    let shown = run(&host, &["thread", "show", thread_id.as_str(), "--json"]).await;
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let value: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let items = value["items"].as_array().unwrap();
    assert!(
        items.iter().any(|item| item["text"] == *long),
        "the text is not whole"
    );
    let shown = run(&host, &["thread", "show", thread_id.as_str()]).await;
    assert!(text(&shown.stdout).contains(&long));
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_panic() {
    let mut host = Host::start(Everybody::People).await;
    let thread_id = said(&mut host, &"long ".repeat(LONG_BYTES / 5)).await;
    let mut child = weft(&host, &["thread", "show", thread_id.as_str()])
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    let mut output = child.stdout.take().unwrap();
    output.read_exact(&mut first).await.unwrap();
    drop(output);
    let ended = child.wait_with_output().await.unwrap();
    assert_eq!(ended.status.code(), Some(141));
    assert_eq!(text(&ended.stderr), "");
}

#[tokio::test]
async fn a_folder_that_is_no_project_is_refused_with_the_command_to_add_it() {
    let host = Host::start(Everybody::People).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let path = path.to_str().unwrap();
    let refused = run(
        &host,
        &["run", "--project", path, "--provider", "hand", "do it"],
    )
    .await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused.stderr).contains(&format!("project add {path}")),
        "{refused:?}"
    );
    assert!(
        host.client.projects().await.unwrap().is_empty(),
        "nothing is registered silently"
    );
}

#[tokio::test]
async fn a_run_is_shown_live_and_its_result_comes_last() {
    let mut host = Host::start(Everybody::People).await;
    let project = host.add_project().await;
    let words = [
        "run",
        "--project",
        &project,
        "--provider",
        "hand",
        "--json",
        "do it",
    ];
    let mut child = weft(&host, &words).spawn().unwrap();
    let Some(ProviderWork::StartTurn { thread, run_id, .. }) = host.work.recv().await else {
        panic!("no turn was started");
    };
    say(&host, &thread.thread_id, &run_id, "done \u{1b}[31mred").await;
    let mut output = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut output)
        .await
        .unwrap();
    assert!(child.wait().await.unwrap().success());
    assert!(
        !output.contains('\u{1b}'),
        "a control character reaches the terminal"
    );
    let last: serde_json::Value = serde_json::from_str(output.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "result");
    assert_eq!(last["status"], "completed");
    assert_eq!(last["threadId"], thread.thread_id.as_str());
    assert_eq!(last["text"], "done \u{1b}[31mred");
    assert_eq!(last["tasks"], serde_json::json!([]));
}

#[tokio::test]
async fn a_failed_run_has_its_own_exit_code() {
    use domain::provider_event::{Failure, FailureClass};
    let mut host = Host::start(Everybody::People).await;
    let project = host.add_project().await;
    let words = ["run", "--project", &project, "--provider", "hand", "do it"];
    let child = weft(&host, &words).spawn().unwrap();
    let Some(ProviderWork::StartTurn { thread, run_id, .. }) = host.work.recv().await else {
        panic!("no turn was started");
    };
    host.report(ProviderEvent::ThreadAttached {
        thread_id: thread.thread_id,
    })
    .await;
    let failure = Failure {
        class: FailureClass::TransportError,
        message: "the agent ended; start it again".to_owned(),
        code: None,
        retryable: None,
    };
    let outcome = TurnOutcome::Failed(failure);
    host.report(ProviderEvent::TurnEnded {
        run_id,
        outcome,
        native_point: None,
    })
    .await;
    let ended = child.wait_with_output().await.unwrap();
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert!(
        text(&ended.stdout).contains("the agent ended; start it again"),
        "{ended:?}"
    );
}
