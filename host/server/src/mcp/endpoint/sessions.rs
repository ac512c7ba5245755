//! Whose MCP session is whose. rmcp takes any caller's word for a session id; here an id is worth something
//! only with the credential it was made under, and ends with it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use crate::credentials::CredentialId;
use crate::mcp::limits::{
    FINISHED_REPLY_KEPT, SESSION_INIT_TIME_MAX, SESSION_QUEUE_MESSAGES,
    SESSIONS_PER_CREDENTIAL_MAX, STREAM_RETRY_AFTER,
};

/// Id of an MCP session as rmcp keeps it.
type McpSessionId = Arc<str>;

/// The sessions and their owners.
#[derive(Debug)]
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    /// Of each credential its sessions, the least recently used first.
    owned: Mutex<HashMap<CredentialId, VecDeque<McpSessionId>>>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self {
            manager: Arc::new(manager()),
            owned: Mutex::default(),
        }
    }

    /// The store rmcp works on.
    pub(super) fn manager(&self) -> Arc<LocalSessionManager> {
        Arc::clone(&self.manager)
    }

    /// Whether the session was made under this credential.
    pub(super) fn is_owner(&self, credential: CredentialId, session: &str) -> bool {
        let mut owned = self.owned();
        let Some(sessions) = owned.get_mut(&credential) else {
            return false;
        };
        let Some(at) = sessions.iter().position(|own| &**own == session) else {
            return false;
        };
        if let Some(used) = sessions.remove(at) {
            sessions.push_back(used);
        }
        true
    }

    /// Binds a new session; over the bound, the one that was not used for longest is closed.
    pub(super) async fn bind(&self, credential: CredentialId, session: &str) {
        let dropped = {
            let mut owned = self.owned();
            let sessions = owned.entry(credential).or_default();
            sessions.push_back(session.into());
            if sessions.len() > SESSIONS_PER_CREDENTIAL_MAX {
                sessions.pop_front()
            } else {
                None
            }
        };
        if let Some(session) = dropped {
            tracing::info!(%credential, "an MCP session is closed for a newer one of the same credential");
            self.close(&session).await;
        }
    }

    /// Forgets a session its client ended.
    pub(super) fn unbind(&self, credential: CredentialId, session: &str) {
        let mut owned = self.owned();
        if let Some(sessions) = owned.get_mut(&credential) {
            sessions.retain(|own| &**own != session);
            if sessions.is_empty() {
                owned.remove(&credential);
            }
        }
    }

    /// Closes every session of a credential that ended.
    pub(super) async fn close_all_of(&self, credential: CredentialId) {
        let sessions = self.owned().remove(&credential).unwrap_or_default();
        for session in sessions {
            self.close(&session).await;
        }
    }

    async fn close(&self, session: &McpSessionId) {
        if let Err(error) = self.manager.close_session(session).await {
            tracing::warn!(%error, "an MCP session could not be closed");
        }
    }

    fn owned(&self) -> MutexGuard<'_, HashMap<CredentialId, VecDeque<McpSessionId>>> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every setting of rmcp's session store, so that none changes with its defaults.
fn manager() -> LocalSessionManager {
    let mut manager = LocalSessionManager::default();
    let config = &mut manager.session_config;
    config.channel_capacity = SESSION_QUEUE_MESSAGES;
    // rmcp's idle limit ends a session in the middle of a long call. Ours end with their credential.
    config.keep_alive = None;
    config.sse_retry = Some(STREAM_RETRY_AFTER);
    config.completed_cache_ttl = FINISHED_REPLY_KEPT;
    config.init_timeout = Some(SESSION_INIT_TIME_MAX);
    manager
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_rmcps_session_store_is_ours() {
        let printed = format!("{:?}", manager().session_config);
        let expected = "SessionConfig { channel_capacity: 16, keep_alive: None, sse_retry: Some(3s), \
                        completed_cache_ttl: 60s, init_timeout: Some(60s) }";
        assert_eq!(printed, expected, "rmcp has a new setting: decide it here");
    }
}
