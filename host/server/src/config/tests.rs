//! The configuration as an operator meets it: wrong files, each with what it is told.

use std::path::PathBuf;

use domain::authority::Capability;
use domain::ids::{DriverKind, ProviderInstanceId};
use domain::modes::RuntimeMode;

use super::{Config, ConfigError, Enablement, SecretSource, schema};

fn parse(text: &str) -> Result<Config, ConfigError> {
    // Every text names a data folder, so that no test depends on the environment.
    let text = format!("{text}\n[storage]\ndata_folder = \"/data\"\n");
    Config::parse(&text, Some(PathBuf::from("/etc/weft/weft.toml")))
}

#[track_caller]
fn check_refused(text: &str, expected: &[&str]) {
    match parse(text) {
        Err(ConfigError::Invalid { problems, .. }) => {
            let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
            assert_eq!(told.len(), expected.len(), "{text}\n{told:#?}");
            for (told, expected) in told.iter().zip(expected) {
                assert_eq!(told, expected, "{text}");
            }
        }
        other => panic!("{text}\nwas not refused: {other:?}"),
    }
}

#[test]
fn an_unknown_key_is_told_with_its_table_its_line_and_the_near_miss() {
    for (text, expected) in [
        (
            "[server]\nlisten = \"127.0.0.1:0\"\nlissten = 1",
            "line 3: [server] `lissten`: no such key; did you mean `listen`?",
        ),
        (
            "[sever]\n",
            "line 1: `sever`: no such key; did you mean `server`?",
        ),
        (
            "[mcp]\n\n\nkeepalive_s = 5",
            "line 4: [mcp] `keepalive_s`: no such key; did you mean `keep_alive_s`?",
        ),
        (
            "[mcp]\nlisten = \"x\"",
            "line 2: [mcp] `listen`: no such key; it belongs to [server]",
        ),
        (
            "[credentials]\nrotation = 1",
            "line 2: [credentials] `rotation`: no such key; known here: `idle_hours`, `life_days`",
        ),
        (
            "[drivers]\nfolders = \"x\"",
            "line 2: [drivers] `folders`: no such key; did you mean `folder`?",
        ),
        (
            "[drivers.codex]\nenable = true",
            "line 2: [drivers.codex] `enable`: no such key; did you mean `enabled`?",
        ),
        (
            "[drivers.codex.limits]\ncall_ms = 5",
            "line 2: [limits] `call_ms`: no such key; known here: `memory_bytes_max`, `call_ms_max`, `line_bytes_max`, `text_bytes_max`, `file_bytes_max`, `actions_max`, `processes_max`",
        ),
        (
            "[[providers]]\nid = \"a\"\ndriver = \"codex\"\nenvfromhost = []",
            "line 4: [[providers]] `envfromhost`: no such key; did you mean `env_from_host`?",
        ),
        (
            "[[providers]]\nid = \"a\"\ndriver = \"codex\"\n[providers.grants]\nspwan = []",
            "line 5: [providers.grants] `spwan`: no such key; did you mean `spawn`?",
        ),
        (
            "provider = 1",
            "line 1: `provider`: no such key; did you mean `providers`?",
        ),
    ] {
        check_refused(text, &[expected]);
    }
}

