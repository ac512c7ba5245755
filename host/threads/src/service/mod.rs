//! The one service in front of the journal: every caller, every rule.
//!
//! Methods build commands, hand them to the writer and read durable state back. No method decides anything
//! the domain could decide.

mod delegation;
mod people;
mod reading;
mod task_view;
mod types;

use std::sync::Arc;

use domain::authority::{AgentAuthority, Authority, Capability};
use domain::command::Command;
use domain::error::{Denial, DenialCode};
use domain::ids::RequestKey;
use domain::limits::REQUEST_KEY_UNITS_MAX;
use domain::text::utf16_len;
use domain::view::View;

use crate::changes::Changes;
use crate::ports::ProviderPort;
use crate::store::{Reader, Store, StoreError};
use crate::writer::{Answered, CommandKey, WriterHandle};

pub use types::*;

/// Namespace of the request keys of people at the command line.
const PEOPLE_NAMESPACE: &str = "people";

/// Settings of the service, from the operator's configuration.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// Deepest delegation.
    pub delegation_depth_max: u32,
    /// Defaults for threads a person makes.
    pub defaults: ThreadDefaults,
}

/// The service. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ThreadManagementService {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    writer: WriterHandle,
    store: Store,
    changes: Changes,
    providers: Arc<dyn ProviderPort>,
    settings: ServiceSettings,
}

impl ThreadManagementService {
    /// The service over an open journal and the configured providers.
    #[must_use]
    pub fn new(
        writer: WriterHandle,
        store: Store,
        changes: Changes,
        providers: Arc<dyn ProviderPort>,
        settings: ServiceSettings,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                writer,
                store,
                changes,
                providers,
                settings,
            }),
        }
    }

    /// What the caller may do and where.
    ///
    /// # Errors
    /// `capability_denied`, `orchestration_error`.
    // Async like its siblings: a provider behind a slower port may have to be asked.
    #[allow(clippy::unused_async, reason = "one calling convention for every tool")]
    pub async fn capabilities(&self, caller: &Authority) -> Result<Capabilities, Denial> {
        let thread = match caller {
            Authority::Human(_) => None,
            Authority::Agent(agent) => {
                may_orchestrate(agent)?;
                self.read()?
                    .thread(&agent.thread_id)
                    .map_err(Denial::from)?
            }
        };
        Ok(Capabilities {
            thread,
            providers: self.inner.providers.snapshots(),
        })
    }

    fn read(&self) -> Result<Reader, Denial> {
        self.inner.store.reader().map_err(Denial::from)
    }

    /// Hands a command to the writer under the caller's key; answers the key used, also a made one.
    async fn submit(
        &self,
        caller: &Authority,
        call: CallKey,
        command: Command,
    ) -> Result<(Answered, String), Denial> {
        let key = match call.key {
            Some(key) => checked_key(key)?,
            None => uuid::Uuid::new_v4().simple().to_string(),
        };
        let namespace = match caller {
            Authority::Human(_) => PEOPLE_NAMESPACE.to_owned(),
            // A session may hold several threads, and their agents choose their words apart.
            Authority::Agent(agent) => format!("{}/{}", agent.session_id, agent.thread_id),
        };
        let request = RequestKey {
            namespace,
            key: key.clone(),
        };
        let key_and_digest = CommandKey {
            request,
            digest: call.digest,
        };
        let answered = self
            .inner
            .writer
            .submit(Some(key_and_digest), command)
            .await?;
        Ok((answered, key))
    }

    /// A command of the host itself or one that needs no retry key.
    async fn submit_unkeyed(&self, command: Command) -> Result<Answered, Denial> {
        self.inner.writer.submit(None, command).await
    }
}

fn checked_key(key: String) -> Result<String, Denial> {
    let units = utf16_len(&key);
    if key.is_empty() || units > REQUEST_KEY_UNITS_MAX {
        return Err(Denial::new(
            DenialCode::InvalidRequest,
            format!(
                "A request key has 1 to {REQUEST_KEY_UNITS_MAX} characters; this one has {units}."
            ),
        ));
    }
    Ok(key)
}

fn may_orchestrate(agent: &AgentAuthority) -> Result<(), Denial> {
    if agent.capabilities.contains(&Capability::Orchestration) {
        return Ok(());
    }
    Err(Denial::new(
        DenialCode::CapabilityDenied,
        "This session may not use the orchestration tools.",
    ))
}

/// The agent behind a call that acts as its thread.
fn calling_thread(caller: &Authority) -> Result<&AgentAuthority, Denial> {
    match caller {
        Authority::Human(_) => Err(Denial::new(
            DenialCode::ThreadCredentialRequired,
            "This acts as the calling thread, and the caller is none.",
        )),
        Authority::Agent(agent) => {
            may_orchestrate(agent)?;
            Ok(agent)
        }
    }
}

fn people_only(caller: &Authority) -> Result<domain::authority::HumanEntry, Denial> {
    match caller {
        Authority::Human(entry) => Ok(*entry),
        Authority::Agent(_) => Err(Denial::new(
            DenialCode::HumanOnly,
            "Only a person at the host may do this.",
        )),
    }
}

/// The writer answered a command with something else than it is answered with: a fault of the host.
fn wrong_answer() -> Denial {
    Denial::new(
        DenialCode::OrchestrationError,
        "The journal gave an answer that does not belong to the question.",
    )
}

fn store(fault: StoreError) -> Denial {
    Denial::from(fault)
}
