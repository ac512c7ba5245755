//! The trait a driver implements and the glue between it and the component's exports.
#![forbid(unsafe_code)]

use std::cell::RefCell;

use crate::bindings::adapter::{Guest, GuestSession, Session};
use crate::bindings::types::{Action, DriverError, DriverInfo, Input, SessionConfig};
use crate::logging;

/// Content of the section that names the interface version; an array, because a section holds its bytes in place.
pub const API_VERSION: [u8; 5] = *b"0.1.0";

/// One provider's protocol as a pure state machine: inputs in, actions out, nothing else reachable.
pub trait Driver: Sized + 'static {
    /// What the driver is. The same value on every call.
    fn describe() -> DriverInfo;

    /// Checks the configuration and makes the state. Does nothing yet.
    ///
    /// # Errors
    /// `InvalidConfig` names the field that cannot be used.
    fn open(config: SessionConfig) -> Result<Self, DriverError>;

    /// Takes inputs in order and returns what to do, in order.
    ///
    /// # Errors
    /// Ends the session; the host never calls again after one.
    fn handle(&mut self, inputs: Vec<Input>) -> Result<Vec<Action>, DriverError>;
}

/// Carries a [`Driver`] across the component boundary.
#[derive(Debug)]
pub struct Component<D>(core::marker::PhantomData<D>);

/// One session resource. The boundary hands out `&self`, so the state sits in a cell; the host never re-enters.
#[derive(Debug)]
pub struct SessionCell<D>(RefCell<D>);

impl<D: Driver> Guest for Component<D> {
    type Session = SessionCell<D>;

    fn describe() -> DriverInfo {
        D::describe()
    }
}

impl<D: Driver> GuestSession for SessionCell<D> {
    fn open(config: SessionConfig) -> Result<Session, DriverError> {
        logging::install_panic_hook();
        Ok(Session::new(Self(RefCell::new(D::open(config)?))))
    }

    fn handle(&self, inputs: Vec<Input>) -> Result<Vec<Action>, DriverError> {
        match self.0.try_borrow_mut() {
            Ok(mut driver) => driver.handle(inputs),
            Err(_) => Err(DriverError::Internal(
                "called while a call is open".to_owned(),
            )),
        }
    }
}

/// Exports a [`Driver`] from a `cdylib` crate as the component `weft:orchestration-adapter/driver`.
///
/// Call it once, in a module of its own that allows `unsafe_code`. It also embeds the interface version as the custom
/// section `orchestration-adapter:api-version`, so that a host can name the version of a file it refuses.
#[macro_export]
macro_rules! export_driver {
    ($driver:ty) => {
        #[cfg(target_arch = "wasm32")]
        mod component_exports {
            type Exported = $crate::component::Component<$driver>;
            $crate::bindings::export_component!(Exported with_types_in $crate::bindings);

            #[unsafe(link_section = "orchestration-adapter:api-version")]
            #[used]
            static API_VERSION: [u8; 5] = $crate::component::API_VERSION;
        }
    };
}
