//! Keeping a caller company while it waits.

use std::future::Future;
use std::time::Duration;

use domain::error::{Denial, DenialCode};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::mcp::endpoint::{ParkingFull, Slot};

/// The caller's side of a call that may take long.
#[derive(Debug)]
pub struct Attendance {
    gone: CancellationToken,
    cancelled: CancellationToken,
    slot: Slot,
    every: Duration,
    progress: Option<Progress>,
}

#[derive(Debug)]
struct Progress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
}

impl Attendance {
    /// `gone` fires when the reply has no reader any more.
    pub(in crate::mcp) fn new(
        context: &RequestContext<RoleServer>,
        gone: CancellationToken,
        slot: Slot,
        every: Duration,
    ) -> Self {
        let token = context.meta.get_progress_token();
        let progress = token.map(|token| Progress {
            peer: context.peer.clone(),
            token,
        });
        Self {
            gone,
            cancelled: context.ct.clone(),
            slot,
            every,
            progress,
        }
    }

    /// Fires when the caller's connection is lost or it took its request back.
    pub(in crate::mcp) fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    /// Moves the request to the parked ones. To be called before anything has been done.
    pub(in crate::mcp) fn park(&self) -> Result<(), Denial> {
        self.slot.park().map_err(|ParkingFull| {
            Denial::new(
                DenialCode::LimitExceeded,
                "too many waits are open on this host: call again with mode async, or later",
            )
        })
    }

    /// Does the work; tells the caller now and then that it goes on, with what `message` says. The work is
    /// never dropped before it is done: where the caller goes away, the token of [`gone`](Self::gone) fires.
    pub(in crate::mcp) async fn during<T>(
        &self,
        message: &str,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = std::pin::pin!(work);
        let begun = Instant::now();
        let mut ticks = tokio::time::interval_at(begun + self.every, self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = self.cancelled.cancelled(), if !self.gone.is_cancelled() => self.gone.cancel(),
                _ = ticks.tick(), if !self.gone.is_cancelled() => {
                    let told = self.tell(begun.elapsed(), message);
                    // A reader that takes nothing must not hold up the work.
                    tokio::select! { biased; done = &mut work => return done, () = told => {} }
                }
            }
        }
    }

    async fn tell(&self, elapsed: Duration, message: &str) {
        let Some(Progress { peer, token }) = &self.progress else {
            return;
        };
        let progress = ProgressNotificationParam::new(token.clone(), elapsed.as_secs_f64());
        if let Err(error) = peer.notify_progress(progress.with_message(message)).await {
            tracing::debug!(%error, "a progress report found no reader");
        }
    }
}
