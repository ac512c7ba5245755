//! A scripted agent whose input is copied to a file on its way: so a test holds the bearer the host really gave.

use serde_json::Value;

use super::agents;
use super::host::{Configuration, TestHost};

/// Id of the provider instance.
pub(crate) const OVERHEARD: &str = "overheard";

/// File the lines to the agents go to, in the host's folder.
pub(crate) const OVERHEARD_FILE: &str = "said-to-agents";

impl Configuration {
    /// Adds the scripted agent as the instance [`OVERHEARD`].
    pub(crate) fn overheard(self) -> Self {
        let weft = agents::weft();
        self.scripted_as(
            OVERHEARD,
            &format!(
                "command = [\"bash\", \"-c\", 'exec \"$@\" < <(tee -a \"$0\")', \"@FOLDER@/{OVERHEARD_FILE}\", {weft:?}]"
            ),
        )
    }
}

impl TestHost {
    /// The bearer the agent of a thread was given last. `None`: it was told of no tools yet.
    pub(crate) fn bearer(&self, thread: &str) -> Option<String> {
        bearer_in(&self.folder().join(OVERHEARD_FILE), thread)
    }
}

/// The bearer in a file of such lines.
pub(crate) fn bearer_in(file: &std::path::Path, thread: &str) -> Option<String> {
    let said = std::fs::read_to_string(file).ok()?;
    let lines = said.lines().rev();
    let mut ops = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let open = ops.find(|op| op["op"] == "open" && op["thread"] == thread)?;
    let words = open["mcp"]["authorization"].as_str()?;
    Some(words.strip_prefix("Bearer ").unwrap_or(words).to_owned())
}
