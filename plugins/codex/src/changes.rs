//! File changes: which files, and how many lines came and went.
#![forbid(unsafe_code)]

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::wire::{self, Change};

/// Changes of an item. Empty where it lists none.
pub(crate) fn read(changes: Option<&RawValue>) -> Vec<Change<'_>> {
    wire::read(changes).unwrap_or_default()
}

/// Lines added and removed by one change. A new or deleted file's `diff` is its content; else it is hunks without a file
/// header.
pub(crate) fn lines(change: &Change<'_>) -> (u32, u32) {
    let count = |lines: usize| u32::try_from(lines).unwrap_or(u32::MAX);
    match change.kind.word.as_ref() {
        "add" => (count(change.diff.lines().count()), 0),
        "delete" => (0, count(change.diff.lines().count())),
        _ => {
            let hunks = || {
                change
                    .diff
                    .lines()
                    .skip_while(|line| !line.starts_with("@@"))
            };
            let added = hunks().filter(|line| line.starts_with('+')).count();
            let removed = hunks().filter(|line| line.starts_with('-')).count();
            (count(added), count(removed))
        }
    }
}

/// Lines added and removed by all.
pub(crate) fn totals(changes: &[Change<'_>]) -> (u32, u32) {
    changes
        .iter()
        .map(lines)
        .fold((0, 0), |(added, removed), (plus, minus)| {
            (
                u32::saturating_add(added, plus),
                u32::saturating_add(removed, minus),
            )
        })
}

/// The file, where there is exactly one.
pub(crate) fn single_path(changes: &[Change<'_>]) -> Option<String> {
    match changes {
        [change] => Some(change.path.to_string()),
        _ => None,
    }
}

/// One line for people.
pub(crate) fn title(changes: &[Change<'_>]) -> String {
    match changes {
        [] => "File change".to_owned(),
        [change] => change.path.to_string(),
        [first, rest @ ..] => format!("{} and {} more", first.path, rest.len()),
    }
}

/// The changes as an item's body. Over the bound the diffs go first, then the list.
pub(crate) fn body(changes: &[Change<'_>], bytes_max: usize) -> String {
    let list = |with_diff: bool| {
        let entries: Vec<Value> = changes
            .iter()
            .map(|change| entry(change, with_diff))
            .collect();
        json!({ "changes": entries }).to_string()
    };
    let whole = list(true);
    if whole.len() <= bytes_max {
        return whole;
    }
    let short = list(false);
    if short.len() <= bytes_max {
        return short;
    }
    json!({ "omitted": format!("{} changes", changes.len()) }).to_string()
}

fn entry(change: &Change<'_>, with_diff: bool) -> Value {
    let (added, removed) = lines(change);
    let mut entry = json!({
        "path": change.path,
        "change": change.kind.word,
        "linesAdded": added,
        "linesRemoved": removed,
    });
    if let Some(object) = entry.as_object_mut() {
        if let Some(to) = &change.kind.move_path {
            object.insert("movedTo".to_owned(), json!(to));
        }
        if with_diff {
            object.insert("diff".to_owned(), json!(change.diff));
        }
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::{body, lines, title, totals};
    use crate::wire::Change;

    fn changes(json: &str) -> Vec<Change<'_>> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn lines_are_counted_by_kind_of_change() {
        for (json, expected) in [
            (
                r#"[{"path":"a","kind":{"type":"add"},"diff":"x\ny\n"}]"#,
                (2, 0),
            ),
            (
                r#"[{"path":"a","kind":{"type":"delete"},"diff":"x\n"}]"#,
                (0, 1),
            ),
            (
                r#"[{"path":"a","kind":{"type":"update","move_path":null},"diff":"@@ -1,2 +1,2 @@\n # demo\n-hello\n+hello world\n"}]"#,
                (1, 1),
            ),
            (
                r#"[{"path":"a","kind":{"type":"update"},"diff":"@@ -1 +1 @@\n--- was\n+++ is\n"}]"#,
                (1, 1),
            ),
        ] {
            assert_eq!(lines(&changes(json)[0]), expected, "{json}");
        }
        let both = changes(
            r#"[{"path":"a","kind":{"type":"add"},"diff":"x"},{"path":"b","kind":{"type":"delete"},"diff":"y"}]"#,
        );
        assert_eq!(totals(&both), (1, 1));
        assert_eq!(title(&both), "a and 1 more");
    }

    #[test]
    fn a_body_that_is_too_long_loses_its_diffs_first() {
        let json = r#"[{"path":"a","kind":{"type":"add"},"diff":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}]"#;
        let changes = changes(json);
        assert!(body(&changes, 1_000).contains("xxx"));
        let short = body(&changes, 100);
        assert!(!short.contains("xxx") && short.contains("\"path\":\"a\""));
        assert_eq!(body(&changes, 10), r#"{"omitted":"1 changes"}"#);
    }
}
