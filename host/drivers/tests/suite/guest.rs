//! Builds the hostile guest once and hands out its component, whole or damaged.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Folder for what tests build and compile.
pub(crate) fn build_folder() -> PathBuf {
    root().join("target/guests")
}

/// The component of the hostile guest.
pub(crate) fn component() -> Vec<u8> {
    let path = build_folder().join("hostile.component.wasm");
    if !is_fresh(&path) {
        build(&path);
    }
    std::fs::read(path).unwrap()
}

/// The core module inside.
pub(crate) fn core_module() -> Vec<u8> {
    component();
    std::fs::read(core_path()).unwrap()
}

fn core_path() -> PathBuf {
    build_folder().join("wasm32-unknown-unknown/release/hostile_guest.wasm")
}

/// The component with some bytes replaced by others of the same length, everywhere.
pub(crate) fn patched(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len(), "a patch keeps the length");
    let mut bytes = component();
    let places: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, window)| *window == from.as_bytes())
        .map(|(place, _)| place)
        .collect();
    assert!(!places.is_empty(), "`{from}` is in the component");
    for place in places {
        bytes[place..place + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

/// The component whose `describe` misbehaves: `p` panics, `l` never returns, `s` says nonsense.
pub(crate) fn with_describe(mode: char) -> Vec<u8> {
    patched("DESCRIBE-MODE: n", &format!("DESCRIBE-MODE: {mode}"))
}

fn is_fresh(path: &Path) -> bool {
    let Some(built) = modified(path) else {
        return false;
    };
    let folders = ["tests/drivers/hostile/src", "plugins/sdk/src", "wit"];
    let newest = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(root().join(folder)).unwrap())
        .filter_map(|entry| modified(&entry.unwrap().path()))
        .max();
    newest.is_some_and(|newest| newest < built)
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

/// Tests run in many processes at once; cargo's own lock lets one of them build.
fn build(path: &Path) {
    let status = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--release",
            "--target",
            "wasm32-unknown-unknown",
        ])
        .arg("--manifest-path")
        .arg(root().join("tests/drivers/hostile/Cargo.toml"))
        .arg("--target-dir")
        .arg(build_folder())
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTFLAGS")
        .status()
        .expect("cargo runs");
    assert!(
        status.success(),
        "the hostile guest does not build; add the target with `rustup target add wasm32-unknown-unknown`"
    );
    let core = std::fs::read(core_path()).unwrap();
    let component = wit_component::ComponentEncoder::default()
        .validate(true)
        .module(&core)
        .unwrap()
        .encode()
        .unwrap();
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    std::fs::write(&partial, component).unwrap();
    std::fs::rename(partial, path).unwrap();
}
