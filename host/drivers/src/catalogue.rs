//! Every driver the host knows: usable ones by kind, refused ones with their reason.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use domain::ids::DriverKind;
use tokio::sync::watch;

use crate::component::{LoadedDriver, read_component};
use crate::engine::DriverEngine;
use crate::load_error::LoadError;

/// Most files of one folder that are looked at: a wrong folder must not be read whole.
const FOLDER_FILES_MAX: usize = 256;

/// Where drivers come from.
#[derive(Clone, Debug)]
pub enum DriverSource {
    /// Part of the host's own binary.
    Embedded {
        /// Name shown to people.
        name: String,
        /// The component.
        bytes: Cow<'static, [u8]>,
    },
    /// One component file.
    File {
        /// Its path.
        path: PathBuf,
        /// SHA-256 it must have, hexadecimal.
        digest: Option<String>,
    },
    /// Every `*.wasm` of a folder. A folder that does not exist holds none.
    Folder(PathBuf),
}

/// One driver of the catalogue.
#[derive(Clone, Debug)]
pub struct DriverEntry {
    /// File, or `embedded NAME`.
    pub source: String,
    /// Size of the component, where it could be read.
    pub bytes: Option<u64>,
    /// How far it is.
    pub state: DriverState,
}

/// How far a driver is.
#[derive(Clone, Debug)]
pub enum DriverState {
    /// Being read and compiled.
    Starting,
    /// Usable.
    Ready(LoadedDriver),
    /// Not usable, and why.
    Refused(LoadError),
}

/// Answer to the question for a driver.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// Drivers are still being loaded; it may be among them.
    Starting,
    /// Here it is.
    Ready(LoadedDriver),
    /// There is none; a sentence that says what to do.
    Missing(String),
}

/// The drivers. Clones share them.
#[derive(Clone, Debug)]
pub struct DriverCatalogue {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    entries: RwLock<Vec<DriverEntry>>,
    /// Sources still being loaded.
    pending: watch::Sender<usize>,
}

impl DriverCatalogue {
    /// Starts to load all sources at once, in the background. Of two drivers of one kind the earlier source is taken.
    /// Needs a tokio runtime.
    #[must_use]
    pub fn start(engine: &DriverEngine, sources: Vec<DriverSource>) -> Self {
        let wanted: Vec<Wanted> = sources.into_iter().flat_map(Wanted::from_source).collect();
        let entries = wanted
            .iter()
            .map(|wanted| DriverEntry {
                source: wanted.name.clone(),
                bytes: None,
                state: DriverState::Starting,
            })
            .collect();
        let inner = Arc::new(Inner {
            entries: RwLock::new(entries),
            pending: watch::Sender::new(wanted.len()),
        });
        for (place, wanted) in wanted.into_iter().enumerate() {
            let (engine, inner) = (engine.clone(), Arc::clone(&inner));
            tokio::spawn(async move {
                let (bytes, result) = wanted.load(&engine).await;
                inner.settle(place, bytes, result);
            });
        }
        Self { inner }
    }

    /// Every driver, in the order of the sources.
    #[must_use]
    pub fn entries(&self) -> Vec<DriverEntry> {
        self.inner
            .entries
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns when every source is loaded or refused.
    pub async fn ready(&self) {
        let mut pending = self.inner.pending.subscribe();
        // The sender lives as long as this catalogue.
        let _ = pending.wait_for(|pending| *pending == 0).await;
    }

    /// The driver of a kind, once it is known whether there is one.
    pub(crate) async fn settled(&self, kind: &DriverKind) -> Lookup {
        let mut pending = self.inner.pending.subscribe();
        loop {
            pending.mark_unchanged();
            match self.driver(kind) {
                Lookup::Starting => {}
                settled => return settled,
            }
            if pending.changed().await.is_err() {
                return self.driver(kind);
            }
        }
    }

    /// Looks for the driver of a kind.
    #[must_use]
    pub fn driver(&self, kind: &DriverKind) -> Lookup {
        let entries = self.entries();
        let mut refusals = Vec::new();
        let mut starting = false;
        for entry in &entries {
            match &entry.state {
                DriverState::Ready(driver) if driver.manifest().kind() == kind => {
                    return Lookup::Ready(driver.clone());
                }
                DriverState::Ready(_) => {}
                DriverState::Starting => starting = true,
                DriverState::Refused(error) => refusals.push((&entry.source, error)),
            }
        }
        if starting {
            return Lookup::Starting;
        }
        // A refused file has no kind; its name is the only hint.
        let hint = refusals
            .iter()
            .find(|(source, _)| file_names_kind(source, kind));
        Lookup::Missing(match hint {
            Some((source, error)) => format!("The driver `{kind}` ({source}) was refused: {error}"),
            None => format!(
                "There is no driver `{kind}`. Build the drivers with `cargo xtask build`, or put the component in the \
                 drivers folder; `weft driver list` shows those there are."
            ),
        })
    }
}

impl Inner {
    fn settle(&self, place: usize, bytes: Option<u64>, result: Result<LoadedDriver, LoadError>) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get_mut(place) {
            entry.bytes = bytes;
            entry.state = match result {
                Ok(driver) => DriverState::Ready(driver),
                Err(error) => {
                    tracing::warn!(source = %entry.source, %error, "a driver is refused");
                    DriverState::Refused(error)
                }
            };
        }
        refuse_doubles(&mut entries);
        drop(entries);
        self.pending
            .send_modify(|pending| *pending = pending.saturating_sub(1));
    }
}

