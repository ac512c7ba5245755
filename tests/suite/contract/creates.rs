//! What a person makes: Projects and threads, and what stands about them.

use domain::error::DenialCode;
use domain::ids::{ProviderInstanceId, ThreadId};
use domain::limits::{PROMPT_UNITS_MAX, TITLE_UNITS_MAX};
use domain::message::Provenance;
use domain::modes::{InteractionMode, RuntimeMode};
use domain::provider_event::{Blocking, TurnOutcome};
use domain::run::RunStatus;
use domain::view::View;
use threads::service::{NewThread, ObservedState, ServiceSettings, ThreadDefaults};

use super::bench::*;
use crate::support::fake_providers::{instance, unusable};

#[tokio::test]
async fn a_project_has_a_name_and_a_folder_of_its_own() {
    let bench = Bench::new().await;
    let add = async |name: &str, root: &str| {
        let added = bench
            .service
            .add_project(&PERSON, name.to_owned(), root.to_owned());
        added.await
    };
    add("other", "/src/other").await.unwrap();
    let long = "x".repeat(TITLE_UNITS_MAX + 1);
    for (name, root) in [
        ("other", "/src/elsewhere"),
        ("elsewhere", "/src/other"),
        ("", "/src/elsewhere"),
        (" ", "/src/elsewhere"),
        (long.as_str(), "/src/elsewhere"),
    ] {
        let before = bench.stored();
        let refused = code(add(name, root).await);
        assert_eq!(refused, DenialCode::InvalidRequest, "{name} {root}");
        assert_eq!(bench.stored(), before);
    }
    let projects = bench.service.projects(&PERSON).await.unwrap();
    let names: Vec<&str> = projects.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["other", "weft"]);
}

#[tokio::test]
async fn a_project_is_named_by_its_id_its_name_or_its_folder() {
    let bench = Bench::new().await;
    let project = bench.service.projects(&PERSON).await.unwrap().remove(0);
    for word in [project.id.as_str(), &project.name, &project.root] {
        let request = NewThread {
            project: word.to_owned(),
            ..new_thread()
        };
        let created = bench.service.create_thread(&PERSON, request).await;
        let id = created.unwrap().thread_id;
        let thread = bench.reader().thread(&id).unwrap().unwrap();
        assert_eq!(thread.project_id, project.id, "{word}");
        assert_eq!(thread.workspace_path, project.root);
    }
}

#[tokio::test]
async fn a_thread_with_a_prompt_starts_and_one_without_waits() {
    let bench = Bench::new().await;
    let idle = bench.service.create_thread(&PERSON, new_thread()).await;
    let idle = idle.unwrap();
    assert_eq!(idle.run_id, None);
    let talk = bench.create(NewThread {
        prompt: Some("Do this\nnow".to_owned()),
        ..new_thread()
    });
    let talk = talk.await;
    let (opening, text) = bench.providers.turn(&talk.run).await;
    assert_eq!(text, "Do this\nnow");
    assert_eq!(opening.instance_id.as_str(), OWN);
    assert_eq!(opening.modes, settings().defaults.modes);
    let reader = bench.reader();
    let thread = reader.thread(&talk.thread).unwrap().unwrap();
    assert_eq!(thread.title, "Do this now");
    assert_eq!(thread.provenance, Provenance::person_at_command_line());
    assert_eq!(thread.lineage.parent, None);
    assert_eq!(thread.lineage.root_thread_id, talk.thread);
    let message = reader.message(&bench.run(&talk.run).message_id);
    assert_eq!(
        message.unwrap().unwrap().provenance,
        Provenance::person_at_command_line()
    );
}

