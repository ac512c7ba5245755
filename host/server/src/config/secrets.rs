//! Secrets by reference: an environment variable or a private file, never a value in the configuration.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use threads::ports::Secret;

use super::limits::{SECRET_BYTES_MAX, SECRET_CHARS_MIN};
use super::reader::Table;

/// Permission bits of everybody but the owner.
const OTHERS_MASK: u32 = 0o077;

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// In an environment variable of the host.
    Environment(String),
    /// In a file that only its owner can read.
    File(PathBuf),
}

/// Why a secret can't be used. Never tells any of it.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The variable is not set.
    #[error("the environment variable {0} is not set")]
    VariableMissing(String),
    /// The file can't be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Not a plain file of this user.
    #[error("{0} is not a plain file of the user that runs weft")]
    NotOwnFile(String),
    /// Others can read it.
    #[error("{path} has mode {mode:04o}; others must not reach it: chmod 600 {path}")]
    Exposed {
        /// The file.
        path: String,
        /// Its mode.
        mode: u32,
    },
    /// Larger than any secret.
    #[error("{0} is larger than a secret can be")]
    TooLarge(String),
    /// The value can't be substituted and scrubbed by exact match.
    #[error("the value {0}; Weft replaces and scrubs secrets by exact match and can't use it")]
    Unsuitable(&'static str),
}

impl SecretSource {
    /// Reads `{ env = "NAME" }` or `{ file = "PATH" }` at a key of the table of secrets.
    pub(super) fn read(table: &Table<'_>, key: &str, base: &Path) -> Option<Self> {
        const ALLOWED: &str = "write a reference: { env = \"VARIABLE\" } or { file = \"PATH\" }, never the secret itself";
        let serde_json::Value::Object(fields) = table.json(key)? else {
            table.problem(key, ALLOWED);
            return None;
        };
        let mut fields = fields.into_iter();
        let source = match (fields.next(), fields.next()) {
            (Some((word, serde_json::Value::String(name))), None) if !name.is_empty() => {
                match word.as_str() {
                    "env" => Some(Self::Environment(name)),
                    "file" => super::paths::resolve(base, &name).map(Self::File),
                    _ => None,
                }
            }
            _ => None,
        };
        if source.is_none() {
            table.problem(key, ALLOWED);
        }
        source
    }

    /// For people: where the secret is, not what it is.
    #[must_use]
    pub fn place(&self) -> String {
        match self {
            Self::Environment(name) => format!("variable {name}"),
            Self::File(path) => format!("file {}", path.display()),
        }
    }

    /// Fetches the secret.
    ///
    /// # Errors
    /// [`SecretError`] when it is absent, exposed to others, or can't be scrubbed by exact match.
    pub fn resolve(&self) -> Result<Secret, SecretError> {
        let value = match self {
            Self::Environment(name) => {
                std::env::var(name).map_err(|_| SecretError::VariableMissing(name.clone()))?
            }
            Self::File(path) => read_private(path)?,
        };
        let value = value.trim_end_matches(['\n', '\r']);
        check(value)?;
        Ok(Secret::new(value))
    }
}

fn read_private(path: &Path) -> Result<String, SecretError> {
    let shown = path.display().to_string();
    let unreadable = |source| SecretError::Unreadable {
        path: shown.clone(),
        source,
    };
    let no_wait = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(no_wait)
        .open(path)
        .map_err(unreadable)?;
    // The opened file is looked at, not the path: the path may name another file by now.
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(SecretError::NotOwnFile(shown));
    }
    let mode = metadata.mode() & 0o7777;
    if mode & OTHERS_MASK != 0 {
        return Err(SecretError::Exposed { path: shown, mode });
    }
    let mut text = String::new();
    file.take(SECRET_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > SECRET_BYTES_MAX {
        return Err(SecretError::TooLarge(shown));
    }
    Ok(text)
}

fn check(value: &str) -> Result<(), SecretError> {
    if (value.chars().count() as u64) < SECRET_CHARS_MIN {
        return Err(SecretError::Unsuitable("has fewer than 16 characters"));
    }
    if value
        .chars()
        .any(|c| c.is_control() || c == '"' || c == '\\')
    {
        return Err(SecretError::Unsuitable(
            "holds a quote, a backslash or a control character",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_secret_file_must_be_private_and_usable() {
        let folder = tempfile::tempdir().unwrap();
        let cases = [
            ("0123456789abcdef\n", 0o600, "ok"),
            ("0123456789abcdef", 0o400, "ok"),
            ("0123456789abcdef", 0o640, "chmod 600"),
            ("0123456789abcdef", 0o604, "chmod 600"),
            ("short", 0o600, "fewer than 16"),
            ("0123456789\"abcdef", 0o600, "a quote"),
            ("0123456789\\abcdef", 0o600, "a backslash"),
            ("0123456789\nabcdef", 0o600, "a control character"),
        ];
        for (index, (text, mode, expected)) in cases.into_iter().enumerate() {
            let path = folder.path().join(format!("secret-{index}"));
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            match SecretSource::File(path).resolve() {
                Ok(secret) => {
                    assert_eq!((expected, secret.expose()), ("ok", text.trim_end()));
                }
                Err(error) => {
                    let told = error.to_string();
                    assert!(told.contains(expected), "{text:?} {mode:o}: {told}");
                    assert!(!told.contains("0123456789"), "{told} tells the secret");
                }
            }
        }
    }

    #[test]
    fn what_is_no_plain_file_is_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let error = SecretSource::File(folder.path().to_owned())
            .resolve()
            .unwrap_err();
        assert!(matches!(error, SecretError::NotOwnFile(_)), "{error}");
        let error = SecretSource::File(folder.path().join("none"))
            .resolve()
            .unwrap_err();
        assert!(matches!(error, SecretError::Unreadable { .. }), "{error}");
    }
}
