//! Drivers as files: where they are, which are in use, what they say about themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use domain::ids::DriverKind;
use drivers::catalogue::{DriverCatalogue, DriverEntry, DriverSource, DriverState};
use drivers::component::LoadedDriver;
use drivers::engine::{DriverEngine, EngineError};
use serde::Serialize;

use crate::config::{Config, Enablement};

/// End of a driver's file name.
const EXTENSION: &str = "wasm";

/// Folder of compiled drivers in the data folder.
const CACHE: &str = "cache/drivers";

/// One driver's file, before it is loaded.
#[derive(Clone, Debug)]
pub struct DriverFile {
    /// Its kind, by the file's name or the configuration.
    pub kind: DriverKind,
    /// The file.
    pub path: PathBuf,
    /// Digest it must have.
    pub sha256: Option<String>,
    /// Whether it is loaded.
    pub enablement: Enablement,
}

/// The folder drivers are in: the configured one, else `drivers` beside the program.
#[must_use]
pub fn folder(config: &Config) -> PathBuf {
    if let Some(folder) = &config.drivers.folder {
        return folder.clone();
    }
    let program = std::env::current_exe().unwrap_or_default();
    let beside = program.parent().unwrap_or_else(|| Path::new("."));
    // Cargo puts test programs one folder deeper than the program they test.
    let beside = if beside.ends_with("deps") {
        beside.parent().unwrap_or(beside)
    } else {
        beside
    };
    beside.join("drivers")
}

/// Folder of compiled drivers.
#[must_use]
pub fn cache_folder(data_folder: &Path) -> PathBuf {
    data_folder.join(CACHE)
}

/// Every driver's file: those of the folder, and those the configuration names elsewhere.
#[must_use]
pub fn files(config: &Config) -> Vec<DriverFile> {
    let folder = folder(config);
    let mut kinds: BTreeSet<DriverKind> = config.drivers.kinds.keys().cloned().collect();
    // No folder, no drivers: a plain build has none, and whoever lists them is told so.
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path
            .extension()
            .is_some_and(|extension| extension == EXTENSION)
            && let Some(kind) = path.file_stem().and_then(|stem| stem.to_str())
        {
            kinds.insert(DriverKind::new(kind));
        }
    }
    kinds
        .into_iter()
        .map(|kind| {
            let driver = config.driver(&kind);
            let usual = folder.join(format!("{kind}.{EXTENSION}"));
            DriverFile {
                path: driver.component.unwrap_or(usual),
                sha256: driver.sha256,
                enablement: driver.enablement,
                kind,
            }
        })
        .collect()
}

/// What the driver runtime loads: every file in use.
#[must_use]
pub fn sources(config: &Config) -> Vec<DriverSource> {
    let used = |file: &DriverFile| file.enablement == Enablement::Enabled;
    files(config)
        .into_iter()
        .filter(used)
        .map(DriverFile::into_source)
        .collect()
}

impl DriverFile {
    fn into_source(self) -> DriverSource {
        DriverSource::File {
            path: self.path,
            digest: self.sha256,
        }
    }
}

/// What `weft driver list` tells.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DriverList {
    /// Interface this program speaks.
    pub interface: &'static str,
    /// Folder the files are looked for in.
    pub folder: PathBuf,
    /// One row a file.
    pub drivers: Vec<DriverRow>,
}

/// One driver.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DriverRow {
    /// Its kind.
    pub kind: String,
    /// Its version; absent until it could be loaded.
    pub version: Option<String>,
    /// Interface version it was built against.
    pub interface: Option<String>,
    /// Interfaces it imports.
    pub imports: Vec<String>,
    /// Size of the file.
    pub bytes: Option<u64>,
    /// Extension inputs it understands.
    pub features: Vec<String>,
    /// Names of the command lines it may ask for.
    pub spawn: Vec<String>,
    /// Names of the variables it may set or be passed.
    pub environment: Vec<String>,
    /// Whether the operator lets it be loaded.
    pub enabled: bool,
    /// `usable`, `disabled` or `refused`.
    pub state: String,
    /// Why it is not usable.
    pub reason: Option<String>,
    /// SHA-256 of the file.
    pub sha256: Option<String>,
    /// The file.
    pub source: String,
}

impl DriverList {
    /// What to do when there is none.
    #[must_use]
    pub fn advice(&self) -> String {
        format!(
            "There are no drivers in {}. Build them with `cargo xtask build`, \
             or name their folder: [drivers] folder.",
            self.folder.display()
        )
    }
}

