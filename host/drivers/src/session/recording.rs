//! A session's dialogue with its driver, written down so that it can be replayed to the byte. It holds placeholders
//! alone: values of secrets are put in behind it and taken out before it.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::bindings::v0_1::types as wit;

/// One entry of a recording, one JSON object a line.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Entry<'a> {
    /// What the session was opened with.
    Open(&'a wit::SessionConfig),
    /// One call.
    Inputs(&'a [wit::Input]),
    /// Its answer.
    Actions(&'a [wit::Action]),
    /// A call that failed.
    Failed(String),
}

/// Writes a recording, or nothing.
#[derive(Debug)]
pub(crate) struct Recording {
    file: Option<std::io::BufWriter<std::fs::File>>,
}

impl Recording {
    /// Opens a recording for a session. One that cannot be written is told and left out: work goes on.
    pub(crate) fn open(folder: Option<&Path>, session: &str) -> Self {
        let Some(folder) = folder else {
            return Self { file: None };
        };
        let opened = crate::files::private_folder(folder)
            .and_then(|()| crate::files::create_private(&folder.join(format!("{session}.jsonl"))));
        match opened {
            Ok(file) => Self {
                file: Some(std::io::BufWriter::new(file)),
            },
            Err(error) => {
                tracing::error!(%error, session, "cannot record the session");
                Self { file: None }
            }
        }
    }

    pub(crate) fn opened(&mut self, config: &wit::SessionConfig) {
        self.write(&Entry::Open(config));
    }

    pub(crate) fn inputs(&mut self, inputs: &[wit::Input]) {
        self.write(&Entry::Inputs(inputs));
    }

    pub(crate) fn actions(&mut self, actions: &[wit::Action]) {
        self.write(&Entry::Actions(actions));
    }

    pub(crate) fn failed(&mut self, error: &str) {
        self.write(&Entry::Failed(error.to_owned()));
    }

    fn write(&mut self, entry: &Entry<'_>) {
        let Some(file) = &mut self.file else { return };
        let written = serde_json::to_writer(&mut *file, entry)
            .map_err(std::io::Error::from)
            .and_then(|()| file.write_all(b"\n"))
            .and_then(|()| file.flush());
        if let Err(error) = written {
            tracing::error!(%error, "cannot go on recording the session");
            self.file = None;
        }
    }
}
