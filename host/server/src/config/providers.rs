//! Reads `[[providers]]`, and makes the built-in set where there are none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use domain::ids::{DriverKind, ProviderInstanceId};

use super::limits::{PROVIDER_ID_CHARS_MAX, PROVIDERS_MAX, THREADS_PER_SESSION_MAX};
use super::model::{Enablement, GrantsConfig, LimitsConfig, ProviderConfig};
use super::reader::{Table, near_miss};
use super::secrets::SecretSource;
use super::{paths, read};

/// Drivers Weft ships and the program each drives when nobody names one. `None`: this very program.
pub const SHIPPED_DRIVERS: &[(&str, Option<&str>)] =
    &[("codex", Some("codex")), ("scripted", None)];

/// Variables that change how programs load. No configuration may set or pass them on.
const LOADER_VARIABLES: &[&str] = &["PATH", "NODE_OPTIONS", "BASH_ENV", "ENV", "IFS"];
const LOADER_PREFIXES: &[&str] = &["LD_", "DYLD_"];

/// Ends of names that usually hold secrets.
const SECRET_ENDINGS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD"];

/// What is read along the way and concerns no single instance.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    pub(super) warnings: Vec<String>,
}

/// Every instance of the file; `None`: the file names none.
pub(super) fn read_all(
    top: &Table<'_>,
    base: &Path,
    remarks: &mut Remarks,
) -> Option<Vec<ProviderConfig>> {
    let tables = top.tables("providers", "providers", "[providers]");
    if tables.is_empty() {
        return None;
    }
    if tables.len() as u64 > PROVIDERS_MAX {
        top.problem(
            "providers",
            format!("too many; allowed: at most {PROVIDERS_MAX}"),
        );
    }
    let mut ids = BTreeSet::new();
    let mut providers = Vec::new();
    for table in &tables {
        let Some(provider) = read_one(table, base, remarks) else {
            continue;
        };
        if !ids.insert(provider.id.clone()) {
            table.problem(
                "id",
                format!("`{}` is taken by an instance above", provider.id),
            );
        }
        providers.push(provider);
    }
    Some(providers)
}

fn read_one(table: &Table<'_>, base: &Path, remarks: &mut Remarks) -> Option<ProviderConfig> {
    // Everything is read before the required keys are missed, so that one run tells all problems.
    let id = required_name(table, "id");
    let driver = required_name(table, "driver").map(DriverKind::new);
    let command = command(table, driver.as_ref());
    if let Some(near) = driver.as_ref().and_then(shipped_near_miss) {
        remarks.warnings.push(format!(
            "[[providers]] driver `{}`: Weft ships no such driver; did you mean `{near}`?",
            driver.as_ref().map_or("", DriverKind::as_str)
        ));
    }
    let provider = ProviderConfig {
        id: ProviderInstanceId::new(id.clone().unwrap_or_default()),
        driver: driver.clone().unwrap_or_else(|| DriverKind::new("")),
        enablement: read::enablement(table),
        display_name: table.text("display_name").map(|text| text.value),
        command: command.clone().unwrap_or_default(),
        env: environment(table, remarks),
        env_from_host: variable_names(table, "env_from_host"),
        secrets: secrets(table, base),
        models: table
            .texts("models")
            .unwrap_or_default()
            .into_iter()
            .map(|at| at.value)
            .collect(),
        threads_per_session: table
            .number(
                "threads_per_session",
                1..=THREADS_PER_SESSION_MAX,
                "threads",
            )
            .and_then(|threads| u32::try_from(threads).ok()),
        settings: settings(table),
        grants: grants(table),
        limits: read::limits(table),
    };
    id.and(driver).and(command).map(|_| provider)
}

fn required_name(table: &Table<'_>, key: &str) -> Option<String> {
    let Some(text) = table.text(key) else {
        if !table.keys().contains(&key) {
            table.problem(key, "required and absent");
        }
        return None;
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if text.value.is_empty()
        || text.value.len() as u64 > PROVIDER_ID_CHARS_MAX
        || !text.value.chars().all(plain)
    {
        table.problem(
            key,
            format!("allowed: 1 to {PROVIDER_ID_CHARS_MAX} letters, digits, `-`, `_` and `.`"),
        );
        return None;
    }
    Some(text.value)
}

fn command(table: &Table<'_>, driver: Option<&DriverKind>) -> Option<Vec<String>> {
    if let Some(words) = table.texts("command") {
        let words: Vec<String> = words.into_iter().map(|word| word.value).collect();
        if words.first().is_none_or(String::is_empty) {
            table.problem(
                "command",
                "allowed: at least a program, for example [\"codex\"]",
            );
            return None;
        }
        if words.iter().any(|word| word.contains('\0')) {
            table.problem(
                "command",
                "a word holds a NUL character, which no program can be given",
            );
            return None;
        }
        return Some(words);
    }
    if table.keys().contains(&"command") {
        return None;
    }
    let usual = driver.and_then(usual_command);
    if usual.is_none() && driver.is_some() {
        table.problem("command", "required for this driver and absent");
    }
    usual
}

/// The shipped driver that was probably meant. Another word is no fault: its driver may stand in the folder.
fn shipped_near_miss(driver: &DriverKind) -> Option<&'static str> {
    let kinds: Vec<&'static str> = SHIPPED_DRIVERS.iter().map(|(kind, _)| *kind).collect();
    if kinds.contains(&driver.as_str()) {
        None
    } else {
        near_miss(driver.as_str(), &kinds)
    }
}

