//! Where the programs under test are.

use std::path::{Path, PathBuf};

/// The `weft` binary, with its drivers beside it.
pub(crate) fn weft() -> PathBuf {
    let binary = std::env::var_os("WEFT_TEST_BINARY")
        .map_or_else(|| target().join("debug/weft"), PathBuf::from);
    assert!(
        binary.is_file() && binary.with_file_name("drivers").is_dir(),
        "no weft with drivers at {}: run `cargo xtask build --dev`, or `cargo xtask test` for everything",
        binary.display()
    );
    binary
}

/// The pinned codex CLI.
pub(crate) fn codex() -> PathBuf {
    let folder = std::env::var_os("WEFT_TEST_AGENTS")
        .map_or_else(|| target().join("agents/node_modules/.bin"), PathBuf::from);
    let program = folder.join("codex");
    assert!(
        program.exists(),
        "no codex at {}: run `cargo xtask test`",
        program.display()
    );
    program
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || {
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .parent()
                .unwrap()
                .join("target")
        },
        PathBuf::from,
    )
}
