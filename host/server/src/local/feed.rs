//! The feed: one JSON object a line, for as long as somebody reads.

use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::error::Denial;
use futures::stream;
use serde::Deserialize;
use tokio::time::timeout;

use super::convert::change;
use super::limits::{FEED_FACTS_MAX, FEED_IDLE_LINE};
use super::routes::{LocalApi, PERSON, going_down};
use super::wire::{Change, ErrorView, FeedLine};

/// Where a follower starts.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct After {
    after: u64,
}

/// A reader of the journal for one follower.
#[derive(Debug)]
struct Follower {
    api: LocalApi,
    sequence: u64,
    progress: Progress,
}

#[derive(Clone, Copy, Debug)]
enum Progress {
    Open,
    Over,
}

/// Follows the journal. Ends with an `end` line when the host goes down.
pub(super) async fn follow(State(api): State<LocalApi>, Query(start): Query<After>) -> Response {
    let follower = Follower {
        api,
        sequence: start.after,
        progress: Progress::Open,
    };
    // Nothing is read ahead: the next page is read when the last one has gone out.
    let lines = stream::unfold(follower, |mut follower| async move {
        let chunk = follower.next_chunk().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), follower))
    });
    let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (kind, Body::from_stream(lines)).into_response()
}

impl Follower {
    /// At least one line, or `None` at the end.
    async fn next_chunk(&mut self) -> Option<Bytes> {
        if matches!(self.progress, Progress::Over) {
            return None;
        }
        loop {
            let read = self
                .api
                .service
                .feed(&PERSON, self.sequence, FEED_FACTS_MAX);
            let page = tokio::select! {
                biased;
                () = self.api.stop.cancelled() => return Some(self.end(&going_down())),
                page = timeout(FEED_IDLE_LINE, read) => page,
            };
            let page = match page {
                Err(_) => {
                    return Some(
                        self.lines([Change::Idle].into_iter().map(|c| (self.sequence, c))),
                    );
                }
                Ok(Err(denial)) => return Some(self.end(&denial)),
                Ok(Ok(page)) => page,
            };
            self.sequence = page.sequence;
            let seen = page
                .events
                .iter()
                .filter_map(|(sequence, event)| Some((*sequence, change(event)?)));
            let chunk = self.lines(seen);
            if !chunk.is_empty() {
                return Some(chunk);
            }
        }
    }

    fn end(&mut self, denial: &Denial) -> Bytes {
        self.progress = Progress::Over;
        self.lines([(self.sequence, Change::End(ErrorView::from(denial)))].into_iter())
    }

    fn lines(&self, changes: impl Iterator<Item = (u64, Change)>) -> Bytes {
        let mut chunk = Vec::new();
        for (sequence, change) in changes {
            if serde_json::to_writer(&mut chunk, &FeedLine { sequence, change }).is_err() {
                // Writing to memory fails only for a map whose keys are no texts; there is none.
                tracing::error!(sequence, "a fact has no form in JSON");
                continue;
            }
            chunk.push(b'\n');
        }
        Bytes::from(chunk)
    }
}
