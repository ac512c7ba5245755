//! What a delegation makes, what it answers, and when it is refused.

use domain::authority::Authority;
use domain::command::Role;
use domain::error::{Denial, DenialCode};
use domain::ids::{ProviderInstanceId, ThreadId};
use domain::item::ItemKind;
use domain::limits::{
    ACTIVE_CHILDREN_MAX, ACTIVE_THREADS_MAX, PROMPT_UNITS_MAX, REQUEST_KEY_UNITS_MAX,
    TITLE_UNITS_MAX,
};
use domain::message::{CreatedBy, CreationSource};
use domain::provider_event::TurnOutcome;
use domain::run::RunStatus;
use domain::task::{TaskStatus, TransferKind, WakePolicy, WorkState};
use domain::view::View;
use futures::future::join_all;
use threads::service::{
    DelegateRequest, Delegated, NewThread, Pending, ServiceSettings, TargetRequest, WaitEnd,
};
use tokio_util::sync::CancellationToken;

use super::bench::*;

#[tokio::test]
async fn an_asynchronous_delegation_answers_at_once_with_ids_that_stand_in_the_store() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let delegated = bench.try_delegate(&parent, asking("look")).await.unwrap();
    let view = &delegated.task;
    assert_eq!(
        (view.status, view.work_state),
        (TaskStatus::Running, WorkState::Working)
    );
    assert_eq!(
        (view.pending_child_runs, view.pending_question),
        (Pending::Nothing, Pending::Nothing)
    );
    assert_eq!((&view.summary, &view.result_transfer_id), (&None, &None));
    assert_eq!((&view.latest_terminal, &view.model), (&None, &None));
    assert_eq!(view.provider_instance_id.as_str(), OWN);
    assert_eq!(delegated.wait, WaitEnd::Met);
    assert!(
        !delegated.request_key.is_empty(),
        "a made key is told as well"
    );

    let task = bench.task(&view.task_id);
    assert_eq!(task.wake, WakePolicy::Always);
    assert_eq!(
        (&task.parent_thread_id, &task.parent_run_id),
        (&parent.thread, &parent.run)
    );
    assert_eq!(
        (&task.child_thread_id, &task.child_run_id),
        (&view.child_thread_id, &view.child_run_id)
    );
    assert_eq!(bench.run(&view.child_run_id).status, RunStatus::Starting);
    bench.check();
}

#[tokio::test]
async fn the_child_gets_the_task_alone_and_says_where_it_came_from() {
    let bench = Bench::new().await;
    let parent = bench.working("a long story").await;
    let child = bench.delegate(&parent, "look").await;
    let (opening, text) = bench.providers.turn(&child.run).await;
    assert_eq!(text, "look");
    assert_eq!(opening.native, None);

    let reader = bench.reader();
    let parent_thread = reader.thread(&parent.thread).unwrap().unwrap();
    let thread = reader.thread(&child.thread).unwrap().unwrap();
    assert_eq!(opening.workspace_path, parent_thread.workspace_path);
    assert_eq!(thread.project_id, parent_thread.project_id);
    assert_eq!(thread.lineage.depth, 1);
    assert_eq!(thread.lineage.root_thread_id, parent.thread);
    let link = thread.lineage.parent.unwrap();
    assert_eq!(
        (link.thread_id, link.run_id, link.task_id),
        (parent.thread.clone(), parent.run.clone(), child.task)
    );
    let message_id = bench.run(&child.run).message_id;
    let message = reader.message(&message_id).unwrap().unwrap();
    for provenance in [thread.provenance, message.provenance] {
        assert_eq!(provenance.created_by, CreatedBy::Agent);
        assert_eq!(provenance.creation_source, CreationSource::Mcp);
        assert_eq!(provenance.source_thread_id.as_ref(), Some(&parent.thread));
        assert_eq!(provenance.source_run_id.as_ref(), Some(&parent.run));
        let source = provenance.source_provider_instance_id.unwrap();
        assert_eq!(source.as_str(), OWN);
    }
    let spawn = reader.transfer(&parent.thread, &child.thread, TransferKind::SubagentSpawn);
    assert_eq!(spawn.unwrap().unwrap().run_id, child.run);
    let shown = reader.items_after(&parent.thread, 0, 100).unwrap();
    let tasks = shown.iter().filter(|item| item.kind == ItemKind::Subagent);
    assert_eq!(tasks.count(), 1, "it stands in the parent's timeline");
}

