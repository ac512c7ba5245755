//! Figures of one guest: a line through the driver, the start of a session, the memory of an idle one.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use driver_codex::Codex;
use driver_sdk::Driver as _;
use drivers::component::{LoadedDriver, read_component};
use drivers::direct::{DirectSession, interface};
use drivers::engine::DriverEngine;
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Engine, Store};

use crate::Effort;
use crate::dialogue::{self, Guest, LINE_BYTES};
use crate::machine;
use crate::report::{Report, Row, Verdict, times};
use crate::samples::Samples;

/// Lines of a batch: what a burst of an agent comes to.
const BATCH_LINES: usize = 64;

/// Calls whose mean is one sample: a single one is near what a clock costs.
const CALLS_A_SAMPLE: u32 = 50;

/// Sessions whose mean is one sample.
const OPENS_A_SAMPLE: usize = 20;

/// Sessions held at once to see what one of them takes.
const IDLE_GUESTS: u32 = 500;

/// Sessions held before, so that what the first ones bring into memory is not counted.
const IDLE_GUESTS_BEFORE: u32 = 50;

impl Guest for DirectSession {
    type Input = interface::Input;
    type Action = interface::Action;

    fn call(&mut self, inputs: Vec<Self::Input>) -> anyhow::Result<Vec<Self::Action>> {
        Ok(self.handle(&inputs)?)
    }
}

impl Guest for Codex {
    type Input = driver_sdk::types::Input;
    type Action = driver_sdk::types::Action;

    fn call(&mut self, inputs: Vec<Self::Input>) -> anyhow::Result<Vec<Self::Action>> {
        self.handle(inputs)
            .map_err(|error| anyhow::anyhow!("{error:?}"))
    }
}

/// Loads the codex driver as the host does.
pub(crate) async fn load(drivers: &Path) -> anyhow::Result<LoadedDriver> {
    let engine = DriverEngine::start(None)?;
    let bytes = read_component(&drivers.join("codex.wasm"))?;
    LoadedDriver::load(&engine, bytes)
        .await
        .context("the codex driver")
}

/// A line through the driver, alone and in batches.
pub(crate) fn lines(
    driver: &LoadedDriver,
    effort: Effort,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut component = DirectSession::open(driver, &dialogue::component::config())?;
    dialogue::component::begin(&mut component)?;
    let mut native = open_native()?;
    dialogue::native::begin(&mut native)?;
    let delta = dialogue::delta();
    for (count, aim, calls) in [(1, 3.5, CALLS_A_SAMPLE), (BATCH_LINES, 2.0, 4)] {
        let for_component = vec![dialogue::component::line(&delta); count];
        let for_native = vec![dialogue::native::line(&delta); count];
        ensure!(dialogue::component::texts(&component.handle(&for_component)?) == 1);
        ensure!(dialogue::native::texts(&native.call(for_native.clone())?) == 1);
        let (mut ours, mut theirs) = (Samples::default(), Samples::default());
        for _ in 0..effort.rounds {
            ours.round();
            for _ in 0..effort.samples {
                let begun = Instant::now();
                for _ in 0..calls {
                    black_box(component.handle(black_box(&for_component))?);
                }
                ours.mean(begun.elapsed(), calls);
            }
            theirs.round();
            for _ in 0..effort.samples {
                let begun = Instant::now();
                for _ in 0..calls {
                    // The native driver takes its inputs; the component's are copied into it.
                    black_box(native.call(black_box(for_native.clone()))?);
                }
                theirs.mean(begun.elapsed(), calls);
            }
        }
        let ratio = ours.over(&theirs);
        let what = if count == 1 {
            "alone".to_owned()
        } else {
            format!("{count} in one call")
        };
        report.add(Row {
            figure: format!("{LINE_BYTES}-byte line through the codex driver, {what}"),
            ours: times(&ours),
            beside: format!("the same code, native: {}", times(&theirs)),
            compared: format!("{ratio:.2}x"),
            aim: format!("≤ {aim}x"),
            verdict: Verdict::at_most(ratio, aim),
        });
    }
    Ok(())
}

fn open_native() -> anyhow::Result<Codex> {
    Codex::open(dialogue::native::config()).map_err(|error| anyhow::anyhow!("{error:?}"))
}

/// The same component, instantiated with nothing of the host around it.
struct Bare {
    engine: Engine,
    pre: InstancePre<()>,
}

impl Bare {
    fn load(drivers: &Path) -> anyhow::Result<Self> {
        let mut config = Config::new();
        config.wasm_component_model(true);
        let engine = Engine::new(&config)?;
        let component = Component::from_file(&engine, drivers.join("codex.wasm"))?;
        let mut linker = Linker::new(&engine);
        linker.define_unknown_imports_as_traps(&component)?;
        let pre = linker.instantiate_pre(&component)?;
        Ok(Self { engine, pre })
    }

    fn open(&self) -> anyhow::Result<Store<()>> {
        let mut store = Store::new(&self.engine, ());
        self.pre.instantiate(&mut store)?;
        Ok(store)
    }
}