/// The command line of a shipped driver when nobody names one.
fn usual_command(driver: &DriverKind) -> Option<Vec<String>> {
    let (_, program) = SHIPPED_DRIVERS
        .iter()
        .find(|(kind, _)| *kind == driver.as_str())?;
    match program {
        Some(program) => Some(vec![(*program).to_owned()]),
        None => own_program().map(|program| vec![program]),
    }
}

fn own_program() -> Option<String> {
    std::env::current_exe()
        .ok()
        .and_then(|path| path.to_str().map(str::to_owned))
}

fn is_loader_variable(name: &str) -> bool {
    LOADER_VARIABLES.contains(&name)
        || LOADER_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// What is wrong with the name of a variable.
fn variable_fault(name: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(plain)
    {
        Some("not the name of a variable; allowed: letters, digits and `_`")
    } else if is_loader_variable(name) {
        Some("this variable changes how programs load and is never passed to an agent")
    } else {
        None
    }
}

fn environment(table: &Table<'_>, remarks: &mut Remarks) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let Some(env) = table.open_table("env", "providers.env") else {
        return variables;
    };
    for name in env.keys() {
        if let Some(fault) = variable_fault(name) {
            env.problem(name, fault);
        }
        let Some(value) = env.text(name) else {
            continue;
        };
        if value.value.contains('\0') {
            env.problem(name, "holds a NUL character, which no variable can");
        }
        if SECRET_ENDINGS
            .iter()
            .any(|ending| name.to_ascii_uppercase().ends_with(ending))
        {
            remarks.warnings.push(format!(
                "line {}: [providers.env] `{name}` looks like a secret; use [providers.secrets], \
                 which keeps the value out of this file, the journal and the logs",
                value.line
            ));
        }
        variables.insert(name.to_owned(), value.value);
    }
    variables
}

fn variable_names(table: &Table<'_>, key: &str) -> Vec<String> {
    let names = table.texts(key).unwrap_or_default();
    for name in &names {
        if let Some(fault) = variable_fault(&name.value) {
            table.problem(key, fault);
        }
    }
    names.into_iter().map(|name| name.value).collect()
}

fn secrets(table: &Table<'_>, base: &Path) -> BTreeMap<String, SecretSource> {
    let mut sources = BTreeMap::new();
    let Some(secrets) = table.open_table("secrets", "providers.secrets") else {
        return sources;
    };
    for name in secrets.keys() {
        if let Some(fault) = variable_fault(name) {
            secrets.problem(name, fault);
        }
        if let Some(source) = SecretSource::read(&secrets, name, base) {
            sources.insert(name.to_owned(), source);
        }
    }
    sources
}

fn settings(table: &Table<'_>) -> serde_json::Map<String, serde_json::Value> {
    if table.open_table("settings", "providers.settings").is_none() {
        return serde_json::Map::new();
    }
    match table.json("settings") {
        Some(serde_json::Value::Object(settings)) => settings,
        _ => serde_json::Map::new(),
    }
}

fn grants(table: &Table<'_>) -> GrantsConfig {
    let grants = table.table("grants", "providers.grants", "providers.grants");
    let mut programs = BTreeMap::new();
    if let Some(table) = grants.open_table("programs", "providers.grants.programs") {
        for name in table.keys() {
            if name == "agent" {
                table.problem(name, "the agent itself is named by `command`");
            }
            let words = table.texts(name).unwrap_or_default();
            let words: Vec<String> = words.into_iter().map(|word| word.value).collect();
            if words.first().is_none_or(String::is_empty) {
                table.problem(
                    name,
                    "allowed: a program and its first words, as [\"/usr/bin/node\"]",
                );
            }
            programs.insert(name.to_owned(), words);
        }
    }
    let names = |key: &str| {
        let names = grants.texts(key)?;
        Some(names.into_iter().map(|name| name.value).collect())
    };
    GrantsConfig {
        spawn: names("spawn"),
        environment: names("environment"),
        programs,
    }
}

/// The set that holds when the file names no instance: every shipped driver whose program is on this machine.
#[must_use]
pub fn built_in() -> Vec<ProviderConfig> {
    let found = |(kind, program): &(&str, Option<&str>)| {
        let command = match program {
            Some(program) => paths::find_program(program)?.to_str()?.to_owned(),
            None => own_program()?,
        };
        Some(plain(kind, command))
    };
    SHIPPED_DRIVERS.iter().filter_map(found).collect()
}

fn plain(kind: &str, command: String) -> ProviderConfig {
    ProviderConfig {
        id: ProviderInstanceId::new(kind),
        driver: DriverKind::new(kind),
        enablement: Enablement::Enabled,
        display_name: None,
        command: vec![command],
        env: BTreeMap::new(),
        env_from_host: Vec::new(),
        secrets: BTreeMap::new(),
        models: Vec::new(),
        threads_per_session: None,
        settings: serde_json::Map::new(),
        grants: GrantsConfig::default(),
        limits: LimitsConfig::default(),
    }
}
