//! The pinned agent CLIs, installed into a cache folder that a lockfile names.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::shell::{on_path, root, run, target};

/// Files an install needs.
const FILES: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];

/// Installs the CLIs pinned under `tests/agents` if they are not there yet; answers the folder of programs.
pub(crate) fn install() -> anyhow::Result<PathBuf> {
    install_pinned("tests/agents", "agents")
}

/// Installs the packages pinned in a folder of the repository into one of the build output, if they are not there yet;
/// answers the folder of programs.
pub(crate) fn install_pinned(pinned: &str, cache: &str) -> anyhow::Result<PathBuf> {
    let source = root().join(pinned);
    let cache = target().join(cache);
    let programs = cache.join("node_modules/.bin");
    let lock = fs::read(source.join("package-lock.json"))?;
    let stamp = cache.join("installed-lock.json");
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) && programs.is_dir() {
        return Ok(programs);
    }
    let Some(npm) = on_path("npm") else {
        bail!("npm (Node 20 or later) is needed to install what is pinned under {pinned}");
    };
    fs::create_dir_all(&cache)?;
    for file in FILES {
        fs::copy(source.join(file), cache.join(file))
            .with_context(|| format!("could not copy {pinned}/{file}"))?;
    }
    eprintln!("Installing what is pinned under {pinned}.");
    run(Command::new(npm).current_dir(&cache).args([
        "ci",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]))?;
    fs::write(stamp, lock)?;
    Ok(programs)
}
