//! The command line's words, and what a person sees of a thread.

use clap::{CommandFactory as _, Parser as _};
use domain::item::{ItemKind, ItemStatus};
use domain::request::{Approval, Choice, Prompt};
use domain::run::RunStatus;

use super::args::Arguments;
use super::live::Live;
use super::out::{Out, Written};
use crate::local::wire::{ItemView, RequestView, RunView, TextView, ThreadView};

#[test]
fn help_says_every_command_and_option() {
    let mut command = Arguments::command().term_width(100);
    command.build();
    insta::assert_snapshot!(help_of(&mut command));
}

fn help_of(command: &mut clap::Command) -> String {
    let mut text = format!("{}\n\n", command.render_long_help());
    for sub in command
        .get_subcommands_mut()
        .filter(|sub| sub.get_name() != "help")
    {
        text.push_str(&format!(
            "===== {}\n\n{}",
            sub.get_name().to_owned(),
            help_of(sub)
        ));
    }
    text
}

#[test]
fn words_that_contradict_each_other_are_refused() {
    for words in [
        "weft",
        "weft request allow r --for-session --always",
        "weft request answer r value --dismiss why",
        "weft run --project p",
        "weft run --provider x prompt",
        "weft thread send t",
        "weft thread send t text --mode now",
        "weft serve --listen localhost",
    ] {
        assert!(
            Arguments::try_parse_from(words.split(' ')).is_err(),
            "{words}"
        );
    }
}

#[test]
fn the_options_of_the_host_stand_before_or_after_the_command() {
    for words in [
        "weft --data-folder d project list",
        "weft project list --data-folder d",
    ] {
        let arguments = Arguments::try_parse_from(words.split(' ')).unwrap();
        assert_eq!(
            arguments.data_folder.unwrap().to_str(),
            Some("d"),
            "{words}"
        );
    }
}

fn thread(id: &str, parent: Option<&str>) -> ThreadView {
    ThreadView {
        id: id.to_owned(),
        project_id: "project-1".to_owned(),
        title: "Look into it".to_owned(),
        provider_instance_id: "codex".to_owned(),
        model: None,
        runtime_mode: domain::modes::RuntimeMode::ApprovalRequired,
        interaction_mode: domain::modes::InteractionMode::Default,
        workspace_path: "/p".to_owned(),
        parent_thread_id: parent.map(str::to_owned),
        root_thread_id: "thread-root".to_owned(),
        depth: 0,
        created_at: String::new(),
        updated_at: String::new(),
    }
}

fn item(id: &str, thread: &str, kind: ItemKind, status: ItemStatus, text: &str) -> ItemView {
    ItemView {
        id: id.to_owned(),
        thread_id: thread.to_owned(),
        run_id: None,
        position: 1,
        kind,
        status,
        title: None,
        text: text.to_owned(),
        name: Some("cargo test".to_owned()),
        server_name: None,
        path: None,
        exit_code: None,
        created_at: String::new(),
    }
}

fn text(item: &str, thread: &str, appended: &str) -> TextView {
    TextView {
        item_id: item.to_owned(),
        thread_id: thread.to_owned(),
        appended: appended.to_owned(),
    }
}

fn screen() -> (Live, Out, Written) {
    let written = Written::default();
    (
        Live::new("weft".to_owned(), "thread-root".to_owned()),
        Out::into(written.clone()),
        written,
    )
}

