//! Eight codex threads in one app-server, and in eight.

use std::time::Instant;

use domain::run::RunStatus;
use model::ModelServer;

use crate::delegation::codex;
use crate::live::Live;
use crate::machine;
use crate::report::{Report, Row, Verdict, time};
use crate::samples::{Samples, micros};
use crate::{Effort, Places};

/// Threads at once.
const THREADS: u32 = 8;

/// Both ways, from the first thread's making to the last one's answer, and the memory of all agents then.
pub(crate) async fn measure(
    places: &Places,
    effort: Effort,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut sides = [
        (THREADS, Samples::default(), Samples::default()),
        (1, Samples::default(), Samples::default()),
    ];
    for _ in 0..effort.rounds.min(3) {
        for (threads_per_session, times, memory) in &mut sides {
            let (took, kib) = once(places, *threads_per_session).await?;
            times.push(took);
            memory.push(kib);
        }
    }
    let [
        (_, shared_time, shared_memory),
        (_, apart_time, apart_memory),
    ] = &sides;
    let mib = |kib: f64| format!("{:.0} MiB", kib / 1024.0);
    report.add(Row {
        figure: format!("{THREADS} codex threads in one app-server: until all have answered"),
        ours: time(shared_time.median()),
        beside: format!("{THREADS} app-servers: {}", time(apart_time.median())),
        compared: format!("{:.2}x", shared_time.median() / apart_time.median()),
        aim: "printed".to_owned(),
        verdict: Verdict::Printed,
    });
    report.add(Row {
        figure: format!("{THREADS} codex threads in one app-server: memory (PSS) of all agents"),
        ours: mib(shared_memory.median()),
        beside: format!("{THREADS} app-servers: {}", mib(apart_memory.median())),
        compared: format!("{:.2}x", shared_memory.median() / apart_memory.median()),
        aim: "printed".to_owned(),
        verdict: Verdict::Printed,
    });
    Ok(())
}

async fn once(places: &Places, threads_per_session: u32) -> anyhow::Result<(f64, f64)> {
    let model = ModelServer::start().await?;
    let folder = tempfile::tempdir()?;
    let agent = codex(&places.codex, &model, folder.path(), threads_per_session)?;
    let live = Live::start(folder.path(), &places.drivers, agent).await?;
    let begun = Instant::now();
    let mut runs = Vec::new();
    for _ in 0..THREADS {
        runs.push(live.thread("script: say Done.").await?.1);
    }
    for run in &runs {
        live.until(run, RunStatus::Completed).await?;
    }
    let took = micros(begun.elapsed());
    let kib = machine::descendants(std::process::id())?
        .into_iter()
        .filter_map(|pid| machine::proportional_kib(pid).ok())
        .sum();
    live.stop().await?;
    Ok((took, kib))
}