/// Time of `count` openings, without that of closing them.
fn opening<T>(count: usize, open: impl Fn() -> anyhow::Result<T>) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let opened = (0..count)
        .map(|_| open())
        .collect::<anyhow::Result<Vec<_>>>()?;
    let took = begun.elapsed();
    drop(opened);
    Ok(took)
}

/// The start of a session.
pub(crate) fn starts(
    driver: &LoadedDriver,
    drivers: &Path,
    effort: Effort,
    report: &mut Report,
) -> anyhow::Result<()> {
    const AIM_MICROS: f64 = 50.0;
    let bare = Bare::load(drivers)?;
    let config = dialogue::component::config();
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    let per_sample = u32::try_from(OPENS_A_SAMPLE)?;
    for _ in 0..effort.rounds {
        ours.round();
        theirs.round();
        for _ in 0..effort.samples {
            let took = opening(OPENS_A_SAMPLE, || Ok(DirectSession::open(driver, &config)?))?;
            ours.mean(took, per_sample);
            theirs.mean(opening(OPENS_A_SAMPLE, || bare.open())?, per_sample);
        }
    }
    report.add(Row {
        figure: "session start: store, instance, limits and `open`".to_owned(),
        ours: times(&ours),
        beside: format!("wasmtime, store and instance: {}", times(&theirs)),
        compared: format!("{:.2}x", ours.over(&theirs)),
        aim: format!("≤ {AIM_MICROS} µs"),
        verdict: Verdict::at_most(ours.median(), AIM_MICROS),
    });
    Ok(())
}

/// What one idle guest takes, each side in a process of its own.
pub(crate) fn memory(drivers: &Path, effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    const AIM_KIB: f64 = 64.0;
    let mut sides = [Memory::default(), Memory::default()];
    for _ in 0..effort.rounds {
        for (side, memory) in ["session", "bare"].into_iter().zip(&mut sides) {
            memory.measure(side, drivers)?;
        }
    }
    let [ours, theirs] = &sides;
    report.add(Row {
        figure: format!("memory of an idle guest, one of {IDLE_GUESTS}"),
        ours: ours.shown(),
        beside: format!("wasmtime, store and instance: {}", theirs.shown()),
        compared: format!("{:.2}x", ours.proportional.over(&theirs.proportional)),
        aim: format!("≤ {AIM_KIB} KiB"),
        verdict: Verdict::at_most(ours.proportional.median(), AIM_KIB),
    });
    Ok(())
}

/// Memory of one guest, in KiB.
#[derive(Default)]
struct Memory {
    proportional: Samples,
    /// Counts a page of the component's image once for each guest that looked at it.
    resident: Samples,
}

impl Memory {
    fn measure(&mut self, side: &str, drivers: &Path) -> anyhow::Result<()> {
        let output = std::process::Command::new(std::env::current_exe()?)
            .args(["idle-guests", side, "--drivers"])
            .arg(drivers)
            .output()?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr));
        }
        let line = String::from_utf8(output.stdout)?;
        let (proportional, resident) = line.trim().split_once(' ').context("two numbers")?;
        for (samples, value) in [
            (&mut self.proportional, proportional),
            (&mut self.resident, resident),
        ] {
            samples.round();
            samples.push(value.parse()?);
        }
        Ok(())
    }

    fn shown(&self) -> String {
        format!(
            "{:.1} KiB / {:.1} KiB (RSS {:.1} KiB)",
            self.proportional.median(),
            self.proportional.p99(),
            self.resident.median()
        )
    }
}

/// Which guests [`idle`] holds.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Side {
    /// Sessions of the host.
    Session,
    /// Instances alone.
    Bare,
}

/// Prints what one of many idle guests takes in this process, in KiB: its part alone, and all it looks at.
pub(crate) async fn idle(side: Side, drivers: &Path) -> anyhow::Result<()> {
    match side {
        Side::Session => {
            let driver = load(drivers).await?;
            let config = dialogue::component::config();
            growth(|| Ok(DirectSession::open(&driver, &config)?))
        }
        Side::Bare => {
            let bare = Bare::load(drivers)?;
            growth(|| bare.open())
        }
    }
}

fn growth<T>(open: impl Fn() -> anyhow::Result<T>) -> anyhow::Result<()> {
    let own = std::process::id();
    let mut held = Vec::new();
    for _ in 0..IDLE_GUESTS_BEFORE {
        held.push(open()?);
    }
    let before = (machine::proportional_kib(own)?, machine::resident_kib(own)?);
    for _ in 0..IDLE_GUESTS {
        held.push(open()?);
    }
    let after = (machine::proportional_kib(own)?, machine::resident_kib(own)?);
    drop(held);
    let each = |after: f64, before: f64| (after - before) / f64::from(IDLE_GUESTS);
    println!(
        "{:.2} {:.2}",
        each(after.0, before.0),
        each(after.1, before.1)
    );
    Ok(())
}
