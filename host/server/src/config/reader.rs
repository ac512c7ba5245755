//! Reads one TOML table key by key, remembering lines, and says what is wrong in the operator's words.

use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::Problems;
use super::schema;

/// Most edits between a key that is not known and one that is offered for it.
const NEAR_MISS_EDITS_MAX: usize = 3;

/// The file's text, to tell lines.
#[derive(Debug)]
pub(super) struct Source<'a> {
    text: &'a str,
}

impl<'a> Source<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// Line of a byte, from 1.
    pub(super) fn line(&self, byte: usize) -> usize {
        let before = self
            .text
            .as_bytes()
            .get(..byte)
            .unwrap_or(self.text.as_bytes());
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }
}

/// A value and the line it stands on.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) line: usize,
}

/// One table being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    name: &'a str,
    line: usize,
    entries: Option<&'a DeTable<'a>>,
    source: &'a Source<'a>,
    problems: &'a Problems,
}

type Entry<'a> = &'a Spanned<DeValue<'a>>;

impl<'a> Table<'a> {
    /// The top of the file. Unknown keys are reported at once.
    pub(super) fn top(
        entries: &'a DeTable<'a>,
        source: &'a Source<'a>,
        problems: &'a Problems,
    ) -> Self {
        let table = Self {
            name: "",
            line: 0,
            entries: Some(entries),
            source,
            problems,
        };
        table.refuse_unknown_keys("");
        table
    }

    fn under(&self, name: &'a str, line: usize, entries: &'a DeTable<'a>) -> Self {
        Self {
            name,
            line,
            entries: Some(entries),
            source: self.source,
            problems: self.problems,
        }
    }

    /// Reports a problem at a key, or at the table when the key is absent.
    pub(super) fn problem(&self, key: &str, text: impl Into<String>) {
        let line = self
            .entry(key)
            .map_or(self.line, |entry| self.source.line(entry.span().start));
        self.problems.add(line, self.place(key), text);
    }

    fn place(&self, key: &str) -> String {
        if self.name.is_empty() {
            format!("`{key}`")
        } else {
            format!("[{}] `{key}`", self.name)
        }
    }

