//! Files offered as drivers: taken, or refused with the reason.

use std::borrow::Cow;

use domain::ids::DriverKind;
use drivers::catalogue::{DriverCatalogue, DriverSource, DriverState, Lookup};
use drivers::component::{LoadedDriver, read_component};
use drivers::engine::DriverEngine;
use drivers::load_error::LoadError;

use crate::guest;

fn engine() -> DriverEngine {
    DriverEngine::start(Some(&guest::build_folder().join("cache"))).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_component_says_what_it_is() {
    let driver = LoadedDriver::load(&engine(), guest::component())
        .await
        .unwrap();
    let manifest = driver.manifest();
    assert_eq!(manifest.kind().as_str(), "hostile");
    assert_eq!(manifest.interface_version(), "0.1.0");
    assert_eq!(driver.digest().len(), 64);
    assert!(
        driver
            .imports()
            .iter()
            .all(|name| name.starts_with("weft:orchestration-adapter/"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_is_refused_with_its_kind_of_fault_and_the_host_goes_on() {
    let engine = engine();
    let whole = guest::component();
    let half = whole[..whole.len() / 2].to_vec();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0xff;
    let log = "weft:orchestration-adapter/log@0.1.0";
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", Vec::new(), "NotWasm"),
        ("a text", b"#!/bin/sh".to_vec(), "NotWasm"),
        ("a core module", guest::core_module(), "CoreModule"),
        ("a cut file", half, "Truncated"),
        ("the first bytes", whole[..8].to_vec(), "WrongWorld"),
        (
            "another world",
            guest::patched(
                "orchestration-adapter/adapter@",
                "orchestration-adapter/adaptor@",
            ),
            "WrongWorld",
        ),
        (
            "a newer patch",
            guest::patched("/adapter@0.1.0", "/adapter@0.1.1"),
            "NewerInterface",
        ),
        (
            "a newer track",
            guest::patched("/adapter@0.1.0", "/adapter@0.2.0"),
            "NewerInterface",
        ),
        (
            "an older track",
            guest::patched("/adapter@0.1.0", "/adapter@0.0.9"),
            "OlderInterface",
        ),
        (
            "sockets",
            guest::patched(log, "wasi:sockets/instance-network@0.2.60"),
            "ExtraImports",
        ),
        (
            "an unknown import",
            guest::patched(log, "weft:orchestration-adapter/dog@0.1.0"),
            "ExtraImports",
        ),
        (
            "a panic in describe",
            guest::with_describe('p'),
            "DescribeTrapped",
        ),
        (
            "a loop in describe",
            guest::with_describe('l'),
            "DescribeTimeout",
        ),
        (
            "nonsense from describe",
            guest::with_describe('s'),
            "BadManifest",
        ),
    ];
    for (name, bytes, expected) in cases {
        let error = LoadedDriver::load(&engine, bytes).await.unwrap_err();
        assert!(
            format!("{error:?}").starts_with(expected),
            "{name}: {error:?}"
        );
        assert!(
            error.to_string().ends_with('.'),
            "{name} says what to do: {error}"
        );
    }
    // A flipped byte is refused or harmless, never a crash.
    let _ = LoadedDriver::load(&engine, flipped).await;
    LoadedDriver::load(&engine, whole).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_words_of_a_panicking_describe_are_told() {
    let error = LoadedDriver::load(&engine(), guest::with_describe('p'))
        .await
        .unwrap_err();
    assert!(matches!(error, LoadError::DescribeTrapped(_)), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_flipped_or_cut_file_takes_the_host_down() {
    let engine = engine();
    let whole = guest::component();
    // A fixed sequence: a failure can be run again.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for round in 0..60 {
        let mut bytes = whole.clone();
        if round % 2 == 0 {
            // The head holds the names and types, where a flip matters most.
            let place = next(if round % 4 == 0 { 4_096 } else { bytes.len() });
            bytes[place] ^= 1 << next(8);
        } else {
            bytes.truncate(next(bytes.len()));
        }
        // Refused or taken: both are fine, a crash is not.
        let _ = LoadedDriver::load(&engine, bytes).await;
    }
}

#[test]
fn a_file_that_is_missing_no_file_or_too_large_is_refused_unread() {
    let folder = tempfile::tempdir().unwrap();
    let missing = read_component(&folder.path().join("none.wasm")).unwrap_err();
    assert!(matches!(missing, LoadError::Unreadable { .. }));
    assert!(matches!(
        read_component(folder.path()).unwrap_err(),
        LoadError::Unreadable { .. }
    ));
    let large = folder.path().join("large.wasm");
    std::fs::File::create(&large)
        .unwrap()
        .set_len(drivers::limits::COMPONENT_BYTES_MAX + 1)
        .unwrap();
    assert!(matches!(
        read_component(&large).unwrap_err(),
        LoadError::TooLarge { .. }
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_answers_at_once_and_settles() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("broken.wasm"), "no wasm").unwrap();
    std::fs::write(folder.path().join("hostile.wasm"), guest::component()).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "not looked at").unwrap();
    let embedded = DriverSource::Embedded {
        name: "hostile".to_owned(),
        bytes: Cow::Owned(guest::component()),
    };
    let wrong_digest = DriverSource::File {
        path: folder.path().join("hostile.wasm"),
        digest: Some("0".repeat(64)),
    };
    let sources = vec![
        embedded,
        DriverSource::Folder(folder.path().to_owned()),
        DriverSource::Folder(folder.path().join("none")),
        wrong_digest,
    ];
    let catalogue = DriverCatalogue::start(&engine(), sources);
    let kind = DriverKind::new("hostile");
    assert!(matches!(catalogue.driver(&kind), Lookup::Starting));
    catalogue.ready().await;
    let states: Vec<String> = catalogue
        .entries()
        .iter()
        .map(|entry| match &entry.state {
            DriverState::Starting => "starting".to_owned(),
            DriverState::Ready(_) => "ready".to_owned(),
            DriverState::Refused(error) => format!("{error:?}")
                .split([' ', '{', '('])
                .next()
                .unwrap()
                .to_owned(),
        })
        .collect();
    assert_eq!(states, ["ready", "NotWasm", "DuplicateKind", "WrongDigest"]);
    assert!(matches!(catalogue.driver(&kind), Lookup::Ready(_)));
    let Lookup::Missing(sentence) = catalogue.driver(&DriverKind::new("broken")) else {
        panic!("a refused driver is not there");
    };
    assert!(
        sentence.contains("broken.wasm") && sentence.contains("not WebAssembly"),
        "{sentence}"
    );
    let Lookup::Missing(sentence) = catalogue.driver(&DriverKind::new("codex")) else {
        panic!("an unbuilt driver is not there");
    };
    assert!(sentence.contains("cargo xtask build"), "{sentence}");
}
