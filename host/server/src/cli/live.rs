//! Shows timelines to a person as they grow. The followed thread's text comes as it is written; its children's
//! comes line by line behind their names.

use std::collections::HashMap;
use std::io;

use domain::item::{ItemKind, ItemStatus};
use domain::request::{Approval, Choice, Prompt, Question};

use super::out::Out;
use super::plain::{Stripper, one_line};
use super::shared::{quoted, seconds, word};
use crate::local::wire::{ItemView, RequestView, RunView, TextView, ThreadView};

/// Longest line that names a command, a tool or a message, characters.
const HEAD_CHARS_MAX: usize = 200;

/// Characters of a thread's id that tell it from its siblings.
const LABEL_CHARS: usize = 4;

/// Timelines on a screen.
#[derive(Debug)]
pub(super) struct Live {
    program: String,
    root: String,
    labels: HashMap<String, String>,
    items: HashMap<String, Shown>,
    requests: HashMap<String, String>,
    /// Item whose text stands at the end of an unfinished line.
    open_line: Option<String>,
}

/// How much of an item has been shown.
#[derive(Debug, Default)]
struct Shown {
    thread_id: String,
    is_text: bool,
    head: Progress,
    /// Text received, bytes.
    received: usize,
    /// Text received and not shown.
    waiting: String,
    stripper: Stripper,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Unseen,
    Begun,
    Ended,
}

impl Live {
    /// A screen for the tree under one thread. `program` is how a person calls this program.
    pub(super) fn new(program: String, root: String) -> Self {
        Self {
            program,
            root,
            labels: HashMap::new(),
            items: HashMap::new(),
            requests: HashMap::new(),
            open_line: None,
        }
    }

    /// Ends an unfinished line.
    pub(super) fn close_line(&mut self, out: &mut Out) -> io::Result<()> {
        match self.open_line.take() {
            Some(_) => out.text("\n"),
            None => Ok(()),
        }
    }

    fn line(&mut self, out: &mut Out, thread_id: &str, text: &str) -> io::Result<()> {
        self.close_line(out)?;
        let label = self
            .labels
            .get(thread_id)
            .filter(|_| thread_id != self.root);
        match label {
            Some(label) => out.line(&format!("[{label}] {text}")),
            None => out.line(text),
        }
    }

    /// A thread was made or changed.
    pub(super) fn thread(&mut self, out: &mut Out, thread: &ThreadView) -> io::Result<()> {
        if thread.id == self.root || self.labels.contains_key(&thread.id) {
            return Ok(());
        }
        let tail = thread.id.chars().count().saturating_sub(LABEL_CHARS);
        let tail: String = thread.id.chars().skip(tail).collect();
        let label = format!(
            "{} {tail}",
            one_line(&thread.provider_instance_id, HEAD_CHARS_MAX)
        );
        self.labels.insert(thread.id.clone(), label);
        let title = one_line(&thread.title, HEAD_CHARS_MAX);
        self.line(out, &thread.id, &format!("child {}: {title}", thread.id))
    }

    /// A run was made or changed. The followed thread's own end is told by whoever follows it.
    pub(super) fn run(&mut self, out: &mut Out, run: &RunView) -> io::Result<()> {
        if run.thread_id == self.root || !run.status.is_terminal() {
            return Ok(());
        }
        let took = run
            .elapsed_ms
            .map(|ms| format!(" in {}", seconds(ms)))
            .unwrap_or_default();
        let why = run
            .reason
            .as_deref()
            .map(|why| format!(": {}", one_line(why, HEAD_CHARS_MAX)));
        let line = format!("{}{took}{}", word(&run.status), why.unwrap_or_default());
        self.line(out, &run.thread_id, &line)
    }

    /// An item opened, changed or closed.
    pub(super) fn item(&mut self, out: &mut Out, item: &ItemView) -> io::Result<()> {
        let mut shown = self.items.remove(&item.id).unwrap_or_default();
        shown.thread_id.clone_from(&item.thread_id);
        shown.is_text = is_text(item.kind);
        if shown.head == Progress::Unseen {
            shown.head = Progress::Begun;
            if let Some(line) = begin_line(item) {
                self.line(out, &item.thread_id, &line)?;
            }
        }
        let new = item
            .text
            .get(shown.received..)
            .unwrap_or_default()
            .to_owned();
        shown.received = shown.received.max(item.text.len());
        if shown.is_text {
            self.text(out, &item.id, &mut shown, &new)?;
        }
        if item.status.is_closed() && shown.head != Progress::Ended {
            shown.head = Progress::Ended;
            self.rest(out, &item.id, &mut shown)?;
            if let Some(line) = end_line(item) {
                self.line(out, &item.thread_id, &line)?;
            }
        }
        self.items.insert(item.id.clone(), shown);
        Ok(())
    }

