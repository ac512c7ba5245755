//! The bodies of replies: which are streams, whether one is over, and what must live as long as one.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use http::header;

/// Media type of an event stream.
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// Whether a reply is an event stream.
pub(super) fn is_event_stream(response: &Response) -> bool {
    response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(EVENT_STREAM.as_bytes()))
}

/// A body that had ended before its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Over;

/// The body, unless it is known by now that it holds nothing.
pub(super) fn not_over(body: Body) -> Result<Body, Over> {
    let mut pieces = body.into_data_stream();
    match pieces.next().now_or_never() {
        Some(None) => Err(Over),
        Some(Some(first)) => Ok(Body::from_stream(
            stream::once(async { first }).chain(pieces),
        )),
        None => Ok(Body::from_stream(pieces)),
    }
}

/// A body of `pieces` that keeps `held` until it has ended or was dropped.
pub(super) fn holding<T: Send + 'static>(
    pieces: impl Stream<Item = Result<Bytes, axum::Error>> + Send + 'static,
    held: T,
) -> Body {
    Body::from_stream(stream::unfold(
        (pieces.boxed(), held),
        |(mut pieces, held)| async move { pieces.next().await.map(|piece| (piece, (pieces, held))) },
    ))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    async fn bytes(body: Body) -> Bytes {
        axum::body::to_bytes(body, usize::MAX)
            .await
            .expect("a body")
    }

    #[tokio::test]
    async fn a_body_that_is_over_is_told_from_one_that_is_not() {
        assert_eq!(not_over(Body::empty()).err(), Some(Over));
        let whole = not_over(Body::from("data: x\n\n")).expect("not over");
        assert_eq!(bytes(whole).await, "data: x\n\n");
        let pending = stream::pending::<Result<Bytes, Infallible>>();
        assert!(not_over(Body::from_stream(pending)).is_ok());
    }

    #[tokio::test]
    async fn what_a_body_holds_is_let_go_at_its_end_or_when_it_is_dropped() {
        let held = std::sync::Arc::new(());
        let pieces = || stream::iter([Ok(Bytes::from_static(b"x"))]);
        let body = holding(pieces(), std::sync::Arc::clone(&held));
        let dropped = holding(pieces(), std::sync::Arc::clone(&held));
        assert_eq!(std::sync::Arc::strong_count(&held), 3);
        assert_eq!(bytes(body).await, "x");
        assert_eq!(std::sync::Arc::strong_count(&held), 2);
        drop(dropped);
        assert_eq!(std::sync::Arc::strong_count(&held), 1);
    }
}
