//! `scripted-model`: the scripted model server as a process of its own.
//!
//! It prints one line of JSON with its addresses and runs until its standard input ends or it is stopped.
#![forbid(unsafe_code)]

use std::io;
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use model::{ModelServer, Options};
use serde_json::json;

/// Plays scripts that stand in prompts, behind the API of a model provider.
#[derive(Debug, Parser)]
#[command(name = "scripted-model", version)]
struct Arguments {
    /// Port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Append a line of JSON for each change of a request to this file.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Run on when the standard input ends.
    #[arg(long)]
    detached: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let options = Options {
        port: arguments.port,
        log_path: arguments.log,
    };
    let server = ModelServer::start_with(options).await?;
    println!(
        "{}",
        json!({"url": server.url(), "openaiUrl": server.openai_url()})
    );
    if arguments.detached {
        tokio::signal::ctrl_c()
            .await
            .context("waiting for the interrupt signal")?;
    } else {
        wait_for_end_of_input()
            .await
            .context("reading the standard input")?;
    }
    Ok(())
}

/// The parent process holds the other end: when it is gone, so is this one.
async fn wait_for_end_of_input() -> anyhow::Result<()> {
    let drain = || io::copy(&mut io::stdin().lock(), &mut io::sink());
    tokio::task::spawn_blocking(drain).await??;
    Ok(())
}
