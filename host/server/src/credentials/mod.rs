//! Credentials of provider sessions: what an agent shows to reach the host's tools.
//!
//! A token is minted when a provider session takes a thread, shown once, and kept only as a hash in memory.
//! It ends when it was idle too long, at its maximum life, or when its session lets the thread go.

mod record;
mod registry;
#[cfg(test)]
mod tests;
mod token;

pub use record::{CredentialId, CredentialScope, EnvironmentId};
pub use registry::{CredentialRegistry, CredentialSettings, Principal};
