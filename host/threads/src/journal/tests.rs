//! What a caller was told survives whatever happens to the disk and to the host.

use std::sync::Arc;

use domain::error::DenialCode;
use domain::ids::ProjectId;
use domain::view::View;

use crate::clock::SimulatedClock;
use crate::journal::Journal;
use crate::store::compare_with_events;
use crate::testing::disk::{Crash, Disk, Fault};
use crate::testing::{Host, START, add, create, key, on_disk, uncached};
use crate::writer::{Answered, Poison, Replay};

/// One call of a script: what it is called with, and what was answered.
struct Call {
    number: usize,
    answered: Option<Answered>,
}

impl Call {
    /// Every third call makes a Project, the others threads with a run in the newest one.
    async fn make(&mut self, host: &Host, projects: &[ProjectId]) -> Result<(), DenialCode> {
        let number = self.number;
        let command = match projects.last().filter(|_| !number.is_multiple_of(3)) {
            Some(project) => create(project, Some(&format!("prompt {number}"))),
            None => add(&format!("project {number}")),
        };
        let answered = host.keyed(key(&number.to_string(), "d"), command).await;
        match answered {
            Ok(answered) => self.answered = Some(answered),
            Err(denial) => return Err(denial.code),
        }
        Ok(())
    }
}

fn projects(host: &Host) -> Vec<ProjectId> {
    let events = host.reader().events_after(0, 1_000).unwrap();
    events
        .into_iter()
        .filter_map(|(_, event)| match event {
            domain::event::Event::ProjectAdded(project) => Some(project.id),
            _ => None,
        })
        .collect()
}

/// Opens what was left, and says what is wrong with it: each answer given before must still stand.
async fn examine(left: &Disk, calls: &[Call]) -> Result<(), String> {
    let (journal, clock) = match on_disk(left, 77) {
        Ok(opened) => opened,
        Err(fault) => return Err(format!("it does not open: {fault}")),
    };
    let told = calls.iter().filter_map(|call| call.answered.as_ref());
    let newest = told.map(|answered| answered.sequence).max().unwrap_or(0);
    let reader = journal.store().reader().unwrap();
    let sequence = reader.sequence().unwrap();
    if sequence < newest {
        return Err(format!("it ends at {sequence}, but {newest} was told"));
    }
    let differences = compare_with_events(&reader).unwrap();
    if !differences.is_empty() {
        return Err(format!("projections differ: {differences:?}"));
    }
    drop(reader);
    let host = Host::of(journal, clock).await;
    for call in calls {
        let Some(told) = &call.answered else { continue };
        let again = host
            .keyed(key(&call.number.to_string(), "d"), add("unused"))
            .await;
        let expected = Answered {
            replay: Replay::Repeated,
            ..told.clone()
        };
        if again != Ok(expected) {
            return Err(format!(
                "call {} was told {told:?}, now {again:?}",
                call.number
            ));
        }
    }
    host.stop().await;
    let mut database = redb::Builder::new()
        .create_with_backend(left.clone())
        .unwrap();
    match database.check_integrity() {
        Ok(true) => Ok(()),
        verdict => Err(format!("integrity: {verdict:?}")),
    }
}

