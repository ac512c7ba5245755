//! Which model and options a child runs with, row by row of the resolution.

use crate::error::DenialCode::{self, *};
use crate::provider::ProviderSnapshot;

use super::target::{Value, Wish, away, find, home, options, snapshot};

/// What a wish named, and what was found for it.
type Row<'a, Wished, Got> = (
    &'a str,
    Option<&'a str>,
    Option<&'a str>,
    Wished,
    Result<Got, DenialCode>,
);

#[test]
fn a_model_is_given_the_parents_or_the_first_offered() {
    let bare = || snapshot("away", "claude", Vec::new());
    let rows: [Row<'_, ProviderSnapshot, Option<&str>>; 8] = [
        ("inherited", None, None, home(), Ok(Some("small"))),
        (
            "given and offered",
            None,
            Some("bare"),
            home(),
            Ok(Some("bare")),
        ),
        (
            "given and not offered",
            None,
            Some("haiku"),
            home(),
            Err(ModelUnavailable),
        ),
        (
            "first of another instance",
            Some("away"),
            None,
            away(),
            Ok(Some("haiku")),
        ),
        (
            "given of another instance",
            Some("away"),
            Some("large"),
            away(),
            Ok(Some("large")),
        ),
        (
            "parent's model elsewhere",
            Some("away"),
            Some("small"),
            away(),
            Err(ModelUnavailable),
        ),
        (
            "any name where none are published",
            Some("away"),
            Some("any"),
            bare(),
            Ok(Some("any")),
        ),
        (
            "the provider's own choice where none are published",
            Some("away"),
            None,
            bare(),
            Ok(None),
        ),
    ];
    for (name, instance, model, snapshot, expected) in rows {
        let wish = Wish {
            instance,
            model,
            ..Wish::default()
        };
        let found = find(wish, &[snapshot])
            .map(|(_, model, _)| model)
            .map_err(|(code, _)| code);
        assert_eq!(
            found,
            expected.map(|model| model.map(str::to_owned)),
            "{name}"
        );
    }
}

#[test]
fn options_are_checked_where_published_and_inherited_only_for_the_same_model() {
    use Value::{On, Word};
    type Options = &'static [(&'static str, Value<'static>)];
    const LOW: Options = &[("effort", Word("low"))];
    let rows: [Row<'_, Option<Options>, Options>; 13] = [
        ("same instance and model", None, None, None, Ok(LOW)),
        ("same model named", None, Some("small"), None, Ok(LOW)),
        ("another model", None, Some("bare"), None, Ok(&[])),
        ("another instance", Some("away"), None, None, Ok(&[])),
        ("none wanted", None, None, Some(&[]), Ok(&[])),
        (
            "a choice",
            None,
            None,
            Some(&[("effort", Word("high"))]),
            Ok(&[("effort", Word("high"))]),
        ),
        (
            "a switch",
            None,
            None,
            Some(&[("fast", On)]),
            Ok(&[("fast", On)]),
        ),
        (
            "a value not offered",
            None,
            None,
            Some(&[("effort", Word("x"))]),
            Err(InvalidRequest),
        ),
        (
            "a switch for a choice",
            None,
            None,
            Some(&[("effort", On)]),
            Err(InvalidRequest),
        ),
        (
            "a word for a switch",
            None,
            None,
            Some(&[("fast", Word("true"))]),
            Err(InvalidRequest),
        ),
        (
            "unknown",
            None,
            None,
            Some(&[("speed", On)]),
            Err(InvalidRequest),
        ),
        (
            "unknown where none are published",
            None,
            Some("bare"),
            Some(&[("speed", On)]),
            Ok(&[("speed", On)]),
        ),
        (
            "twice, none published",
            None,
            Some("bare"),
            Some(&[("a", On), ("a", On)]),
            Err(InvalidRequest),
        ),
    ];
    for (name, instance, model, wanted, expected) in rows {
        let wish = Wish {
            instance,
            model,
            options: wanted,
            ..Wish::default()
        };
        let found = find(wish, &[home(), away()]);
        let found = found
            .map(|(_, _, options)| options)
            .map_err(|(code, _)| code);
        assert_eq!(found, expected.map(options), "{name}");
    }
}
