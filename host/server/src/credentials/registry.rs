//! The registry: mints, resolves and ends credentials. In memory only, so a restart ends them all.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::authority::{AgentAuthority, Capability};
use domain::ids::{ProviderSessionId, ThreadId};
use threads::clock::Clock;
use threads::ports::{CredentialPort, CredentialRequest, MintedCredential};
use tokio::sync::mpsc;

use super::record::{CredentialId, CredentialScope, EnvironmentId, Lifetimes, Record, Turn};
use super::token::{TokenHash, mint_token};
use crate::mcp::limits::PROTOCOL_VERSION_OF_DRIVERS;
use crate::mcp::{INSTRUCTIONS, offered_tools};

/// Settings of the registry.
#[derive(Clone, Debug)]
pub struct CredentialSettings {
    /// Host the credentials are good for.
    pub environment_id: EnvironmentId,
    /// Server key agents see.
    pub server_name: String,
    /// Where the endpoint listens.
    pub url: String,
    /// Toolkits every credential grants. None: tools are switched off.
    pub capabilities: Vec<Capability>,
    /// Longest time without a sign of life and without a live turn.
    pub idle: Duration,
    /// Longest time from minting.
    pub life: Duration,
}

/// A bearer that was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The credential it showed.
    pub credential: CredentialId,
    /// The caller it is.
    pub authority: AgentAuthority,
}

/// Credentials of provider sessions. Thread safe; nothing here waits.
pub struct CredentialRegistry {
    settings: CredentialSettings,
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_hash: HashMap<TokenHash, Record>,
    watchers: Vec<mpsc::UnboundedSender<CredentialId>>,
}

impl Kept {
    /// Ends every credential that fits and tells the watchers.
    fn end(&mut self, reason: &'static str, fits: impl Fn(&Record) -> bool) {
        let ended = self
            .by_hash
            .extract_if(|_, record| fits(record))
            .map(|(_, record)| record);
        for record in ended.collect::<Vec<_>>() {
            tracing::debug!(
                credential = %record.id, thread = %record.scope.thread_id, reason, "credential ended"
            );
            self.watchers
                .retain(|watcher| watcher.send(record.id).is_ok());
        }
    }

    fn of(&mut self, thread: &ThreadId, session: &ProviderSessionId) -> Option<&mut Record> {
        self.by_hash
            .values_mut()
            .find(|record| record.scope.is_of(thread, session))
    }
}

impl fmt::Debug for CredentialRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialRegistry")
            .field("settings", &self.settings)
            .field("credentials", &self.kept().by_hash.len())
            .finish_non_exhaustive()
    }
}

impl CredentialRegistry {
    /// An empty registry.
    pub fn new(settings: CredentialSettings, clock: Arc<dyn Clock>) -> Self {
        Self {
            settings,
            clock,
            kept: Mutex::default(),
        }
    }

    /// The caller a bearer token belongs to, or `None` for one that is unknown, expired or revoked.
    /// A sign of life for its credential.
    pub fn resolve(&self, token: &str) -> Option<Principal> {
        let now = self.clock.now();
        let hash = TokenHash::of(token);
        let mut kept = self.kept();
        let record = kept.by_hash.get_mut(&hash)?;
        if !record.is_good(now, self.lifetimes()) {
            let id = record.id;
            kept.end("expired", |record| record.id == id);
            return None;
        }
        record.touch(now);
        Some(Principal {
            credential: record.id,
            authority: record.scope.authority(),
        })
    }

    /// Ends every credential that is no longer good.
    pub fn sweep(&self) {
        let (now, limits) = (self.clock.now(), self.lifetimes());
        self.kept()
            .end("expired", |record| !record.is_good(now, limits));
    }

    /// Ends the credentials of one provider session.
    pub fn revoke_session(&self, session: &ProviderSessionId) {
        self.kept().end("session closed", |record| {
            record.scope.session_id == *session
        });
    }

    /// Ends every credential.
    pub fn revoke_all(&self) {
        self.kept().end("all revoked", |_| true);
    }

    /// Whether a credential still stands; unlike [`resolve`](Self::resolve) no sign of life.
    #[must_use]
    pub fn stands(&self, credential: CredentialId) -> bool {
        self.kept()
            .by_hash
            .values()
            .any(|record| record.id == credential)
    }

    /// Ids of credentials as they end, from now on.
    pub fn endings(&self) -> mpsc::UnboundedReceiver<CredentialId> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.kept().watchers.push(sender);
        receiver
    }

    const fn lifetimes(&self) -> Lifetimes {
        Lifetimes {
            idle: self.settings.idle,
            life: self.settings.life,
        }
    }

    /// Every change of the map is a single step, so a panic elsewhere leaves it whole.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CredentialPort for CredentialRegistry {
    fn mint(&self, request: &CredentialRequest) -> Option<MintedCredential> {
        if self.settings.capabilities.is_empty() {
            return None;
        }
        let token = mint_token()
            .inspect_err(
                |error| tracing::error!(%error, "no random bytes: the session gets no tools"),
            )
            .ok()?;
        let now = self.clock.now();
        let limits = self.lifetimes();
        let mut kept = self.kept();
        // A renewed credential takes over the turn of the one it replaces.
        let turn = kept
            .of(&request.thread_id, &request.session_id)
            .map_or(Turn::None, |old| old.turn);
        kept.end("replaced", |record| {
            record.scope.is_of(&request.thread_id, &request.session_id)
        });
        kept.end("expired", |record| !record.is_good(now, limits));
        let scope = CredentialScope {
            environment_id: self.settings.environment_id.clone(),
            thread_id: request.thread_id.clone(),
            instance_id: request.instance_id.clone(),
            session_id: request.session_id.clone(),
            capabilities: self.settings.capabilities.clone(),
        };
        let id = CredentialId::random();
        tracing::debug!(
            credential = %id, thread = %scope.thread_id, session = %scope.session_id,
            environment = scope.environment_id.as_str(), "credential minted"
        );
        let record = Record {
            id,
            scope,
            issued_at: now,
            seen_at: now,
            turn,
        };
        kept.by_hash.insert(TokenHash::of(token.expose()), record);
        Some(MintedCredential {
            server_name: self.settings.server_name.clone(),
            url: self.settings.url.clone(),
            protocol_version: PROTOCOL_VERSION_OF_DRIVERS.to_owned(),
            token,
            tools: offered_tools(&self.settings.capabilities),
            instructions: INSTRUCTIONS.to_owned(),
        })
    }

    fn turn_started(&self, thread: &ThreadId, session: &ProviderSessionId) {
        let now = self.clock.now();
        if let Some(record) = self.kept().of(thread, session) {
            record.turn = Turn::Live;
            record.touch(now);
        }
    }

    fn turn_over(&self, thread: &ThreadId, session: &ProviderSessionId) {
        let now = self.clock.now();
        if let Some(record) = self.kept().of(thread, session) {
            record.turn = Turn::None;
            record.touch(now);
        }
    }

    fn is_overdue(&self, thread: &ThreadId, session: &ProviderSessionId) -> bool {
        let now = self.clock.now();
        self.kept()
            .of(thread, session)
            .is_some_and(|record| record.is_overdue(now, self.lifetimes()))
    }

    fn revoke(&self, thread: &ThreadId, session: &ProviderSessionId) {
        self.kept()
            .end("revoked", |record| record.scope.is_of(thread, session));
    }
}
