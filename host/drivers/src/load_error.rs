//! Why a driver file is refused.

use std::sync::Arc;

use crate::inspect::INTERFACE_VERSION;
use crate::limits;

/// Why a driver cannot be used. Every message says what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read {path}: {cause}. Check that it exists and that the host may read it.")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        cause: Arc<std::io::Error>,
    },
    /// The file is over the size bound.
    #[error(
        "the file has {bytes} bytes, the most is {max}. Build the driver in release mode and strip it.",
        max = limits::COMPONENT_BYTES_MAX
    )]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// The bytes are no WebAssembly at all.
    #[error("the file is not WebAssembly. Give the component that `cargo xtask build` makes.")]
    NotWasm,
    /// A core module, not a component.
    #[error(
        "the file is a core module, not a component. Encode it with wit-component, as `cargo xtask build` does."
    )]
    CoreModule,
    /// The file ends too early.
    #[error("the file is cut off at byte {offset}. Copy or build it again.")]
    Truncated {
        /// Where the bytes ended.
        offset: u64,
    },
    /// The bytes break the format.
    #[error("the file is damaged: {0}. Copy or build it again.")]
    Malformed(String),
    /// It does not export the adapter, or in another shape.
    #[error(
        "the component is not a driver: {0}. Build it against the world `driver` of weft:orchestration-adapter@{version}.",
        version = INTERFACE_VERSION
    )]
    WrongWorld(String),
    /// It exports the adapter with other types.
    #[error(
        "the driver was built against other types than weft:orchestration-adapter@{version}: {0}. Build it again from the present wit folder.",
        version = INTERFACE_VERSION
    )]
    WrongTypes(String),
    /// Its interface version cannot be read.
    #[error(
        "the interface version `{0}` of the driver is not of the form 1.2.3. Build it with the SDK of this host."
    )]
    BadVersion(String),
    /// It was built for a newer host.
    #[error(
        "the driver needs interface {found}, this host has {version}. Update the host or take an older driver.",
        version = INTERFACE_VERSION
    )]
    NewerInterface {
        /// What it needs.
        found: String,
    },
    /// It was built for a host of an earlier track.
    #[error(
        "the driver was built for interface {found}, this host has {version}. Build it again.",
        version = INTERFACE_VERSION
    )]
    OlderInterface {
        /// What it needs.
        found: String,
    },
    /// It wants more than a driver may have.
    #[error(
        "the driver imports {names}; a driver may import `types` and `log` alone. Build it for wasm32-unknown-unknown, without WASI."
    )]
    ExtraImports {
        /// What it wants.
        names: String,
    },
    /// The compiler refused it.
    #[error(
        "the component does not compile: {0}. Build it again with the tool versions of this host."
    )]
    Compile(String),
    /// Compilation took too long.
    #[error(
        "the component did not compile within {} s. Use a smaller component.",
        limits::COMPILE_TIME_MAX.as_secs()
    )]
    CompileTimeout,
    /// `describe` ended in a trap.
    #[error("`describe` of the driver failed: {0}. Report it to the driver's author.")]
    DescribeTrapped(String),
    /// `describe` took too long.
    #[error(
        "`describe` of the driver took longer than {} ms. Report it to the driver's author.",
        limits::DESCRIBE_TIME_MAX.as_millis()
    )]
    DescribeTimeout,
    /// `describe` says something a host cannot use.
    #[error(
        "the driver describes itself wrongly: `{field}` {reason}. Report it to the driver's author."
    )]
    BadManifest {
        /// Which field.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It is not the file the operator named.
    #[error(
        "the file has the SHA-256 {found}, not the one the configuration names. Restore the file, or set `sha256` to \
         this value if you trust it."
    )]
    WrongDigest {
        /// The file's digest.
        found: String,
    },
    /// Another file has the same kind.
    #[error("two drivers have the kind `{kind}`: {first} and {second}. Remove one of them.")]
    DuplicateKind {
        /// The kind.
        kind: String,
        /// The one in use.
        first: String,
        /// The one refused.
        second: String,
    },
}
