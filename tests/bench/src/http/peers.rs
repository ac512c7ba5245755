//! The servers as processes.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, bail};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// A running server. It ends with this.
#[derive(Debug)]
pub(super) struct Peer {
    _child: Child,
    facts: Value,
}

impl Peer {
    /// One of the benchmark's own parts.
    pub(super) async fn own(words: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(words);
        Self::start(command).await
    }

    /// The server for Node, with its packages in `folder`.
    pub(super) async fn node(folder: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new("node");
        command.arg(folder.join("server.mjs"));
        Self::start(command).await.context("the MCP SDK for Node")
    }

    async fn start(mut command: Command) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = child.stdout.take().context("its output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).await?;
        if line.is_empty() {
            bail!("a server did not come up");
        }
        Ok(Self {
            _child: child,
            facts: serde_json::from_str(&line)?,
        })
    }

    pub(super) fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.text("address")?.parse()?)
    }

    pub(super) fn text(&self, name: &str) -> anyhow::Result<&str> {
        let value = self.facts.get(name).and_then(Value::as_str);
        value.with_context(|| format!("a server does not tell its {name}"))
    }

    pub(super) fn tokens(&self) -> Vec<String> {
        let tokens = self.facts.get("tokens").and_then(Value::as_array);
        let words = tokens.into_iter().flatten().filter_map(Value::as_str);
        words.map(str::to_owned).collect()
    }
}
