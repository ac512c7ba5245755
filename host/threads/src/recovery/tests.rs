use std::os::unix::fs::PermissionsExt;

use domain::view::View;
use redb::TableDefinition;

use super::*;
use crate::clock::{RandomIds, SystemClock};
use crate::journal::Journal;
use crate::testing::{Folder, Host};

fn refusal(path: &Path) -> OpenError {
    let opened = Journal::open(
        path,
        std::sync::Arc::new(SystemClock),
        std::sync::Arc::new(RandomIds),
    );
    opened.map(|_| ()).unwrap_err()
}

/// Changes a journal's file behind its back.
fn tamper(path: &Path, change: impl FnOnce(&redb::WriteTransaction)) {
    let database = Database::create(path).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
}

#[tokio::test]
async fn only_the_owner_may_read_a_journal_and_its_backup() {
    let folder = Folder::new();
    Host::start(&folder.file(), 1).await.stop().await;
    back_up(&folder.file(), 1).unwrap();
    for path in [folder.file(), backup_path(&folder.file(), 1)] {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, PRIVATE, "{}", path.display());
    }
}

#[tokio::test]
async fn a_backup_is_a_journal_with_everything_in_it() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    host.project("a").await;
    host.stop().await;
    back_up(&folder.file(), 1).unwrap();
    // A second one takes the place of the first.
    back_up(&folder.file(), 1).unwrap();
    let restored = Host::start(&backup_path(&folder.file(), 1), 2).await;
    assert_eq!(restored.reader().projects().unwrap().len(), 1);
    restored.stop().await;
    let names: Vec<_> = std::fs::read_dir(folder.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[tokio::test]
async fn a_journal_that_is_present_gets_no_backup() {
    let folder = Folder::new();
    for seed in [1, 2] {
        Host::start(&folder.file(), seed).await.stop().await;
    }
    assert_eq!(std::fs::read_dir(folder.folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn two_hosts_cannot_hold_one_journal() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let refused = refusal(&folder.file());
    assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
    assert!(refused.to_string().contains("stop the other host"));
    host.stop().await;
    Host::start(&folder.file(), 2).await.stop().await;
}

#[tokio::test]
async fn a_journal_of_a_later_build_is_refused_and_stays_as_it_was() {
    let folder = Folder::new();
    Host::start(&folder.file(), 1).await.stop().await;
    tamper(&folder.file(), |transaction| {
        let mut meta = transaction.open_table(migrations::META).unwrap();
        meta.insert(migrations::SCHEMA_WORD, "999").unwrap();
    });
    let before = std::fs::read(folder.file()).unwrap();
    let refused = refusal(&folder.file());
    assert!(
        matches!(
            refused,
            OpenError::Migrate {
                source: MigrateError::TooNew { found: 999, .. },
                ..
            }
        ),
        "{refused}"
    );
    assert!(refused.to_string().contains("999"), "{refused}");
    let database = Database::create(folder.file()).unwrap();
    assert_eq!(migrations::schema_of(&database).unwrap(), Some(999));
    assert_eq!(before.len(), std::fs::read(folder.file()).unwrap().len());
}

#[test]
fn what_is_no_journal_is_refused_and_stays_as_it_was() {
    let folder = Folder::new();
    std::fs::write(folder.file(), b"notes of somebody").unwrap();
    let refused = refusal(&folder.file());
    assert!(matches!(refused, OpenError::Damaged { .. }), "{refused}");
    assert_eq!(std::fs::read(folder.file()).unwrap(), b"notes of somebody");

    let other = Folder::new();
    tamper(&other.file(), |transaction| {
        transaction
            .open_table(TableDefinition::<u64, u64>::new("accounts"))
            .unwrap();
    });
    let refused = refusal(&other.file());
    assert!(
        matches!(
            refused,
            OpenError::Migrate {
                source: MigrateError::Foreign,
                ..
            }
        ),
        "{refused}"
    );
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = Folder::new();
    let refused = refusal(&folder.folder.path().join("no").join("journal.redb"));
    assert!(matches!(refused, OpenError::Io { .. }), "{refused}");
    assert!(
        refused.to_string().contains("/no/journal.redb"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_journal_with_a_gap_is_refused() {
    let folder = Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    host.project("a").await;
    host.project("b").await;
    host.stop().await;
    tamper(&folder.file(), |transaction| {
        let events = TableDefinition::<u64, &[u8]>::new("events");
        transaction.open_table(events).unwrap().remove(1).unwrap();
    });
    let refused = refusal(&folder.file());
    assert!(
        matches!(
            refused,
            OpenError::Damaged {
                source: StoreError::Gap {
                    stored: 1,
                    newest: 2
                },
                ..
            }
        ),
        "{refused}"
    );
}