/// Makes `count` calls with a crash kept just before the sync of each, and examines what that left.
async fn crash_at_every_commit(
    disk: &Disk,
    count: usize,
    crash: impl Fn(u64) -> Crash,
) -> Result<(), String> {
    let (journal, clock) = on_disk(disk, 1).unwrap();
    let host = Host::of(journal, clock).await;
    let mut calls: Vec<Call> = Vec::new();
    for number in 0..count {
        disk.capture_at_next_sync(crash(number as u64));
        let mut call = Call {
            number,
            answered: None,
        };
        call.make(&host, &projects(&host)).await.unwrap();
        let left = disk.captured().expect("an answer came without a sync");
        examine(&left, &calls).await?;
        calls.push(call);
        examine(&disk.crashed(crash(number as u64)), &calls).await?;
    }
    host.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_crash_that_loses_all_unsynced_writes_loses_no_answer() {
    crash_at_every_commit(&Disk::default(), 12, |_| Crash::Nothing)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_crash_that_tears_unsynced_writes_loses_no_answer() {
    for sector in [512, 4_096] {
        let crash = |seed| Crash::Torn {
            sector,
            seed: seed + 1,
        };
        crash_at_every_commit(&Disk::default(), 12, crash)
            .await
            .unwrap();
    }
}

/// Without this, the two tests above could pass on a journal that never syncs.
#[tokio::test]
async fn a_disk_that_only_pretends_to_sync_is_found_out() {
    let disk = Disk::default();
    let (journal, clock) = on_disk(&disk, 1).unwrap();
    let host = Host::of(journal, clock).await;
    disk.pretend_to_sync();
    let mut call = Call {
        number: 0,
        answered: None,
    };
    call.make(&host, &[]).await.unwrap();
    let found = examine(&disk.crashed(Crash::Nothing), &[call]).await;
    assert!(found.is_err_and(|fault| fault.contains("was told")));
    host.stop().await;
}

/// Moves a fault on by one call at a time until the script runs through.
async fn fail_at_every_call(fault: impl Fn(u64) -> Fault) {
    const CALLS: usize = 4;
    let fresh = Disk::default();
    let (journal, clock) = on_disk(&fresh, 1).unwrap();
    Host::of(journal, clock).await.stop().await;

    let mut faults_met = 0;
    for at in 1.. {
        let disk = fresh.restarted();
        let (journal, clock) = on_disk(&disk, 2).unwrap();
        let host = Host::of(journal, clock).await;
        disk.fail(fault(at));
        let mut calls: Vec<Call> = Vec::new();
        let mut refused = 0;
        for number in 0..CALLS {
            let mut call = Call {
                number,
                answered: None,
            };
            match call.make(&host, &projects(&host)).await {
                Ok(()) => assert_eq!(refused, 0, "a write was taken after a fault at {at}"),
                Err(code) => {
                    assert_eq!(code, DenialCode::StorageUnavailable);
                    refused += 1;
                }
            }
            calls.push(call);
        }
        if refused > 0 {
            faults_met += 1;
            assert_eq!(
                host.reader().projects().unwrap().len(),
                projects(&host).len()
            );
            let poison = host.running.health().wait_poisoned().await;
            assert!(
                matches!(poison, Poison::Storage(_) | Poison::CommitUnknown(_)),
                "{poison}"
            );
            assert!(
                host.running
                    .changes()
                    .feed()
                    .past(u64::MAX - 1)
                    .await
                    .is_err()
            );
        }
        let stopped = host.try_stop().await;
        let ran_through = refused == 0 && stopped.is_ok() && disk.calls() < at;
        examine(&disk.restarted(), &calls).await.unwrap();
        examine(
            &disk.crashed(Crash::Torn {
                sector: 512,
                seed: at,
            }),
            &calls,
        )
        .await
        .unwrap();
        settle_by_retry(&disk.restarted(), &mut calls).await;
        if ran_through {
            break;
        }
    }
    assert!(faults_met > 20, "only {faults_met} faults were met");
}

/// Makes every call again with its key: what was stored unanswered is not done twice.
async fn settle_by_retry(disk: &Disk, calls: &mut [Call]) {
    let (journal, clock) = on_disk(disk, 3).unwrap();
    let host = Host::of(journal, clock).await;
    for call in calls.iter_mut() {
        call.make(&host, &projects(&host)).await.unwrap();
    }
    let projects = calls
        .iter()
        .filter(|call| call.number.is_multiple_of(3))
        .count();
    assert_eq!(host.reader().projects().unwrap().len(), projects);
    assert_eq!(
        host.reader().threads(0, 100).unwrap().len(),
        calls.len() - projects
    );
    host.stop().await;
}

#[tokio::test]
async fn after_a_single_fault_nothing_is_written_until_a_restart_and_no_answer_is_lost() {
    fail_at_every_call(Fault::Once).await;
}

#[tokio::test]
async fn after_a_lasting_fault_nothing_is_written_until_a_restart_and_no_answer_is_lost() {
    fail_at_every_call(Fault::From).await;
}

/// With nothing in the engine's memory, every read goes to the disk.
#[tokio::test]
async fn reads_go_on_after_a_fault_also_of_what_was_not_in_memory() {
    let disk = Disk::default();
    let (journal, clock) = uncached(&disk, 1).unwrap();
    let host = Host::of(journal, clock).await;
    let project = host.project("a").await;
    for number in 0..50 {
        host.submit(create(&project, Some(&format!("prompt {number}"))))
            .await
            .unwrap();
    }
    let threads = host.reader().threads(0, 100).unwrap();
    let sequence = host.reader().sequence().unwrap();
    // What is still being handed over would meet the fault on its own.
    host.port.work(50).await;
    disk.fail(Fault::From(1));
    let refused = host.submit(add("b")).await.unwrap_err();
    assert_eq!(refused.code, DenialCode::StorageUnavailable);
    let mut feed = host.running.changes().feed();
    while feed.past(u64::MAX - 1).await.is_ok() {}
    assert_eq!(host.reader().threads(0, 100).unwrap(), threads);
    assert_eq!(host.reader().sequence().unwrap(), sequence);
    assert_eq!(compare_with_events(&host.reader()).unwrap(), []);
    host.stop().await;
}

#[tokio::test]
async fn a_host_killed_under_load_left_every_answer_in_the_file() {
    let folder = crate::testing::Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let project = host.project("a").await;
    let mut load = tokio::task::JoinSet::new();
    for call in 0..200_usize {
        let (writer, command) = (host.running.writer(), create(&project, Some("work")));
        load.spawn(async move {
            let key = key(&call.to_string(), "d");
            (call, writer.submit(Some(key), command).await.unwrap())
        });
    }
    let mut calls = Vec::new();
    let mut copies = 0;
    while let Some(done) = load.join_next().await {
        let (number, answered) = done.unwrap();
        calls.push(Call {
            number,
            answered: Some(answered),
        });
        if calls.len().is_multiple_of(50) {
            let file = folder.killed_now(&format!("killed-{copies}.redb"));
            copies += 1;
            let left = Disk::holding_file(&file);
            examine(&left, &calls).await.unwrap();
        }
    }
    assert_eq!(copies, 4);
    host.stop().await;
}

#[tokio::test]
async fn what_the_last_host_left_is_settled_before_anything_is_handed_over() {
    let folder = crate::testing::Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let (thread, run) = host.thread("a", Some("work")).await;
    let run = run.unwrap();
    host.port.work(1).await;
    let process = domain::provider_event::ProviderEvent::ProcessStarted {
        pid: 9,
        start_ticks: 8,
    };
    for report in [
        crate::testing::attached("s", &thread),
        crate::testing::report("s", process),
        crate::testing::turn_started("s", &run),
    ] {
        host.reports.send(report).await.unwrap();
    }
    let mut watch = host.running.changes().subscribe(&thread);
    while host
        .reader()
        .run(&run)
        .unwrap()
        .unwrap()
        .started_at
        .is_none()
    {
        watch.changed().await.unwrap();
    }
    let left = folder.killed_now("left.redb");

    let (journal, clock) = crate::testing::open(&left, 2);
    let behind = journal.left_behind();
    assert_eq!(behind.len(), 1);
    assert_eq!(
        (
            behind[0].processes[0].pid,
            behind[0].processes[0].start_ticks
        ),
        (9, 8)
    );
    let second = Host::of(journal, clock).await;
    let settled = second.reader().run(&run).unwrap().unwrap();
    assert_eq!(settled.status, domain::run::RunStatus::Interrupted);
    assert_eq!(settled.reason, Some(domain::run::EndReason::HostRestarted));
    assert_eq!(second.reader().open_sessions().unwrap(), []);
    assert_eq!(second.reader().outbox_len().unwrap(), 0);
    assert_eq!(second.port.so_far(), []);
    assert_eq!(compare_with_events(&second.reader()).unwrap(), []);
    second.stop().await;
    host.stop().await;
}

#[tokio::test]
async fn left_behind_processes_are_named_until_a_host_has_settled_them() {
    let folder = crate::testing::Folder::new();
    let host = Host::start(&folder.file(), 1).await;
    let process = domain::provider_event::ProviderEvent::ProcessStarted {
        pid: 9,
        start_ticks: 8,
    };
    host.reports
        .send(crate::testing::report("s", process))
        .await
        .unwrap();
    host.stop().await;
    for _ in 0..2 {
        let (journal, _) = crate::testing::open(&folder.file(), 2);
        assert_eq!(
            journal.left_behind().len(),
            1,
            "opening alone settles nothing"
        );
    }
    Host::start(&folder.file(), 3).await.stop().await;
    let (journal, _) = crate::testing::open(&folder.file(), 4);
    assert_eq!(journal.left_behind(), []);
}

#[tokio::test]
async fn a_store_keeps_its_id() {
    let folder = crate::testing::Folder::new();
    let id = {
        let (journal, _) = crate::testing::open(&folder.file(), 1);
        journal.store_id().to_owned()
    };
    let (journal, _) = crate::testing::open(&folder.file(), 2);
    assert_eq!(journal.store_id(), id);
    let other = crate::testing::Folder::new();
    assert_ne!(crate::testing::open(&other.file(), 2).0.store_id(), id);
}

#[test]
fn handles_can_be_shared_between_tasks() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<crate::store::Store>();
    shared::<crate::writer::WriterHandle>();
    shared::<crate::changes::Changes>();
    shared::<crate::writer::Health>();
    fn movable<T: Send + Sync>() {}
    movable::<crate::store::Reader>();
    movable::<crate::Running>();
    movable::<Arc<SimulatedClock>>();
    fn moved<T: Send>() {}
    moved::<Journal>();
    assert_eq!(START.millis(), 1_800_000_000_000);
}
