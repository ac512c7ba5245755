use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::journal::{Journal, Outcome};
use crate::limits::{CUT_DELAY, EVENTS_QUEUED_MAX};

/// The client closed the connection: nothing more need be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientGone;

/// How the player of an event stream ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Completed,
    Cut,
}

/// The writing side of one event stream.
#[derive(Debug)]
pub(crate) struct Events {
    frames: mpsc::Sender<Result<Bytes, io::Error>>,
}

impl Events {
    /// Sends one event with its type and data.
    pub(crate) async fn send(&self, kind: &str, data: &Value) -> Result<(), ClientGone> {
        let frame = format!("event: {kind}\ndata: {data}\n\n");
        self.frames
            .send(Ok(frame.into()))
            .await
            .map_err(|_| ClientGone)
    }

    /// Waits, unless the client leaves.
    pub(crate) async fn pause(&self, pause: Duration) -> Result<(), ClientGone> {
        if pause.is_zero() {
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => Ok(()),
            () = self.frames.closed() => Err(ClientGone),
        }
    }

    /// Waits until the client leaves.
    pub(crate) async fn hang(&self) -> Result<Infallible, ClientGone> {
        self.frames.closed().await;
        Err(ClientGone)
    }

    async fn cut(&self) -> Result<(), ClientGone> {
        self.pause(CUT_DELAY).await?;
        let cut = io::Error::new(io::ErrorKind::ConnectionAborted, "cut by the script");
        self.frames.send(Err(cut)).await.map_err(|_| ClientGone)
    }
}

/// Answers with an event stream that `play` writes, and records how it ended.
pub(crate) fn respond<P, F>(journal: Arc<Journal>, number: u64, play: P) -> Response
where
    P: FnOnce(Arc<Events>) -> F,
    F: Future<Output = Result<End, ClientGone>> + Send + 'static,
{
    let (frames, receiver) = mpsc::channel(EVENTS_QUEUED_MAX);
    let events = Arc::new(Events { frames });
    let played = play(Arc::clone(&events));
    tokio::spawn(async move {
        let outcome = match played.await {
            Ok(End::Completed) => Outcome::Completed,
            Ok(End::Cut) => match events.cut().await {
                Ok(()) => Outcome::Cut,
                Err(ClientGone) => Outcome::ClientGone,
            },
            Err(ClientGone) => Outcome::ClientGone,
        };
        journal.end(number, outcome);
    });
    let stream = futures::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|frame| (frame, receiver))
    });
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, Body::from_stream(stream)).into_response()
}
