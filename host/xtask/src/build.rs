//! Builds drivers and host. Drivers stand beside the binary, as files in `drivers/`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use wit_component::ComponentEncoder;

use crate::shell::{cargo, output_of, root, run, target};

/// The one target drivers are built for: no WASI, so that a component imports what the interface names alone.
const DRIVER_TARGET: &str = "wasm32-unknown-unknown";

/// Shipped drivers: folder in `plugins/`, which is also the driver's kind.
const DRIVERS: [&str; 2] = ["codex", "scripted"];

/// What `cargo xtask build` takes.
#[derive(Debug, Args)]
pub(crate) struct BuildArguments {
    /// Build the development profile instead of the release one.
    #[arg(long)]
    dev: bool,
}

/// A cargo profile of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Profile {
    /// Quick to build.
    Dev,
    /// Quick to run.
    Release,
}

impl Profile {
    const fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
        }
    }
}

/// Builds drivers and host; answers where the binary is.
pub(crate) fn all(profile: Profile) -> anyhow::Result<PathBuf> {
    drivers(profile)?;
    host(profile)
}

/// `cargo xtask build`.
pub(crate) fn task(arguments: &BuildArguments) -> anyhow::Result<()> {
    let profile = if arguments.dev {
        Profile::Dev
    } else {
        Profile::Release
    };
    let binary = all(profile)?;
    let size = fs::metadata(&binary)?.len();
    println!(
        "{} ({size} bytes), drivers in {}",
        binary.display(),
        drivers_folder(profile).display()
    );
    Ok(())
}

/// Folder the host of this profile finds its drivers in.
pub(crate) fn drivers_folder(profile: Profile) -> PathBuf {
    target().join(profile.folder()).join("drivers")
}

/// Builds every driver and encodes it as a component beside the host of this profile.
pub(crate) fn drivers(profile: Profile) -> anyhow::Result<()> {
    add_driver_target()?;
    let plugins = root().join("plugins");
    run(cargo()
        .current_dir(&plugins)
        .env("CARGO_TARGET_DIR", plugins.join("target"))
        .args(["build", "--release", "--locked", "--target", DRIVER_TARGET]))?;
    let folder = drivers_folder(profile);
    fs::create_dir_all(&folder)?;
    for kind in DRIVERS {
        let core = plugins
            .join("target")
            .join(DRIVER_TARGET)
            .join("release")
            .join(format!("driver_{kind}.wasm"));
        let bytes = fs::read(&core).with_context(|| format!("no driver at {}", core.display()))?;
        let component = ComponentEncoder::default()
            .validate(true)
            .module(&bytes)
            .and_then(ComponentEncoder::encode)
            .with_context(|| format!("the driver {kind} is no component of the interface"))?;
        fs::write(folder.join(format!("{kind}.wasm")), component)?;
    }
    Ok(())
}

/// Builds the misbehaving driver of the tests where its tests look for it, so that none of them waits for a compiler.
pub(crate) fn hostile_driver() -> anyhow::Result<()> {
    run(cargo()
        .env_remove("CARGO_TARGET_DIR")
        .args(["build", "--quiet", "--release", "--locked"])
        .args(["--target", DRIVER_TARGET])
        .args(["--manifest-path", "tests/drivers/hostile/Cargo.toml"])
        .args(["--target-dir", "target/guests"]))
}

/// Builds the host and answers where its binary is.
pub(crate) fn host(profile: Profile) -> anyhow::Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--locked", "--package", "server", "--bin", "weft"]);
    if matches!(profile, Profile::Release) {
        build.arg("--release");
    }
    run(&mut build)?;
    Ok(target().join(profile.folder()).join("weft"))
}

/// Adds the drivers' target to the toolchain if it is missing.
fn add_driver_target() -> anyhow::Result<()> {
    let sysroot = output_of(
        std::process::Command::new("rustc")
            .current_dir(root())
            .args(["--print", "sysroot"]),
    )?;
    let libraries = PathBuf::from(sysroot.trim())
        .join("lib/rustlib")
        .join(DRIVER_TARGET)
        .join("lib");
    if libraries.is_dir() {
        return Ok(());
    }
    eprintln!("Adding the target {DRIVER_TARGET} to the toolchain.");
    if crate::shell::on_path("rustup").is_none() {
        bail!(
            "the toolchain lacks the target {DRIVER_TARGET} and there is no rustup to add it: install it with your package manager"
        );
    }
    run(std::process::Command::new("rustup")
        .current_dir(root())
        .args(["target", "add", DRIVER_TARGET]))
}