    /// Text was appended to an item.
    pub(super) fn appended(&mut self, out: &mut Out, text: &TextView) -> io::Result<()> {
        let Some(mut shown) = self.items.remove(&text.item_id) else {
            return Ok(());
        };
        shown.received += text.appended.len();
        if shown.is_text {
            self.text(out, &text.item_id, &mut shown, &text.appended)?;
        }
        self.items.insert(text.item_id.clone(), shown);
        Ok(())
    }

    fn text(&mut self, out: &mut Out, id: &str, shown: &mut Shown, new: &str) -> io::Result<()> {
        let new = shown.stripper.strip(new);
        if new.is_empty() {
            return Ok(());
        }
        if shown.thread_id == self.root {
            if self.open_line.as_deref() != Some(id) {
                self.close_line(out)?;
            }
            out.text(&new)?;
            self.open_line = (!new.ends_with('\n')).then(|| id.to_owned());
            return Ok(());
        }
        shown.waiting.push_str(&new);
        if let Some(end) = shown.waiting.rfind('\n') {
            let rest = shown.waiting.split_off(end + 1);
            let whole = std::mem::replace(&mut shown.waiting, rest);
            for line in whole.lines() {
                self.line(out, &shown.thread_id, line)?;
            }
        }
        Ok(())
    }

    /// Shows a last line that has no end.
    fn rest(&mut self, out: &mut Out, id: &str, shown: &mut Shown) -> io::Result<()> {
        if self.open_line.as_deref() == Some(id) {
            self.close_line(out)?;
        }
        let rest = std::mem::take(&mut shown.waiting);
        if rest.is_empty() {
            Ok(())
        } else {
            self.line(out, &shown.thread_id, &rest)
        }
    }

    /// A request opened or ended.
    pub(super) fn request(&mut self, out: &mut Out, request: &RequestView) -> io::Result<()> {
        let before = self
            .requests
            .insert(request.id.clone(), request.status.clone());
        if before.as_ref() == Some(&request.status) {
            return Ok(());
        }
        match request.status.as_str() {
            "pending" => {
                for line in request_lines(&self.program, request) {
                    self.line(out, &request.thread_id, &line)?;
                }
            }
            _ => {
                let what = match (&request.choice, &request.reason) {
                    (Some(choice), _) => choice.word().to_owned(),
                    (None, Some(why)) => format!("{}: {why}", request.status),
                    (None, None) => "answered".to_owned(),
                };
                self.line(
                    out,
                    &request.thread_id,
                    &format!("? {}: {what}", request.id),
                )?;
            }
        }
        Ok(())
    }
}

const fn is_text(kind: ItemKind) -> bool {
    matches!(
        kind,
        ItemKind::AssistantMessage
            | ItemKind::Plan
            | ItemKind::Todo
            | ItemKind::Notice
            | ItemKind::Error
    )
}

