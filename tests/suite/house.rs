//! The house keeps its order: who may import whom, and which words belong to which room.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

/// Crates of the workspace and what they depend on, by the kinds of dependency that reach a release.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--locked",
            "--offline",
        ])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| {
            let used = package["dependencies"].as_array().unwrap();
            let names = used
                .iter()
                .filter(|dependency| dependency["kind"].is_null())
                .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
                .collect();
            (package["name"].as_str().unwrap().to_owned(), names)
        })
        .collect()
}

/// Rust sources under a folder.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "no sources under {folder}");
    found
}

#[test]
fn crates_import_downwards_only() {
    let used = dependencies();
    let own = [
        "domain",
        "threads",
        "drivers",
        "server",
        "script",
        "migrations",
    ];
    for (krate, allowed) in [
        ("domain", &[][..]),
        ("threads", &["domain", "migrations"]),
        ("drivers", &["domain", "threads"]),
        ("server", &["domain", "threads", "drivers", "script"]),
        ("script", &[]),
        ("migrations", &[]),
    ] {
        for name in used[krate]
            .iter()
            .filter(|name| own.contains(&name.as_str()))
        {
            assert!(allowed.contains(&name.as_str()), "{krate} imports {name}");
        }
    }
}

#[test]
fn each_crate_knows_only_its_own_trade() {
    let used = dependencies();
    for (trade, rooms) in [
        ("redb", &["threads", "migrations", "bench"][..]),
        ("wasmtime", &["drivers", "bench"]),
        ("axum", &["server", "model", "suite", "bench"]),
        ("rmcp", &["server", "suite", "bench"]),
        (
            "tokio",
            &["threads", "drivers", "server", "model", "suite", "bench"],
        ),
        ("uuid", &["threads", "server", "suite"]),
    ] {
        for (krate, names) in &used {
            if names.iter().any(|name| name == trade) {
                assert!(
                    rooms.contains(&krate.as_str()),
                    "{krate} depends on {trade}"
                );
            }
        }
    }
}

#[test]
fn migrations_depend_on_redb_and_serde_alone() {
    for name in &dependencies()["migrations"] {
        assert!(
            ["redb", "serde", "serde_json", "thiserror"].contains(&name.as_str()),
            "migrations depends on {name}"
        );
    }
}

#[test]
fn words_stay_in_their_rooms() {
    for (folder, words) in [
        (
            "host/domain/src",
            &[
                "SystemTime",
                "Instant::now",
                "std::fs",
                "std::net",
                "async fn",
                "rand::",
            ][..],
        ),
        // Wire field names belong to the server.
        (
            "host/domain/src",
            &[
                "\"taskId\"",
                "\"threadId\"",
                "\"childThreadId\"",
                "\"waitTimedOut\"",
            ],
        ),
        (
            "host/threads/src",
            &[
                "\"taskId\"",
                "\"childThreadId\"",
                "\"waitTimedOut\"",
                "std::process",
            ],
        ),
        (
            "host/drivers/src",
            &[
                "\"taskId\"",
                "\"childThreadId\"",
                "\"waitTimedOut\"",
                "redb::",
            ],
        ),
        ("host/server/src", &["redb::", "wasmtime::"]),
        (
            "plugins",
            &[
                "use threads::",
                "use domain::",
                "use drivers::",
                "use server::",
            ],
        ),
    ] {
        for (path, text) in sources(folder) {
            for word in words {
                assert!(!text.contains(word), "{} says {word}", path.display());
            }
        }
    }
}

#[test]
fn the_top_level_holds_what_the_map_names() {
    let listed = Command::new("git")
        .current_dir(root())
        .args(["ls-files"])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let rooms = ["host", "wit", "plugins", "migrations", "tests", "docs"];
    for path in listed.lines() {
        if let Some((top, _)) = path.split_once('/') {
            assert!(
                rooms.contains(&top) || top.starts_with('.'),
                "{top} is no room of this house"
            );
        }
    }
}

#[test]
fn every_crate_forbids_unsafe_code() {
    for file in [
        "host/domain/src/lib.rs",
        "host/threads/src/lib.rs",
        "host/drivers/src/lib.rs",
        "host/server/src/lib.rs",
        "host/script/src/lib.rs",
        "migrations/src/lib.rs",
    ] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains("#![forbid(unsafe_code)]"), "{file}");
    }
}

#[test]
fn the_map_names_every_dependency() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let used = dependencies();
    for (krate, names) in &used {
        for name in names.iter().filter(|name| !used.contains_key(*name)) {
            assert!(
                map.contains(name.as_str()),
                "ARCHITECTURE.md does not say why {krate} uses {name}"
            );
        }
    }
}
