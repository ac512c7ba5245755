//! Files offered as drivers: taken, or refused with the reason, and the server is up all the same.

use std::fs::File;

use serde_json::Value;
use tempfile::TempDir;

use super::fake::refusal;
use super::hostile;
use crate::support::{Configuration, TestHost, agents};

/// A folder with the shipped drivers.
pub(super) fn folder_of_drivers() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["scripted.wasm", "codex.wasm"] {
        let shipped = agents::weft().with_file_name("drivers").join(kind);
        std::fs::copy(shipped, folder.path().join(kind)).unwrap();
    }
    folder
}

/// The component with one name in it replaced by another of the same length.
fn patched(component: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = component.to_vec();
    let mut at = 0;
    while let Some(next) = bytes[at..]
        .windows(from.len())
        .position(|window| window == from.as_bytes())
    {
        at += next;
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    assert!(at > 0, "{from} is in the component");
    bytes
}

#[test]
fn every_bad_file_is_told_with_its_reason_and_the_good_ones_serve() {
    let drivers = folder_of_drivers();
    let good = hostile::component();
    let files: &[(&str, Vec<u8>, &str)] = &[
        ("empty", Vec::new(), "not WebAssembly"),
        ("text", b"#!/bin/sh\n".to_vec(), "not WebAssembly"),
        (
            "truncated",
            good[..good.len() / 2].to_vec(),
            "cut off at byte",
        ),
        (
            "core",
            b"\0asm\x01\0\0\0".to_vec(),
            "core module, not a component",
        ),
        ("other-world", b"\0asm\x0d\0\x01\0".to_vec(), "not a driver"),
        (
            "greedy",
            patched(
                &good,
                "weft:orchestration-adapter/log@0.1.0",
                "wasi:sockets/instance-network@0.2.60",
            ),
            "imports wasi:sockets/instance-network",
        ),
        (
            "newer",
            patched(&good, "/adapter@0.1.0", "/adapter@0.9.0"),
            "needs interface 0.9.0",
        ),
        (
            "panics",
            patched(&good, "DESCRIBE-MODE: n", "DESCRIBE-MODE: p"),
            "describe",
        ),
        (
            "loops",
            patched(&good, "DESCRIBE-MODE: n", "DESCRIBE-MODE: l"),
            "longer than 1000 ms",
        ),
        (
            "swapped",
            good.clone(),
            "not the one the configuration names",
        ),
        ("misnamed", good.clone(), "holds the driver hostile"),
        ("off", b"whatever".to_vec(), "enabled = false"),
    ];
    for (kind, bytes, _) in files {
        std::fs::write(drivers.path().join(format!("{kind}.wasm")), bytes).unwrap();
    }
    let huge = File::create(drivers.path().join("huge.wasm")).unwrap();
    huge.set_len((32 << 20) + 1).unwrap();
    std::fs::create_dir(drivers.path().join("folder.wasm")).unwrap();
    let configuration = Configuration::default()
        .with(&format!("[drivers]\nfolder = {:?}", drivers.path()))
        .with(&format!(
            "[drivers.swapped]\nsha256 = \"{}\"",
            "0".repeat(64)
        ))
        .with("[drivers.off]\nenabled = false\n[drivers.gone]\ncomponent = \"/no/such.wasm\"")
        .scripted()
        .provider("id = \"on-a-bad-driver\"\ndriver = \"text\"\ncommand = [\"sh\"]");
    let host = TestHost::start(&configuration);
    let listed = host.weft_json(&["driver", "list", "--json"]);
    let row = |kind: &str| -> Value {
        let rows = listed["drivers"].as_array().unwrap();
        rows.iter()
            .find(|row| row["kind"] == kind)
            .unwrap_or_else(|| panic!("{kind} is not listed"))
            .clone()
    };
    let expected = files.iter().map(|(kind, _, reason)| (*kind, *reason));
    for (kind, reason) in expected.chain([
        ("huge", "the most is 33554432"),
        ("folder", "cannot read"),
        ("gone", "/no/such.wasm"),
    ]) {
        let row = row(kind);
        let state = if kind == "off" { "disabled" } else { "refused" };
        assert_eq!(row["state"], state, "{row}");
        assert!(row["reason"].as_str().unwrap().contains(reason), "{row}");
    }
    for kind in ["scripted", "codex"] {
        assert_eq!(row(kind)["state"], "usable", "{}", row(kind));
        assert_eq!(row(kind)["reason"], Value::Null);
    }
    let reason = refusal(&host, "on-a-bad-driver");
    assert!(
        reason.contains("not WebAssembly") && reason.contains("xtask build"),
        "{reason}"
    );
    let result = host.run("scripted", "script: say hello").result();
    assert_eq!(result["text"], "hello", "{result}");
}

#[test]
fn without_any_driver_the_server_is_up_and_says_how_to_build_them() {
    let empty = tempfile::tempdir().unwrap();
    let configuration = Configuration::default()
        .with(&format!("[drivers]\nfolder = {:?}", empty.path()))
        .scripted();
    let host = TestHost::start(&configuration);
    let listed = host.weft_json(&["driver", "list", "--json"]);
    assert_eq!(listed["drivers"], serde_json::json!([]));
    let told = host.weft(&["driver", "list"]);
    assert!(
        String::from_utf8_lossy(&told.stdout).contains("cargo xtask build"),
        "{told:?}"
    );
    assert!(refusal(&host, "scripted").contains("cargo xtask build"));
    let projects = host.weft_json(&["project", "list", "--json"]);
    assert_eq!(projects["projects"][0]["name"], "shop", "{projects}");
}
