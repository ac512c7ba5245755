//! The socket's place: a private folder in the data folder.

use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

use super::limits::{FOLDER_MODE, SOCKET_MODE};
use crate::config::limits::SOCKET_PATH_BYTES_MAX;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The kernel takes no longer name.
    #[error(
        "the local socket would be {path}, {bytes} bytes; the system allows {SOCKET_PATH_BYTES_MAX}: \
         choose a data folder with a shorter path (--data-folder, or [storage] data_folder)"
    )]
    PathTooLong {
        /// The path.
        path: String,
        /// Its length, bytes.
        bytes: usize,
    },
    /// A file or folder could not be made.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

/// Path of the socket of a data folder.
#[must_use]
pub fn socket_path(data_folder: &Path) -> PathBuf {
    data_folder.join("local").join("weft.sock")
}

/// Refuses a path the kernel can't take.
///
/// # Errors
/// [`SocketError::PathTooLong`].
pub fn check_length(path: &Path) -> Result<(), SocketError> {
    let bytes = path.as_os_str().len();
    if bytes as u64 > SOCKET_PATH_BYTES_MAX {
        return Err(SocketError::PathTooLong {
            path: path.display().to_string(),
            bytes,
        });
    }
    Ok(())
}

/// Listens in the data folder. The caller holds the folder's lock, so a socket found there is a dead one.
///
/// # Errors
/// [`SocketError`] when the path is too long or something can't be made.
pub fn bind(data_folder: &Path) -> Result<UnixListener, SocketError> {
    let path = socket_path(data_folder);
    check_length(&path)?;
    let io = |source| SocketError::Io {
        path: path.display().to_string(),
        source,
    };
    if let Some(folder) = path.parent() {
        private_folder(folder).map_err(io)?;
    }
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io(error)),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(&path).map_err(io)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(SOCKET_MODE)).map_err(io)?;
    Ok(listener)
}

/// Makes a folder only its owner can enter, and takes everybody else's rights from one that exists.
///
/// # Errors
/// What the system says.
pub fn private_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)?;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(FOLDER_MODE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_refused_from_one_byte_over_the_kernels_bound() {
        for (bytes, allowed) in [(106, true), (107, true), (108, false)] {
            let path = PathBuf::from(format!("/{}", "a".repeat(bytes - 1)));
            assert_eq!(check_length(&path).is_ok(), allowed, "{bytes}");
        }
    }

    #[tokio::test]
    async fn the_socket_and_its_folder_are_private_and_a_dead_socket_is_replaced() {
        let data = tempfile::tempdir().unwrap();
        let first = bind(data.path()).unwrap();
        drop(first);
        let _second = bind(data.path()).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let path = socket_path(data.path());
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }
}
