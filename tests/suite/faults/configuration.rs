//! A configuration that is wrong: every problem at once, with its place, and exit code 1.

use std::process::{Command, Output};

use crate::support::agents;

/// `weft config check` on a file with this text.
fn check(text: &str) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("weft.toml");
    std::fs::write(
        &file,
        text.replace("@FOLDER@", folder.path().to_str().unwrap()),
    )
    .unwrap();
    let output = weft(&["config", "check", file.to_str().unwrap()]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn weft(words: &[&str]) -> Output {
    Command::new(agents::weft())
        .args(words)
        .env_remove("WEFT_CONFIG")
        .output()
        .unwrap()
}

#[test]
fn every_problem_is_told_with_its_line_and_what_would_be_right() {
    let (code, printed, errors) = check(
        "[storage]\n\
         data_folder = \"@FOLDER@/data\"\n\
         [server]\n\
         lissten = \"127.0.0.1:0\"\n\
         [mcp]\n\
         keep_alive_s = \"ten\"\n\
         toolkits = [\"thread_control\"]\n\
         [credentials]\n\
         idle_hours = 1000\n\
         [[providers]]\n\
         id = \"a\"\n\
         driver = \"scripted\"\n\
         colour = \"red\"\n\
         [providers.grants]\n\
         spwan = []\n\
         [providers.secrets]\n\
         KEY = \"sk-never-repeat-this-value\"\n",
    );
    assert_eq!(code, Some(1), "{errors}");
    assert_eq!(printed, "");
    let lines: Vec<&str> = errors.lines().collect();
    for (line, words) in [
        (4, "`lissten`: no such key; did you mean `listen`?"),
        (6, "`keep_alive_s`"),
        (7, "did you mean `thread-control`?"),
        (9, "`idle_hours`"),
        (13, "`colour`: no such key"),
        (15, "did you mean `spawn`?"),
        (17, "`KEY`"),
    ] {
        let place = format!("line {line}:");
        assert!(
            lines
                .iter()
                .any(|told| told.contains(&place) && told.contains(words)),
            "nothing on {place} {words}\n{errors}"
        );
    }
    assert!(!errors.contains("never-repeat"), "{errors}");
}

#[test]
fn broken_toml_and_a_missing_file_are_told_with_their_place() {
    let (code, _, errors) = check("[server\nlisten = 1");
    assert_eq!(code, Some(1));
    assert!(errors.contains("line 1"), "{errors}");
    let output = weft(&["--config", "/no/such/weft.toml", "config", "check"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("/no/such/weft.toml"),
        "{output:?}"
    );
}

#[test]
fn a_good_configuration_is_printed_as_it_holds_and_a_server_refuses_a_bad_one() {
    let good = "[storage]\ndata_folder = \"@FOLDER@/data\"\n[[providers]]\nid = \"a\"\ndriver = \"scripted\"\n";
    let (code, printed, errors) = check(good);
    assert_eq!(code, Some(0), "{errors}");
    assert!(
        printed.contains("127.0.0.1:7420") && printed.contains("scripted"),
        "{printed}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("weft.toml");
    std::fs::write(&file, "[storage]\ndata_foldr = \"x\"\n").unwrap();
    let output = weft(&["--config", file.to_str().unwrap(), "serve"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("did you mean `data_folder`?"),
        "{output:?}"
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing was made"
    );
}
