//! Ordered steps that bring a journal of any earlier schema to the present one.
//!
//! Each step is one transaction that also writes the new schema number, so a host killed anywhere
//! finds the file at a step boundary. Shapes used by a step are frozen in its own file: nothing
//! here may depend on the host's present types.
#![forbid(unsafe_code)]

mod step_0001;
mod step_0002;

use redb::{
    Database, Durability, ReadableDatabase, TableDefinition, TableError, TableHandle,
    WriteTransaction,
};

/// Facts about the file itself, by word.
pub const META: TableDefinition<'static, &'static str, &'static str> = TableDefinition::new("meta");

/// Word in [`META`] under which the schema number stands, in decimal.
pub const SCHEMA_WORD: &str = "schema";

/// One step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Schema number the file has afterwards; its predecessor's is one less.
    pub schema: u32,
    /// What it does, in a few words.
    pub name: &'static str,
    run: fn(&WriteTransaction) -> Result<(), redb::Error>,
}

/// Every step, in order.
pub const STEPS: &[Step] = &[
    Step {
        schema: 1,
        name: "first journal: events, projections, receipts, outbox",
        run: step_0001::run,
    },
    Step {
        schema: 2,
        name: "worktrees, checkpoints, attempts, upkeep of threads",
        run: step_0002::run,
    },
];

/// Schema number this build writes.
pub const SCHEMA: u32 = 2;

/// Why a file was not brought to the present schema.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// A later build wrote it.
    #[error(
        "the journal has schema {found}, this build knows up to {known}: \
         start the build that wrote it, or restore the backup made before it was upgraded"
    )]
    TooNew {
        /// Number in the file.
        found: u32,
        /// Newest number this build knows.
        known: u32,
    },
    /// It is a redb file, but not a journal.
    #[error("the file is a database of something else: it has tables but no schema number")]
    Foreign,
    /// The schema number can't be read.
    #[error("the journal's schema number is not a number: {0:?}")]
    Malformed(String),
    /// No step leads on from the file's schema.
    #[error("no step leads on from schema {0}")]
    NoStep(u32),
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[from] redb::Error),
}

/// The schema number of a file; `None` for a file with nothing in it.
///
/// # Errors
/// [`MigrateError::Foreign`], [`MigrateError::Malformed`], or the store's.
pub fn schema_of(database: &Database) -> Result<Option<u32>, MigrateError> {
    let read = database.begin_read().map_err(redb::Error::from)?;
    let meta = match read.open_table(META) {
        Ok(meta) => meta,
        Err(TableError::TableDoesNotExist(_)) => {
            let mut tables = read.list_tables().map_err(redb::Error::from)?;
            return if tables.next().is_none() {
                Ok(None)
            } else {
                Err(MigrateError::Foreign)
            };
        }
        Err(fault) => return Err(redb::Error::from(fault).into()),
    };
    let stored = meta
        .get(SCHEMA_WORD)
        .map_err(redb::Error::from)?
        .ok_or(MigrateError::Foreign)?;
    let number = stored.value();
    number
        .parse()
        .map(Some)
        .map_err(|_| MigrateError::Malformed(number.to_owned()))
}

/// Does the next step, durably, and answers which it was; `None` when the file is up to date.
///
/// # Errors
/// [`MigrateError`]; the file is then as it was.
pub fn advance(database: &Database) -> Result<Option<Step>, MigrateError> {
    let found = schema_of(database)?.unwrap_or(0);
    if found > SCHEMA {
        return Err(MigrateError::TooNew {
            found,
            known: SCHEMA,
        });
    }
    if found == SCHEMA {
        return Ok(None);
    }
    let step = STEPS
        .iter()
        .find(|step| step.schema == found.saturating_add(1))
        .ok_or(MigrateError::NoStep(found))?;
    apply(database, step)?;
    Ok(Some(*step))
}

/// Brings the file to the present schema and answers the steps done, in order.
///
/// # Errors
/// [`MigrateError`]; the steps before the failed one are done and stay.
pub fn migrate(database: &Database) -> Result<Vec<Step>, MigrateError> {
    let mut done = Vec::new();
    while let Some(step) = advance(database)? {
        done.push(step);
    }
    Ok(done)
}

fn apply(database: &Database, step: &Step) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    (step.run)(&transaction)?;
    transaction
        .open_table(META)?
        .insert(SCHEMA_WORD, step.schema.to_string().as_str())?;
    transaction.commit()?;
    Ok(())
}

/// Names of the tables in a file, sorted.
///
/// # Errors
/// The store's.
pub fn table_names(database: &Database) -> Result<Vec<String>, redb::Error> {
    let read = database.begin_read()?;
    let mut names: Vec<String> = read
        .list_tables()?
        .map(|table| table.name().to_owned())
        .collect();
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests;
