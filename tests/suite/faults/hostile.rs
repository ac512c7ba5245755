//! A driver that crashes in the middle of a turn.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::drivers::folder_of_drivers;
use super::fake::check_failed;
use crate::support::{Configuration, TestHost};

/// Builds the hostile driver of the tests and answers its component.
pub(super) fn component() -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let built = root.join("target/guests");
    let status = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--release",
            "--target",
            "wasm32-unknown-unknown",
        ])
        .arg("--manifest-path")
        .arg(root.join("tests/drivers/hostile/Cargo.toml"))
        .arg("--target-dir")
        .arg(&built)
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTFLAGS")
        .status()
        .unwrap();
    assert!(status.success(), "the hostile driver does not build");
    let module: PathBuf = built.join("wasm32-unknown-unknown/release/hostile_guest.wasm");
    wit_component::ComponentEncoder::default()
        .validate(true)
        .module(&std::fs::read(module).unwrap())
        .unwrap()
        .encode()
        .unwrap()
}

#[test]
fn a_driver_that_crashes_in_a_turn_fails_its_session_alone() {
    let drivers = folder_of_drivers();
    std::fs::write(drivers.path().join("hostile.wasm"), component()).unwrap();
    let table = "driver = \"hostile\"\ncommand = [\"bash\"]\nsettings = { act = \"shell\", threads_per_session = 1 }";
    let configuration = Configuration::default()
        .with(&format!("[drivers]\nfolder = {:?}", drivers.path()))
        .scripted()
        .provider(&format!("id = \"hostile\"\n{table}"));
    let host = TestHost::start(&configuration);
    let mut steady = host.run("scripted", "script: hang");
    let mut neighbour = host.run("hostile", "sleep 600");
    for bystander in [&mut steady, &mut neighbour] {
        bystander.change("run", |run| run["status"] == "running");
    }
    let mut run = host.run("hostile", "echo TRAP; sleep 600");
    let result = run.result();
    check_failed("the crash", &result, &["a line panics as told"]);
    let again = host.send(&run.thread_id(), "echo fine").result();
    assert_eq!(again["status"], "completed", "{again}");
    // Two other sessions, one of the same driver, noticed nothing.
    for (bystander, name) in [(&mut steady, "scripted"), (&mut neighbour, "hostile")] {
        let thread = bystander.thread_id();
        host.weft_json(&["thread", "stop", &thread, "--json"]);
        assert_eq!(bystander.result()["status"], "interrupted", "{name}");
    }
}
