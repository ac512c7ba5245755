use super::*;
use redb::Builder;
use redb::backends::InMemoryBackend;

fn empty() -> Database {
    Builder::new()
        .create_with_backend(InMemoryBackend::new())
        .unwrap()
}

fn with_schema(text: &str) -> Database {
    let database = empty();
    let write = database.begin_write().unwrap();
    write
        .open_table(META)
        .unwrap()
        .insert(SCHEMA_WORD, text)
        .unwrap();
    write.commit().unwrap();
    database
}

#[test]
fn the_steps_lead_from_nothing_to_the_present_schema_without_a_gap() {
    for (at, step) in STEPS.iter().enumerate() {
        assert_eq!(step.schema as usize, at + 1, "{}", step.name);
    }
    assert_eq!(STEPS.last().unwrap().schema, SCHEMA);
}

#[test]
fn an_empty_file_is_brought_to_the_present_schema_and_stays_there() {
    let database = empty();
    assert_eq!(schema_of(&database).unwrap(), None);
    assert_eq!(migrate(&database).unwrap().len(), STEPS.len());
    assert_eq!(schema_of(&database).unwrap(), Some(SCHEMA));
    assert!(migrate(&database).unwrap().is_empty());
}

#[test]
fn schema_1_has_its_tables() {
    let database = empty();
    apply(&database, &STEPS[0]).unwrap();
    let mut expected: Vec<String> = step_0001::NAMES
        .iter()
        .map(|&name| name.to_owned())
        .collect();
    expected.push("meta".to_owned());
    expected.sort_unstable();
    assert_eq!(table_names(&database).unwrap(), expected);
}

#[test]
fn schema_2_has_its_tables() {
    let database = empty();
    apply(&database, &STEPS[0]).unwrap();
    apply(&database, &STEPS[1]).unwrap();
    let mut expected: Vec<String> = step_0001::NAMES
        .iter()
        .chain(step_0002::NAMES)
        .map(|&name| name.to_owned())
        .collect();
    expected.push("meta".to_owned());
    expected.sort_unstable();
    assert_eq!(table_names(&database).unwrap(), expected);
}

#[test]
fn a_file_of_a_later_build_is_refused_with_both_numbers() {
    let database = with_schema("4000000000");
    let refusal = migrate(&database).unwrap_err();
    assert!(
        matches!(
            refusal,
            MigrateError::TooNew {
                found: 4_000_000_000,
                known: SCHEMA
            }
        ),
        "{refusal}"
    );
    assert!(refusal.to_string().contains("4000000000"));
    assert_eq!(
        schema_of(&database).unwrap(),
        Some(4_000_000_000),
        "the file was touched"
    );
}

#[test]
fn a_file_that_is_no_journal_is_refused() {
    let database = empty();
    let write = database.begin_write().unwrap();
    write
        .open_table(TableDefinition::<u64, u64>::new("accounts"))
        .unwrap()
        .insert(1, 1)
        .unwrap();
    write.commit().unwrap();
    assert!(matches!(
        migrate(&database).unwrap_err(),
        MigrateError::Foreign
    ));
    assert_eq!(table_names(&database).unwrap(), ["accounts"]);
}

#[test]
fn a_schema_number_that_is_none_is_refused() {
    for text in ["", "one", "-1", "1.0", "99999999999"] {
        let refusal = migrate(&with_schema(text)).unwrap_err();
        assert!(
            matches!(&refusal, MigrateError::Malformed(found) if found == text),
            "{refusal}"
        );
    }
}

/// Kills by copying the file of an open database: what a killed process leaves behind.
#[test]
fn a_host_killed_at_any_step_boundary_finds_that_boundary_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for boundary in 0..=STEPS.len() {
        let path = folder.path().join(format!("{boundary}.redb"));
        let database = Database::create(&path).unwrap();
        for _ in 0..boundary {
            advance(&database).unwrap().unwrap();
        }
        let left = folder.path().join(format!("{boundary}-left.redb"));
        std::fs::copy(&path, &left).unwrap();
        drop(database);

        let mut reopened = Database::create(&left).unwrap();
        assert!(reopened.check_integrity().unwrap());
        let expected = STEPS
            .get(..boundary)
            .unwrap()
            .last()
            .map(|step| step.schema);
        assert_eq!(schema_of(&reopened).unwrap(), expected);
        assert_eq!(migrate(&reopened).unwrap().len(), STEPS.len() - boundary);
        assert_eq!(schema_of(&reopened).unwrap(), Some(SCHEMA));
    }
}

#[test]
fn a_host_killed_inside_a_step_finds_the_boundary_before_it() {
    let folder = tempfile::tempdir().unwrap();
    for (at, step) in STEPS.iter().enumerate() {
        let path = folder.path().join(format!("{at}.redb"));
        let database = Database::create(&path).unwrap();
        for _ in 0..at {
            advance(&database).unwrap().unwrap();
        }
        let before = schema_of(&database).unwrap();
        let write = database.begin_write().unwrap();
        (step.run)(&write).unwrap();
        let left = folder.path().join(format!("{at}-left.redb"));
        std::fs::copy(&path, &left).unwrap();
        drop(write);
        drop(database);

        let reopened = Database::create(&left).unwrap();
        assert_eq!(schema_of(&reopened).unwrap(), before);
        assert_eq!(advance(&reopened).unwrap().unwrap().schema, step.schema);
    }
}
