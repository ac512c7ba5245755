//! `weft thread`: list, show, send, stop, resume.

use super::Outcome;
use super::args::ThreadCommand;
use super::follow::{Follow, Format};
use super::live::Live;
use super::out::Out;
use super::shared::{Failure, Setup, seconds, text_or_input, word};
use crate::local::client::Client;
use crate::local::limits::PAGE_MAX;
use crate::local::wire::{SendMessage, StopThread, ThreadDetailView, ThreadRowView};

pub(super) async fn thread(
    out: &mut Out,
    setup: &Setup,
    command: ThreadCommand,
) -> Result<Outcome, Failure> {
    let client = setup.client()?;
    match command {
        ThreadCommand::List { limit, json } => list(out, &client, limit, json).await,
        ThreadCommand::Show { id, json } => show(out, setup, &client, &id, json).await,
        ThreadCommand::Send {
            id,
            text,
            mode,
            follow,
            json,
        } => {
            let detail = client.thread(&id, 0).await?;
            let request = SendMessage {
                text: text_or_input(text)?,
                mode: mode.into(),
            };
            let sent = client.send(&id, &request).await?;
            let format = if json { Format::Json } else { Format::People };
            if follow {
                let follow = Follow::new(setup, &id, &sent.run_id, format);
                return follow.until_end(out, &client, Some(detail.sequence)).await;
            }
            if json {
                out.json(&sent)?;
            } else {
                let line = match sent.delivery {
                    domain::command::Sent::Started => "a run starts with it",
                    domain::command::Sent::Queued => "it waits behind another run",
                    domain::command::Sent::Steered => "it joins the running turn",
                };
                out.line(&format!("sent: {line} ({})", sent.run_id))?;
            }
            Ok(Outcome::Done)
        }
        ThreadCommand::Resume { id, json } => {
            let resumed = client.resume(&id).await?;
            if json {
                out.json(&resumed)?;
            } else {
                out.line(&format!("going on; runs held before: {}", resumed.runs))?;
            }
            Ok(Outcome::Done)
        }
        ThreadCommand::Stop { id, reason, json } => {
            let stopped = client.stop(&id, &StopThread { reason }).await?;
            if json {
                out.json(&stopped)?;
            } else {
                out.line(&format!("stopping; runs met: {}", stopped.runs))?;
            }
            Ok(Outcome::Done)
        }
    }
}

async fn list(
    out: &mut Out,
    client: &Client,
    limit: usize,
    json: bool,
) -> Result<Outcome, Failure> {
    let mut rows: Vec<ThreadRowView> = Vec::new();
    while rows.len() < limit {
        let wanted = (limit - rows.len()).min(PAGE_MAX);
        let page = client.threads(rows.len(), wanted).await?;
        let got = page.len();
        rows.extend(page);
        if got < wanted {
            break;
        }
    }
    if json {
        out.json(&serde_json::json!({ "threads": rows }))?;
        return Ok(Outcome::Done);
    }
    let rows: Vec<[String; 6]> = rows.iter().map(row_cells).collect();
    out.table(
        ["THREAD", "STATE", "PROVIDER", "PROJECT", "PARENT", "TITLE"],
        &rows,
    )?;
    Ok(Outcome::Done)
}

fn row_cells(row: &ThreadRowView) -> [String; 6] {
    let thread = &row.thread;
    [
        thread.id.clone(),
        row.state.clone(),
        thread.provider_instance_id.clone(),
        row.project_name.clone(),
        thread
            .parent_thread_id
            .clone()
            .unwrap_or_else(|| "-".to_owned()),
        thread.title.clone(),
    ]
}

/// The thread with its whole timeline, read page by page.
async fn whole(client: &Client, id: &str) -> Result<ThreadDetailView, Failure> {
    let mut detail = client.thread(id, 0).await?;
    let mut page_len = detail.items.len();
    while page_len >= PAGE_MAX {
        let Some(last) = detail.items.last().map(|item| item.position) else {
            break;
        };
        let page = client.thread(id, last).await?;
        page_len = page.items.len();
        detail.items.extend(page.items);
    }
    Ok(detail)
}

async fn show(
    out: &mut Out,
    setup: &Setup,
    client: &Client,
    id: &str,
    json: bool,
) -> Result<Outcome, Failure> {
    let detail = whole(client, id).await?;
    if json {
        out.json(&detail)?;
        return Ok(Outcome::Done);
    }
    let thread = &detail.row.thread;
    out.line(&format!("{}  {}", thread.id, thread.title))?;
    out.line(&format!("state     {}", detail.row.state))?;
    out.line(&format!("provider  {}", thread.provider_instance_id))?;
    out.line(&format!(
        "modes     {}, {}",
        word(&thread.runtime_mode),
        word(&thread.interaction_mode)
    ))?;
    out.line(&format!(
        "project   {}  {}",
        detail.row.project_name, thread.workspace_path
    ))?;
    if let Some(parent) = &thread.parent_thread_id {
        out.line(&format!("parent    {parent}"))?;
    }
    for run in &detail.runs {
        let took = run
            .elapsed_ms
            .map(|ms| format!(" in {}", seconds(ms)))
            .unwrap_or_default();
        let why = run
            .reason
            .as_ref()
            .map(|why| format!(": {why}"))
            .unwrap_or_default();
        out.line(&format!(
            "run {}     {} {}{took}{why}",
            run.ordinal,
            run.id,
            word(&run.status)
        ))?;
    }
    out.line("")?;
    let mut live = Live::new(setup.program(), id.to_owned());
    for item in &detail.items {
        live.item(out, item)?;
    }
    for request in &detail.requests {
        live.request(out, request)?;
    }
    for task in &detail.tasks {
        let status = task
            .result_status
            .map_or_else(|| "going on".to_owned(), |s| word(&s));
        out.line(&format!(
            "task {}  {}  {}  {status}",
            task.id, task.child_thread_id, task.provider_instance_id
        ))?;
    }
    Ok(Outcome::Done)
}
