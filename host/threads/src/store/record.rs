//! The shapes of stored records. A change here is a new step in `migrations`.

use domain::command::Answer;
use domain::error::Denial;
use domain::event::Event;
use domain::ids::RequestKey;
use domain::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::StoreError;

/// One fact in the journal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Recorded<K, E> {
    /// Its place in the journal, from 1, without gaps.
    pub(crate) seq: u64,
    /// When it was stored.
    pub(crate) at: Timestamp,
    /// Key of the command that caused it.
    pub(crate) key: Option<K>,
    /// The fact.
    pub(crate) event: E,
}

/// A fact as it is read back.
pub(crate) type ReadRecord = Recorded<RequestKey, Event>;

/// An entity as the events up to now left it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Row<T> {
    /// The first event that carried it: what "oldest first" sorts by.
    pub(crate) since: u64,
    /// The newest event that carried it.
    pub(crate) changed: u64,
    /// The entity.
    pub(crate) value: T,
}

/// What a command with a key was answered.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    /// Digest of the call the key was first used for.
    pub(crate) digest: String,
    /// When it was answered.
    pub(crate) at: Timestamp,
    /// The answer.
    pub(crate) outcome: Outcome,
}

/// How a command with a key ended.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// It was taken.
    Accepted {
        /// The answer.
        answer: Answer,
        /// Where the journal ended just after it.
        sequence: u64,
    },
    /// It was refused for good.
    Refused(Denial),
}

pub(crate) fn encode(table: &'static str, record: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(record).map_err(|source| StoreError::Malformed { table, source })
}

pub(crate) fn decode<T: DeserializeOwned>(
    table: &'static str,
    bytes: &[u8],
) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|source| StoreError::Malformed { table, source })
}
