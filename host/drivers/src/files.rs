//! Private folders and files.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Makes a folder that only the host's user can enter, or makes an existing one so.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o700))
}

/// Creates an empty file that only the host's user can read, or empties an existing one.
pub(crate) fn create_private(path: &Path) -> io::Result<fs::File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

/// Creates or replaces a file that only the host's user can read. It is never seen half written.
pub(crate) fn write_private(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let partial = folder.join(format!(".{name}.partial"));
    let mut file = create_private(&partial)?;
    file.write_all(bytes)?;
    drop(file);
    fs::rename(&partial, folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_is_whole_and_private() {
        let folder = tempfile::tempdir().unwrap();
        write_private(folder.path(), "a.toml", b"first").unwrap();
        write_private(folder.path(), "a.toml", b"second").unwrap();
        let path = folder.path().join("a.toml");
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
