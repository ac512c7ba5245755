//! Recordings played again: the same driver gives the same actions to the byte, since it can reach nothing else.

use serde::Deserialize;

use crate::bindings::v0_1::types as wit;
use crate::component::LoadedDriver;
use crate::guest::GuestSession;
use crate::guest_log::GuestLog;
use crate::limits::SessionLimits;

/// One line of a recording, as [`crate::pool::PoolConfig::recordings_folder`] holds them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Entry {
    Open(wit::SessionConfig),
    Inputs(Vec<wit::Input>),
    Actions(Vec<wit::Action>),
    Failed(String),
}

/// Why a recording does not play.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// A line is no entry, or stands where it cannot.
    #[error(
        "line {line} of the recording cannot be read: {cause}. Record the session again with this host."
    )]
    Format {
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        cause: String,
    },
    /// The driver failed where the recording goes on.
    #[error(
        "the driver failed at line {line}: {cause}. It is another driver than the one recorded."
    )]
    Failed {
        /// Line, from 1.
        line: usize,
        /// How.
        cause: String,
    },
    /// The driver answered something else.
    #[error(
        "the driver answers line {line} with other actions than those recorded. It is another driver than the one \
         recorded: expected {expected}, found {found}."
    )]
    Differs {
        /// Line of the recorded actions, from 1.
        line: usize,
        /// The recorded actions, cut.
        expected: String,
        /// The driver's actions, cut.
        found: String,
    },
}

/// A recorded session that can be played call by call.
#[derive(Debug)]
pub struct Replay {
    guest: GuestSession,
    /// Calls not played yet, the last one first: line, inputs, and what came of them.
    calls: Vec<Call>,
}

#[derive(Clone, Debug)]
struct Call {
    line: usize,
    inputs: Vec<wit::Input>,
    /// `None`: the call failed.
    actions: Option<Vec<wit::Action>>,
}

impl Replay {
    /// Reads a recording and opens a guest with the recorded configuration.
    ///
    /// # Errors
    /// [`ReplayError`] names the line.
    pub fn open(driver: &LoadedDriver, recording: &str) -> Result<Self, ReplayError> {
        let (config, mut calls) = read(recording)?;
        calls.reverse();
        let log = GuestLog::new("replay".to_owned(), std::sync::Arc::new(str::to_owned));
        let guest = GuestSession::open(driver, &config, &SessionLimits::default(), log).map_err(
            |error| ReplayError::Failed {
                line: 1,
                cause: error.to_string(),
            },
        )?;
        Ok(Self { guest, calls })
    }

    /// Plays the next call and compares. `None`: the recording is over.
    ///
    /// # Errors
    /// [`ReplayError`] names the line where the driver does something else.
    pub fn step(&mut self) -> Result<Option<()>, ReplayError> {
        let Some(call) = self.calls.pop() else {
            return Ok(None);
        };
        let line = call.line;
        match (self.guest.handle(&call.inputs), call.actions) {
            (Ok(found), Some(expected)) if found == expected => Ok(Some(())),
            (Ok(found), expected) => Err(ReplayError::Differs {
                line: line + 1,
                expected: cut(&expected.map_or("a failure".to_owned(), |e| format!("{e:?}"))),
                found: cut(&format!("{found:?}")),
            }),
            (Err(_), None) => Ok(Some(())),
            (Err(error), Some(_)) => Err(ReplayError::Failed {
                line,
                cause: error.to_string(),
            }),
        }
    }

    /// Gives the guest the inputs of one recorded line again and again, for measurements. Returns how many actions came.
    ///
    /// # Errors
    /// The inputs cannot be read, or the driver failed.
    pub fn feed(&mut self, inputs: &Inputs) -> Result<usize, ReplayError> {
        let handled = self.guest.handle(&inputs.0);
        handled
            .map(|actions| actions.len())
            .map_err(|error| ReplayError::Failed {
                line: 0,
                cause: error.to_string(),
            })
    }
}

/// Inputs of one call, read from JSON as a recording holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs(Vec<wit::Input>);

impl Inputs {
    /// Reads a JSON list of inputs.
    ///
    /// # Errors
    /// [`ReplayError::Format`] says what is wrong.
    pub fn from_json(json: &str) -> Result<Self, ReplayError> {
        serde_json::from_str(json)
            .map(Self)
            .map_err(|error| ReplayError::Format {
                line: 0,
                cause: error.to_string(),
            })
    }
}

/// Plays a whole recording. Returns how many calls it held.
///
/// # Errors
/// [`ReplayError`] names the line where the driver does something else.
pub fn replay(driver: &LoadedDriver, recording: &str) -> Result<usize, ReplayError> {
    let mut replay = Replay::open(driver, recording)?;
    let mut calls = 0;
    while replay.step()?.is_some() {
        calls += 1;
    }
    Ok(calls)
}

fn read(recording: &str) -> Result<(wit::SessionConfig, Vec<Call>), ReplayError> {
    let mut config = None;
    let mut calls: Vec<Call> = Vec::new();
    let mut open: Option<(usize, Vec<wit::Input>)> = None;
    for (place, text) in recording.lines().enumerate() {
        let line = place + 1;
        let wrong = |cause: &str| ReplayError::Format {
            line,
            cause: cause.to_owned(),
        };
        let entry = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
        let answer = match entry {
            Entry::Open(found) if line == 1 => {
                config = Some(found);
                continue;
            }
            Entry::Open(_) => return Err(wrong("a session is opened once, at its start")),
            Entry::Inputs(inputs) if open.is_none() => {
                open = Some((line, inputs));
                continue;
            }
            Entry::Inputs(_) => return Err(wrong("the call before has no answer")),
            Entry::Actions(actions) => Some(actions),
            Entry::Failed(_) => None,
        };
        let (line, inputs) = open
            .take()
            .ok_or_else(|| wrong("there is no call to answer"))?;
        calls.push(Call {
            line,
            inputs,
            actions: answer,
        });
    }
    // A host that was killed in the middle of a call leaves inputs without an answer: there is nothing to compare.
    let config = config.ok_or_else(|| ReplayError::Format {
        line: 1,
        cause: "the recording does not begin with the session's configuration".to_owned(),
    })?;
    Ok((config, calls))
}

fn cut(text: &str) -> String {
    crate::text::one_line(text, 400)
}
