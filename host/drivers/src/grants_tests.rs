use super::*;
use crate::bindings::v0_1::types as wit;
use threads::ports::Secret;

fn manifest() -> Manifest {
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let template = |name: &str, program: &str, arguments: &[&str]| wit::SpawnTemplate {
        name: name.to_owned(),
        program: program.to_owned(),
        arguments: words(arguments),
        purpose: "for a test".to_owned(),
    };
    let need = |name: &str, source: &str| wit::EnvironmentNeed {
        name: name.to_owned(),
        source: source.to_owned(),
        presence: "optional".to_owned(),
        purpose: "for a test".to_owned(),
    };
    let text = String::new;
    Manifest::check(wit::DriverInfo {
        kind: "test".to_owned(),
        display_name: text(),
        driver_version: text(),
        interface_version: "0.1.0".to_owned(),
        features: Vec::new(),
        capabilities: wit::Capabilities {
            threads: text(),
            steering: text(),
            fork: text(),
            resume: text(),
            rollback: text(),
            questions: text(),
            plans: text(),
            approvals: text(),
            model_switch: text(),
            mode_switch: text(),
            mode_enforcement: text(),
            runtime_modes: words(&["full-access"]),
            interaction_modes: words(&["default"]),
            attachment_media_types: Vec::new(),
            mcp_wait_ms_max: None,
            extra: None,
        },
        settings_schema_json: r#"{"type":"object"}"#.to_owned(),
        spawn_templates: vec![
            template("serve", "agent", &["serve", "--model={}", "{}"]),
            template("rest", "agent", &["go", "{...}"]),
            template("bridge", "node", &["bridge.js"]),
        ],
        environment: vec![
            need("SET_BY_DRIVER", "driver"),
            need("FROM_HOST", "host"),
            need("API_KEY", "secret"),
        ],
        tested_versions: Vec::new(),
        minimum_version: None,
        extra: None,
    })
    .unwrap()
}

fn gate() -> Gate {
    let map = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    };
    Gate {
        instance: ProviderInstanceId::new("one"),
        grants: Grants::default(),
        command: vec!["/opt/agent".to_owned(), "--quiet".to_owned()],
        from_host: ["PASSED_ON".to_owned()].into(),
        environment: map(&[("BY_OPERATOR", "yes")]),
        host_environment: map(&[
            ("PATH", "/bin"),
            ("LD_PRELOAD", "/evil.so"),
            ("AWS_SECRET", "hidden"),
            ("FROM_HOST", "passed"),
            ("LC_ALL", "C"),
            ("PASSED_ON", "1"),
        ]),
    }
}

fn wish(template: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Spawn {
    Spawn {
        process_id: 1,
        template: template.to_owned(),
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        environment: environment
            .iter()
            .map(|(name, value)| EnvironmentVariable {
                name: (*name).to_owned(),
                value: (*value).to_owned(),
            })
            .collect(),
    }
}

#[test]
fn a_granted_wish_becomes_a_command_line() {
    let line = gate()
        .spawn(
            &manifest(),
            &wish("serve", &["big", "x"], &[("SET_BY_DRIVER", "1")]),
            &SessionSecrets::default(),
        )
        .unwrap();
    assert_eq!(line.program, "/opt/agent");
    assert_eq!(line.arguments, ["--quiet", "serve", "--model=big", "x"]);
    let names: Vec<_> = line.environment.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "BY_OPERATOR",
            "FROM_HOST",
            "LC_ALL",
            "PASSED_ON",
            "PATH",
            "SET_BY_DRIVER"
        ]
    );
}

#[test]
fn a_rest_takes_any_number_of_words_up_to_its_bound() {
    let spawn = |count: usize| {
        let words = vec!["w"; count];
        gate().spawn(
            &manifest(),
            &wish("rest", &words, &[]),
            &SessionSecrets::default(),
        )
    };
    assert_eq!(spawn(0).unwrap().arguments, ["--quiet", "go"]);
    assert_eq!(spawn(2).unwrap().arguments, ["--quiet", "go", "w", "w"]);
    assert!(spawn(limits::ARGUMENT_WORDS_MAX).is_ok());
    assert!(matches!(
        spawn(limits::ARGUMENT_WORDS_MAX + 1),
        Err(Refusal::ArgumentCount { .. })
    ));
}

