//! The program between the host and codex, and the secrets it saw.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::support::agents;
use crate::support::host::MODEL_KEY_VALUE;

/// What the host handed to codex.
#[derive(Debug)]
pub(super) struct Handed {
    folder: TempDir,
}

/// A secret, by the name a failed test calls it.
#[derive(Clone, Debug)]
pub(super) struct Canary {
    pub(super) name: &'static str,
    pub(super) value: String,
}

impl Handed {
    /// Writes the program.
    pub(super) fn new() -> Self {
        let folder = TempDir::with_prefix("weft-handed-").unwrap();
        let handed = Self { folder };
        let text = format!(
            r#"#!/bin/sh
echo "T3_MCP_BEARER_TOKEN=$T3_MCP_BEARER_TOKEN" >>{environment}
tee -a {input} | {codex} "$@"
"#,
            environment = handed.file("environment").display(),
            input = handed.file("input").display(),
            codex = agents::codex().display(),
        );
        fs::write(handed.program(), text).unwrap();
        fs::set_permissions(handed.program(), fs::Permissions::from_mode(0o755)).unwrap();
        handed
    }

    /// The program to use as codex.
    pub(super) fn program(&self) -> PathBuf {
        self.file("codex")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The bearer that was handed over, in a frame or in the environment, and the key of the model.
    pub(super) fn canaries(&self) -> [Canary; 2] {
        let in_frames = between(&self.file("input"), "Bearer ", '"');
        let in_environment = between(&self.file("environment"), "T3_MCP_BEARER_TOKEN=", '\n');
        let mut found = in_frames.into_iter().chain(in_environment);
        let bearer = found.next().expect("no bearer was handed over");
        assert!(bearer.len() >= 43, "32 random bytes at least: {bearer}");
        [
            Canary {
                name: "the bearer",
                value: bearer,
            },
            Canary {
                name: "the model's key",
                value: MODEL_KEY_VALUE.to_owned(),
            },
        ]
    }
}

/// The text that follows a word, up to a character; nothing if it is not there or empty.
fn between(file: &Path, word: &str, end: char) -> Option<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let (_, after) = text.rsplit_once(word)?;
    let (found, _) = after.split_once(end)?;
    (!found.is_empty()).then(|| found.to_owned())
}
