//! Opening the file of a journal: private, migrated with a backup before, whole.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use domain::session::ProviderSession;
use domain::view::View;
use migrations::MigrateError;
use redb::{Builder, Database, DatabaseError, Durability, ReadableDatabase, ReadableTableMetadata};

use crate::clock::IdSource;
use crate::limits::STORE_CACHE_BYTES_MAX;
use crate::store::{Ends, OpenSource, ReadTables, State, StoreError, Tables};

/// Only the owner may read a journal: it holds everything agents and people said.
const PRIVATE: u32 = 0o600;

/// Word in the meta table under which the store's id stands.
const STORE_ID_WORD: &str = "store_id";

/// Why a journal can't be opened. The texts are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process holds the file.
    #[error("{path} is in use by another process: stop the other host, or use another data folder")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// It can't be brought to the schema of this build, or is of a later one.
    #[error("{path}: {source}")]
    Migrate {
        /// The file.
        path: PathBuf,
        /// Why.
        source: MigrateError,
    },
    /// The file system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no database, or a damaged one.
    #[error(
        "{path} can't be opened: {source}; restore a backup, or move the file away to start anew"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: StoreError,
    },
}

/// A journal's file, open and of the present schema.
pub(crate) struct Opened {
    pub(crate) database: Database,
    pub(crate) store_id: String,
    pub(crate) ends: Ends,
    pub(crate) left_behind: Vec<ProviderSession>,
    pub(crate) source: OpenSource,
}

/// Opens the file, makes it if there is none, and migrates it after a backup.
pub(crate) fn open(path: &Path, ids: &dyn IdSource) -> Result<Opened, OpenError> {
    make_private(path).map_err(|source| OpenError::Io {
        path: path.to_owned(),
        source,
    })?;
    let mut database = open_file(path)?;
    let migrate = |source| OpenError::Migrate {
        path: path.to_owned(),
        source,
    };
    let found = migrations::schema_of(&database).map_err(migrate)?;
    if let Some(schema) = found.filter(|schema| *schema < migrations::SCHEMA) {
        // Closed while it is copied, so that the backup opens without a repair.
        drop(database);
        back_up(path, schema).map_err(|source| OpenError::Io {
            path: path.to_owned(),
            source,
        })?;
        database = open_file(path)?;
    }
    for step in migrations::migrate(&database).map_err(migrate)? {
        tracing::info!(schema = step.schema, step = step.name, "journal migrated");
    }
    let file = path.to_owned();
    let source: OpenSource = Box::new(move || Ok(Box::new(File::open(&file)?)));
    examine(database, source, ids).map_err(|source| OpenError::Damaged {
        path: path.to_owned(),
        source,
    })
}

/// Makes the file if there is none. Its name is durable before anything in it is.
fn make_private(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE)
        .open(path)?;
    sync_folder_of(path)
}

/// Makes the names in the folder of a file durable.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        Some(folder) => File::open(folder)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

fn open_file(path: &Path) -> Result<Database, OpenError> {
    let opened = Builder::new()
        .set_cache_size(STORE_CACHE_BYTES_MAX)
        .create(path);
    opened.map_err(|fault| match fault {
        DatabaseError::DatabaseAlreadyOpen => OpenError::InUse {
            path: path.to_owned(),
        },
        fault => OpenError::Damaged {
            path: path.to_owned(),
            source: StoreError::from(redb::Error::from(fault)),
        },
    })
}

/// Where the copy of a file of this schema goes.
fn backup_path(path: &Path, schema: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".schema-{schema}.backup"));
    PathBuf::from(name)
}

/// Copies the file beside itself. A copy under the final name is whole, wherever the host is killed.
fn back_up(path: &Path, schema: u32) -> io::Result<()> {
    let target = backup_path(path, schema);
    let mut unfinished = target.as_os_str().to_owned();
    unfinished.push(".unfinished");
    std::fs::copy(path, &unfinished)?;
    File::open(&unfinished)?.sync_all()?;
    std::fs::rename(&unfinished, &target)?;
    sync_folder_of(&target)?;
    tracing::info!(backup = %target.display(), schema, "journal backed up before its migration");
    Ok(())
}

/// Reads what the host must know before it writes.
pub(crate) fn examine(
    database: Database,
    source: OpenSource,
    ids: &dyn IdSource,
) -> Result<Opened, StoreError> {
    let store_id = store_id(&database, ids)?;
    let state = State(ReadTables::new(database.begin_read()?));
    let ends = Ends::read(&state.0)?;
    let stored = state.0.events()?.len()?;
    if stored != ends.sequence {
        return Err(StoreError::Gap {
            stored,
            newest: ends.sequence,
        });
    }
    let left_behind = state.open_sessions()?;
    drop(state);
    Ok(Opened {
        database,
        store_id,
        ends,
        left_behind,
        source,
    })
}

/// The id of this store, made the first time it is opened.
fn store_id(database: &Database, ids: &dyn IdSource) -> Result<String, StoreError> {
    let stored = {
        let meta = database.begin_read()?.open_table(migrations::META)?;
        meta.get(STORE_ID_WORD)?.map(|id| id.value().to_owned())
    };
    if let Some(id) = stored {
        return Ok(id);
    }
    let id = format!("store-{:032x}", ids.bits());
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    transaction
        .open_table(migrations::META)?
        .insert(STORE_ID_WORD, id.as_str())?;
    transaction.commit()?;
    Ok(id)
}

#[cfg(test)]
mod tests;
