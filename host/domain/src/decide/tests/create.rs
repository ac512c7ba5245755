//! Projects and top-level threads.

use crate::command::{AddProject, Answer, Command, CreateThread};
use crate::error::DenialCode::{InvalidRequest, ProjectNotFound};
use crate::ids::{ProjectId, ThreadId};
use crate::limits::{DERIVED_TITLE_UNITS_MAX, PROMPT_UNITS_MAX, TITLE_UNITS_MAX};
use crate::message::{CreatedBy, CreationSource};
use crate::run::RunStatus;

use super::world::{BROADEST, World, started};

#[test]
fn a_project_has_a_name_and_a_root_of_its_own() {
    let mut world = World::new();
    let add = |name: &str, root: &str| {
        Command::AddProject(AddProject {
            name: name.to_owned(),
            root: root.to_owned(),
        })
    };
    for (name, root) in [
        ("weft", "/elsewhere"),
        ("other", "/src/weft"),
        ("", "/elsewhere"),
        ("  ", "/elsewhere"),
        (&"n".repeat(TITLE_UNITS_MAX + 1), "/elsewhere"),
    ] {
        assert_eq!(
            world.deny(add(name, root)),
            InvalidRequest,
            "{name:.10} {root}"
        );
    }
    world.run(add("other", "/elsewhere"));
    world.run(add(&"n".repeat(TITLE_UNITS_MAX), "/long"));
    assert_eq!(world.view.projects.len(), 3);
}

#[test]
fn a_thread_without_a_prompt_is_idle() {
    let mut world = World::new();
    let thread = world.idle_thread();
    assert!(world.open_runs(&thread).is_empty());
    assert!(world.effects.is_empty());
    assert_eq!(world.thread(&thread).run_ordinal_last, 0);
}

#[test]
fn a_thread_with_a_prompt_starts_its_first_run_at_once() {
    let mut world = World::new();
    let talk = world.starting();
    let thread = world.thread(&talk.thread);
    assert_eq!(
        (thread.lineage.depth, &thread.lineage.root_thread_id),
        (0, &talk.thread)
    );
    assert_eq!(
        (thread.modes, thread.workspace_path.as_str()),
        (BROADEST, "/src/weft")
    );
    assert_eq!(thread.lineage.parent, None);
    let run = world.run_at(&talk.run);
    assert_eq!(
        (run.status, run.ordinal, run.started_at),
        (RunStatus::Starting, 1, None)
    );
    let message = world.message_of(&talk.run);
    assert_eq!(
        (message.text.as_str(), &message.run_id),
        ("Do it.", &Some(talk.run.clone()))
    );
    assert_eq!(message.provenance.created_by, CreatedBy::User);
    assert_eq!(message.provenance.creation_source, CreationSource::Cli);
    assert_eq!(started(&world.effects), [talk.run]);
}

#[test]
fn a_title_is_given_or_comes_from_the_prompt() {
    let long = "word ".repeat(100);
    let cut = format!("{}...", &long[..DERIVED_TITLE_UNITS_MAX - 3]);
    for (title, prompt, expected) in [
        (Some("Given"), Some("Do it."), "Given"),
        (None, Some(" Do\n it. "), "Do it."),
        (None, Some(long.as_str()), cut.as_str()),
        (None, None, "New thread"),
    ] {
        let mut world = World::new();
        let create = CreateThread {
            title: title.map(str::to_owned),
            ..world.create(prompt)
        };
        let Answer::Thread { thread_id, .. } = world.run(Command::CreateThread(create)).answer
        else {
            panic!("no thread")
        };
        assert_eq!(world.thread(&thread_id).title, expected);
    }
}

#[test]
fn a_thread_that_cannot_be_made_is_refused_with_its_cause() {
    let mut world = World::new();
    let good = world.create(Some("Do it."));
    let titled = |title: String| CreateThread {
        title: Some(title),
        ..good.clone()
    };
    let nowhere = CreateThread {
        project_id: ProjectId::new("project-x"),
        ..good.clone()
    };
    for (create, code) in [
        (nowhere, ProjectNotFound),
        (titled(String::new()), InvalidRequest),
        (titled(" \n".to_owned()), InvalidRequest),
        (titled("t".repeat(TITLE_UNITS_MAX + 1)), InvalidRequest),
        (world.create(Some(" ")), InvalidRequest),
        (
            world.create(Some(&"p".repeat(PROMPT_UNITS_MAX + 1))),
            InvalidRequest,
        ),
    ] {
        assert_eq!(world.deny(Command::CreateThread(create)), code);
    }
    assert!(world.view.threads.is_empty());
    world.run(Command::CreateThread(titled("t".repeat(TITLE_UNITS_MAX))));
}

#[test]
fn ids_of_one_command_differ_and_name_their_kind() {
    let mut world = World::new();
    let talk = world.starting();
    assert!(talk.thread.as_str().starts_with(ThreadId::PREFIX));
    let random = |id: &str| id.rsplit('-').next().map(str::to_owned);
    let message = &world.run_at(&talk.run).message_id;
    let mut bits = vec![
        random(talk.thread.as_str()),
        random(talk.run.as_str()),
        random(message.as_str()),
    ];
    bits.sort();
    bits.dedup();
    assert_eq!(bits.len(), 3);
}
