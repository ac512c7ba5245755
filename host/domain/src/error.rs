//! Denials: expected refusals, told to the caller.

use serde::{Deserialize, Serialize};

/// An expected refusal: a code, a text that says what was wrong and what to do, and whether trying again may help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Denial {
    /// Kind of refusal.
    pub code: DenialCode,
    /// For the caller: what was wrong and what to do.
    pub message: String,
}

/// Kind of refusal. The words are those of the contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DenialCode {
    /// The credential lacks the toolkit's capability.
    CapabilityDenied,
    /// The tool acts as the calling thread and the caller is none.
    ThreadCredentialRequired,
    /// No target given and none to inherit.
    TargetRequired,
    /// The caller has no active run of its own provider instance.
    ParentNotActive,
    /// The provider instance can't run a thread now.
    ProviderUnavailable,
    /// The model is not offered.
    ModelUnavailable,
    /// Broader than the caller's runtime mode.
    RuntimeModeEscalationDenied,
    /// Broader than the caller's interaction mode.
    InteractionModeEscalationDenied,
    /// No such task of this thread.
    TaskNotFound,
    /// The task can't be cancelled now.
    TaskNotCancellable,
    /// Unknown or deleted thread.
    ThreadNotFound,
    /// Unknown run.
    RunNotFound,
    /// The thread takes no message now.
    ThreadNotSendable,
    /// The run can't be interrupted.
    ThreadNotInterruptible,
    /// Unknown Project.
    ProjectNotFound,
    /// Unknown request.
    RequestNotFound,
    /// The request is no longer open.
    RequestNotPending,
    /// Only a person at the host may do this.
    HumanOnly,
    /// The call contradicts itself or a limit.
    InvalidRequest,
    /// A limit that passes is reached.
    LimitExceeded,
    /// The same key came with another call.
    KeyConflict,
    /// The journal takes no writes now.
    StorageUnavailable,
    /// A fault of the host.
    OrchestrationError,
}

impl DenialCode {
    /// The word of the contracts.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::CapabilityDenied => "capability_denied",
            Self::ThreadCredentialRequired => "thread_credential_required",
            Self::TargetRequired => "target_required",
            Self::ParentNotActive => "parent_not_active",
            Self::ProviderUnavailable => "provider_unavailable",
            Self::ModelUnavailable => "model_unavailable",
            Self::RuntimeModeEscalationDenied => "runtime_mode_escalation_denied",
            Self::InteractionModeEscalationDenied => "interaction_mode_escalation_denied",
            Self::TaskNotFound => "task_not_found",
            Self::TaskNotCancellable => "task_not_cancellable",
            Self::ThreadNotFound => "thread_not_found",
            Self::RunNotFound => "run_not_found",
            Self::ThreadNotSendable => "thread_not_sendable",
            Self::ThreadNotInterruptible => "thread_not_interruptible",
            Self::ProjectNotFound => "project_not_found",
            Self::RequestNotFound => "request_not_found",
            Self::RequestNotPending => "request_not_pending",
            Self::HumanOnly => "human_only",
            // One word for the caller: the text names the limit or the key.
            Self::InvalidRequest | Self::LimitExceeded | Self::KeyConflict => "invalid_request",
            Self::StorageUnavailable => "storage_unavailable",
            Self::OrchestrationError => "orchestration_error",
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::ParentNotActive
                | Self::ProviderUnavailable
                | Self::LimitExceeded
                | Self::StorageUnavailable
                | Self::OrchestrationError
        )
    }
}

impl Denial {
    /// A refusal.
    pub fn new(code: DenialCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}
