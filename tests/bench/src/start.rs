//! The server as a process: from its start until it takes calls, its memory at rest, and the size of its binary.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use domain::command::Command;
use domain::ids::{RunId, ThreadId};
use domain::item::{ItemHead, ItemKind, ItemStatus};
use domain::provider_event::{ProviderEvent, ProviderItem, TurnOutcome};

use crate::journal::{Host, report as told, session_of};
use crate::machine;
use crate::report::{Report, Row, Verdict, time, times};
use crate::samples::{Samples, micros};
use crate::{Effort, Places};

/// Events of the long journal.
const EVENTS: u64 = 100_000;

/// Items of each thread of it.
const ITEMS_A_THREAD: u32 = 200;

/// Threads written at once, so that commits are shared as they are among agents.
const THREADS_AT_ONCE: u32 = 64;

/// Longest time until a server is ready or at rest.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server that used no processor for so long is at rest: its drivers are compiled.
const REST: Duration = Duration::from_secs(1);

/// Starts of an empty server, and of one with the long journal.
pub(crate) async fn measure(
    places: &Places,
    effort: Effort,
    report: &mut Report,
) -> anyhow::Result<()> {
    let events = if effort.samples < Effort::FULL.samples {
        2_000
    } else {
        EVENTS
    };
    let folder = tempfile::tempdir()?;
    let journal = folder.path().join("long.redb");
    fill_and_kill(&journal, events)?;
    let (mut empty, mut long) = (Samples::default(), Samples::default());
    let (mut memory_empty, mut memory_long) = (Samples::default(), Samples::default());
    for round in 0..effort.rounds {
        for (name, journal, times, memory) in [
            ("empty", None, &mut empty, &mut memory_empty),
            ("long", Some(&journal), &mut long, &mut memory_long),
        ] {
            let server = Server::start(
                places,
                &folder.path().join(format!("{name}-{round}")),
                journal,
            )?;
            times.push(server.ready_after);
            if round < 2 {
                server.until_rest()?;
                memory.push(machine::resident_kib(server.child.id())?);
            }
        }
    }
    for (what, samples, aim) in [
        ("start to ready, empty".to_owned(), &empty, 100_000.0),
        (
            format!("start to ready, {events} events, after `kill -9`"),
            &long,
            500_000.0,
        ),
    ] {
        report.add(Row {
            figure: what,
            ours: times(samples),
            beside: String::new(),
            compared: String::new(),
            aim: format!("≤ {}", time(aim)),
            verdict: Verdict::at_most(samples.median(), aim),
        });
    }
    const MEMORY_AIM: f64 = 60.0;
    for (what, samples) in [
        ("empty", &memory_empty),
        ("with the long journal", &memory_long),
    ] {
        let megabytes = samples.median() * 1024.0 / 1e6;
        report.add(Row {
            figure: format!("memory (RSS) at rest, drivers compiled, {what}"),
            ours: format!("{megabytes:.1} MB"),
            beside: String::new(),
            compared: String::new(),
            aim: format!("≤ {MEMORY_AIM} MB"),
            verdict: Verdict::at_most(megabytes, MEMORY_AIM),
        });
    }
    size(places, report)
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a file")]
fn size(places: &Places, report: &mut Report) -> anyhow::Result<()> {
    let megabytes = |path: &Path| anyhow::Ok(std::fs::metadata(path)?.len() as f64 / 1e6);
    let mut drivers = Vec::new();
    for entry in std::fs::read_dir(&places.drivers)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        drivers.push(format!("{name} {:.2} MB", megabytes(&path)?));
    }
    drivers.sort();
    report.add(Row {
        figure: "size of the binary".to_owned(),
        ours: format!("{:.1} MB", megabytes(&places.weft)?),
        beside: format!("its drivers: {}", drivers.join(", ")),
        compared: String::new(),
        aim: "printed".to_owned(),
        verdict: Verdict::Printed,
    });
    Ok(())
}

/// A server process. It is killed with this.
struct Server {
    child: Child,
    /// Microseconds from its start until it said that it is ready.
    ready_after: f64,
}

