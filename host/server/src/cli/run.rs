//! `weft run`: a thread from the command line, shown live.

use super::Outcome;
use super::args::Run;
use super::follow::{Follow, Format};
use super::out::Out;
use super::shared::{Failure, Setup, quoted, text_or_input};
use crate::local::client::Client;
use crate::local::wire::{AddProject, CreateThread};

pub(super) async fn run(out: &mut Out, setup: &Setup, run: Run) -> Result<Outcome, Failure> {
    let client = setup.client()?;
    let prompt = text_or_input(run.prompt)?;
    let project = project(&client, setup, &run.project, run.add_project).await?;
    let request = CreateThread {
        project,
        provider: run.provider,
        model: run.model,
        runtime_mode: run.runtime_mode.map(Into::into),
        interaction_mode: run.interaction_mode.map(Into::into),
        title: run.title,
        prompt: Some(prompt),
    };
    let created = client.create_thread(&request).await?;
    let Some(run_id) = created.run_id else {
        return Err(Failure::Asked(
            "the thread was made without a run".to_owned(),
        ));
    };
    let format = if run.json {
        Format::Json
    } else {
        Format::People
    };
    let follow = Follow::new(setup, &created.thread_id, &run_id, format);
    follow.until_end(out, &client, None).await
}

/// Id of the Project a person means by a folder, a name or an id. Nothing is registered unless asked for.
async fn project(
    client: &Client,
    setup: &Setup,
    wanted: &str,
    add: bool,
) -> Result<String, Failure> {
    let folder = std::fs::canonicalize(wanted).ok();
    let root = folder.as_deref().and_then(std::path::Path::to_str);
    let projects = client.projects().await?;
    let known = projects
        .iter()
        .find(|project| Some(project.root.as_str()) == root)
        .or_else(|| projects.iter().find(|p| p.id == wanted || p.name == wanted));
    if let Some(project) = known {
        return Ok(project.id.clone());
    }
    let Some(root) = root else {
        return Err(Failure::Asked(format!(
            "{wanted} is neither a folder nor a registered Project; see `{} project list`",
            setup.program()
        )));
    };
    if add {
        let request = AddProject {
            name: None,
            root: root.to_owned(),
        };
        return Ok(client.add_project(&request).await?.id);
    }
    Err(Failure::Asked(format!(
        "{root} is no registered Project, and agents work in no other folder. \
         Add it with `{} project add {}`, or pass --add-project",
        setup.program(),
        quoted(root)
    )))
}