#[tokio::test]
async fn every_refusal_of_a_new_thread_says_why_and_stores_nothing() {
    use DenialCode::{InvalidRequest, ModelUnavailable, ProjectNotFound, ProviderUnavailable};
    let bench = Bench::new().await;
    let mut narrow = instance("narrow", "codex", &[]);
    narrow.runtime_modes = vec![RuntimeMode::FullAccess];
    narrow.interaction_modes = vec![InteractionMode::Default];
    bench.providers.show(narrow);
    let with = |change: &dyn Fn(&mut NewThread)| {
        let mut request = new_thread();
        change(&mut request);
        request
    };
    let on = |id: &str| Some(ProviderInstanceId::new(id));
    let cases = [
        (
            with(&|it| it.project = "nowhere".to_owned()),
            ProjectNotFound,
            "weft project add",
        ),
        (
            with(&|it| it.provider = on("gamma")),
            ProviderUnavailable,
            "alpha, broken",
        ),
        (
            with(&|it| it.provider = on("broken")),
            ProviderUnavailable,
            "codex login",
        ),
        (
            with(&|it| it.model = Some("m9".to_owned())),
            ModelUnavailable,
            "m1, m2",
        ),
        (
            with(&|it| {
                it.provider = on("narrow");
                it.runtime_mode = Some(RuntimeMode::ApprovalRequired);
            }),
            InvalidRequest,
            "full-access",
        ),
        (
            with(&|it| {
                it.provider = on("narrow");
                it.runtime_mode = Some(RuntimeMode::FullAccess);
                it.interaction_mode = Some(InteractionMode::Plan);
            }),
            InvalidRequest,
            "default",
        ),
        (
            with(&|it| it.title = Some(" ".to_owned())),
            InvalidRequest,
            "title",
        ),
        (
            with(&|it| it.title = Some("x".repeat(TITLE_UNITS_MAX + 1))),
            InvalidRequest,
            "512",
        ),
        (
            with(&|it| it.prompt = Some(" ".to_owned())),
            InvalidRequest,
            "empty",
        ),
        (
            with(&|it| it.prompt = Some("x".repeat(PROMPT_UNITS_MAX + 1))),
            InvalidRequest,
            "120000",
        ),
    ];
    for (request, expected, says) in cases {
        let before = bench.stored();
        let denial = bench.service.create_thread(&PERSON, request).await;
        let denial = denial.unwrap_err();
        assert_eq!(denial.code, expected, "{denial}");
        assert!(denial.message.contains(says), "{denial}");
        assert_eq!(bench.stored(), before);
    }
    assert_eq!(bench.providers.looks_at("broken"), 1);
}

#[tokio::test]
async fn without_a_configured_provider_a_thread_must_name_one() {
    let none = ThreadDefaults {
        provider: None,
        ..settings().defaults
    };
    let settings = ServiceSettings {
        defaults: none,
        ..settings()
    };
    let bench = Bench::configured(1, settings).await;
    let refused = bench.service.create_thread(&PERSON, new_thread()).await;
    let denial = refused.unwrap_err();
    assert_eq!(denial.code, DenialCode::TargetRequired);
    assert!(denial.message.contains("[defaults]"), "{denial}");
    let named = NewThread {
        provider: Some(ProviderInstanceId::new("beta")),
        ..new_thread()
    };
    bench.service.create_thread(&PERSON, named).await.unwrap();
}

#[tokio::test]
async fn an_unusable_provider_is_looked_at_once_more() {
    let bench = Bench::new().await;
    bench.providers.cure(instance("broken", "codex", &[]));
    let request = NewThread {
        provider: Some(ProviderInstanceId::new("broken")),
        ..new_thread()
    };
    bench.service.create_thread(&PERSON, request).await.unwrap();
    assert_eq!(bench.providers.looks_at("broken"), 1);
}

#[tokio::test]
async fn the_configured_model_is_the_configured_providers() {
    let defaults = ThreadDefaults {
        model: Some("m2".to_owned()),
        ..settings().defaults
    };
    let settings = ServiceSettings {
        defaults,
        ..settings()
    };
    let bench = Bench::configured(1, settings).await;
    for (provider, model, expected) in [
        (None, None, Some("m2")),
        (Some(OWN), None, Some("m2")),
        (Some(OWN), Some("m1"), Some("m1")),
        (Some("beta"), None, None),
        (Some("beta"), Some("any"), Some("any")),
    ] {
        let request = NewThread {
            provider: provider.map(ProviderInstanceId::new),
            model: model.map(str::to_owned),
            ..new_thread()
        };
        let created = bench.service.create_thread(&PERSON, request).await;
        let id = created.unwrap().thread_id;
        let thread = bench.reader().thread(&id).unwrap().unwrap();
        assert_eq!(thread.model.model.as_deref(), expected, "{provider:?}");
    }
}

// -------------------------------------------------------------------- what stands about them

async fn state(bench: &Bench, thread: &ThreadId) -> ObservedState {
    let detail = bench.service.thread(&PERSON, thread, 0, 100).await;
    let row = detail.unwrap().row;
    let rows = bench.service.threads(&PERSON, 0, 100).await.unwrap();
    let listed = rows.iter().find(|it| it.thread.id == *thread).unwrap();
    assert_eq!(listed.state, row.state, "both views say the same");
    row.state
}

