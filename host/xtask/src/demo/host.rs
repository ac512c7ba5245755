//! The demo's own server, and the scripted model server where one is asked for.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};

use crate::shell::{cargo, run, target};

/// Variable that holds the key for the scripted model.
const MODEL_KEY: &str = "WEFT_DEMO_MODEL_KEY";

/// A running server.
#[derive(Debug)]
pub(super) struct Host {
    binary: PathBuf,
    config: PathBuf,
    server: Child,
    ready: String,
}

impl Host {
    /// Starts a server on an empty store in `folder` and waits until it is ready.
    pub(super) fn start(
        binary: &Path,
        folder: &Path,
        program: Option<&PathBuf>,
        model: Option<&ScriptedModel>,
    ) -> anyhow::Result<Self> {
        let config = folder.join("weft.toml");
        fs::write(&config, configuration(folder, program, model)?)?;
        let log = fs::File::create(folder.join("weft.log"))?;
        let mut server = Command::new(binary)
            .arg("--config")
            .arg(&config)
            .args(["serve", "--ready-json"])
            .env(MODEL_KEY, "the scripted model takes any key")
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("could not start {}", binary.display()))?;
        let mut ready = String::new();
        let output = server.stdout.take().context("the server has no output")?;
        BufReader::new(output).read_line(&mut ready)?;
        if ready.trim().is_empty() {
            let status = server.wait()?;
            let log = fs::read_to_string(folder.join("weft.log"))?;
            bail!("the server did not come up ({status}):\n{log}");
        }
        Ok(Self {
            binary: binary.to_path_buf(),
            config,
            server,
            ready,
        })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("--config").arg(&self.config).args(words);
        command
    }

    /// Runs `weft` against this server.
    pub(super) fn weft(&self, words: &[&str]) -> anyhow::Result<()> {
        run(self.command(words).stdout(Stdio::null()))
    }

    /// Runs `weft` against this server and takes its lines as they come. How the followed run ended is in them.
    pub(super) fn follow(
        &self,
        words: &[&str],
        mut take: impl FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut child = self.command(words).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("weft has no output")?;
        for line in BufReader::new(output).lines() {
            take(&line?)?;
        }
        child.wait()?;
        Ok(())
    }

    /// Leaves the server up until it is stopped from outside.
    pub(super) fn keep(&mut self, folder: &Path) -> anyhow::Result<()> {
        eprintln!(
            "The server stays up until Ctrl-C. Its files are in {}. {}\nTry: {} --config {} thread list",
            folder.display(),
            self.ready.trim(),
            self.binary.display(),
            self.config.display()
        );
        self.server.wait()?;
        Ok(())
    }

    /// Asks the server to end and waits for it.
    pub(super) fn stop(&mut self) -> anyhow::Result<()> {
        if self.server.try_wait()?.is_some() {
            return Ok(());
        }
        run(Command::new("kill")
            .arg("-TERM")
            .arg(self.server.id().to_string()))?;
        let status = self.server.wait()?;
        if !status.success() {
            bail!("the server ended with {status}");
        }
        Ok(())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // After a failure nothing may stay behind; after a good end there is nothing to end.
        if matches!(self.server.try_wait(), Ok(None)) && self.server.kill().is_ok() {
            drop(self.server.wait());
        }
    }
}

fn configuration(
    folder: &Path,
    program: Option<&PathBuf>,
    model: Option<&ScriptedModel>,
) -> anyhow::Result<String> {
    let mut text = format!(
        "[storage]\ndata_folder = {:?}\n\n[server]\nlisten = \"127.0.0.1:0\"\n\n",
        folder.join("data")
    );
    let Some(program) = program else {
        text.push_str("[[providers]]\nid = \"scripted\"\ndriver = \"scripted\"\n");
        return Ok(text);
    };
    writeln!(text, "[[providers]]\nid = \"codex\"\ndriver = \"codex\"")?;
    match model {
        None => writeln!(text, "command = [{program:?}]\nenv_from_host = [\"HOME\"]")?,
        Some(model) => {
            let home = folder.join("codex-home");
            fs::create_dir_all(&home)?;
            let url = format!("openai_base_url={:?}", model.url);
            writeln!(
                text,
                "command = [{program:?}, \"-c\", {url:?}, \"-c\", 'model=\"gpt-5.5\"']"
            )?;
            writeln!(
                text,
                "[providers.env]\nCODEX_HOME = {home:?}\n[providers.secrets]\n\
                 OPENAI_API_KEY = {{ env = \"{MODEL_KEY}\" }}"
            )?;
        }
    }
    Ok(text)
}

/// The scripted model server.
#[derive(Debug)]
pub(super) struct ScriptedModel {
    server: Child,
    url: String,
}

impl ScriptedModel {
    /// Builds and starts it.
    pub(super) fn start() -> anyhow::Result<Self> {
        run(cargo().args([
            "build",
            "--locked",
            "--package",
            "model",
            "--bin",
            "scripted-model",
        ]))?;
        let mut server = Command::new(target().join("debug/scripted-model"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("could not start the scripted model server")?;
        let output = server
            .stdout
            .take()
            .context("the scripted model server has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let told: serde_json::Value = serde_json::from_str(&line)
            .with_context(|| format!("the scripted model server said: {line}"))?;
        let url = told
            .get("openaiUrl")
            .and_then(serde_json::Value::as_str)
            .context("the scripted model server told no url")?
            .to_owned();
        Ok(Self { server, url })
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        if self.server.kill().is_ok() {
            drop(self.server.wait());
        }
    }
}
