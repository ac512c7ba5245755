//! Loading a driver: everything that is checked before a component may be used.
//!
//! Size, form, version and imports are read from the bytes before anything is compiled: compiling a hostile file is the
//! one thing wasmtime does not promise to do in bounded time.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use wasmtime::component::{Component, HasSelf, Linker};

use crate::bindings::v0_1::{self, DriverPre};
use crate::engine::DriverEngine;
use crate::guest::{self, GuestError, GuestState};
use crate::inspect::{Inspection, inspect};
use crate::limits;
use crate::load_error::LoadError;
use crate::manifest::Manifest;

/// A driver that passed every check. Cheap to clone.
#[derive(Clone)]
pub struct LoadedDriver {
    inner: Arc<Inner>,
}

struct Inner {
    manifest: Manifest,
    pre: DriverPre<GuestState>,
    engine: DriverEngine,
    imports: Vec<String>,
    bytes: u64,
    digest: String,
}

impl std::fmt::Debug for LoadedDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedDriver")
            .field("kind", &self.inner.manifest.kind())
            .field("digest", &self.inner.digest)
            .finish_non_exhaustive()
    }
}

impl LoadedDriver {
    /// Reads, checks, compiles and tries a component. Compiles on the blocking pool, within
    /// [`limits::COMPILE_TIME_MAX`].
    ///
    /// # Errors
    /// [`LoadError`] names what is wrong with the file and what to do.
    pub async fn load(engine: &DriverEngine, bytes: Vec<u8>) -> Result<Self, LoadError> {
        let engine = engine.clone();
        let work = tokio::task::spawn_blocking(move || Self::load_now(&engine, &bytes));
        match tokio::time::timeout(limits::COMPILE_TIME_MAX, work).await {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(stopped)) => Err(LoadError::Compile(stopped.to_string())),
            Err(_) => Err(LoadError::CompileTimeout),
        }
    }

    fn load_now(engine: &DriverEngine, bytes: &[u8]) -> Result<Self, LoadError> {
        let Inspection { imports, .. } = inspect(bytes)?;
        let component = Component::from_binary(engine.engine(), bytes)
            .map_err(|e| LoadError::Compile(format!("{e:#}")))?;
        let mut linker = Linker::new(engine.engine());
        v0_1::Driver::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut GuestState| state)
            .map_err(|e| LoadError::Compile(format!("{e:#}")))?;
        let pre = linker
            .instantiate_pre(&component)
            .and_then(DriverPre::new)
            .map_err(|e| LoadError::WrongWorld(format!("{e:#}")))?;
        let info = guest::describe(engine, &pre).map_err(|error| match error {
            GuestError::Timeout { .. } => LoadError::DescribeTimeout,
            GuestError::Instantiate(detail) => LoadError::WrongTypes(detail),
            other => LoadError::DescribeTrapped(other.to_string()),
        })?;
        Ok(Self {
            inner: Arc::new(Inner {
                manifest: Manifest::check(info)?,
                pre,
                engine: engine.clone(),
                imports,
                bytes: bytes.len() as u64,
                digest: digest(bytes),
            }),
        })
    }

    /// What the driver says about itself.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.inner.manifest
    }

    /// Names of the interfaces the component imports.
    #[must_use]
    pub fn imports(&self) -> &[String] {
        &self.inner.imports
    }

    /// Size of the file, bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.inner.bytes
    }

    /// SHA-256 of the file, hexadecimal.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.inner.digest
    }

    pub(crate) fn pre(&self) -> &DriverPre<GuestState> {
        &self.inner.pre
    }

    pub(crate) fn engine(&self) -> &DriverEngine {
        &self.inner.engine
    }
}

/// Reads a component file, refusing one that is too large before it is in memory.
///
/// # Errors
/// [`LoadError::Unreadable`] or [`LoadError::TooLarge`].
pub fn read_component(path: &Path) -> Result<Vec<u8>, LoadError> {
    let unreadable = |cause| LoadError::Unreadable {
        path: path.display().to_string(),
        cause: Arc::new(cause),
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err(unreadable(std::io::Error::other("it is not a plain file")));
    }
    if meta.len() > limits::COMPONENT_BYTES_MAX {
        return Err(LoadError::TooLarge { bytes: meta.len() });
    }
    let mut bytes = Vec::new();
    file.take(limits::COMPONENT_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    Ok(bytes)
}

/// SHA-256 of a file, hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
