//! Making failures that name cause and remedy.
#![forbid(unsafe_code)]

use crate::bindings::types::Failure;
use crate::clip;
use crate::limits::{FAILURE_CODE_BYTES_MAX, FAILURE_MESSAGE_BYTES_MAX};

/// The classes the interface knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The account's quota or rate is used up.
    UsageLimit,
    /// The provider failed.
    Provider,
    /// Process or network failed on the way.
    Transport,
    /// Not logged in, or not allowed.
    Permission,
    /// What was asked cannot be asked like this.
    Validation,
    /// None of these.
    Unknown,
}

impl Class {
    /// The word on the interface.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::UsageLimit => "usage_limit",
            Self::Provider => "provider_error",
            Self::Transport => "transport_error",
            Self::Permission => "permission_error",
            Self::Validation => "validation_error",
            Self::Unknown => "unknown",
        }
    }

    /// Whether trying the same again may help.
    #[must_use]
    pub fn retryable(self) -> Option<bool> {
        match self {
            Self::UsageLimit | Self::Provider | Self::Transport => Some(true),
            Self::Permission | Self::Validation => Some(false),
            Self::Unknown => None,
        }
    }
}

/// A failure with its message cut to the interface's bound.
#[must_use]
pub fn new(class: Class, message: &str) -> Failure {
    Failure {
        class: class.word().to_owned(),
        message: clip::shortened(message, FAILURE_MESSAGE_BYTES_MAX),
        code: None,
        retryable: class.retryable(),
        extra: None,
    }
}

/// The same with the provider's own code.
#[must_use]
pub fn with_code(class: Class, message: &str, code: &str) -> Failure {
    Failure {
        code: Some(clip::shortened(code, FAILURE_CODE_BYTES_MAX)),
        ..new(class, message)
    }
}

/// A process or a stream failed.
#[must_use]
pub fn transport(message: &str) -> Failure {
    new(Class::Transport, message)
}

/// The request cannot be served as it is.
#[must_use]
pub fn validation(message: &str) -> Failure {
    new(Class::Validation, message)
}