/// Loads every enabled driver and asks it about itself.
///
/// # Errors
/// [`EngineError`] when WebAssembly can't be run on this machine.
pub async fn inspect(config: &Config) -> Result<DriverList, EngineError> {
    // Listing makes no data folder: one that exists has the compiled drivers.
    let cache = cache_folder(&config.data_folder);
    let engine = DriverEngine::start(cache.exists().then_some(cache.as_path()))?;
    let catalogue = DriverCatalogue::start(&engine, sources(config));
    catalogue.ready().await;
    let mut entries: BTreeMap<String, DriverEntry> = catalogue
        .entries()
        .into_iter()
        .map(|entry| (entry.source.clone(), entry))
        .collect();
    let rows = files(config).into_iter().map(|file| {
        let entry = entries.remove(&file.path.display().to_string());
        row(&file, entry)
    });
    Ok(DriverList {
        interface: drivers::INTERFACE_VERSION,
        folder: folder(config),
        drivers: rows.collect(),
    })
}

fn row(file: &DriverFile, entry: Option<DriverEntry>) -> DriverRow {
    let mut row = DriverRow {
        kind: file.kind.to_string(),
        version: None,
        interface: None,
        imports: Vec::new(),
        bytes: entry.as_ref().and_then(|entry| entry.bytes),
        features: Vec::new(),
        spawn: Vec::new(),
        environment: Vec::new(),
        enabled: file.enablement == Enablement::Enabled,
        state: "refused".to_owned(),
        reason: None,
        sha256: None,
        source: file.path.display().to_string(),
    };
    match entry.map(|entry| entry.state) {
        Some(DriverState::Ready(driver)) => fill(&mut row, &driver),
        Some(DriverState::Refused(error)) => row.reason = Some(error.to_string()),
        Some(DriverState::Starting) => row.reason = Some("it is still being loaded".to_owned()),
        None => {
            "disabled".clone_into(&mut row.state);
            row.reason = Some(format!(
                "switched off by [drivers.{}] enabled = false",
                file.kind
            ));
        }
    }
    row
}

fn fill(row: &mut DriverRow, driver: &LoadedDriver) {
    let manifest = driver.manifest();
    row.version = Some(manifest.driver_version().to_owned());
    row.interface = Some(manifest.interface_version().to_owned());
    row.imports = driver.imports().to_vec();
    row.bytes = Some(driver.bytes());
    row.features = manifest.features().to_vec();
    row.spawn = manifest
        .templates()
        .iter()
        .map(|template| template.name.clone())
        .collect();
    row.environment = manifest
        .environment()
        .iter()
        .map(|need| need.name.clone())
        .collect();
    row.sha256 = Some(driver.digest().to_owned());
    if manifest.kind().as_str() == row.kind {
        "usable".clone_into(&mut row.state);
    } else {
        row.reason = Some(format!("the file holds the driver {}", manifest.kind()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(&format!("[storage]\ndata_folder = \"/none\"\n{text}"), None).unwrap()
    }

    #[tokio::test]
    async fn files_that_are_no_drivers_and_drivers_that_are_switched_off_say_why() {
        let folder = tempfile::tempdir().unwrap();
        for kind in ["broken", "off", "pinned"] {
            std::fs::write(folder.path().join(format!("{kind}.wasm")), b"no wasm").unwrap();
        }
        std::fs::write(folder.path().join("readme.txt"), b"").unwrap();
        let pin = "0".repeat(64);
        let listed = inspect(&config(&format!(
            "[drivers]\nfolder = {:?}\n[drivers.off]\nenabled = false\n\
             [drivers.pinned]\nsha256 = \"{pin}\"\n[drivers.gone]\ncomponent = \"/no/such.wasm\"",
            folder.path()
        )))
        .await
        .unwrap();
        let told: Vec<(&str, &str, &str)> = listed
            .drivers
            .iter()
            .map(|row| {
                (
                    row.kind.as_str(),
                    row.state.as_str(),
                    row.reason.as_deref().unwrap_or(""),
                )
            })
            .collect();
        let expected = [
            ("broken", "refused", "not WebAssembly"),
            ("gone", "refused", "/no/such.wasm"),
            ("off", "disabled", "[drivers.off] enabled = false"),
            ("pinned", "refused", "not the one the configuration names"),
        ];
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for ((kind, state, reason), (wanted_kind, wanted_state, part)) in told.iter().zip(expected)
        {
            assert_eq!((*kind, *state), (wanted_kind, wanted_state));
            assert!(reason.contains(part), "{kind}: {reason}");
        }
    }

    #[tokio::test]
    async fn a_build_without_drivers_says_how_to_build_them() {
        let listed = inspect(&config("[drivers]\nfolder = \"/no/such/folder\""))
            .await
            .unwrap();
        assert!(listed.drivers.is_empty());
        assert!(
            listed.advice().contains("cargo xtask build"),
            "{}",
            listed.advice()
        );
    }
}
