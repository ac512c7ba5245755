//! Reads the sections of the file that are about the host itself.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use domain::authority::Capability;
use domain::ids::{DriverKind, ProviderInstanceId};
use domain::limits::{DELEGATION_DEPTH_DEFAULT, DELEGATION_DEPTH_MAX};
use domain::modes::{InteractionMode, Modes, RuntimeMode};

use super::limits::{
    CREDENTIAL_IDLE_HOURS_DEFAULT, CREDENTIAL_IDLE_HOURS_MAX, CREDENTIAL_LIFE_DAYS_DEFAULT,
    CREDENTIAL_LIFE_DAYS_MAX, IDLE_MINUTES_MAX, KEEP_ALIVE_S_DEFAULT, KEEP_ALIVE_S_MAX,
    LIMIT_ACTIONS_MAX, LIMIT_BYTES_MAX, LIMIT_BYTES_MIN, LIMIT_CALL_MS_MAX, LIMIT_PROCESSES_MAX,
    LISTEN_ADDRESS_DEFAULT, MCP_SERVER_NAME_DEFAULT, PORT_DEFAULT,
};
use super::model::{
    CredentialConfig, DefaultsConfig, DriverConfig, DriversConfig, Enablement, LimitsConfig,
    McpConfig,
};
use super::paths;
use super::reader::{Table, near_miss};

/// A path of the file, absolute.
pub(super) fn path(table: &Table<'_>, key: &str, base: &Path) -> Option<PathBuf> {
    let text = table.text(key)?;
    let path = paths::resolve(base, &text.value);
    if path.is_none() {
        table.problem(key, "not a path; allowed: a path that is not empty");
    }
    path
}

