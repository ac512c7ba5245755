//! Defaults and bounds of the operator's configuration. Each has a name, a unit and a reason.

/// A default or a bound with its reason, for the document and the tests.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name of the constant.
    pub name: &'static str,
    /// Value.
    pub value: u64,
    /// Unit.
    pub unit: &'static str,
    /// Why this number.
    pub reason: &'static str,
}

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $unit:literal, $reason:literal;)*) => {
        $($(#[$doc])* pub const $name: u64 = $value;)*

        /// Every number of this file.
        pub const ALL: &[Setting] = &[$(Setting {
            name: stringify!($name), value: $value, unit: $unit, reason: $reason,
        }),*];
    };
}

settings! {
    /// Port of the MCP endpoint when nothing is configured.
    PORT_DEFAULT = 7420, "TCP port", "unassigned, and the same on every machine so that notes stay true";
    /// Time between keep-alive bytes of a parked wait.
    KEEP_ALIVE_S_DEFAULT = 10, "seconds", "half of the shortest read timeout seen in a client (20 s)";
    /// Longest time between keep-alive bytes.
    KEEP_ALIVE_S_MAX = 60, "seconds", "beyond this proxies and clients drop the connection";
    /// Idle time after which a provider-session credential ends.
    CREDENTIAL_IDLE_HOURS_DEFAULT = 24, "hours", "decision 13";
    /// Longest idle time an operator may set.
    CREDENTIAL_IDLE_HOURS_MAX = 168, "hours", "not longer than the longest life";
    /// Life after which a credential is replaced.
    CREDENTIAL_LIFE_DAYS_DEFAULT = 7, "days", "decision 13";
    /// Longest life an operator may set.
    CREDENTIAL_LIFE_DAYS_MAX = 30, "days", "a bearer that lives a month is found in more backups than one that lives a week";
    /// Longest idle time of a session's thread.
    IDLE_MINUTES_MAX = 1440, "minutes", "a day; a thread let go is taken up again with the next message";
    /// Most bytes of the configuration file.
    CONFIG_BYTES_MAX = 1_048_576, "bytes", "a file written by hand is a thousandth of this; a device or a log is not";
    /// Most provider instances.
    PROVIDERS_MAX = 64, "instances", "each is probed at start; more than a person can tell apart";
    /// Longest id of a provider instance.
    PROVIDER_ID_CHARS_MAX = 64, "characters", "fits a column of a listing and a tool's argument";
    /// Shortest secret that may stand in a frame.
    SECRET_CHARS_MIN = 16, "characters", "shorter values also occur by chance, and scrubbing works by exact match";
    /// Most bytes of a secret's file.
    SECRET_BYTES_MAX = 65_536, "bytes", "longest key file seen is 12 KiB";
    /// Most threads in one provider session.
    THREADS_PER_SESSION_MAX = 64, "threads", "the journal allows 1,024 active threads; a session that dies takes all of its own along";
    /// Longest path of the local socket.
    SOCKET_PATH_BYTES_MAX = 107, "bytes", "the kernel's sun_path holds 108 with the closing NUL";
    /// Smallest and largest bounds of a driver's limits that count bytes.
    LIMIT_BYTES_MIN = 65_536, "bytes", "below this ordinary answers of every provider are cut";
    /// Largest byte limit of a driver.
    LIMIT_BYTES_MAX = 1_073_741_824, "bytes", "the address space of a driver is 4 GiB; four such values must fit";
    /// Longest call of a driver an operator may allow.
    LIMIT_CALL_MS_MAX = 10_000, "milliseconds", "a driver is a codec: longer is a hang";
    /// Most processes of one session an operator may allow.
    LIMIT_PROCESSES_MAX = 32, "processes", "drivers use one or two";
    /// Most actions of one call an operator may allow.
    LIMIT_ACTIONS_MAX = 65_536, "actions", "sixteen times the default";
}

/// Default listening address: this machine only.
pub const LISTEN_ADDRESS_DEFAULT: std::net::IpAddr =
    std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// Server key agents see: the name the requirement documents use, so that agents that know it feel at home.
pub const MCP_SERVER_NAME_DEFAULT: &str = "t3-code";

#[cfg(test)]
mod tests {
    #[test]
    fn every_number_says_its_unit_and_reason() {
        for setting in super::ALL {
            assert!(setting.value > 0 && !setting.unit.is_empty(), "{setting:?}");
            assert!(setting.reason.len() > 8, "{setting:?}");
        }
    }
}