#[test]
fn the_roots_text_comes_at_once_and_a_childs_line_by_line() {
    use ItemKind::{AssistantMessage as Message, Command};
    use ItemStatus::{Completed, Running};
    let (mut live, mut out, written) = screen();
    let out = &mut out;
    live.item(out, &item("a", "thread-root", Message, Running, "Look"))
        .unwrap();
    live.appended(out, &text("a", "thread-root", "ing at"))
        .unwrap();
    assert_eq!(written.text(), "Looking at");
    live.thread(out, &thread("thread-abcd", Some("thread-root")))
        .unwrap();
    live.item(out, &item("b", "thread-abcd", Message, Running, ""))
        .unwrap();
    live.appended(out, &text("b", "thread-abcd", "one\ntw"))
        .unwrap();
    live.appended(out, &text("a", "thread-root", " it."))
        .unwrap();
    live.appended(out, &text("b", "thread-abcd", "o")).unwrap();
    live.item(
        out,
        &item("b", "thread-abcd", Message, Completed, "one\ntwo"),
    )
    .unwrap();
    live.item(
        out,
        &item("b", "thread-abcd", Message, Completed, "one\ntwo"),
    )
    .unwrap();
    live.item(out, &item("c", "thread-root", Command, Running, ""))
        .unwrap();
    let mut ended = item("c", "thread-root", Command, Completed, "output");
    ended.exit_code = Some(3);
    live.item(out, &ended).unwrap();
    let expected = [
        "Looking at",
        "[codex abcd] child thread-abcd: Look into it",
        "[codex abcd] one",
        " it.",
        "[codex abcd] two",
        "$ cargo test",
        "  exit code 3",
        "",
    ];
    assert_eq!(written.text(), expected.join("\n"));
}

#[test]
fn a_providers_text_cannot_steer_the_terminal() {
    let (mut live, mut out, written) = screen();
    let message = |status, text| item("a", "thread-root", ItemKind::AssistantMessage, status, text);
    live.item(&mut out, &message(ItemStatus::Running, "x\u{1b}[2"))
        .unwrap();
    live.appended(&mut out, &text("a", "thread-root", "Jy\u{1b}]0;t"))
        .unwrap();
    live.appended(&mut out, &text("a", "thread-root", "itle\u{7}z\r"))
        .unwrap();
    let mut command = item(
        "b",
        "thread-root",
        ItemKind::Command,
        ItemStatus::Running,
        "",
    );
    command.name = Some("ls\u{1b}[8m\nrm".to_owned());
    live.item(&mut out, &command).unwrap();
    assert_eq!(written.text(), "xyz\n$ ls rm\n");
}

#[test]
fn an_approval_is_shown_once_with_the_commands_that_answer_it() {
    let (mut live, mut out, written) = screen();
    let mut request = RequestView {
        id: "request-1".to_owned(),
        thread_id: "thread-root".to_owned(),
        run_id: None,
        prompt: Prompt::Approval(Approval {
            kind: "command".to_owned(),
            title: "rm -rf build".to_owned(),
            reason: Some("to start afresh".to_owned()),
            choices: vec![Choice::Accept, Choice::Decline],
            options: Vec::new(),
        }),
        status: "pending".to_owned(),
        reason: None,
        choice: None,
        created_at: String::new(),
    };
    live.request(&mut out, &request).unwrap();
    live.request(&mut out, &request).unwrap();
    request.status = "resolved".to_owned();
    request.choice = Some(Choice::Decline);
    live.request(&mut out, &request).unwrap();
    let expected = [
        "? may it (command): rm -rf build",
        "  because: to start afresh",
        "  allow with: weft request allow request-1",
        "  deny with:  weft request deny request-1",
        "? request-1: decline",
        "",
    ];
    assert_eq!(written.text(), expected.join("\n"));
}

#[test]
fn a_childs_end_is_told_with_its_seconds_and_reason() {
    let (mut live, mut out, written) = screen();
    live.thread(&mut out, &thread("thread-abcd", Some("thread-root")))
        .unwrap();
    let run = RunView {
        id: "run-1".to_owned(),
        thread_id: "thread-abcd".to_owned(),
        ordinal: 1,
        status: RunStatus::Failed,
        reason: Some("the process ended".to_owned()),
        input_tokens: 0,
        output_tokens: 0,
        requested_at: String::new(),
        started_at: None,
        completed_at: None,
        elapsed_ms: Some(1_250),
    };
    live.run(&mut out, &run).unwrap();
    assert!(
        written
            .text()
            .ends_with("[codex abcd] failed in 1.2 s: the process ended\n")
    );
}
