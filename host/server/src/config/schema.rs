//! Every key the configuration knows. The reader refuses what is not here, and the document lists it.

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Table as it is written in the document, for example `drivers.KIND`.
    pub table: &'static str,
    /// Name.
    pub name: &'static str,
    /// What it holds and which values are taken.
    pub holds: &'static str,
    /// What holds when it is absent, and why.
    pub absent: &'static str,
}

const fn key(
    table: &'static str,
    name: &'static str,
    holds: &'static str,
    absent: &'static str,
) -> Key {
    Key {
        table,
        name,
        holds,
        absent,
    }
}

/// Every key, in the document's order. The table `""` is the top of the file.
pub const KEYS: &[Key] = &[
    key("", "storage", "table", ""),
    key("", "server", "table", ""),
    key("", "mcp", "table", ""),
    key("", "credentials", "table", ""),
    key("", "defaults", "table", ""),
    key("", "delegation", "table", ""),
    key("", "drivers", "table", ""),
    key("", "providers", "array of tables", ""),
    key(
        "storage",
        "data_folder",
        "Path of the folder for everything Weft stores. `~/` is the home folder; a relative path starts at the file's folder.",
        "`$XDG_DATA_HOME/weft`, else `~/.local/share/weft`",
    ),
    key(
        "server",
        "listen",
        "Address and port of the MCP endpoint. Port 0 takes a free one.",
        "`127.0.0.1:7420`: this machine only",
    ),
    key(
        "server",
        "beyond_loopback",
        "`refuse` or `allow` an address that other machines reach.",
        "`refuse`: the endpoint has no TLS of its own",
    ),
    key(
        "mcp",
        "server_name",
        "Name of the MCP server that agents see: letters, digits, `-` and `_`.",
        "`t3-code`",
    ),
    key(
        "mcp",
        "toolkits",
        "List of `orchestration` and `thread-control`.",
        "both",
    ),
    key(
        "mcp",
        "allowed_hosts",
        "Values of the `Host` header that are taken besides the address listened on.",
        "none: other names are how a web page reaches a local server",
    ),
    key(
        "mcp",
        "allowed_origins",
        "Values of the `Origin` header that are taken.",
        "none: agents send no `Origin`, browsers do",
    ),
    key(
        "mcp",
        "keep_alive_s",
        "Seconds between keep-alive bytes of a wait, 1 to 60.",
        "10",
    ),
    key(
        "credentials",
        "idle_hours",
        "Hours without use after which a session's credential ends, 1 to 168.",
        "24",
    ),
    key(
        "credentials",
        "life_days",
        "Days after which a session's credential is replaced, 1 to 30.",
        "7",
    ),
    key(
        "defaults",
        "provider",
        "Id of the provider instance of new threads.",
        "none: a new thread must name one",
    ),
    key(
        "defaults",
        "model",
        "Model of new threads.",
        "the instance's own default",
    ),
    key(
        "defaults",
        "runtime_mode",
        "`approval-required`, `auto-accept-edits` or `full-access`.",
        "`approval-required`: a person decides",
    ),
    key(
        "defaults",
        "interaction_mode",
        "`plan` or `default`.",
        "`default`",
    ),
    key(
        "delegation",
        "depth_max",
        "Deepest delegation below a thread, 1 to 8.",
        "4",
    ),
    key(
        "drivers",
        "folder",
        "Folder with the drivers' files, one `KIND.wasm` each.",
        "`drivers` beside the program",
    ),
    key(
        "drivers",
        "idle_minutes",
        "Minutes without work after which a session's thread is let go, 1 to 1440.",
        "30",
    ),
    key(
        "drivers.KIND",
        "enabled",
        "`true` or `false`: whether this driver is loaded.",
        "`true`",
    ),
    key(
        "drivers.KIND",
        "component",
        "Path of this driver's file.",
        "`KIND.wasm` in the drivers' folder",
    ),
    key(
        "drivers.KIND",
        "sha256",
        "Digest the file must have, 64 hexadecimal digits.",
        "none: any file is loaded",
    ),
    key(
        "drivers.KIND",
        "limits",
        "Table of bounds for every instance of this driver.",
        "",
    ),
    key(
        "providers",
        "id",
        "Name of this instance, unique: letters, digits, `-`, `_` and `.`.",
        "required",
    ),
    key(
        "providers",
        "driver",
        "Driver it uses, for example `codex`.",
        "required",
    ),
    key("providers", "enabled", "`true` or `false`.", "`true`"),
    key(
        "providers",
        "display_name",
        "Name for people.",
        "the driver's name",
    ),
    key(
        "providers",
        "command",
        "Program and its first words, for example `[\"codex\"]`. A name without `/` is looked up on `PATH`.",
        "the driver's usual program",
    ),
    key(
        "providers",
        "env",
        "Table of variables set for the agent. Not for secrets.",
        "none",
    ),
    key(
        "providers",
        "env_from_host",
        "Names of variables passed on from the host's environment.",
        "none beyond the fixed list in SECURITY.md",
    ),
    key(
        "providers",
        "secrets",
        "Table: name of a secret to `{ env = \"VARIABLE\" }` or `{ file = \"PATH\" }`. The file has mode 0600.",
        "none",
    ),
    key(
        "providers",
        "models",
        "Models offered, the first is preferred.",
        "what the provider publishes",
    ),
    key(
        "providers",
        "threads_per_session",
        "Threads one agent process may hold, 1 to 64, where the driver can hold several.",
        "the driver's own default, measured",
    ),
    key(
        "providers",
        "settings",
        "Table handed to the driver; the driver's schema checks it.",
        "empty",
    ),
    key(
        "providers",
        "grants",
        "Table of what the driver may ask for on behalf of this instance.",
        "",
    ),
    key(
        "providers",
        "limits",
        "Table of bounds for this instance; wins over the driver's.",
        "",
    ),
    key(
        "providers.grants",
        "spawn",
        "Names of the command lines the driver may use, as `weft driver list --json` shows them.",
        "every command line it declares",
    ),
    key(
        "providers.grants",
        "environment",
        "Names of the variables it may set or be passed, among those it declares.",
        "every variable it declares",
    ),
    key(
        "providers.grants",
        "programs",
        "Table: logical program to its command, a list of words. `agent` is `command` and stands elsewhere.",
        "none but `agent`",
    ),
    key(
        "limits",
        "memory_bytes_max",
        "Linear memory of one driver instance.",
        "67108864 (64 MiB)",
    ),
    key(
        "limits",
        "call_ms_max",
        "Longest single call into the driver.",
        "1000",
    ),
    key(
        "limits",
        "line_bytes_max",
        "Longest line taken from an agent.",
        "8388608 (8 MiB)",
    ),
    key(
        "limits",
        "text_bytes_max",
        "Longest single text of a driver's action.",
        "1048576 (1 MiB)",
    ),
    key(
        "limits",
        "file_bytes_max",
        "Bytes of all files of a session.",
        "1048576 (1 MiB)",
    ),
    key("limits", "actions_max", "Most actions of one call.", "1024"),
    key(
        "limits",
        "processes_max",
        "Most processes of a session.",
        "4",
    ),
];

/// Names of the keys of one table.
pub(super) fn names(table: &str) -> Vec<&'static str> {
    KEYS.iter()
        .filter(|key| key.table == table)
        .map(|key| key.name)
        .collect()
}

/// Another table that has a key of this name, for a hint.
pub(super) fn table_with(name: &str) -> Option<&'static str> {
    KEYS.iter()
        .find(|key| key.name == name && !key.table.is_empty())
        .map(|key| key.table)
}
