//! A look at a provider: one short session that ends in a snapshot.

use domain::provider_event::{Failure, FailureClass};
use tokio::time::Instant;

use super::SessionParts;
use super::body::{Body, Step};
use crate::bindings::convert::host_failure;
use crate::bindings::v0_1::types as wit;
use crate::limits;

/// Looks at a provider. Ends within [`limits::PROBE_TIME_MAX`] and the time its processes take to end.
pub(crate) async fn probe(parts: SessionParts) -> Result<wit::Snapshot, Failure> {
    let mut body = Body::open(&parts, "probe")?;
    let looked = tokio::time::timeout(limits::PROBE_TIME_MAX, look(&mut body)).await;
    let result = looked.unwrap_or_else(|_| {
        Err(body.with_last_words(host_failure(
            FailureClass::TransportError,
            "probe_timeout",
            format!(
                "The provider did not answer within {} s. Start its command by hand to see what it waits for.",
                limits::PROBE_TIME_MAX.as_secs()
            ),
        )))
    });
    // In good order where the driver can: some agents write their state at their end.
    if result.is_ok() {
        close(&mut body).await;
    }
    body.end().await;
    result
}

async fn look(body: &mut Body) -> Result<wit::Snapshot, Failure> {
    let mut inputs = vec![wit::Input::Begin];
    loop {
        while !inputs.is_empty() {
            let (found, more) = turn(body, inputs).await?;
            if let Some(snapshot) = found {
                return Ok(snapshot);
            }
            inputs = more;
        }
        if body.is_mute() {
            return Err(body.with_last_words(host_failure(
                FailureClass::TransportError,
                "probe_ended",
                "The provider's process ended before anything was known about it.",
            )));
        }
        inputs = next_inputs(body).await;
    }
}

/// One call and its actions.
async fn turn(
    body: &mut Body,
    inputs: Vec<wit::Input>,
) -> Result<(Option<wit::Snapshot>, Vec<wit::Input>), Failure> {
    let mut found = None;
    let mut more = Vec::new();
    for action in body.call(inputs).await? {
        match body.perform(action, Instant::now())? {
            Step::Input(input) => more.push(input),
            Step::Event(wit::Event::Snapshot(snapshot)) => found = Some(snapshot),
            Step::Event(wit::Event::SessionEnded(ended)) => {
                let failure = ended.failure.map(crate::bindings::convert::failure);
                if found.is_none() {
                    return Err(failure
                        .unwrap_or_else(|| body.violation("a probe ended without a snapshot")));
                }
            }
            Step::Event(wit::Event::Extension(_)) | Step::Report(_) | Step::Nothing => {}
            Step::Event(_) => return Err(body.violation("a probe may send nothing but a snapshot")),
        }
    }
    Ok((found, more))
}

async fn next_inputs(body: &mut Body) -> Vec<wit::Input> {
    let mut happened = Vec::new();
    let timer = body.hands.next_timer();
    let due = async {
        match timer {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        _ = body.events.recv_many(&mut happened, limits::BATCH_LINES_MAX) => {
            happened.into_iter().map(|event| body.input(event).0).collect()
        }
        () = due => body.hands.due_timers(Instant::now()),
    }
}

/// Lets the driver end its processes itself, for a short time.
async fn close(body: &mut Body) {
    let ending = async {
        let mut inputs = vec![wit::Input::Close(wit::Close {
            reason: "probe-over".to_owned(),
        })];
        while !inputs.is_empty() || body.hands.has_processes() {
            match turn(body, inputs).await {
                Ok((_, more)) => inputs = more,
                Err(failure) => {
                    tracing::debug!(
                        message = failure.message,
                        "a driver did not end its probe well"
                    );
                    return;
                }
            }
            if inputs.is_empty() && body.hands.has_processes() {
                inputs = next_inputs(body).await;
            }
        }
    };
    // What still runs afterwards is ended by the host.
    let _ = tokio::time::timeout(limits::CLOSE_GRACE, ending).await;
}
