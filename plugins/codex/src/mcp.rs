//! Handing the host's MCP server to Codex, and waiting until it is up.
#![forbid(unsafe_code)]

use driver_sdk::logging::{self, LogLevel};
use driver_sdk::types::McpEndpoint;
use serde_json::{Value, json};

use crate::core::Codex;
use crate::limits::{
    EARLY_REPORTS_MAX, MCP_READY_MS, TOOL_TIMEOUT_MARGIN_SECONDS, TOOL_TIMEOUT_SECONDS_MIN,
};
use crate::settings::McpInjection;
use crate::thread::{McpState, ThreadKey};
use crate::timers::Purpose;
use crate::views::McpNotice;

/// `config` of `thread/start` and `thread/resume`. With [`McpInjection::Environment`] address and token came with the
/// process; what is left are the settings of the server.
pub(crate) fn thread_config(mcp: &McpEndpoint, injection: McpInjection) -> Value {
    let seconds = tool_timeout_seconds(mcp.call_ms_max);
    let server = format!("mcp_servers.{}", mcp.server_name);
    match injection {
        // The entry alone: a whole table would take the place of servers given as -c words.
        McpInjection::Frames => json!({
            server: {
                "url": mcp.url,
                "http_headers": { "Authorization": format!("Bearer {}", mcp.authorization) },
                // The host decides about its own tools; a second question would only be in the way.
                "default_tools_approval_mode": "approve",
                "tool_timeout_sec": seconds,
            }
        }),
        McpInjection::Environment => {
            json!({
                format!("{server}.default_tools_approval_mode"): "approve",
                format!("{server}.tool_timeout_sec"): seconds,
            })
        }
    }
}

fn tool_timeout_seconds(call_ms_max: u32) -> u32 {
    let seconds = call_ms_max
        .div_ceil(1_000)
        .saturating_add(TOOL_TIMEOUT_MARGIN_SECONDS);
    seconds.max(TOOL_TIMEOUT_SECONDS_MIN)
}

/// A report about a conversation whose opening is not answered yet.
#[derive(Debug)]
pub(crate) struct EarlyReport {
    native: String,
    server: String,
    outcome: Result<(), String>,
}

impl Codex {
    /// `mcpServer/startupStatus/updated`
    pub(crate) fn mcp_report(&mut self, notice: &McpNotice) {
        let outcome = match notice.status.as_ref() {
            "ready" => Ok(()),
            "failed" | "cancelled" => {
                Err(notice.error.as_deref().unwrap_or(&notice.status).to_owned())
            }
            _ => return,
        };
        let Some(native) = notice.thread_id.as_deref() else {
            // Older versions do not say for which thread: it holds for all.
            for key in self.keys() {
                self.settle_mcp(key, &notice.name, outcome.clone());
            }
            return;
        };
        match self.key_of_native(native) {
            Some(key) => self.settle_mcp(key, &notice.name, outcome),
            None if self.early_reports.len() < EARLY_REPORTS_MAX => {
                self.early_reports.push(EarlyReport {
                    native: native.to_owned(),
                    server: notice.name.to_string(),
                    outcome,
                });
            }
            None => {}
        }
    }

    /// Uses what was reported about a conversation before its opening was answered.
    pub(crate) fn take_early_reports(&mut self, key: ThreadKey, native: &str) {
        let (mine, others) = std::mem::take(&mut self.early_reports)
            .into_iter()
            .partition(|report: &EarlyReport| report.native == native);
        self.early_reports = others;
        for EarlyReport {
            server, outcome, ..
        } in mine
        {
            self.settle_mcp(key, &server, outcome);
        }
    }

    fn settle_mcp(&mut self, key: ThreadKey, server: &str, outcome: Result<(), String>) {
        let Some(thread) = self.thread(key) else {
            return;
        };
        if thread
            .mcp
            .as_ref()
            .is_none_or(|mcp| mcp.server_name != server)
        {
            if let Err(error) = outcome {
                logging::write(
                    LogLevel::Warn,
                    &format!("MCP server `{server}` did not start: {error}"),
                );
            }
            return;
        }
        match outcome {
            Ok(()) => thread.mcp_state = McpState::Ready,
            // Some versions start it again at each change of the sandbox, and fail again.
            Err(_) if thread.mcp_state == McpState::Down => {}
            Err(error) => {
                thread.mcp_state = McpState::Down;
                self.mcp_notice(key, &format!("did not start: {error}"));
            }
        }
        self.stop_timer(Purpose::McpReady(key));
        self.try_start(key);
    }

    /// The server did not report in time.
    pub(crate) fn mcp_silent(&mut self, key: ThreadKey) {
        let Some(thread) = self.thread(key) else {
            return;
        };
        if thread.mcp_state != McpState::Waiting {
            return;
        }
        thread.mcp_state = McpState::Down;
        self.mcp_notice(
            key,
            &format!("was not ready within {} s", MCP_READY_MS / 1_000),
        );
        self.try_start(key);
    }

    fn mcp_notice(&mut self, key: ThreadKey, what: &str) {
        let Some(thread) = self.thread(key) else {
            return;
        };
        let server = thread
            .mcp
            .as_ref()
            .map(|mcp| mcp.server_name.clone())
            .unwrap_or_default();
        let text = format!("The MCP server `{server}` {what}. The agent works without its tools.");
        self.notice(key, "The host's tools are not available", &text, "mcp");
    }
}

#[cfg(test)]
mod tests {
    use super::{thread_config, tool_timeout_seconds};
    use crate::settings::McpInjection;
    use driver_sdk::types::McpEndpoint;

    #[test]
    fn codex_waits_longer_than_the_host() {
        for (call_ms_max, seconds) in [
            (0, 900),
            (840_000, 900),
            (900_001, 961),
            (u32::MAX, 4_295_028),
        ] {
            assert_eq!(tool_timeout_seconds(call_ms_max), seconds, "{call_ms_max}");
        }
    }

    #[test]
    fn the_token_travels_in_frames_only_where_it_is_not_in_the_environment() {
        let mcp = McpEndpoint {
            server_name: "t3-code".to_owned(),
            url: "http://127.0.0.1:1/mcp".to_owned(),
            protocol_version: "2025-06-18".to_owned(),
            authorization: "{{mcp:1}}".to_owned(),
            call_ms_max: 840_000,
            tools: Vec::new(),
        };
        let frames = thread_config(&mcp, McpInjection::Frames);
        let server = &frames["mcp_servers.t3-code"];
        assert_eq!(server["http_headers"]["Authorization"], "Bearer {{mcp:1}}");
        assert_eq!(server["default_tools_approval_mode"], "approve");
        assert_eq!(server["tool_timeout_sec"], 900);
        let environment = thread_config(&mcp, McpInjection::Environment);
        assert!(!environment.to_string().contains("{{mcp:1}}"));
        assert_eq!(environment["mcp_servers.t3-code.tool_timeout_sec"], 900);
    }
}