/// Loading is concurrent, so the earlier source wins only when looked at again after each one.
fn refuse_doubles(entries: &mut [DriverEntry]) {
    let mut first: BTreeMap<DriverKind, String> = BTreeMap::new();
    for entry in entries {
        let DriverState::Ready(driver) = &entry.state else {
            continue;
        };
        let kind = driver.manifest().kind().clone();
        match first.get(&kind) {
            None => {
                first.insert(kind, entry.source.clone());
            }
            Some(winner) => {
                let error = LoadError::DuplicateKind {
                    kind: kind.to_string(),
                    first: winner.clone(),
                    second: entry.source.clone(),
                };
                tracing::warn!(source = %entry.source, %error, "a driver is refused");
                entry.state = DriverState::Refused(error);
            }
        }
    }
}

fn file_names_kind(source: &str, kind: &DriverKind) -> bool {
    let name = Path::new(source)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(source);
    name.to_ascii_lowercase()
        .contains(&kind.as_str().to_ascii_lowercase())
}

struct Wanted {
    name: String,
    from: From,
    digest: Option<String>,
}

enum From {
    Bytes(Cow<'static, [u8]>),
    File(PathBuf),
    Broken(LoadError),
}

impl Wanted {
    fn from_source(source: DriverSource) -> Vec<Self> {
        match source {
            DriverSource::Embedded { name, bytes } => {
                let name = format!("embedded {name}");
                vec![Self {
                    name,
                    from: From::Bytes(bytes),
                    digest: None,
                }]
            }
            DriverSource::File { path, digest } => vec![Self {
                digest,
                ..Self::file(path)
            }],
            DriverSource::Folder(folder) => match component_files(&folder) {
                Ok(files) => files.into_iter().map(Self::file).collect(),
                Err(cause) => {
                    let name = folder.display().to_string();
                    let error = LoadError::Unreadable {
                        path: name.clone(),
                        cause: Arc::new(cause),
                    };
                    vec![Self {
                        name,
                        from: From::Broken(error),
                        digest: None,
                    }]
                }
            },
        }
    }

    fn file(path: PathBuf) -> Self {
        Self {
            name: path.display().to_string(),
            from: From::File(path),
            digest: None,
        }
    }

    async fn load(self, engine: &DriverEngine) -> (Option<u64>, Result<LoadedDriver, LoadError>) {
        let bytes = match self.from {
            From::Bytes(bytes) => Ok(bytes.into_owned()),
            From::Broken(error) => Err(error),
            From::File(path) => {
                match tokio::task::spawn_blocking(move || read_component(&path)).await {
                    Ok(read) => read,
                    Err(stopped) => Err(LoadError::Compile(stopped.to_string())),
                }
            }
        };
        let digest = self.digest;
        match bytes.and_then(|bytes| check_digest(bytes, digest.as_deref())) {
            Ok(bytes) => (
                Some(bytes.len() as u64),
                LoadedDriver::load(engine, bytes).await,
            ),
            Err(error) => (None, Err(error)),
        }
    }
}

fn check_digest(bytes: Vec<u8>, wanted: Option<&str>) -> Result<Vec<u8>, LoadError> {
    let Some(wanted) = wanted else {
        return Ok(bytes);
    };
    let found = crate::component::digest(&bytes);
    if found.eq_ignore_ascii_case(wanted) {
        Ok(bytes)
    } else {
        Err(LoadError::WrongDigest { found })
    }
}

fn component_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries.take(FOLDER_FILES_MAX) {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "wasm")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
