//! A driver's guest without a session around it: no processes, no journal, only its calls. For measuring a driver and
//! for looking at one by hand; its limits are those of a session.

pub use crate::bindings::v0_1::weft::orchestration_adapter::types as interface;

use crate::component::LoadedDriver;
use crate::guest::GuestSession;
use crate::guest_log::GuestLog;
use crate::limits::SessionLimits;

/// What was wrong with a call, for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DirectError(String);

/// A guest with one session open in it.
#[derive(Debug)]
pub struct DirectSession(GuestSession);

impl DirectSession {
    /// Opens a session as the host does.
    ///
    /// # Errors
    /// What the driver or its limits say against it.
    pub fn open(
        driver: &LoadedDriver,
        config: &interface::SessionConfig,
    ) -> Result<Self, DirectError> {
        let log = GuestLog::for_describe();
        GuestSession::open(driver, config, &SessionLimits::default(), log)
            .map(Self)
            .map_err(|error| DirectError(error.to_string()))
    }

    /// Hands inputs to the driver and answers its actions. After an error every call is refused.
    ///
    /// # Errors
    /// What the driver or its limits say against it.
    pub fn handle(
        &mut self,
        inputs: &[interface::Input],
    ) -> Result<Vec<interface::Action>, DirectError> {
        self.0
            .handle(inputs)
            .map_err(|error| DirectError(error.to_string()))
    }
}
