//! Finding a program before starting it, so that its absence can be named.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Why a program cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoProgram {
    #[error("not found: `{0}` is in no folder of PATH")]
    NotOnPath(String),
    #[error("not found: there is no file {0}")]
    NoFile(String),
    #[error("not executable: {0}")]
    NotExecutable(String),
    #[error("not found: `{0}` is neither a name nor an absolute path")]
    Relative(String),
}

/// The file of a program given by name or absolute path.
pub(crate) fn find_program(program: &str, path_variable: &str) -> Result<PathBuf, NoProgram> {
    if program.starts_with('/') {
        let path = Path::new(program);
        return match is_executable(path) {
            Some(true) => Ok(path.to_owned()),
            Some(false) => Err(NoProgram::NotExecutable(program.to_owned())),
            None => Err(NoProgram::NoFile(program.to_owned())),
        };
    }
    if program.contains('/') {
        return Err(NoProgram::Relative(program.to_owned()));
    }
    let mut found_without_permission = None;
    for folder in std::env::split_paths(path_variable).filter(|folder| folder.is_absolute()) {
        let path = folder.join(program);
        match is_executable(&path) {
            Some(true) => return Ok(path),
            Some(false) => {
                found_without_permission.get_or_insert(path);
            }
            None => {}
        }
    }
    Err(match found_without_permission {
        Some(path) => NoProgram::NotExecutable(path.display().to_string()),
        None => NoProgram::NotOnPath(program.to_owned()),
    })
}

/// `None`: no such file.
fn is_executable(path: &Path) -> Option<bool> {
    let meta = std::fs::metadata(path).ok()?;
    meta.is_file()
        .then(|| meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_or_its_absence_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let path = format!("{}:/bin:relative", folder.path().display());
        assert_eq!(find_program("sh", &path), Ok(PathBuf::from("/bin/sh")));
        assert_eq!(find_program("/bin/sh", ""), Ok(PathBuf::from("/bin/sh")));
        for (program, expected) in [
            ("no-such-program", "in no folder of PATH"),
            ("/no/such/file", "no file /no/such/file"),
            ("plain", "not executable"),
            ("./sh", "neither a name nor an absolute path"),
            ("", "not found"),
        ] {
            let error = find_program(program, &path).unwrap_err().to_string();
            assert!(error.contains(expected), "{program}: {error}");
        }
    }
}
