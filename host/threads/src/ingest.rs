//! Takes what provider sessions report to the writer, in order.
//!
//! Streamed text comes in small pieces and may wait a moment: pieces of one item that follow each
//! other become one, and what came together is stored together. Whatever somebody waits for (ends,
//! requests, processes) goes at once, with everything before it.

use std::time::Duration;

use domain::command::Command;
use domain::error::DenialCode;
use domain::provider_event::{ProviderEvent, ProviderReport};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::limits::{FLUSH_BYTES_MAX, FLUSH_MS_MAX, FLUSH_REPORTS_MAX};
use crate::writer::WriterHandle;

/// How a host leaves its agents: it asks, and is told when no more reports are taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leaving {
    asked: CancellationToken,
    closed: CancellationToken,
}

impl Leaving {
    /// Returns when every later report is refused.
    pub(crate) async fn leave(&self) {
        self.asked.cancel();
        self.closed.cancelled().await;
    }
}

/// Reads reports until every sender is gone, the writer takes no more, or the host leaves its agents: then what was
/// given before is still stored.
pub(crate) async fn run(
    mut reports: mpsc::Receiver<ProviderReport>,
    writer: WriterHandle,
    leaving: Leaving,
) {
    // However this ends, nobody waits for it in vain.
    let _closed = leaving.closed.clone().drop_guard();
    loop {
        let next = tokio::select! {
            biased;
            () = leaving.asked.cancelled(), if !reports.is_closed() => {
                reports.close();
                leaving.closed.cancel();
                continue;
            }
            next = reports.recv() => next,
        };
        let Some(first) = next else { return };
        let mut waiting = Waiting::default();
        waiting.push(first);
        let latest = Instant::now() + Duration::from_millis(FLUSH_MS_MAX);
        while !waiting.is_due() {
            match timeout_at(latest, reports.recv()).await {
                Ok(Some(report)) => waiting.push(report),
                Ok(None) | Err(_) => break,
            }
        }
        if let Err(JournalClosed) = flush(waiting.reports, &writer).await {
            // Dropping the queue tells the sessions.
            tracing::error!("reports are no longer taken: the journal takes no more writes");
            return;
        }
    }
}

struct JournalClosed;

/// Stores reports in their order and waits until they are durable.
async fn flush(reports: Vec<ProviderReport>, writer: &WriterHandle) -> Result<(), JournalClosed> {
    let mut pending = Vec::with_capacity(reports.len());
    for report in reports {
        let command = Command::Report(report);
        pending.push(
            writer
                .enqueue(None, command)
                .await
                .map_err(|_| JournalClosed)?,
        );
    }
    for answer in pending {
        match answer.answer().await {
            Ok(_) => {}
            Err(denial) if denial.code == DenialCode::StorageUnavailable => {
                return Err(JournalClosed);
            }
            // A driver may say nonsense; that is for its log, not for the host.
            Err(denial) => tracing::warn!(code = denial.code.word(), %denial, "report refused"),
        }
    }
    Ok(())
}

/// Reports held back for a moment.
#[derive(Debug, Default)]
struct Waiting {
    reports: Vec<ProviderReport>,
    bytes: usize,
    urgency: Urgency,
}

/// Whether something in a batch of reports is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Urgency {
    #[default]
    MayWait,
    AtOnce,
}

impl Waiting {
    fn push(&mut self, report: ProviderReport) {
        self.bytes = self.bytes.saturating_add(size(&report.event));
        if urgency(&report.event) == Urgency::AtOnce {
            self.urgency = Urgency::AtOnce;
        }
        let Some(report) = self.joined(report) else {
            return;
        };
        self.reports.push(report);
    }

    /// Joins a piece of text to the report before it, if that is text of the same item; otherwise
    /// gives the report back.
    fn joined(&mut self, report: ProviderReport) -> Option<ProviderReport> {
        let same_item = self
            .reports
            .last()
            .is_some_and(|last| continues(last, &report));
        if let (true, ProviderEvent::Text { appended, .. }) = (same_item, &report.event)
            && let Some(ProviderEvent::Text { appended: text, .. }) =
                self.reports.last_mut().map(|last| &mut last.event)
        {
            text.push_str(appended);
            return None;
        }
        Some(report)
    }

    fn is_due(&self) -> bool {
        self.urgency == Urgency::AtOnce
            || self.reports.len() >= FLUSH_REPORTS_MAX
            || self.bytes >= FLUSH_BYTES_MAX
    }
}

/// Whether both are text of one item.
fn continues(last: &ProviderReport, next: &ProviderReport) -> bool {
    let (
        ProviderEvent::Text {
            thread_id,
            driver_item_id,
            ..
        },
        ProviderEvent::Text {
            thread_id: next_thread,
            driver_item_id: next_item,
            ..
        },
    ) = (&last.event, &next.event)
    else {
        return false;
    };
    last.session_id == next.session_id && thread_id == next_thread && driver_item_id == next_item
}

/// Only what streams may wait. A new kind of event is urgent until somebody decides otherwise.
fn urgency(event: &ProviderEvent) -> Urgency {
    match event {
        ProviderEvent::Text { .. }
        | ProviderEvent::Item(_)
        | ProviderEvent::Usage { .. }
        | ProviderEvent::Background { .. } => Urgency::MayWait,
        _ => Urgency::AtOnce,
    }
}

/// Bytes of the parts of an event that can be long.
fn size(event: &ProviderEvent) -> usize {
    match event {
        ProviderEvent::Text { appended, .. } => appended.len(),
        ProviderEvent::Item(item) => {
            item.body_json.len() + item.text.as_ref().map_or(0, String::len)
        }
        ProviderEvent::Background { tasks, .. } => tasks.iter().map(String::len).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
