//! From a delegating call to the child's agent, and from the child's end to the answer of the call that waits for it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use domain::run::RunStatus;
use model::ModelServer;
use serde_json::json;

use crate::agent::{HOLD, THREAD_STARTS, TURN_COMPLETED};
use crate::http::{Call, Connection, Form, mint};
use crate::journal::create;
use crate::live::{Agent, Live};
use crate::report::{Report, Row, Verdict, time, times};
use crate::samples::Samples;
use crate::stamps::{Moment, Reader};
use crate::{Effort, Places};

/// Threads of one session, as many as the driver allows: each child finds room beside its parent.
const THREADS_PER_SESSION: u32 = 32;

/// Delegations of one round, fewer than there is room for.
const CHILDREN: u32 = 24;

/// What a delegation may cost beside its commit.
const AIM_MICROS: f64 = 1_000.0;

/// What is measured of delegations.
#[derive(Default)]
struct Delays {
    to_child: Samples,
    to_parent: Samples,
    commit: Samples,
}

/// With the benchmark's own app-server, and with the real one.
pub(crate) async fn measure(
    places: &Places,
    effort: Effort,
    report: &mut Report,
) -> anyhow::Result<()> {
    let children = if effort.samples < Effort::FULL.samples {
        3
    } else {
        CHILDREN
    };
    let program = std::env::current_exe()?.display().to_string();
    let mut delays = Delays::default();
    for _ in 0..effort.rounds {
        let folder = tempfile::tempdir()?;
        let stamps = folder.path().join("stamps");
        let agent = Agent {
            command: vec![
                program.clone(),
                "agent".to_owned(),
                stamps.display().to_string(),
            ],
            environment: BTreeMap::new(),
            secrets: BTreeMap::new(),
            threads_per_session: THREADS_PER_SESSION,
        };
        let live = Live::start(folder.path(), &places.drivers, agent).await?;
        round(
            &live,
            &Reader(stamps),
            HOLD,
            "Answer.",
            children,
            &mut delays,
        )
        .await?;
        live.stop().await?;
    }
    rows("an app-server that answers at once", &delays, report);
    if places.codex.is_file() {
        let mut delays = Delays::default();
        for _ in 0..effort.rounds.min(3) {
            with_codex(places, &program, children.min(12), &mut delays).await?;
        }
        rows("the real codex app-server", &delays, report);
    }
    Ok(())
}

async fn with_codex(
    places: &Places,
    program: &str,
    children: u32,
    delays: &mut Delays,
) -> anyhow::Result<()> {
    let model = ModelServer::start().await?;
    let folder = tempfile::tempdir()?;
    let stamps = folder.path().join("stamps");
    let window = [
        program.to_owned(),
        "window".to_owned(),
        stamps.display().to_string(),
    ];
    let mut agent = codex(&places.codex, &model, folder.path(), THREADS_PER_SESSION)?;
    agent.command.splice(0..0, window);
    let live = Live::start(folder.path(), &places.drivers, agent).await?;
    round(
        &live,
        &Reader(stamps),
        "script: hang",
        "script: say Done.",
        children,
        delays,
    )
    .await?;
    live.stop().await
}

/// The real codex, its model played by `model`.
pub(crate) fn codex(
    program: &Path,
    model: &ModelServer,
    folder: &Path,
    threads_per_session: u32,
) -> anyhow::Result<Agent> {
    let home = folder.join("codex-home");
    std::fs::create_dir_all(&home)?;
    let words = [
        program.display().to_string(),
        "-c".to_owned(),
        format!("openai_base_url=\"{}\"", model.openai_url()),
        "-c".to_owned(),
        "model=\"gpt-5.5\"".to_owned(),
    ];
    let named = |name: &str, value: String| BTreeMap::from([(name.to_owned(), value)]);
    Ok(Agent {
        command: words.to_vec(),
        environment: named("CODEX_HOME", home.display().to_string()),
        secrets: named("OPENAI_API_KEY", "sk-of-the-benchmark".to_owned()),
        threads_per_session,
    })
}

/// Delegations one after the other, over HTTP, as the agent makes them.
async fn round(
    live: &Live,
    stamps: &Reader,
    parent_prompt: &str,
    child_prompt: &str,
    children: u32,
    delays: &mut Delays,
) -> anyhow::Result<()> {
    let (parent, run) = live.thread(parent_prompt).await?;
    live.until(&run, RunStatus::Running).await?;
    let call = Call {
        path: "/mcp".to_owned(),
        token: Some(mint(&live.registry, &parent, 0)?),
        form: Form::Session,
        tool: "delegate_task".to_owned(),
        arguments: json!({ "task": child_prompt, "mode": "wait" }),
    };
    let mut connection = Connection::open(live.endpoint.address, call).await?;
    let project = live.project()?;
    for samples in [
        &mut delays.to_child,
        &mut delays.to_parent,
        &mut delays.commit,
    ] {
        samples.round();
    }
    for _ in 0..children {
        let begun = Instant::now();
        live.running
            .writer()
            .submit(None, create(&project, None))
            .await?;
        delays.commit.mean(begun.elapsed(), 1);
        let called = Moment::now();
        let answer = connection.call().await?;
        let answered = Moment::now();
        anyhow::ensure!(
            answer.contains("completed"),
            "a child did not complete: {answer}"
        );
        let arrived = stamps.first(THREAD_STARTS, called).await?;
        let ended = stamps
            .first(TURN_COMPLETED, called)
            .await
            .context("the child's end")?;
        delays.to_child.push(arrived.micros_since(called));
        delays.to_parent.push(answered.micros_since(ended));
    }
    Ok(())
}

fn rows(agent: &str, delays: &Delays, report: &mut Report) {
    for (what, samples) in [
        (
            "`delegate_task` over HTTP to the child's first byte on standard input",
            &delays.to_child,
        ),
        (
            "child's last line to the answer of the waiting `delegate_task`",
            &delays.to_parent,
        ),
    ] {
        let beyond = samples.median() - delays.commit.median();
        report.add(Row {
            figure: format!("{what}, {agent} ({} delegations)", samples.len()),
            ours: times(samples),
            beside: format!("one durable commit: {}", times(&delays.commit)),
            compared: format!("+ {}", time(beyond)),
            aim: format!("≤ + {}", time(AIM_MICROS)),
            verdict: Verdict::at_most(beyond, AIM_MICROS),
        });
    }
}
