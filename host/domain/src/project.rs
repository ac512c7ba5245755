//! Projects.

use serde::{Deserialize, Serialize};

use crate::ids::ProjectId;
use crate::time::Timestamp;

/// A registered repository or folder. Nothing outside registered roots is ever worked in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// For people; unique.
    pub name: String,
    /// Absolute, canonical path of its folder; unique.
    pub root: String,
    /// When it was registered.
    pub created_at: Timestamp,
    /// Who keeps its folder.
    pub kind: ProjectKind,
}

/// Who keeps a Project's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectKind {
    /// A person registered it.
    Registered,
    /// The host's own, inside its data folder: each of its threads has a folder of its own.
    Scratch,
}
