//! `weft serve`: the server as a process of its own.

use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::limits::SHUTDOWN_TIME_MAX;
use super::{Ready, Recording, ServeError, run};
use crate::cli::{Failure, Outcome, Serve, Setup};

/// Variable that sets what is logged.
const LOG_VARIABLE: &str = "WEFT_LOG";

/// What is logged when nobody says: the host's own remarks, and what the MCP library finds wrong.
const LOG_DEFAULT: &str = "info,rmcp=warn";

/// For whom the server says that it is ready.
#[derive(Clone, Copy, Debug)]
enum Announcement {
    /// One line of text.
    People,
    /// One JSON object.
    Json,
}

/// Runs the server until a signal.
pub(crate) fn command(setup: &Setup, serve: &Serve) -> Result<Outcome, Failure> {
    // First of all: from here on no process an agent starts can leave the host's tree.
    drivers::process::become_subreaper()
        .map_err(|source| ServeError::System {
            what: "becoming a child subreaper",
            source,
        })
        .map_err(Failure::other)?;
    start_log()?;
    let mut config = setup.load()?;
    if let Some(address) = serve.listen {
        config.listen = only_loopback(address)?;
    }
    let recording = if serve.record {
        Recording::On
    } else {
        Recording::Off
    };
    let announcement = if serve.ready_json {
        Announcement::Json
    } else {
        Announcement::People
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(async {
        let shutdown = CancellationToken::new();
        let signals = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
        tokio::spawn(follow_signals(signals, shutdown.clone()));
        let (sender, receiver) = oneshot::channel();
        tokio::spawn(announce(receiver, announcement));
        run(config, recording, shutdown, sender)
            .await
            .map_err(Failure::other)
    });
    // A thread that hangs in the system must not keep an ended server alive.
    runtime.shutdown_background();
    result.map(|()| Outcome::Done)
}

/// An address of the command line. One that other machines reach takes the configuration's explicit word.
fn only_loopback(address: SocketAddr) -> Result<SocketAddr, Failure> {
    if address.ip().to_canonical().is_loopback() {
        return Ok(address);
    }
    Err(Failure::Asked(format!(
        "other machines reach {address}, and the endpoint has no TLS: write it as listen under [server], \
         with beyond_loopback = \"allow\""
    )))
}

fn start_log() -> Result<(), Failure> {
    let filter = match std::env::var(LOG_VARIABLE) {
        Ok(words) => EnvFilter::try_new(&words)
            .map_err(|error| Failure::Asked(format!("{LOG_VARIABLE}: {error}")))?,
        Err(_) => EnvFilter::new(LOG_DEFAULT),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .try_init()
        .map_err(|error| Failure::Asked(error.to_string()))
}

/// The first signal starts the end, which takes a bounded time; later ones change nothing.
async fn follow_signals(
    (mut terminate, mut interrupt): (Signal, Signal),
    shutdown: CancellationToken,
) {
    loop {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!(
            seconds_max = SHUTDOWN_TIME_MAX.as_secs(),
            "ending all agents"
        );
        shutdown.cancel();
    }
}

async fn announce(ready: oneshot::Receiver<Ready>, announcement: Announcement) {
    // The server ended before it was ready; it tells why itself.
    let Ok(ready) = ready.await else { return };
    let mut out = io::stdout().lock();
    let told = match announcement {
        Announcement::People => {
            writeln!(
                out,
                "ready: mcp {}, socket {}",
                ready.mcp_url,
                ready.socket.display()
            )
        }
        Announcement::Json => serde_json::to_writer(&mut out, &ready)
            .map_err(io::Error::from)
            .and_then(|()| out.write_all(b"\n")),
    };
    if let Err(error) = told.and_then(|()| out.flush()) {
        tracing::warn!(%error, "nobody reads the standard output");
    }
}