    fn entry(&self, key: &str) -> Option<Entry<'a>> {
        self.entries?.get(key)
    }

    fn refuse_unknown_keys(&self, pattern: &str) {
        let known = schema::names(pattern);
        for key in self.entries.into_iter().flat_map(DeTable::keys) {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let line = self.source.line(key.span().start);
                self.problems
                    .add(line, self.place(name), unknown_key(name, &known));
            }
        }
    }

    /// A table with fixed keys; absent reads as empty.
    pub(super) fn table(&self, key: &str, pattern: &str, name: &'a str) -> Self {
        let empty = Self {
            name,
            line: 0,
            entries: None,
            source: self.source,
            problems: self.problems,
        };
        let Some(table) = self.open_table(key, name) else {
            return empty;
        };
        table.refuse_unknown_keys(pattern);
        table
    }

    /// A table whose keys are the operator's own words.
    pub(super) fn open_table(&self, key: &str, name: &'a str) -> Option<Self> {
        let entry = self.entry(key)?;
        let line = self.source.line(entry.span().start);
        match entry.get_ref() {
            DeValue::Table(entries) => Some(self.under(name, line, entries)),
            _ => self.wrong(key, entry, "a table"),
        }
    }

    /// The tables of an array of tables.
    pub(super) fn tables(&self, key: &str, pattern: &str, name: &'a str) -> Vec<Self> {
        let Some(entry) = self.entry(key) else {
            return Vec::new();
        };
        let DeValue::Array(elements) = entry.get_ref() else {
            self.wrong::<()>(
                key,
                entry,
                &format!("an array of tables, written [[{key}]]"),
            );
            return Vec::new();
        };
        let mut tables = Vec::new();
        for element in elements.iter() {
            if let DeValue::Table(entries) = element.get_ref() {
                let line = self.source.line(element.span().start);
                let table = self.under(name, line, entries);
                table.refuse_unknown_keys(pattern);
                tables.push(table);
            } else {
                self.wrong::<()>(key, element, "a table");
            }
        }
        tables
    }

    /// Keys as they are written.
    pub(super) fn keys(&self) -> Vec<&'a str> {
        self.entries
            .into_iter()
            .flat_map(DeTable::keys)
            .map(|key| key.get_ref().as_ref())
            .collect()
    }

    /// Any value as JSON.
    pub(super) fn json(&self, key: &str) -> Option<serde_json::Value> {
        let entry = self.entry(key)?;
        match to_json(entry.get_ref()) {
            Ok(value) => Some(value),
            Err(what) => {
                self.problem(key, format!("{what} has no form in JSON; use a text"));
                None
            }
        }
    }

    /// A text.
    pub(super) fn text(&self, key: &str) -> Option<At<String>> {
        let entry = self.entry(key)?;
        let line = self.source.line(entry.span().start);
        match entry.get_ref() {
            DeValue::String(text) => Some(At {
                value: text.to_string(),
                line,
            }),
            _ => self.wrong(key, entry, "a text in quotes"),
        }
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(key)?;
        self.known_word(key, text.line, &text.value, words)
    }

    fn known_word<T: Copy>(
        &self,
        key: &str,
        line: usize,
        text: &str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let found = words
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let hint = near_miss(text, &names).map(|near| format!("; did you mean `{near}`?"));
            let text = format!(
                "`{}` is not allowed; allowed: {}{}",
                shown(text),
                listed(&names),
                hint.unwrap_or_default()
            );
            self.problems.add(line, self.place(key), text);
        }
        found
    }

    /// A whole number within bounds.
    pub(super) fn number(&self, key: &str, bounds: RangeInclusive<u64>, unit: &str) -> Option<u64> {
        let entry = self.entry(key)?;
        let allowed = format!(
            "a whole number of {unit} from {} to {}",
            bounds.start(),
            bounds.end()
        );
        let number = match entry.get_ref() {
            DeValue::Integer(integer) => {
                u64::from_str_radix(integer.as_str(), integer.radix()).ok()
            }
            _ => return self.wrong(key, entry, &allowed),
        };
        match number {
            Some(number) if bounds.contains(&number) => Some(number),
            _ => {
                self.problem(key, format!("out of bounds; allowed: {allowed}"));
                None
            }
        }
    }

    /// `true` or `false`.
    pub(super) fn switch(&self, key: &str) -> Option<bool> {
        let entry = self.entry(key)?;
        match entry.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => self.wrong(key, entry, "true or false"),
        }
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &str) -> Option<Vec<At<String>>> {
        let entry = self.entry(key)?;
        let DeValue::Array(elements) = entry.get_ref() else {
            return self.wrong(key, entry, "a list of texts in brackets");
        };
        let mut texts = Vec::new();
        for element in elements.iter() {
            match element.get_ref() {
                DeValue::String(text) => texts.push(At {
                    value: text.to_string(),
                    line: self.source.line(element.span().start),
                }),
                _ => return self.wrong(key, element, "a list of texts in brackets"),
            }
        }
        Some(texts)
    }

    /// A list of some words.
    pub(super) fn word_list<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Option<Vec<T>> {
        let texts = self.texts(key)?;
        let read = texts
            .iter()
            .map(|text| self.known_word(key, text.line, &text.value, words));
        read.collect()
    }

    fn wrong<T>(&self, key: &str, entry: Entry<'_>, allowed: &str) -> Option<T> {
        let found = kind(entry.get_ref());
        let line = self.source.line(entry.span().start);
        self.problems.add(
            line,
            self.place(key),
            format!("{found} is not allowed; allowed: {allowed}"),
        );
        None
    }
}

/// The kind of a value. Never the value: it may be a secret in the wrong place.
const fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// At most this many characters of a wrong word are repeated.
const SHOWN_CHARS_MAX: usize = 64;

fn shown(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(SHOWN_CHARS_MAX)
        .collect()
}

fn listed(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn unknown_key(name: &str, known: &[&str]) -> String {
    let hint = if let Some(near) = near_miss(name, known) {
        format!("did you mean `{near}`?")
    } else if let Some(table) = schema::table_with(name) {
        format!("it belongs to [{table}]")
    } else {
        format!("known here: {}", listed(known))
    };
    format!("no such key; {hint}")
}

/// The known word that was probably meant.
pub(crate) fn near_miss<'n>(word: &str, known: &[&'n str]) -> Option<&'n str> {
    let word = word.to_lowercase();
    known
        .iter()
        .map(|name| {
            (
                strsim::damerau_levenshtein(&word, &name.to_lowercase()),
                *name,
            )
        })
        .filter(|(edits, name)| {
            *edits <= NEAR_MISS_EDITS_MAX && *edits * 2 <= name.chars().count().max(2)
        })
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

fn to_json(value: &DeValue<'_>) -> Result<serde_json::Value, &'static str> {
    use serde_json::Value;
    Ok(match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(integer) => {
            let number = i64::from_str_radix(integer.as_str(), integer.radix());
            Value::from(number.map_err(|_| "a number beyond 64 bits")?)
        }
        DeValue::Float(float) => {
            let number: f64 = float.as_str().parse().map_err(|_| "this number")?;
            Value::Number(serde_json::Number::from_f64(number).ok_or("this number")?)
        }
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(_) => return Err("a date"),
        DeValue::Array(elements) => {
            let read = elements.iter().map(|element| to_json(element.get_ref()));
            Value::Array(read.collect::<Result<_, _>>()?)
        }
        DeValue::Table(entries) => {
            let read = entries
                .iter()
                .map(|(key, value)| Ok((key.get_ref().to_string(), to_json(value.get_ref())?)));
            Value::Object(read.collect::<Result<_, &'static str>>()?)
        }
    })
}
