//! Journals written by earlier builds are opened by this one, with everything in them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::authority::{Authority, HumanEntry};
use domain::command::SendMode;
use domain::event::Event;
use domain::ids::ThreadId;
use domain::message::{CreatedBy, CreationSource, Message, Role};
use domain::request::{Prompt, RequestStatus};
use domain::run::{EndReason, RunPurpose, RunStatus};
use domain::task::{DeliveryState, TaskStatus, TransferKind};
use domain::view::View;
use sha2::{Digest, Sha256};
use threads::clock::{RandomIds, SystemClock};
use threads::service::{ServiceSettings, ThreadDefaults, ThreadManagementService};
use threads::store::{Reader, compare_with_events};
use threads::{Journal, Running};

use crate::support::fake_providers::{FakeProviders, instance};

/// Instance the golden threads run on.
const INSTANCE: &str = "codex-main";

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations/golden")
}

/// Every golden file with its hash, as listed.
fn listed() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(golden().join("SHA256SUMS")).unwrap();
    text.lines()
        .map(|line| {
            let (hash, name) = line.split_once("  ").unwrap();
            (name.to_owned(), hash.to_owned())
        })
        .collect()
}

/// A copy that may be changed.
fn copy_of(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal.redb");
    std::fs::copy(golden().join(name), &file).unwrap();
    (folder, file)
}

fn open(file: &Path) -> Journal {
    Journal::open(file, Arc::new(SystemClock), Arc::new(RandomIds)).unwrap()
}

async fn start(file: &Path) -> (Running, Arc<FakeProviders>) {
    let providers = FakeProviders::of(vec![instance(INSTANCE, "codex", &["m1"])]);
    (
        open(file).start(providers.clone()).await.unwrap(),
        providers,
    )
}

/// Every message, from the events alone, in its last state.
fn messages(reader: &Reader) -> Vec<Message> {
    let mut found = BTreeMap::new();
    let mut after = 0;
    loop {
        let page = reader.events_after(after, usize::MAX).unwrap();
        let Some((last, _)) = page.last() else {
            return found.into_values().collect();
        };
        after = *last;
        for (_, event) in page {
            if let Event::MessageUpdated(message) = event {
                found.insert(message.id.to_string(), message);
            }
        }
    }
}