#[test]
fn everything_else_is_refused_with_the_reason() {
    let secrets = SessionSecrets::default();
    let placeholder = secrets
        .hold("token", &Secret::new("0123456789abcdef"))
        .unwrap();
    let long = "x".repeat(limits::ARGUMENT_BYTES_MAX + 1);
    let cases: Vec<(&str, Spawn, &str)> = vec![
        (
            "another template",
            wish("shell", &[], &[]),
            "does not declare",
        ),
        (
            "a program not granted",
            wish("bridge", &[], &[]),
            "grants.programs",
        ),
        ("too few arguments", wish("serve", &["a"], &[]), "takes 2"),
        (
            "too many arguments",
            wish("serve", &["a", "b", "c"], &[]),
            "takes 2",
        ),
        (
            "NUL in an argument",
            wish("serve", &["a\0", "b"], &[]),
            "NUL",
        ),
        (
            "a line end in an argument",
            wish("serve", &["a\n", "b"], &[]),
            "line end",
        ),
        (
            "a long argument",
            wish("serve", &[&long, "b"], &[]),
            "4096 bytes",
        ),
        (
            "a secret in an argument",
            wish("serve", &[&placeholder, "b"], &[]),
            "placeholder",
        ),
        (
            "LD_PRELOAD",
            wish("rest", &[], &[("LD_PRELOAD", "x")]),
            "does not declare",
        ),
        (
            "PATH",
            wish("rest", &[], &[("PATH", "/tmp")]),
            "does not declare",
        ),
        (
            "a host variable set",
            wish("rest", &[], &[("FROM_HOST", "x")]),
            "does not declare",
        ),
        (
            "NUL in a value",
            wish("rest", &[], &[("SET_BY_DRIVER", "\0")]),
            "NUL",
        ),
    ];
    for (name, wish, expected) in cases {
        let refusal = gate()
            .spawn(&manifest(), &wish, &secrets)
            .unwrap_err()
            .to_string();
        assert!(refusal.contains(expected), "{name}: {refusal}");
    }
}

#[test]
fn an_operator_can_grant_less_than_a_driver_declares() {
    let mut gate = gate();
    gate.grants.spawn = Grant::Named(["serve".to_owned()].into());
    gate.grants.environment = Grant::Named(["SET_BY_DRIVER".to_owned()].into());
    let secrets = SessionSecrets::default();
    let refused = gate
        .spawn(&manifest(), &wish("rest", &[], &[]), &secrets)
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("add `rest` to `grants.spawn` of provider instance `one`")
    );
    let line = gate
        .spawn(&manifest(), &wish("serve", &["a", "b"], &[]), &secrets)
        .unwrap();
    assert!(!line.environment.contains_key("FROM_HOST"));
    let refused = gate.spawn(
        &manifest(),
        &wish("serve", &["a", "b"], &[("API_KEY", "x")]),
        &secrets,
    );
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("grants.environment")
    );
}

#[test]
fn names_that_change_how_programs_load_are_refused() {
    for name in [
        "LD_PRELOAD",
        "LD_X",
        "DYLD_INSERT",
        "NODE_OPTIONS",
        "PATH",
        "BASH_ENV",
        "WEFT_X",
    ] {
        assert!(check_environment_name(name).is_err(), "{name}");
    }
    for name in ["", "1A", "A-B", "A=B", "A\0"] {
        assert!(check_environment_name(name).is_err(), "{name:?}");
    }
    for name in ["A", "_A", "CODEX_HOME", "a1"] {
        assert!(check_environment_name(name).is_ok(), "{name}");
    }
}
