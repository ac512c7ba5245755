//! The mark every process of this data folder carries in its environment.

use std::io;
use std::path::Path;

/// Environment variable with the host's mark.
pub(crate) const HOST_VARIABLE: &str = "WEFT_HOST";

/// Environment variable with the provider session's id.
pub(crate) const SESSION_VARIABLE: &str = "WEFT_PROVIDER_SESSION";

/// Environment variable with the driver's number of the process.
pub(crate) const PROCESS_VARIABLE: &str = "WEFT_PROVIDER_PROCESS";

const FILE: &str = "host-marker";

/// Random word of one data folder. By it a later host finds what an earlier one left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostMarker(String);

impl HostMarker {
    /// Reads the mark of a data folder, or makes it.
    ///
    /// # Errors
    /// The folder cannot be read or written, or the system has no random numbers.
    pub fn load_or_create(data_folder: &Path) -> io::Result<Self> {
        match std::fs::read_to_string(data_folder.join(FILE)) {
            Ok(text) if is_mark(text.trim()) => Ok(Self(text.trim().to_owned())),
            Ok(_) => Self::create(data_folder),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create(data_folder),
            Err(error) => Err(error),
        }
    }

    fn create(data_folder: &Path) -> io::Result<Self> {
        let bits = crate::random::bits().map_err(io::Error::other)?;
        let text = format!("{bits:032x}");
        crate::files::write_private(data_folder, FILE, text.as_bytes())?;
        Ok(Self(text))
    }

    /// The mark as it stands in an environment.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_mark(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_folder_keeps_its_mark_and_two_differ() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = HostMarker::load_or_create(one.path()).unwrap();
        assert_eq!(HostMarker::load_or_create(one.path()).unwrap(), first);
        assert_ne!(HostMarker::load_or_create(two.path()).unwrap(), first);
        std::fs::write(one.path().join(FILE), "damaged").unwrap();
        assert_ne!(HostMarker::load_or_create(one.path()).unwrap(), first);
    }
}
