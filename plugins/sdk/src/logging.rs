//! The operator's log, the only thing a driver may call.
#![forbid(unsafe_code)]

pub use crate::bindings::types::LogLevel;

/// Writes one line to the host's log. In a native test there is no host, so the line goes to the test's output.
pub fn write(level: LogLevel, message: &str) {
    #[cfg(target_arch = "wasm32")]
    crate::bindings::log::write(level, message);
    #[cfg(not(target_arch = "wasm32"))]
    eprintln!("driver {level:?}: {message}");
}

/// Makes the text of a panic reach the log before the guest traps; without it the host sees a bare `unreachable`.
pub fn install_panic_hook() {
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|info| write(LogLevel::Error, &info.to_string())));
}
