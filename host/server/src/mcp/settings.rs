//! What the operator sets for the endpoint.

use std::time::Duration;

use super::limits::{KEEP_ALIVE_DEFAULT, KEEP_ALIVE_MIN, PARKED_WAITS_MAX};

/// Settings of the endpoint.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// Hosts a request may name, each `name`, `name:port`, an address or a bracketed IPv6 address. Without a
    /// port any port is allowed.
    pub allowed_hosts: Vec<String>,
    /// Origins a browser's request may name, each `scheme://host`, `scheme://host:port` or `scheme://host:*`.
    /// Empty: requests that name one are refused.
    pub allowed_origins: Vec<String>,
    /// Silence after which a waiting client is sent a sign of life.
    pub keep_alive: Duration,
    /// Most parked waits and listening streams at once.
    pub parked_waits_max: usize,
}

impl Default for McpSettings {
    fn default() -> Self {
        let own = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
        Self {
            allowed_hosts: own(&["localhost", "127.0.0.1", "[::1]"]),
            allowed_origins: own(&["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]),
            keep_alive: KEEP_ALIVE_DEFAULT,
            parked_waits_max: PARKED_WAITS_MAX,
        }
    }
}

impl McpSettings {
    pub(super) fn check(&self) -> Result<(), McpSetupError> {
        if self.keep_alive < KEEP_ALIVE_MIN {
            return Err(McpSetupError::KeepAlive {
                given: self.keep_alive,
                least: KEEP_ALIVE_MIN,
            });
        }
        Ok(())
    }
}

/// Settings that can't be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpSetupError {
    /// The list of hosts is empty.
    #[error(
        "allowed_hosts under [mcp] is empty: name at least one host, for example \"127.0.0.1\""
    )]
    NoAllowedHost,
    /// An entry is no host.
    #[error(
        "allowed_hosts under [mcp]: {entry:?} is no host; write \"name\", \"name:port\" or \"[::1]\""
    )]
    AllowedHost {
        /// The entry.
        entry: String,
    },
    /// An entry is no origin.
    #[error(
        "allowed_origins under [mcp]: {entry:?} is no origin; write \"http://name:port\" or \"http://name:*\""
    )]
    AllowedOrigin {
        /// The entry.
        entry: String,
    },
    /// The keep-alive is too short.
    #[error("keep_alive under [mcp] is {given:?}: at least {least:?} is needed")]
    KeepAlive {
        /// What was set.
        given: Duration,
        /// The least.
        least: Duration,
    },
}
