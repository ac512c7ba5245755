//! The load, and the figures.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::client::{Call, Connection, Form};
use super::peers::Peer;
use crate::Effort;
use crate::report::{Report, Row, Verdict};
use crate::samples::{Samples, micros, quantile};

/// Calls in flight of the heavy load.
const IN_FLIGHT_MAX: usize = 64;

/// Calls of one side in one round.
const CALLS_ALONE: u64 = 1_500;
const CALLS_IN_FLIGHT: u64 = 6_000;

/// Calls before each round, not counted.
const WARM_UP: u64 = 100;

/// Longest time of a round: a server that hangs ends the benchmark.
const ROUND_TIME_MAX: Duration = Duration::from_secs(60);

/// Least share of rmcp's own rate.
const RMCP_AIM: f64 = 0.8;

/// One server in one form.
struct Side {
    name: &'static str,
    address: SocketAddr,
    calls: Vec<Call>,
    samples: Samples,
    rates: Vec<f64>,
}

impl Side {
    fn new(name: &'static str, address: SocketAddr, calls: Vec<Call>) -> Self {
        Self {
            name,
            address,
            calls,
            samples: Samples::default(),
            rates: Vec::new(),
        }
    }

    async fn round(&mut self, in_flight: usize, calls: u64) -> anyhow::Result<()> {
        let name = self.name;
        let work = run(self.address, &self.calls, in_flight, calls);
        let round = tokio::time::timeout(ROUND_TIME_MAX, work).await;
        let (rate, took) = round.with_context(|| format!("{name} took too long"))??;
        self.rates.push(rate);
        self.samples.round();
        took.into_iter()
            .for_each(|took| self.samples.push(micros(took)));
        Ok(())
    }

    fn shown(&self) -> String {
        let rate = quantile(self.rates.clone(), 0.5);
        format!("{rate:.0}/s, {}", crate::report::times(&self.samples))
    }

    /// The middle of the rounds' shares of the other's rate.
    fn share_of(&self, other: &Self) -> f64 {
        let shares = self
            .rates
            .iter()
            .zip(&other.rates)
            .map(|(own, other)| own / other);
        quantile(shares.collect(), 0.5)
    }
}

/// Both forms at 1 and 64 in flight. `peer` is the folder of the server for Node with its packages.
pub(crate) async fn measure(
    peer: &Path,
    effort: Effort,
    report: &mut Report,
) -> anyhow::Result<()> {
    let callers = IN_FLIGHT_MAX.to_string();
    let weft = Peer::own(&["serve-weft", "--callers", &callers]).await?;
    let rmcp = Peer::own(&["serve-echo"]).await?;
    let node = Peer::node(peer).await?;
    let arguments = json!({ "taskId": weft.text("taskId")? });
    for (form, word, node_aim) in [
        (Form::Session, "session", 1.2),
        (Form::Stateless, "stateless", 5.0),
    ] {
        for in_flight in [1, IN_FLIGHT_MAX] {
            let call =
                |tool: &str, token: Option<String>| call_of("/mcp", form, tool, token, &arguments);
            let tokens = weft
                .tokens()
                .into_iter()
                .map(|token| call("task_status", Some(token)));
            let mut ours = Side::new("weft", weft.address()?, tokens.collect());
            let mut bare = Side::new("rmcp", rmcp.address()?, vec![call("echo", None)]);
            let (path, node_form) = match form {
                Form::Session => ("/session", Form::Session),
                _ => ("/stateless", Form::Sessionless),
            };
            let echo = call_of(path, node_form, "echo", None, &arguments);
            let mut theirs = Side::new("node", node.address()?, vec![echo]);
            let calls = match (in_flight, effort.samples < Effort::FULL.samples) {
                (_, true) => 200,
                (1, false) => CALLS_ALONE,
                (_, false) => CALLS_IN_FLIGHT,
            };
            for _ in 0..effort.rounds {
                ours.round(in_flight, calls).await?;
                bare.round(in_flight, calls).await?;
                theirs.round(in_flight, calls).await?;
            }
            for (other, what, aim) in [
                (&bare, "rmcp alone, an echo", RMCP_AIM),
                (&theirs, "MCP SDK for Node, an echo", node_aim),
            ] {
                let share = ours.share_of(other);
                report.add(Row {
                    figure: format!("`task_status` over HTTP, {word} form, {in_flight} in flight"),
                    ours: ours.shown(),
                    beside: format!("{what}: {}", other.shown()),
                    compared: format!("{share:.2}x"),
                    aim: format!("≥ {aim}x"),
                    verdict: Verdict::at_least(share, aim),
                });
            }
        }
    }
    Ok(())
}

fn call_of(path: &str, form: Form, tool: &str, token: Option<String>, arguments: &Value) -> Call {
    Call {
        path: path.to_owned(),
        token,
        form,
        tool: tool.to_owned(),
        arguments: arguments.clone(),
    }
}

/// The rate of a round and how long each call took. Each caller has its own connection and, in the session form, its
/// own session, as agents have.
async fn run(
    address: SocketAddr,
    calls: &[Call],
    in_flight: usize,
    count: u64,
) -> anyhow::Result<(f64, Vec<Duration>)> {
    let mut connections = Vec::new();
    for call in calls.iter().cycle().take(in_flight) {
        connections.push(Connection::open(address, call.clone()).await?);
    }
    for connection in &mut connections {
        for _ in 0..WARM_UP.div_ceil(in_flight as u64) {
            connection.call().await?;
        }
    }
    let next = Arc::new(AtomicU64::new(0));
    let mut callers = tokio::task::JoinSet::new();
    let begun = Instant::now();
    for mut connection in connections {
        let next = Arc::clone(&next);
        callers.spawn(async move {
            let mut took = Vec::new();
            while next.fetch_add(1, Ordering::Relaxed) < count {
                let begun = Instant::now();
                connection.call().await?;
                took.push(begun.elapsed());
            }
            anyhow::Ok(took)
        });
    }
    let mut all = Vec::new();
    while let Some(took) = callers.join_next().await {
        all.extend(took??);
    }
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    Ok((rate, all))
}