/// What announces an item.
fn begin_line(item: &ItemView) -> Option<String> {
    let name = || {
        let name = item
            .name
            .as_deref()
            .or(item.title.as_deref())
            .unwrap_or_default();
        one_line(name, HEAD_CHARS_MAX)
    };
    match item.kind {
        ItemKind::Command => Some(format!("$ {}", name())),
        ItemKind::FileChange => {
            let path = item
                .path
                .as_deref()
                .or(item.title.as_deref())
                .unwrap_or_default();
            Some(format!("* changes {}", one_line(path, HEAD_CHARS_MAX)))
        }
        ItemKind::McpTool => match &item.server_name {
            Some(server) => Some(format!("* {}.{}", one_line(server, HEAD_CHARS_MAX), name())),
            None => Some(format!("* {}", name())),
        },
        ItemKind::Tool | ItemKind::FileSearch | ItemKind::WebSearch => {
            Some(format!("* {}", name()))
        }
        ItemKind::ProviderSubagent | ItemKind::Subagent => {
            let title = item
                .title
                .as_deref()
                .or(item.name.as_deref())
                .unwrap_or_default();
            Some(format!("* delegates: {}", one_line(title, HEAD_CHARS_MAX)))
        }
        ItemKind::Plan => Some("plan:".to_owned()),
        ItemKind::Todo => Some("to do:".to_owned()),
        ItemKind::UserMessage => {
            let quoted: Vec<String> = item.text.lines().map(|line| format!("> {line}")).collect();
            Some(quoted.join("\n"))
        }
        ItemKind::Compaction => Some("* shortens its context".to_owned()),
        ItemKind::ThreadCreated => Some(format!("* makes a thread: {}", name())),
        ItemKind::Fork => Some("* history copied from another thread".to_owned()),
        ItemKind::Handoff => Some("* history handed to another provider".to_owned()),
        ItemKind::Interrupt => Some("* interrupt".to_owned()),
        // Requests are shown as requests; a checkpoint is found when it is asked for.
        ItemKind::AssistantMessage
        | ItemKind::Reasoning
        | ItemKind::Notice
        | ItemKind::Error
        | ItemKind::Question
        | ItemKind::Approval
        | ItemKind::Checkpoint => None,
    }
}

/// What tells that an item did not end well.
fn end_line(item: &ItemView) -> Option<String> {
    let failed = match item.status {
        ItemStatus::Failed => "failed",
        ItemStatus::Cancelled => "refused or given up",
        ItemStatus::Interrupted => "stopped",
        _ => {
            return item
                .exit_code
                .filter(|code| *code != 0)
                .map(|code| format!("  exit code {code}"));
        }
    };
    if matches!(
        item.kind,
        ItemKind::AssistantMessage | ItemKind::Reasoning | ItemKind::Error
    ) {
        return None;
    }
    match item.exit_code {
        Some(code) => Some(format!("  {failed}, exit code {code}")),
        None => Some(format!("  {failed}")),
    }
}

/// A request with the commands that answer it.
pub(super) fn request_lines(program: &str, request: &RequestView) -> Vec<String> {
    let id = quoted(&request.id);
    match &request.prompt {
        Prompt::Approval(approval) => approval_lines(program, &id, approval),
        Prompt::Questions(questions) => question_lines(program, &id, questions),
    }
}

fn approval_lines(program: &str, id: &str, approval: &Approval) -> Vec<String> {
    let title = one_line(&approval.title, HEAD_CHARS_MAX);
    let mut lines = vec![format!(
        "? may it ({}): {title}",
        one_line(&approval.kind, HEAD_CHARS_MAX)
    )];
    if let Some(reason) = &approval.reason {
        lines.push(format!("  because: {}", one_line(reason, HEAD_CHARS_MAX)));
    }
    lines.push(format!("  allow with: {program} request allow {id}"));
    if approval.choices.contains(&Choice::AcceptForSession) {
        lines.push(format!(
            "  for the session: {program} request allow {id} --for-session"
        ));
    }
    lines.push(format!("  deny with:  {program} request deny {id}"));
    lines
}

fn question_lines(program: &str, id: &str, questions: &[Question]) -> Vec<String> {
    let mut lines = Vec::new();
    for question in questions {
        let name = one_line(&question.question_id, HEAD_CHARS_MAX);
        lines.push(format!(
            "? {name}: {}",
            one_line(&question.text, HEAD_CHARS_MAX)
        ));
        for option in &question.options {
            let value = one_line(&option.value, HEAD_CHARS_MAX);
            let label = one_line(&option.label, HEAD_CHARS_MAX);
            let label = if label == value {
                String::new()
            } else {
                format!(" ({label})")
            };
            lines.push(format!("  - {value}{label}"));
        }
    }
    let command = match questions {
        [_] => format!("{program} request answer {id} VALUE"),
        _ => {
            let words: Vec<String> = questions
                .iter()
                .map(|question| format!("--to {}=VALUE", quoted(&question.question_id)))
                .collect();
            format!("{program} request answer {id} {}", words.join(" "))
        }
    };
    lines.push(format!("  answer with: {command}"));
    lines
}