#[tokio::test]
async fn a_title_is_the_given_one_or_comes_from_the_task_and_is_cut_to_72() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let fits = "x".repeat(72);
    let long = "x".repeat(73);
    let cut = format!("{}...", "x".repeat(69));
    for (title, task, expected) in [
        (None, "  look \n here ", "look here"),
        (Some(" Look "), "go on", "Look"),
        (None, fits.as_str(), fits.as_str()),
        (None, long.as_str(), cut.as_str()),
        (Some(fits.as_str()), "go on", fits.as_str()),
        (Some(long.as_str()), "go on", cut.as_str()),
    ] {
        let request = DelegateRequest {
            title: title.map(str::to_owned),
            ..asking(task)
        };
        let delegated = bench.try_delegate(&parent, request).await.unwrap();
        let id = delegated.task.child_thread_id;
        let thread = bench.reader().thread(&id).unwrap().unwrap();
        assert_eq!(thread.title, expected, "{title:?} {task:?}");
    }
}

#[tokio::test]
async fn a_role_is_named_in_one_sentence_before_the_task() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    for (role, before) in [
        (None, String::new()),
        (Some(Role::General), String::new()),
        (
            Some(Role::Review),
            "Your role in this task is review.\n\n".to_owned(),
        ),
        (
            Some(Role::Implementation),
            "Your role in this task is implementation.\n\n".to_owned(),
        ),
    ] {
        let request = DelegateRequest {
            role,
            ..asking("look")
        };
        let delegated = bench.try_delegate(&parent, request).await.unwrap();
        let (_, text) = bench.providers.turn(&delegated.task.child_run_id).await;
        assert_eq!(text, format!("{before}look"), "{role:?}");
        let asked = bench.task(&delegated.task.task_id).prompt;
        assert_eq!(asked, "look", "the task is kept as it was asked");
    }
}

/// A caller that may not delegate now, and why.
async fn idle_callers(bench: &Bench) -> Vec<(&'static str, Authority)> {
    let never = bench.service.create_thread(&PERSON, new_thread());
    let never = never.await.unwrap().thread_id;
    let ended = bench.working("go").await;
    bench.turn_ends(&ended, TurnOutcome::Completed).await;
    let failed = bench.working("go").await;
    bench.turn_ends(&failed, failure("no")).await;
    let stopping = bench.working("go").await;
    let stopped = bench.service.stop(&PERSON, &stopping.thread, None);
    assert_eq!(stopped.await.unwrap(), 1);
    let working = bench.working("go").await;
    let Authority::Agent(mut other) = bench.agent(&working.thread) else {
        panic!("an agent")
    };
    other.instance_id = ProviderInstanceId::new("second");
    let mut unknown = other.clone();
    unknown.thread_id = ThreadId::new("thread-unknown");
    vec![
        ("it never had a run", bench.agent(&never)),
        ("its run completed", bench.agent(&ended.thread)),
        ("its run failed", bench.agent(&failed.thread)),
        ("its run is being stopped", bench.agent(&stopping.thread)),
        ("its run is another instance's", Authority::Agent(other)),
        ("it is no thread at all", Authority::Agent(unknown)),
    ]
}

#[tokio::test]
async fn only_a_thread_with_a_live_run_of_the_callers_instance_delegates() {
    let bench = Bench::new().await;
    for (why, caller) in idle_callers(&bench).await {
        let before = bench.stored();
        let token = CancellationToken::new();
        let refused = bench.service.delegate(&caller, asking("look"), token).await;
        assert_eq!(code(refused), DenialCode::ParentNotActive, "{why}");
        assert_eq!(bench.stored(), before, "{why}");
    }
    bench.check();
}

#[tokio::test]
async fn a_caller_that_may_not_delegate_learns_that_before_what_is_wrong_with_its_target() {
    let bench = Bench::new().await;
    for (why, caller) in idle_callers(&bench).await {
        let mut request = asking("look");
        request.target.model = Some("nobody's".to_owned());
        let token = CancellationToken::new();
        let refused = bench.service.delegate(&caller, request, token).await;
        assert_eq!(code(refused), DenialCode::ParentNotActive, "{why}");
    }
}

#[tokio::test]
async fn a_run_that_is_still_being_handed_over_delegates() {
    let bench = Bench::new().await;
    let parent = bench.create(NewThread {
        prompt: Some("go".to_owned()),
        ..new_thread()
    });
    let parent = parent.await;
    assert_eq!(bench.run(&parent.run).status, RunStatus::Starting);
    let delegated = bench.try_delegate(&parent, asking("look")).await.unwrap();
    assert_eq!(delegated.task.status, TaskStatus::Running);
}

// -------------------------------------------------------------------- limits

