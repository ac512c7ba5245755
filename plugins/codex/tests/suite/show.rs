//! Events as short lines, for goldens and expectations.

use driver_sdk::types::*;
use serde_json::json;

/// Events as short lines, without native ids.
pub(crate) fn lines<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for event in events {
        let line = line(event);
        // Pieces of one item in a row are one line, so that the cutting does not matter.
        if let (Event::Text(text), Some(last)) = (event, lines.last_mut()) {
            let head = format!("text {} ", text.item_id);
            if last.starts_with(&head) {
                let joined = format!(
                    "{}{}",
                    last.trim_end_matches('"'),
                    quoted(&text.appended).trim_start_matches('"')
                );
                *last = joined;
                continue;
            }
        }
        lines.push(line);
    }
    lines
}

fn quoted(text: &str) -> String {
    json!(text).to_string()
}

pub(crate) fn line(event: &Event) -> String {
    match event {
        Event::Snapshot(s) => format!(
            "snapshot {} {:?} {} {} models={} reason={:?}",
            s.installation,
            s.version,
            s.authentication,
            s.status,
            s.models.len(),
            s.reason
        ),
        Event::ThreadReady(ready) => {
            format!(
                "thread-ready {} model={:?} resumable={}",
                ready.thread_id, ready.model, ready.resumable
            )
        }
        Event::TurnStarted(turn) => format!("turn-started {}", turn.turn_id),
        Event::TurnEnded(turn) => {
            format!(
                "turn-ended {} {} {}",
                turn.turn_id,
                outcome(&turn.outcome),
                turn.native_thread_state
            )
        }
        Event::EffectEnded(effect) => format!(
            "effect-ended {} {}",
            effect.effect_id,
            effect_outcome(&effect.outcome)
        ),
        Event::Item(item) => item_line(item),
        Event::Text(text) => format!("text {} {}", text.item_id, quoted(&text.appended)),
        Event::Request(request) => format!(
            "request {} turn={:?} item={:?} blocking={} {}",
            request.request_id,
            request.turn_id,
            request.item_id,
            request.blocking,
            prompt(&request.prompt)
        ),
        Event::RequestClosed(closed) => {
            format!("request-closed {} {}", closed.request_id, closed.reason)
        }
        Event::Usage(usage) => format!(
            "usage {} in={} cached={} out={} reasoning={} context={:?}/{:?}",
            usage.turn_id,
            usage.input_tokens,
            usage.cached_input_tokens,
            usage.output_tokens,
            usage.reasoning_tokens,
            usage.context_tokens,
            usage.context_tokens_max
        ),
        Event::Background(background) => {
            let tasks: Vec<_> = background
                .tasks
                .iter()
                .map(|task| task.task_id.as_str())
                .collect();
            format!("background {} {tasks:?}", background.thread_id)
        }
        Event::SessionEnded(ended) => match &ended.failure {
            None => "session-ended".to_owned(),
            Some(failure) => format!(
                "session-ended {}: {}",
                failure.class,
                quoted(&failure.message)
            ),
        },
        Event::Extension(extension) => format!("extension {}", extension.name),
    }
}

fn item_line(item: &Item) -> String {
    let mut line = format!("item {} {} {:?}", item.item_id, item.kind, item.status)
        .replace("ItemStatus::", "");
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            line.push_str(&format!(" {name}={value}"));
        }
    };
    add("turn", item.turn_id.clone());
    add("title", item.title.as_deref().map(quoted));
    add("text", item.text.as_deref().map(quoted));
    add("server", item.head.server_name.clone());
    add("path", item.head.path.clone());
    add("exit", item.head.exit_code.map(|code| code.to_string()));
    add(
        "added",
        item.head.lines_added.map(|lines| lines.to_string()),
    );
    add(
        "removed",
        item.head.lines_removed.map(|lines| lines.to_string()),
    );
    line
}

pub(crate) fn outcome(outcome: &TurnOutcome) -> String {
    match outcome {
        TurnOutcome::Completed => "completed".to_owned(),
        TurnOutcome::Interrupted => "interrupted".to_owned(),
        TurnOutcome::Failed(failure) => {
            format!("failed {}: {}", failure.class, quoted(&failure.message))
        }
    }
}

fn effect_outcome(outcome: &EffectOutcome) -> String {
    match outcome {
        EffectOutcome::Done => "done".to_owned(),
        EffectOutcome::Forked(native) => format!("forked {native}"),
        EffectOutcome::Refused(failure) => {
            format!("refused {}: {}", failure.class, quoted(&failure.message))
        }
        EffectOutcome::Failed(failure) => {
            format!("failed {}: {}", failure.class, quoted(&failure.message))
        }
    }
}

fn prompt(prompt: &Prompt) -> String {
    match prompt {
        Prompt::Approval(a) => {
            format!(
                "{} {} reason={:?} choices={}",
                a.kind,
                quoted(&a.title),
                a.reason,
                a.choices.join(",")
            )
        }
        Prompt::Questions(questions) => questions
            .iter()
            .map(|q| {
                let options: Vec<_> = q
                    .options
                    .iter()
                    .map(|option| option.value.as_str())
                    .collect();
                format!(
                    "question {} {} {options:?} custom={}",
                    q.question_id,
                    quoted(&q.text),
                    q.custom_answer
                )
            })
            .collect::<Vec<_>>()
            .join("; "),
    }
}
