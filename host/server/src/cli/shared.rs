//! What every command needs: where the server is, how failures are told.

use std::io::{self, Read as _, Write};
use std::path::PathBuf;

use crate::config::{Config, ConfigError};
use crate::local::client::{Client, ClientError};

use super::plain;

/// The options every command takes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    pub(crate) config: Option<PathBuf>,
    pub(crate) data_folder: Option<PathBuf>,
}

impl Setup {
    /// The configuration that holds, with the command line's data folder.
    pub(crate) fn load(&self) -> Result<Config, Failure> {
        let mut config = Config::load(self.config.as_deref())?;
        if let Some(folder) = &self.data_folder {
            config.data_folder = std::path::absolute(folder)?;
        }
        Ok(config)
    }

    /// A client of the server on the data folder that holds.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        // The folder alone is asked for: a fault elsewhere in the file stops no answer to an agent.
        if let Some(folder) = &self.data_folder {
            return Ok(Client::new(&std::path::absolute(folder)?));
        }
        Ok(Client::new(&self.load()?.data_folder))
    }

    /// How a person calls this program with the same options.
    pub(crate) fn program(&self) -> String {
        let mut words = "weft".to_owned();
        let options = [
            ("--config", &self.config),
            ("--data-folder", &self.data_folder),
        ];
        for (name, value) in options {
            if let Some(value) = value {
                words.push_str(&format!(" {name} {}", quoted(&value.display().to_string())));
            }
        }
        words
    }
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The configuration can't be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The server refused or is not there.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What was asked makes no sense here.
    #[error("{0}")]
    Asked(String),
    /// Anything else.
    #[error("{0:#}")]
    Other(anyhow::Error),
}

impl Failure {
    /// Wraps another part's error.
    pub(crate) fn other(error: impl Into<anyhow::Error>) -> Self {
        Self::Other(error.into())
    }

    /// Nobody reads the output any more.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Tells a person.
    pub(crate) fn tell(&self, out: &mut impl Write) -> io::Result<()> {
        let code = match self {
            Self::Client(error) => error.code().map(|code| format!(" [{code}]")),
            _ => None,
        };
        let text = plain::plain(&self.to_string());
        writeln!(out, "weft: {text}{}", code.unwrap_or_default())
    }
}

/// Most bytes read from standard input for a prompt; the service has the exact bound.
const INPUT_BYTES_MAX: u64 = 1_048_576;

/// A text given as an argument, or on standard input where it is `-`.
pub(crate) fn text_or_input(text: String) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text);
    }
    let mut read = String::new();
    let bytes = io::stdin()
        .take(INPUT_BYTES_MAX + 1)
        .read_to_string(&mut read)?;
    if bytes as u64 > INPUT_BYTES_MAX {
        return Err(Failure::Asked(format!(
            "standard input has more than {INPUT_BYTES_MAX} bytes"
        )));
    }
    Ok(read)
}

/// Milliseconds as seconds with one digit.
pub(crate) fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

/// A word of an enum as JSON writes it.
pub(crate) fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}
