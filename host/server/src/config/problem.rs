//! What is wrong with a configuration, told so that it can be put right.

use std::cell::RefCell;
use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, from 1; 0: the file as a whole.
    pub line: usize,
    /// Table and key, for example `[mcp] keep_alive_s`.
    pub place: String,
    /// What is wrong and what is allowed.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.text)
    }
}

/// A configuration that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is larger than a configuration can be.
    #[error("{path}: larger than {max} bytes; this is no configuration")]
    TooLarge {
        /// The file.
        path: String,
        /// Bound, bytes.
        max: u64,
    },
    /// Every problem found.
    #[error("{path} can't be used:{}", lines(problems))]
    Invalid {
        /// The file.
        path: String,
        /// At least one.
        problems: Vec<Problem>,
    },
    /// No home folder to put defaults under.
    #[error("neither {0} nor HOME is set; name the {1} on the command line")]
    NoHome(&'static str, &'static str),
}

fn lines(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(|problem| format!("\n  {problem}"))
        .collect()
}

/// Problems as they are found.
#[derive(Debug, Default)]
pub(super) struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    pub(super) fn add(&self, line: usize, place: impl Into<String>, text: impl Into<String>) {
        self.0.borrow_mut().push(Problem {
            line,
            place: place.into(),
            text: text.into(),
        });
    }

    /// All of them, by line.
    pub(super) fn into_sorted(self) -> Vec<Problem> {
        let mut problems = self.0.into_inner();
        problems.sort_by_key(|problem| problem.line);
        problems
    }
}
