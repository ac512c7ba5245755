//! Durable commands per second, beside redb alone writing the same rows.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use domain::command::Command;

use crate::Effort;
use crate::journal::{Host, create, delegate, key};
use crate::report::{Report, Row, Verdict, times};
use crate::samples::{Samples, micros, quantile};
use crate::tape::{Bare, Dump, Tape, counts, dump};

/// Commands before the one whose rows are looked at, and before each round.
const WARM_UP: u64 = 40;

/// Commands of one round and side. Delegated threads are active, and a host has at most 1,024 of those.
const COMMANDS_ALONE: u64 = 400;
const COMMANDS_IN_FLIGHT: u64 = 64 * 12;

/// Parents, and how many children each of them has: 20 may be active.
const PARENTS: u64 = 45;
const CHILDREN: u64 = 19;

/// Least share of redb's own rate.
const AIM: f64 = 0.8;

/// A command that is measured.
#[derive(Clone, Copy, Debug)]
enum Kind {
    CreateThread,
    Delegate,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::CreateThread => "make a thread",
            Self::Delegate => "delegate a task",
        }
    }

    async fn prepare(self, host: &Host) -> anyhow::Result<Make> {
        Ok(match self {
            Self::CreateThread => {
                let project = host.project.clone();
                Arc::new(move |_| create(&project, None))
            }
            Self::Delegate => {
                let mut parents = Vec::new();
                for _ in 0..PARENTS {
                    parents.push(host.working_thread().await?.0);
                }
                let last = parents.pop().context("a parent")?;
                Arc::new(move |number| {
                    let at = usize::try_from(number / CHILDREN).unwrap_or(usize::MAX);
                    delegate(parents.get(at).unwrap_or(&last))
                })
            }
        })
    }
}

/// Makes the command of this number.
type Make = Arc<dyn Fn(u64) -> Command + Send + Sync>;

/// Latencies and rates of one side.
#[derive(Default)]
struct Side {
    samples: Samples,
    rates: Vec<f64>,
}

impl Side {
    fn rate(&self) -> f64 {
        quantile(self.rates.clone(), 0.5)
    }

    fn shown(&self) -> String {
        format!("{:.0}/s, {}", self.rate(), times(&self.samples))
    }
}

/// Both commands, at 1 and 64 in flight.
pub(crate) async fn measure(effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    for kind in [Kind::CreateThread, Kind::Delegate] {
        for in_flight in [1, 64] {
            one(kind, in_flight, effort, report).await?;
        }
    }
    Ok(())
}

async fn one(
    kind: Kind,
    in_flight: u64,
    effort: Effort,
    report: &mut Report,
) -> anyhow::Result<()> {
    let commands = match (in_flight, effort.samples < Effort::FULL.samples) {
        (_, true) => 128,
        (1, false) => COMMANDS_ALONE,
        (_, false) => COMMANDS_IN_FLIGHT,
    };
    let (mut ours, mut theirs) = (Side::default(), Side::default());
    let mut seen = String::new();
    for _ in 0..effort.rounds {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("journal.redb");
        let host = Host::open(&file).await?;
        let command = kind.prepare(&host).await?;
        let writer = host.running.writer();
        for number in 0..WARM_UP {
            writer.submit(Some(key(number)), command(number)).await?;
        }
        // Of the command whose rows are looked at, and the state the bare loop starts from.
        let before = copied(&file)?;
        writer.submit(Some(key(WARM_UP)), command(WARM_UP)).await?;
        let after = copied(&file)?;
        let tape = Tape::between(&before, &after)?;
        seen = format!("{} rows, {} bytes", tape.rows, tape.bytes);
        run_host(&host, &command, in_flight, commands, &mut ours).await?;
        host.stop().await?;
        let bare = Bare::holding(&folder.path().join("bare.redb"), &after)?;
        run_bare(&bare, &tape, in_flight, commands, &mut theirs)?;
        let (mut own, mut other) = (counts(&dump(&file)?), bare.counts()?);
        for counts in [&mut own, &mut other] {
            // Effects of the last commit go with the next one.
            counts.remove("outbox");
        }
        ensure!(
            own == other,
            "the bare loop wrote other rows than the host: {own:?}, {other:?}"
        );
    }
    let shares = ours
        .rates
        .iter()
        .zip(&theirs.rates)
        .map(|(own, other)| own / other);
    let share = quantile(shares.collect(), 0.5);
    report.add(Row {
        figure: format!(
            "durable commands, {in_flight} in flight: {} ({seen})",
            kind.name()
        ),
        ours: ours.shown(),
        beside: format!(
            "redb alone, the same rows, {in_flight} commands a commit: {}",
            theirs.shown()
        ),
        compared: format!("{share:.2}"),
        aim: format!("≥ {AIM}"),
        verdict: Verdict::at_least(share, AIM),
    });
    Ok(())
}

/// The rows of a file somebody has open, as a crash now would leave them.
fn copied(file: &Path) -> anyhow::Result<Dump> {
    let copy = file.with_extension("copy");
    std::fs::copy(file, &copy)?;
    dump(&copy)
}

async fn run_host(
    host: &Host,
    command: &Make,
    in_flight: u64,
    commands: u64,
    side: &mut Side,
) -> anyhow::Result<()> {
    let next = Arc::new(AtomicU64::new(0));
    let mut callers = tokio::task::JoinSet::new();
    let begun = Instant::now();
    for _ in 0..in_flight {
        let (writer, command, next) = (
            host.running.writer(),
            Arc::clone(command),
            Arc::clone(&next),
        );
        callers.spawn(async move {
            let mut took = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= commands {
                    return anyhow::Ok(took);
                }
                let begun = Instant::now();
                let own = WARM_UP + 1 + number;
                writer.submit(Some(key(own)), command(own)).await?;
                took.push(begun.elapsed());
            }
        });
    }
    let mut all = Vec::new();
    while let Some(took) = callers.join_next().await {
        all.extend(took??);
    }
    side.note(begun.elapsed(), commands, all.into_iter().map(micros));
    Ok(())
}

fn run_bare(
    bare: &Bare,
    tape: &Tape,
    in_flight: u64,
    commands: u64,
    side: &mut Side,
) -> anyhow::Result<()> {
    // Made before: the loop only writes.
    let played: Vec<_> = (0..commands / in_flight)
        .map(|commit| tape.play(commit * in_flight + 1, in_flight))
        .collect();
    let mut all = Vec::new();
    let begun = Instant::now();
    for commit in played {
        let begun = Instant::now();
        bare.commit(commit)?;
        all.push(micros(begun.elapsed()));
    }
    side.note(begun.elapsed(), commands, all.into_iter());
    Ok(())
}

impl Side {
    fn note(&mut self, whole: std::time::Duration, commands: u64, took: impl Iterator<Item = f64>) {
        self.samples.round();
        took.for_each(|micros| self.samples.push(micros));
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        self.rates.push(commands as f64 / whole.as_secs_f64());
    }
}