#[test]
fn every_golden_store_is_listed_and_unchanged() {
    let listed = listed();
    let mut there = BTreeSet::new();
    for entry in std::fs::read_dir(golden()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "redb") {
            there.insert(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    assert_eq!(there, listed.keys().cloned().collect());
    for (name, hash) in &listed {
        let digest = Sha256::digest(std::fs::read(golden().join(name)).unwrap());
        let found: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(&found, hash, "{name} was changed");
    }
}

#[test]
fn there_is_one_golden_store_for_each_schema() {
    let expected: Vec<String> = migrations::STEPS
        .iter()
        .map(|step| format!("{:04}.redb", step.schema))
        .collect();
    let names: Vec<String> = listed().into_keys().collect();
    assert_eq!(names, expected);
    for (name, schema) in names.iter().zip(1..) {
        let (_folder, file) = copy_of(name);
        let database = redb::Database::open(&file).unwrap();
        assert_eq!(migrations::schema_of(&database).unwrap(), Some(schema));
    }
}

#[test]
fn every_golden_store_is_whole() {
    for name in listed().keys() {
        let (_folder, file) = copy_of(name);
        let mut database = redb::Database::open(&file).unwrap();
        assert!(database.check_integrity().unwrap(), "{name} as written");
        drop(database);
        drop(open(&file));
        let mut database = redb::Database::open(&file).unwrap();
        assert!(database.check_integrity().unwrap(), "{name} as migrated");
        assert_eq!(
            migrations::schema_of(&database).unwrap(),
            Some(migrations::SCHEMA)
        );
    }
}

#[test]
fn three_threads_and_200_messages_are_found_each_with_its_provenance() {
    for name in listed().keys() {
        let (_folder, file) = copy_of(name);
        let journal = open(&file);
        let reader = journal.store().reader().unwrap();
        let threads = reader.threads(0, usize::MAX).unwrap();
        assert_eq!(threads.len(), 3, "{name}");
        let known: BTreeSet<ThreadId> = threads.into_iter().map(|it| it.id).collect();
        let messages = messages(&reader);
        assert_eq!(messages.len(), 200, "{name}");
        for message in messages {
            let stored = reader.message(&message.id).unwrap();
            assert_eq!(stored.as_ref(), Some(&message), "{name}");
            assert!(known.contains(&message.thread_id), "{message:?}");
            check_provenance(&message);
        }
    }
}

/// Who wrote it is said, and nothing that does not fit.
fn check_provenance(message: &Message) {
    let from = &message.provenance;
    let source_thread = from.source_thread_id.is_some();
    let source_run = from.source_run_id.is_some();
    let source_instance = from.source_provider_instance_id.is_some();
    let sources = (source_thread, source_run, source_instance);
    match (message.role, from.created_by, from.creation_source) {
        (Role::User, CreatedBy::User, CreationSource::Cli) => {
            assert_eq!(sources, (false, false, false), "{message:?}");
        }
        (Role::User, CreatedBy::Agent, CreationSource::Mcp) => {
            assert_eq!(sources, (true, true, true), "{message:?}");
        }
        (Role::User, CreatedBy::Agent, CreationSource::Server) => {
            assert!(message.wakes.is_some(), "{message:?}");
        }
        (Role::Assistant, CreatedBy::Agent, CreationSource::Provider) => {
            assert!(source_run && source_instance, "{message:?}");
            assert_eq!(from.source_model.as_deref(), Some("m1"), "{message:?}");
        }
        other => panic!("nobody writes like {other:?}: {message:?}"),
    }
}

#[test]
fn projections_are_what_the_events_say() {
    for name in listed().keys() {
        let (_folder, file) = copy_of(name);
        let journal = open(&file);
        let reader = journal.store().reader().unwrap();
        let differences = compare_with_events(&reader).unwrap();
        assert!(differences.is_empty(), "{name}: {differences:?}");
    }
}

#[test]
fn the_first_stores_story_is_read_as_it_was_written() {
    let (_folder, file) = copy_of("0001.redb");
    let journal = open(&file);
    let reader = journal.store().reader().unwrap();
    let threads = reader.threads(0, usize::MAX).unwrap();

    let child = threads.iter().find(|it| it.lineage.depth == 1).unwrap();
    let link = child.lineage.parent.clone().unwrap();
    let task = reader.task(&link.task_id).unwrap().unwrap();
    let result = task.result.unwrap();
    assert_eq!(result.status, TaskStatus::Completed);
    assert_eq!(result.summary, "It copies each token three times.");
    assert_eq!(task.delivery.unwrap().state, DeliveryState::Acknowledged);
    for (from, to, kind) in [
        (&link.thread_id, &child.id, TransferKind::SubagentSpawn),
        (&child.id, &link.thread_id, TransferKind::SubagentResult),
    ] {
        assert!(reader.transfer(from, to, kind).unwrap().is_some());
    }
    let runs = reader.runs_of(&link.thread_id).unwrap();
    let wakes = runs.iter().filter(|it| it.purpose == RunPurpose::Wake);
    assert_eq!(wakes.count(), 1);
    assert!(runs.iter().all(|it| it.status == RunStatus::Completed));

    let other = threads
        .iter()
        .find(|it| it.lineage.depth == 0 && it.id != link.thread_id)
        .unwrap();
    let cut = reader.latest_run(&other.id).unwrap().unwrap();
    assert_eq!(cut.status, RunStatus::Interrupted);
    assert_eq!(cut.reason, Some(EndReason::HostRestarted));

    let request = |id: &str| {
        let id = domain::ids::RequestId::new(id);
        reader.request(&id).unwrap().unwrap()
    };
    let approval = request("request-approval");
    assert!(matches!(approval.prompt, Prompt::Approval(_)));
    assert!(matches!(approval.status, RequestStatus::Resolved(_)));
    let question = request("request-question");
    assert!(matches!(question.prompt, Prompt::Questions(_)));
    assert!(matches!(question.status, RequestStatus::Resolved(_)));
    let open = request("request-open");
    assert!(matches!(open.status, RequestStatus::Invalidated(_)));
    assert_eq!(reader.open_runs().unwrap(), []);
    assert_eq!(reader.open_sessions().unwrap(), []);
}

#[tokio::test]
async fn work_goes_on_in_a_store_of_an_earlier_build() {
    for name in listed().keys() {
        let (_folder, file) = copy_of(name);
        let (running, providers) = start(&file).await;
        let settings = ServiceSettings {
            delegation_depth_max: 4,
            defaults: ThreadDefaults {
                provider: None,
                model: None,
                modes: domain::modes::Modes {
                    runtime: domain::modes::RuntimeMode::ApprovalRequired,
                    interaction: domain::modes::InteractionMode::Default,
                },
            },
        };
        let service = ThreadManagementService::new(
            running.writer(),
            running.store(),
            running.changes(),
            providers.clone(),
            settings,
        );
        assert_eq!(providers.work(), [], "nothing starts by itself");
        let person = Authority::Human(HumanEntry::CommandLine);
        for row in service.threads(&person, 0, 100).await.unwrap() {
            let known = row.thread.native.clone().unwrap();
            let text = "go on".to_owned();
            let sent = service.send(&person, &row.thread.id, text, SendMode::Auto);
            let run = sent.await.unwrap().run_id;
            let (opening, text) = providers.turn(&run).await;
            assert_eq!((opening.native, text.as_str()), (Some(known), "go on"));
        }
        let reader = running.store().reader().unwrap();
        assert_eq!(messages(&reader).len(), 203);
        assert!(compare_with_events(&reader).unwrap().is_empty());
        let ended = reader.runs_of(&reader.threads(0, 1).unwrap()[0].id);
        assert!(ended.unwrap().iter().any(|it| it.status.is_terminal()));
    }
}