#[tokio::test]
async fn a_threads_state_is_derived_from_facts() {
    let bench = Bench::new().await;
    let idle = bench.service.create_thread(&PERSON, new_thread()).await;
    let idle = idle.unwrap().thread_id;
    assert_eq!(state(&bench, &idle).await, ObservedState::Idle);

    let talk = bench.create(NewThread {
        prompt: Some("go".to_owned()),
        ..new_thread()
    });
    let talk = talk.await;
    assert_eq!(state(&bench, &talk.thread).await, ObservedState::Starting);
    bench.turn_starts(&talk).await;
    assert_eq!(state(&bench, &talk.thread).await, ObservedState::Running);
    bench
        .asks(&talk, "request-1", Blocking::NonBlocking, question())
        .await;
    assert_eq!(state(&bench, &talk.thread).await, ObservedState::Running);
    bench
        .asks(&talk, "request-2", Blocking::Blocking, question())
        .await;
    assert_eq!(
        state(&bench, &talk.thread).await,
        ObservedState::WaitingForInput
    );
    bench
        .asks(&talk, "request-3", Blocking::Blocking, approval())
        .await;
    assert_eq!(
        state(&bench, &talk.thread).await,
        ObservedState::WaitingForApproval
    );
    bench.turn_ends(&talk, TurnOutcome::Completed).await;
    assert_eq!(state(&bench, &talk.thread).await, ObservedState::Completed);

    for (outcome, expected) in [
        (failure("no"), ObservedState::Failed),
        (TurnOutcome::Interrupted, ObservedState::Stopped),
    ] {
        let talk = bench.working("go").await;
        bench.turn_ends(&talk, outcome).await;
        assert_eq!(state(&bench, &talk.thread).await, expected);
    }
}

#[tokio::test]
async fn a_list_shows_the_newest_change_first_in_pages() {
    let bench = Bench::new().await;
    let mut made = Vec::new();
    for _ in 0..5 {
        bench.clock.advance(1);
        let created = bench.service.create_thread(&PERSON, new_thread()).await;
        made.push(created.unwrap().thread_id);
    }
    let page = async |offset, limit| {
        let rows = bench.service.threads(&PERSON, offset, limit).await;
        let ids = rows.unwrap().into_iter().map(|row| row.thread.id);
        ids.collect::<Vec<_>>()
    };
    let newest_first: Vec<_> = made.iter().rev().cloned().collect();
    assert_eq!(page(0, 100).await, newest_first);
    assert_eq!(page(0, usize::MAX).await, newest_first);
    assert_eq!(page(1, 2).await, newest_first[1..3]);
    assert_eq!(page(5, 2).await, []);
}

#[tokio::test]
async fn a_thread_is_read_with_its_runs_items_requests_and_tasks_from_one_instant() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    let child = bench.delegate(&talk, "look").await;
    bench
        .asks(&talk, "request-1", Blocking::Blocking, approval())
        .await;
    let detail = bench.service.thread(&PERSON, &talk.thread, 0, 100).await;
    let detail = detail.unwrap();
    assert_eq!(detail.sequence, bench.stored());
    assert_eq!(detail.runs[0].id, talk.run);
    assert_eq!(detail.requests[0].id.as_str(), "request-1");
    assert_eq!(detail.row.pending_requests[0].as_str(), "request-1");
    assert_eq!(detail.tasks[0].id, child.task);
    let positions: Vec<u64> = detail.items.iter().map(|item| item.position).collect();
    assert_eq!(positions, [1, 2], "the message and the task");
    let later = bench.service.thread(&PERSON, &talk.thread, 1, 100).await;
    assert_eq!(later.unwrap().items, detail.items[1..]);
    let unknown = ThreadId::new("thread-unknown");
    let unknown = bench.service.thread(&PERSON, &unknown, 0, 1).await;
    assert_eq!(code(unknown), DenialCode::ThreadNotFound);
}

#[tokio::test]
async fn a_follower_gets_every_fact_once_and_in_order() {
    let bench = Bench::new().await;
    let follower = async {
        let mut told: Vec<u64> = Vec::new();
        while told.last().is_none_or(|last| *last < 30) {
            let after = told.last().copied().unwrap_or(0);
            let feed = bench.service.feed(&PERSON, after, 7).await.unwrap();
            assert!(feed.events.len() <= 7 && !feed.events.is_empty());
            told.extend(feed.events.iter().map(|(sequence, _)| *sequence));
            assert_eq!(told.last(), Some(&feed.sequence));
        }
        told
    };
    let (told, ()) = tokio::join!(follower, async {
        while bench.stored() < 30 {
            bench.working("go").await;
        }
    });
    let expected: Vec<u64> = (1..=*told.last().unwrap()).collect();
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_provider_that_became_unusable_does_not_hide_its_threads() {
    let bench = Bench::new().await;
    let talk = bench.working("go").await;
    let own = instance(OWN, "codex", &[]);
    bench.providers.show(unusable(own, "It is ill."));
    assert_eq!(state(&bench, &talk.thread).await, ObservedState::Running);
    assert_eq!(bench.run(&talk.run).status, RunStatus::Running);
}