#[test]
fn a_wrong_value_is_told_with_what_is_allowed() {
    for (text, expected) in [
        (
            "[server]\nlisten = 7420",
            "line 2: [server] `listen`: a whole number is not allowed; allowed: a text in quotes",
        ),
        (
            "[server]\nlisten = \"localhost\"",
            "line 2: [server] `listen`: not an address with a port; allowed: for example \"127.0.0.1:7420\" or \"[::1]:0\"",
        ),
        (
            "[server]\nlisten = \"0.0.0.0:1\"",
            "line 2: [server] `listen`: other machines reach this address, and the endpoint has no TLS; allowed: an address of 127.0.0.0/8 or ::1, or any with beyond_loopback = \"allow\"",
        ),
        (
            "[mcp]\nkeep_alive_s = 0",
            "line 2: [mcp] `keep_alive_s`: out of bounds; allowed: a whole number of seconds from 1 to 60",
        ),
        (
            "[mcp]\nkeep_alive_s = -1",
            "line 2: [mcp] `keep_alive_s`: out of bounds; allowed: a whole number of seconds from 1 to 60",
        ),
        (
            "[mcp]\nkeep_alive_s = 1.5",
            "line 2: [mcp] `keep_alive_s`: a number with a point is not allowed; allowed: a whole number of seconds from 1 to 60",
        ),
        (
            "[mcp]\ntoolkits = [\n\"orchestration\",\n\"thread_control\"]",
            "line 4: [mcp] `toolkits`: `thread_control` is not allowed; allowed: `orchestration`, `thread-control`; did you mean `thread-control`?",
        ),
        (
            "[mcp]\nserver_name = \"a b\"",
            "line 2: [mcp] `server_name`: allowed: 1 to 28 letters, digits, `-` and `_`",
        ),
        (
            "[mcp]\nallowed_origins = [\"*\"]",
            "line 2: [mcp] `allowed_origins`: allowed: scheme and host, for example \"http://localhost:3000\", no path; \":*\" is any port",
        ),
        (
            "[mcp]\nallowed_hosts = [\"*\"]",
            "line 2: [mcp] `allowed_hosts`: allowed: host names or addresses, with or without a port, no pattern",
        ),
        (
            "[credentials]\nidle_hours = 48\nlife_days = 1",
            "line 2: [credentials] `idle_hours`: longer than life_days; allowed: at most the whole life",
        ),
        (
            "[defaults]\nruntime_mode = \"full\"",
            "line 2: [defaults] `runtime_mode`: `full` is not allowed; allowed: `approval-required`, `auto-accept-edits`, `full-access`",
        ),
        (
            "[delegation]\ndepth_max = 9",
            "line 2: [delegation] `depth_max`: out of bounds; allowed: a whole number of threads below the top from 1 to 8",
        ),
        (
            "[drivers.codex]\nenabled = \"yes\"",
            "line 2: [drivers.codex] `enabled`: a text is not allowed; allowed: true or false",
        ),
        (
            "[drivers.codex]\nsha256 = \"12\"",
            "line 2: [drivers.codex] `sha256`: not a digest; allowed: 64 hexadecimal digits",
        ),
        (
            "[[providers]]\ndriver = \"codex\"",
            "line 1: [[providers]] `id`: required and absent",
        ),
        (
            "[[providers]]\nid = \"a\"\ndriver = \"acpRegistry\"",
            "line 1: [[providers]] `command`: required for this driver and absent",
        ),
        (
            "[[providers]]\nid = \"a/b\"\ndriver = \"codex\"",
            "line 2: [[providers]] `id`: allowed: 1 to 64 letters, digits, `-`, `_` and `.`",
        ),
        (
            "[[providers]]\nid = \"a\"\ndriver = \"codex\"\ncommand = []",
            "line 4: [[providers]] `command`: allowed: at least a program, for example [\"codex\"]",
        ),
        (
            "[[providers]]\nid = \"a\"\ndriver = \"codex\"\nenv = { LD_PRELOAD = \"x\" }",
            "line 4: [providers.env] `LD_PRELOAD`: this variable changes how programs load and is never passed to an agent",
        ),
        (
            "[[providers]]\nid = \"a\"\ndriver = \"codex\"\nenv_from_host = [\"A-B\"]",
            "line 4: [[providers]] `env_from_host`: not the name of a variable; allowed: letters, digits and `_`",
        ),
        (
            "[[providers]]\nid = \"a\"\ndriver = \"codex\"\nsettings = { at = 2020-01-01 }",
            "line 4: [[providers]] `settings`: a date has no form in JSON; use a text",
        ),
        (
            "[[providers]]\nid = \"a\"\ndriver = \"codex\"\n[[providers]]\nid = \"a\"\ndriver = \"codex\"",
            "line 5: [[providers]] `id`: `a` is taken by an instance above",
        ),
        (
            "[defaults]\nprovider = \"codx\"\n[[providers]]\nid = \"codex\"\ndriver = \"codex\"",
            "line 2: [defaults] `provider`: no instance of this id; allowed: codex; did you mean `codex`?",
        ),
        (
            "providers = 1",
            "line 1: `providers`: a whole number is not allowed; allowed: an array of tables, written [[providers]]",
        ),
        (
            "mcp = true",
            "line 1: `mcp`: true or false is not allowed; allowed: a table",
        ),
    ] {
        check_refused(text, &[expected]);
    }
}

#[test]
fn every_problem_is_told_at_once_in_the_order_of_lines() {
    check_refused(
        "[mcp]\nkeep_alive_s = 0\n[server]\nport = 1\n",
        &[
            "line 2: [mcp] `keep_alive_s`: out of bounds; allowed: a whole number of seconds from 1 to 60",
            "line 4: [server] `port`: no such key; known here: `listen`, `beyond_loopback`",
        ],
    );
}

#[test]
fn a_secret_in_clear_is_refused_and_not_repeated() {
    for value in [
        "\"sk-canary-0123456789\"",
        "{ env = \"A\", file = \"sk-canary-0123456789\" }",
        "{ value = \"sk-canary-0123456789\" }",
        "[\"sk-canary-0123456789\"]",
        "{ env = \"\" }",
    ] {
        let text =
            format!("[[providers]]\nid = \"a\"\ndriver = \"codex\"\nsecrets.API_KEY = {value}");
        let error = parse(&text).unwrap_err().to_string();
        assert!(
            error.contains("line 4: [providers.secrets] `API_KEY`: write a reference"),
            "{error}"
        );
        assert!(!error.contains("canary"), "{error}");
    }
}

