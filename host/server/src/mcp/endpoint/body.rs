//! Reads a request's body before anything else is done with it: bounded in size and time.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;

use super::refusal::Refusal;
use crate::mcp::limits::{REQUEST_BODY_BYTES_MAX, REQUEST_BODY_TIME_MAX};

/// The whole body.
pub(super) async fn read(body: Body) -> Result<Bytes, Refusal> {
    tokio::time::timeout(REQUEST_BODY_TIME_MAX, collect(body))
        .await
        .unwrap_or(Err(Refusal::BodyTooSlow))
}

async fn collect(body: Body) -> Result<Bytes, Refusal> {
    let mut chunks = body.into_data_stream();
    // Most bodies come in one piece, which then needs no copy.
    let mut whole = Bytes::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Refusal::BodyBroken)?;
        if whole.len().saturating_add(chunk.len()) > REQUEST_BODY_BYTES_MAX {
            return Err(Refusal::BodyTooLarge);
        }
        whole = if whole.is_empty() {
            chunk
        } else {
            join(whole, &chunk)
        };
    }
    Ok(whole)
}

fn join(whole: Bytes, chunk: &Bytes) -> Bytes {
    // The only owner gets its memory back and grows it, so that many pieces cost no square.
    let mut whole = whole
        .try_into_mut()
        .unwrap_or_else(|shared| BytesMut::from(shared.as_ref()));
    whole.extend_from_slice(chunk);
    whole.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(sizes: &[usize]) -> Body {
        let pieces: Vec<_> = sizes
            .iter()
            .map(|size| Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; *size])))
            .collect();
        Body::from_stream(futures::stream::iter(pieces))
    }

    #[tokio::test]
    async fn a_body_is_whole_up_to_the_bound_and_refused_beyond() {
        const MAX: usize = REQUEST_BODY_BYTES_MAX;
        for (sizes, expected) in [
            (&[][..], Ok(0)),
            (&[1, 2, 3], Ok(6)),
            (&[MAX - 1], Ok(MAX - 1)),
            (&[MAX], Ok(MAX)),
            (&[MAX - 1, 1], Ok(MAX)),
            (&[MAX + 1], Err(Refusal::BodyTooLarge)),
            (&[MAX, 1], Err(Refusal::BodyTooLarge)),
        ] {
            assert_eq!(
                read(pieces(sizes)).await.map(|body| body.len()),
                expected,
                "{sizes:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_told_from_a_whole_one() {
        let broken = futures::stream::iter([
            Ok(Bytes::from_static(b"{")),
            Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
        ]);
        assert_eq!(
            read(Body::from_stream(broken)).await,
            Err(Refusal::BodyBroken)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_given_up() {
        let endless = futures::stream::pending::<Result<Bytes, std::io::Error>>();
        assert_eq!(
            read(Body::from_stream(endless)).await,
            Err(Refusal::BodyTooSlow)
        );
    }
}