impl Server {
    fn start(places: &Places, folder: &Path, journal: Option<&PathBuf>) -> anyhow::Result<Self> {
        let data = folder.join("data");
        std::fs::create_dir_all(&data)?;
        if let Some(journal) = journal {
            std::fs::copy(journal, data.join("journal.redb"))?;
        }
        let config = folder.join("weft.toml");
        let text = format!(
            "[storage]\ndata_folder = {:?}\n[server]\nlisten = \"127.0.0.1:0\"\n\
             [[providers]]\nid = \"scripted\"\ndriver = \"scripted\"\n",
            data.display().to_string()
        );
        std::fs::write(&config, text)?;
        let log = std::fs::File::create(folder.join("weft.log"))?;
        let begun = Instant::now();
        let mut child = Process::new(&places.weft)
            .arg("--config")
            .arg(&config)
            .args(["serve", "--ready-json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let output = child.stdout.take().context("its output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let ready_after = micros(begun.elapsed());
        let server = Self { child, ready_after };
        if line.is_empty() {
            bail!(
                "the server did not come up: {}",
                std::fs::read_to_string(folder.join("weft.log"))?
            );
        }
        Ok(server)
    }

    fn until_rest(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let (mut used, mut since) = (self.processor_time()?, Instant::now());
        while since.elapsed() < REST {
            ensure!(Instant::now() < deadline, "the server never rests");
            std::thread::sleep(REST / 10);
            let now = self.processor_time()?;
            if now != used {
                (used, since) = (now, Instant::now());
            }
        }
        Ok(())
    }

    /// Ticks it used of processors.
    fn processor_time(&self) -> anyhow::Result<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = stat.rsplit_once(')').context("the state of a process")?;
        let fields = fields.split_whitespace().skip(11).take(2);
        fields.map(|field| Ok(field.parse::<u64>()?)).sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Has another process write a long journal, and kills it in the middle of its work.
fn fill_and_kill(journal: &Path, events: u64) -> anyhow::Result<()> {
    let mut child = Process::new(std::env::current_exe()?)
        .arg("fill")
        .arg(journal)
        .arg(events.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().context("its output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    child.kill()?;
    child.wait()?;
    ensure!(line.trim() == "filled", "the long journal was not written");
    Ok(())
}

/// Writes a journal of this many events, says so, and goes on until it is killed.
pub(crate) async fn fill(journal: &Path, events: u64) -> anyhow::Result<()> {
    let host = Host::open(journal).await?;
    let mut told_so = false;
    loop {
        let mut work = Vec::new();
        for _ in 0..THREADS_AT_ONCE {
            work.push(host.working_thread().await?);
        }
        let mut writing = tokio::task::JoinSet::new();
        for (thread_id, run_id) in work {
            let writer = host.running.writer();
            writing.spawn(async move {
                let session = session_of(&thread_id);
                for number in 0..ITEMS_A_THREAD {
                    let event = item(&thread_id, &run_id, number);
                    writer
                        .submit(None, Command::Report(told(&session, event)))
                        .await?;
                }
                let ended = ProviderEvent::TurnEnded {
                    run_id,
                    outcome: TurnOutcome::Completed,
                    native_point: None,
                };
                writer
                    .submit(None, Command::Report(told(&session, ended)))
                    .await
            });
        }
        while let Some(written) = writing.join_next().await {
            written??;
            if !told_so && host.running.store().reader()?.sequence()? >= events {
                println!("filled");
                told_so = true;
            }
        }
    }
}

/// A message of some hundred bytes.
fn item(thread: &ThreadId, run: &RunId, number: u32) -> ProviderEvent {
    ProviderEvent::Item(ProviderItem {
        driver_item_id: format!("item-{number}"),
        thread_id: thread.clone(),
        run_id: Some(run.clone()),
        parent_driver_item_id: None,
        kind: ItemKind::AssistantMessage,
        status: ItemStatus::Completed,
        title: None,
        text: Some("Words of an agent, as they come. ".repeat(6)),
        head: ItemHead::default(),
        body_json: "{}".to_owned(),
    })
}