#[tokio::test]
async fn texts_keep_their_bounds() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let text = |units: usize| "x".repeat(units);
    let of_task = |task: String| DelegateRequest {
        task,
        ..asking("t")
    };
    let titled = |title: String| DelegateRequest {
        title: Some(title),
        ..asking("t")
    };
    let keyed = |key: String| DelegateRequest {
        call: call(Some(&key), "t"),
        ..asking("t")
    };
    // Two UTF-16 units each.
    let faces = |units: usize| "\u{1F600}".repeat(units / 2);
    let fitting = [
        of_task(text(PROMPT_UNITS_MAX)),
        of_task(faces(PROMPT_UNITS_MAX)),
        titled(text(TITLE_UNITS_MAX)),
        keyed(text(REQUEST_KEY_UNITS_MAX)),
        keyed(text(1)),
    ];
    for (at, request) in fitting.into_iter().enumerate() {
        let answer = bench.try_delegate(&parent, request).await;
        assert!(answer.is_ok(), "fitting {at}");
    }
    let refused = [
        of_task(text(PROMPT_UNITS_MAX + 1)),
        of_task(faces(PROMPT_UNITS_MAX) + "x"),
        of_task(String::new()),
        of_task(" \n ".to_owned()),
        titled(text(TITLE_UNITS_MAX + 1)),
        titled(" ".to_owned()),
        keyed(text(REQUEST_KEY_UNITS_MAX + 1)),
        keyed(String::new()),
    ];
    for (at, request) in refused.into_iter().enumerate() {
        let before = bench.stored();
        let answer = bench.try_delegate(&parent, request).await;
        assert_eq!(code(answer), DenialCode::InvalidRequest, "refused {at}");
        assert_eq!(bench.stored(), before, "refused {at}");
    }
}

fn refusal(answer: Result<Delegated, Denial>) -> (DenialCode, &'static str, String) {
    let denial = answer.unwrap_err();
    (denial.code, denial.code.word(), denial.message)
}

#[tokio::test]
async fn delegation_is_as_deep_as_the_operator_says() {
    for depth_max in [1, 2, 4] {
        let bench = Bench::configured(
            1,
            ServiceSettings {
                delegation_depth_max: depth_max,
                ..settings()
            },
        );
        let bench = bench.await;
        let mut talk = bench.working("go").await;
        for _ in 0..depth_max {
            let child = bench.delegate_working(&talk, "look").await;
            talk = child.talk();
        }
        let (code, word, message) = refusal(bench.try_delegate(&talk, asking("look")).await);
        assert_eq!(
            (code, word),
            (DenialCode::InvalidRequest, "invalid_request")
        );
        assert!(message.contains(&depth_max.to_string()), "{message}");
    }
}

#[tokio::test]
async fn a_thread_has_20_active_children_and_room_again_when_one_ends() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let mut children = Vec::new();
    for at in 0..ACTIVE_CHILDREN_MAX {
        children.push(bench.delegate(&parent, &format!("look {at}")).await);
    }
    let (code, word, message) = refusal(bench.try_delegate(&parent, asking("more")).await);
    assert_eq!((code, word), (DenialCode::LimitExceeded, "invalid_request"));
    assert!(code.is_retryable());
    assert!(message.contains("20"), "{message}");
    let ended = children[7].talk();
    bench.turn_starts(&ended).await;
    bench.answers(&ended, "done").await;
    bench.try_delegate(&parent, asking("more")).await.unwrap();
}

#[tokio::test]
async fn the_host_runs_1024_active_threads() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let others = (1..ACTIVE_THREADS_MAX - 1).map(|_| {
        bench.create(NewThread {
            prompt: Some("go".to_owned()),
            ..new_thread()
        })
    });
    let others = join_all(others).await;
    bench.try_delegate(&parent, asking("last")).await.unwrap();
    let (code, word, message) = refusal(bench.try_delegate(&parent, asking("more")).await);
    assert_eq!((code, word), (DenialCode::LimitExceeded, "invalid_request"));
    assert!(message.contains("1024"), "{message}");
    // For people as well; a thread that does nothing yet is none of them.
    let prompt = Some("go".to_owned());
    let active = NewThread {
        prompt,
        ..new_thread()
    };
    let refused = bench.service.create_thread(&PERSON, active).await;
    assert_eq!(refused.unwrap_err().code, DenialCode::LimitExceeded);
    let idle = bench.service.create_thread(&PERSON, new_thread()).await;
    assert_eq!(idle.unwrap().run_id, None);
    bench.turn_ends(&others[0], TurnOutcome::Completed).await;
    bench.try_delegate(&parent, asking("more")).await.unwrap();
}

#[tokio::test]
async fn an_inherited_target_is_the_same_as_none() {
    let bench = Bench::new().await;
    let parent = bench.working("go").await;
    let request = DelegateRequest {
        target: TargetRequest {
            instance_id: Some(ProviderInstanceId::new(OWN)),
            ..TargetRequest::default()
        },
        ..asking("look")
    };
    let named = bench.try_delegate(&parent, request).await.unwrap().task;
    let inherited = bench.try_delegate(&parent, asking("look")).await.unwrap();
    assert_eq!(
        (named.provider_instance_id, named.model),
        (inherited.task.provider_instance_id, inherited.task.model)
    );
}
