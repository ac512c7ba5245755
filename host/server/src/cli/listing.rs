//! Commands that print what there is: configuration, drivers, tools, Projects.

use std::path::Path;

use serde_json::json;

use super::Outcome;
use super::args::ProjectCommand;
use super::out::Out;
use super::shared::{Failure, Setup};
use crate::config::Config;
use crate::local::wire::{AddProject, ProjectView};
use crate::mcp;
use crate::plugins::{self, DriverRow};

pub(super) fn check_config(
    out: &mut Out,
    setup: &Setup,
    file: Option<&Path>,
) -> Result<Outcome, Failure> {
    let config = match file {
        Some(file) => Config::load(Some(file))?,
        None => setup.load()?,
    };
    out.text(&super::plain::plain(&config.describe()))?;
    Ok(Outcome::Done)
}

pub(super) async fn drivers(out: &mut Out, setup: &Setup, json: bool) -> Result<Outcome, Failure> {
    let config = setup.load()?;
    let found = plugins::inspect(&config).await.map_err(Failure::other)?;
    if json {
        out.json(&found)?;
        return Ok(Outcome::Done);
    }
    if found.drivers.is_empty() {
        out.line(&found.advice())?;
        return Ok(Outcome::Done);
    }
    let rows: Vec<[String; 7]> = found.drivers.iter().map(driver_row).collect();
    out.table(
        [
            "KIND",
            "VERSION",
            "INTERFACE",
            "BYTES",
            "ENABLED",
            "STATE",
            "IMPORTS",
        ],
        &rows,
    )?;
    for driver in &found.drivers {
        if let Some(reason) = &driver.reason {
            out.line(&format!("{}: {reason}", driver.source))?;
        }
    }
    Ok(Outcome::Done)
}

fn driver_row(driver: &DriverRow) -> [String; 7] {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    [
        driver.kind.clone(),
        or_dash(&driver.version),
        or_dash(&driver.interface),
        driver
            .bytes
            .map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
        if driver.enabled { "yes" } else { "no" }.to_owned(),
        driver.state.clone(),
        driver.imports.join(" "),
    ]
}

pub(super) fn tools(out: &mut Out, json: bool) -> Result<Outcome, Failure> {
    let tools = mcp::describe_tools();
    if json {
        out.json(&tools)?;
        return Ok(Outcome::Done);
    }
    let mut rows = Vec::new();
    for tool in &tools {
        let value = serde_json::to_value(tool).map_err(Failure::other)?;
        let text = |field: &str| value.get(field).map(cell).unwrap_or_default();
        rows.push(["name", "toolkit", "endpoints", "tokenCost"].map(text));
    }
    out.table(["TOOL", "TOOLKIT", "ENDPOINTS", "TOKENS"], &rows)?;
    Ok(Outcome::Done)
}

fn cell(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join(" "),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    }
}

pub(super) async fn project(
    out: &mut Out,
    setup: &Setup,
    command: ProjectCommand,
) -> Result<Outcome, Failure> {
    let client = setup.client()?;
    match command {
        ProjectCommand::Add { dir, name, json } => {
            let root = std::path::absolute(&dir)?;
            let root = root.to_str().ok_or_else(|| {
                Failure::Asked(format!("{}: the path is not UTF-8", dir.display()))
            })?;
            let added = client
                .add_project(&AddProject {
                    name,
                    root: root.to_owned(),
                })
                .await?;
            if json {
                out.json(&added)?;
            } else {
                out.line(&format!("{}  {}  {}", added.id, added.name, added.root))?;
            }
        }
        ProjectCommand::List { json } => {
            let projects = client.projects().await?;
            if json {
                out.json(&json!({ "projects": projects }))?;
            } else {
                let row = |p: &ProjectView| [p.name.clone(), p.root.clone(), p.id.clone()];
                let rows: Vec<[String; 3]> = projects.iter().map(row).collect();
                out.table(["NAME", "ROOT", "ID"], &rows)?;
            }
        }
    }
    Ok(Outcome::Done)
}