pub(super) fn listen(table: &Table<'_>) -> SocketAddr {
    let port = u16::try_from(PORT_DEFAULT).unwrap_or_default();
    let default = SocketAddr::new(LISTEN_ADDRESS_DEFAULT, port);
    let beyond = table.word("beyond_loopback", &[("refuse", false), ("allow", true)]);
    let Some(text) = table.text("listen") else {
        return default;
    };
    let Ok(address) = text.value.parse::<SocketAddr>() else {
        table.problem(
            "listen",
            "not an address with a port; allowed: for example \"127.0.0.1:7420\" or \"[::1]:0\"",
        );
        return default;
    };
    if !is_loopback(address.ip()) && beyond != Some(true) {
        table.problem(
            "listen",
            "other machines reach this address, and the endpoint has no TLS; \
             allowed: an address of 127.0.0.0/8 or ::1, or any with beyond_loopback = \"allow\"",
        );
    }
    address
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

pub(super) fn mcp(table: &Table<'_>) -> McpConfig {
    let toolkits = [
        ("orchestration", Capability::Orchestration),
        ("thread-control", Capability::ThreadControl),
    ];
    let mut chosen = table
        .word_list("toolkits", &toolkits)
        .unwrap_or_else(|| toolkits.iter().map(|(_, toolkit)| *toolkit).collect());
    chosen.dedup();
    McpConfig {
        server_name: server_name(table),
        toolkits: chosen,
        allowed_hosts: hosts(table),
        allowed_origins: origins(table),
        keep_alive_s: table
            .number("keep_alive_s", 1..=KEEP_ALIVE_S_MAX, "seconds")
            .unwrap_or(KEEP_ALIVE_S_DEFAULT),
    }
}

/// Longest server name: Claude builds `mcp__NAME__TOOL` of at most 64 characters, and the longest tool has 29.
const SERVER_NAME_CHARS_MAX: usize = 28;

fn server_name(table: &Table<'_>) -> String {
    let Some(text) = table.text("server_name") else {
        return MCP_SERVER_NAME_DEFAULT.to_owned();
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.value.is_empty()
        || text.value.len() > SERVER_NAME_CHARS_MAX
        || !text.value.chars().all(plain)
    {
        table.problem(
            "server_name",
            format!("allowed: 1 to {SERVER_NAME_CHARS_MAX} letters, digits, `-` and `_`"),
        );
    }
    text.value
}

fn hosts(table: &Table<'_>) -> Vec<String> {
    let mut hosts = Vec::new();
    for host in table.texts("allowed_hosts").unwrap_or_default() {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        if host.value.is_empty() || !host.value.chars().all(plain) {
            table.problem(
                "allowed_hosts",
                "allowed: host names or addresses, with or without a port, no pattern",
            );
        }
        hosts.push(host.value);
    }
    hosts
}

fn origins(table: &Table<'_>) -> Vec<String> {
    let mut origins = Vec::new();
    for origin in table.texts("allowed_origins").unwrap_or_default() {
        let rest = origin
            .value
            .strip_prefix("http://")
            .or_else(|| origin.value.strip_prefix("https://"))
            .unwrap_or_default();
        // `:*` stands for any port; no other pattern is known.
        let plain = rest.strip_suffix(":*").unwrap_or(rest);
        if plain.is_empty() || plain.contains(['/', '*', ' ', '@']) {
            table.problem(
                "allowed_origins",
                "allowed: scheme and host, for example \"http://localhost:3000\", no path; \":*\" is any port",
            );
        }
        origins.push(origin.value);
    }
    origins
}

pub(super) fn credentials(table: &Table<'_>) -> CredentialConfig {
    let credentials = CredentialConfig {
        idle_hours: table
            .number("idle_hours", 1..=CREDENTIAL_IDLE_HOURS_MAX, "hours")
            .unwrap_or(CREDENTIAL_IDLE_HOURS_DEFAULT),
        life_days: table
            .number("life_days", 1..=CREDENTIAL_LIFE_DAYS_MAX, "days")
            .unwrap_or(CREDENTIAL_LIFE_DAYS_DEFAULT),
    };
    if credentials.idle_hours > credentials.life_days * 24 {
        table.problem(
            "idle_hours",
            "longer than life_days; allowed: at most the whole life",
        );
    }
    credentials
}

const RUNTIME_MODES: [(&str, RuntimeMode); 3] = [
    (
        RuntimeMode::ApprovalRequired.word(),
        RuntimeMode::ApprovalRequired,
    ),
    (
        RuntimeMode::AutoAcceptEdits.word(),
        RuntimeMode::AutoAcceptEdits,
    ),
    (RuntimeMode::FullAccess.word(), RuntimeMode::FullAccess),
];

const INTERACTION_MODES: [(&str, InteractionMode); 2] = [
    (InteractionMode::Plan.word(), InteractionMode::Plan),
    (InteractionMode::Default.word(), InteractionMode::Default),
];

pub(super) fn defaults(table: &Table<'_>) -> DefaultsConfig {
    DefaultsConfig {
        provider: table
            .text("provider")
            .map(|text| ProviderInstanceId::new(text.value)),
        model: table.text("model").map(|text| text.value),
        modes: Modes {
            runtime: table
                .word("runtime_mode", &RUNTIME_MODES)
                .unwrap_or(RuntimeMode::ApprovalRequired),
            interaction: table
                .word("interaction_mode", &INTERACTION_MODES)
                .unwrap_or(InteractionMode::Default),
        },
    }
}

pub(super) fn delegation_depth_max(table: &Table<'_>) -> u32 {
    table
        .number(
            "depth_max",
            1..=u64::from(DELEGATION_DEPTH_MAX),
            "threads below the top",
        )
        .and_then(|depth| u32::try_from(depth).ok())
        .unwrap_or(DELEGATION_DEPTH_DEFAULT)
}

/// The drivers' section: one fixed key, every other one is a driver's kind.
pub(super) fn drivers(top: &Table<'_>, base: &Path) -> DriversConfig {
    let Some(table) = top.open_table("drivers", "drivers") else {
        return DriversConfig::default();
    };
    let mut drivers = DriversConfig {
        folder: path(&table, "folder", base),
        idle_minutes: table.number("idle_minutes", 1..=IDLE_MINUTES_MAX, "minutes"),
        kinds: BTreeMap::new(),
    };
    for kind in table.keys() {
        if kind == "folder" || kind == "idle_minutes" {
            continue;
        }
        if !is_table(&table, kind) {
            let hint = near_miss(kind, &["folder", "idle_minutes"]).map_or_else(
                || {
                    "known here: `folder`, `idle_minutes`, and a table for each driver, as [drivers.codex]"
                        .to_owned()
                },
                |near| format!("did you mean `{near}`?"),
            );
            table.problem(kind, format!("no such key; {hint}"));
            continue;
        }
        let name = format!("drivers.{kind}");
        let driver = driver(&table.table(kind, "drivers.KIND", &name), base);
        drivers.kinds.insert(DriverKind::new(kind), driver);
    }
    drivers
}

fn is_table(table: &Table<'_>, key: &str) -> bool {
    table.json(key).is_some_and(|value| value.is_object())
}

fn driver(table: &Table<'_>, base: &Path) -> DriverConfig {
    DriverConfig {
        enablement: enablement(table),
        component: path(table, "component", base),
        sha256: digest(table),
        limits: limits(table),
    }
}

pub(super) fn enablement(table: &Table<'_>) -> Enablement {
    match table.switch("enabled") {
        Some(false) => Enablement::Disabled,
        Some(true) | None => Enablement::Enabled,
    }
}

/// Hexadecimal digits of a SHA-256 digest.
const SHA256_DIGITS: usize = 64;

fn digest(table: &Table<'_>) -> Option<String> {
    let text = table.text("sha256")?;
    let digest = text.value.to_ascii_lowercase();
    if digest.len() != SHA256_DIGITS || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        table.problem("sha256", "not a digest; allowed: 64 hexadecimal digits");
    }
    Some(digest)
}

pub(super) fn limits(table: &Table<'_>) -> LimitsConfig {
    let table = table.table("limits", "limits", "limits");
    let bytes = |key: &str| table.number(key, LIMIT_BYTES_MIN..=LIMIT_BYTES_MAX, "bytes");
    LimitsConfig {
        memory_bytes_max: bytes("memory_bytes_max"),
        call_ms_max: table.number("call_ms_max", 1..=LIMIT_CALL_MS_MAX, "milliseconds"),
        line_bytes_max: bytes("line_bytes_max"),
        text_bytes_max: bytes("text_bytes_max"),
        file_bytes_max: bytes("file_bytes_max"),
        actions_max: table.number("actions_max", 1..=LIMIT_ACTIONS_MAX, "actions"),
        processes_max: table.number("processes_max", 1..=LIMIT_PROCESSES_MAX, "processes"),
    }
}