#[test]
fn a_variable_that_looks_like_a_secret_is_remarked_without_its_value() {
    let config = parse(
        "[[providers]]\nid = \"a\"\ndriver = \"codex\"\nenv = { OPENAI_API_KEY = \"sk-canary\" }",
    )
    .unwrap();
    assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
    let shown = config.describe();
    assert!(
        shown.contains("warning: line 4: [providers.env] `OPENAI_API_KEY` looks like a secret")
    );
    assert!(!shown.contains("canary"), "{shown}");
}

#[test]
fn a_driver_that_is_nearly_a_shipped_one_is_remarked_and_another_is_not() {
    for (driver, remarked) in [("codx", true), ("codex", false), ("myOwnDriver", false)] {
        let text = format!("[[providers]]\nid = \"a\"\ndriver = \"{driver}\"\ncommand = [\"x\"]");
        let warnings = parse(&text).unwrap().warnings;
        assert_eq!(
            warnings.iter().any(|w| w.contains("did you mean `codex`?")),
            remarked,
            "{driver}"
        );
    }
}

#[test]
fn broken_toml_is_told_with_its_line() {
    match Config::parse("[server]\nlisten = \n", None) {
        Err(ConfigError::Invalid { problems, .. }) => assert_eq!(problems[0].line, 2),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_empty_file_gives_the_shipped_defaults() {
    let config = parse("").unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:7420");
    assert_eq!(config.mcp.server_name, "t3-code");
    assert_eq!(
        config.mcp.toolkits,
        [Capability::Orchestration, Capability::ThreadControl]
    );
    assert_eq!(config.mcp.keep_alive_s, 10);
    assert_eq!(
        (config.credentials.idle_hours, config.credentials.life_days),
        (24, 7)
    );
    assert_eq!(config.defaults.provider, None);
    assert_eq!(config.defaults.modes.runtime, RuntimeMode::ApprovalRequired);
    assert_eq!(config.delegation_depth_max, 4);
    assert!(config.providers.is_none());
    assert!(config.warnings.is_empty());
}

#[test]
fn a_whole_file_is_read() {
    let config = parse(
        r#"
[server]
listen = "0.0.0.0:80"
beyond_loopback = "allow"
[mcp]
toolkits = ["orchestration"]
[drivers]
folder = "drivers"
[drivers.codex]
enabled = false
[drivers.scripted.limits]
call_ms_max = 100
[[providers]]
id = "work"
driver = "claudeAgent"
command = ["/usr/bin/claude", "--debug"]
env_from_host = ["HOME"]
models = ["opus"]
threads_per_session = 2
settings = { effort = "high", list = [1, true] }
secrets = { TOKEN = { file = "token" } }
[providers.grants]
spawn = ["serve"]
programs = { node = ["/usr/bin/node"] }
"#,
    )
    .unwrap();
    assert_eq!(config.listen.to_string(), "0.0.0.0:80");
    assert_eq!(
        config.drivers.folder,
        Some(PathBuf::from("/etc/weft/drivers"))
    );
    assert_eq!(
        config.driver(&DriverKind::new("codex")).enablement,
        Enablement::Disabled
    );
    assert_eq!(
        config.driver(&DriverKind::new("pi")).enablement,
        Enablement::Enabled
    );
    assert_eq!(
        config
            .driver(&DriverKind::new("scripted"))
            .limits
            .call_ms_max,
        Some(100)
    );
    let providers = config.effective_providers();
    let provider = &providers[0];
    assert_eq!(provider.id, ProviderInstanceId::new("work"));
    assert_eq!(
        provider.driver.as_str(),
        "claude",
        "the older spelling is folded"
    );
    assert_eq!(provider.command, ["/usr/bin/claude", "--debug"]);
    assert_eq!(
        provider.secrets["TOKEN"],
        SecretSource::File(PathBuf::from("/etc/weft/token"))
    );
    assert_eq!(provider.grants.spawn, Some(vec!["serve".to_owned()]));
    assert_eq!(provider.grants.programs["node"], ["/usr/bin/node"]);
    assert_eq!(provider.threads_per_session, Some(2));
    assert_eq!(
        serde_json::Value::Object(provider.settings.clone()),
        serde_json::json!({"effort": "high", "list": [1, true]})
    );
}

/// The document's table of keys is the schema, so that neither can be forgotten.
#[test]
fn the_document_lists_every_key() {
    let document = include_str!("../../../../docs/configuration.md");
    let rows: Vec<String> = schema::KEYS
        .iter()
        .filter(|key| !key.absent.is_empty())
        .map(|key| {
            format!(
                "| `{}` | `{}` | {} | {} |",
                key.table, key.name, key.holds, key.absent
            )
        })
        .collect();
    let missing: Vec<&String> = rows.iter().filter(|row| !document.contains(*row)).collect();
    assert!(
        missing.is_empty(),
        "docs/configuration.md lacks these rows:\n{missing:#?}"
    );
}
