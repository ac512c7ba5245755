//! One server on one data folder.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::FlockOperation;

use super::ServeError;
use crate::local::socket::private_folder;

/// Mode of the lock's file.
const LOCK_MODE: u32 = 0o600;

/// Most bytes of a process id in the lock's file.
const PID_BYTES_MAX: u64 = 20;

/// The folder is this process's alone for as long as this lives. The kernel lets go of it however the process ends.
#[derive(Debug)]
pub(super) struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Makes the folder private and takes it.
    pub(super) fn take(folder: &Path) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Folder {
            path: folder.display().to_string(),
            source,
        };
        private_folder(folder).map_err(failed)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(LOCK_MODE)
            .open(folder.join("lock"))
            .map_err(failed)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                // The holder's pid only helps: without it the refusal stands.
                let _ = (&mut file).take(PID_BYTES_MAX).read_to_string(&mut holder);
                return Err(ServeError::FolderInUse {
                    path: folder.display().to_string(),
                    pid: holder.trim().to_owned(),
                });
            }
            Err(error) => return Err(failed(error.into())),
        }
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_server_on_one_folder_is_told_who_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path()).unwrap();
        let error = FolderLock::take(folder.path()).unwrap_err().to_string();
        assert!(error.contains(&std::process::id().to_string()), "{error}");
        assert!(error.contains("--data-folder"), "{error}");
        drop(first);
        FolderLock::take(folder.path()).unwrap();
    }
}
