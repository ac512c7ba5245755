//! What one command writes, seen from outside: the journal's rows before and after it. A bare redb loop then writes the
//! same rows again and again, under fresh ids and numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, ensure};
use redb::{
    Builder, Database, Durability, Key, ReadTransaction, ReadableDatabase, ReadableTable, Table,
    TableDefinition, TableHandle, Value, WriteTransaction,
};

/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 32;

type Text = &'static str;
type Bytes = &'static [u8];

/// Rows of one table by key, both as redb stores them.
type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Every row of a journal, by table.
pub(crate) type Dump = BTreeMap<&'static str, Rows>;

/// Where a number that grows with the journal stands in a table's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    /// Nowhere.
    None,
    /// In the last eight bytes: the number of an event.
    Event,
    /// In the last eight bytes: the number of an effect.
    Effect,
    /// In the last eight bytes: the place of an item in its thread or run.
    Place,
}

/// A change of one row: its new value, or `None` where it goes.
type Change = (Vec<u8>, Option<Vec<u8>>);

/// A table of the journal, whose types are known to its functions alone.
struct Kind {
    name: &'static str,
    number: Number,
    read: fn(&ReadTransaction, &'static str) -> anyhow::Result<Rows>,
    write:
        fn(&WriteTransaction, &'static str, &mut dyn Iterator<Item = Change>) -> anyhow::Result<()>,
}

const fn kind<K: Key + 'static, V: Value + 'static>(name: &'static str, number: Number) -> Kind {
    Kind {
        name,
        number,
        read: read::<K, V>,
        write: write::<K, V>,
    }
}

fn read<K: Key + 'static, V: Value + 'static>(
    transaction: &ReadTransaction,
    name: &'static str,
) -> anyhow::Result<Rows> {
    let table = transaction.open_table(TableDefinition::<K, V>::new(name))?;
    let mut rows = Rows::new();
    for row in table.iter()? {
        let (key, value) = row?;
        rows.insert(
            K::as_bytes(&key.value()).as_ref().to_vec(),
            V::as_bytes(&value.value()).as_ref().to_vec(),
        );
    }
    Ok(rows)
}

fn write<K: Key + 'static, V: Value + 'static>(
    transaction: &WriteTransaction,
    name: &'static str,
    changes: &mut dyn Iterator<Item = Change>,
) -> anyhow::Result<()> {
    let mut table: Table<'_, K, V> = transaction.open_table(TableDefinition::new(name))?;
    for (key, value) in changes {
        match value {
            Some(value) => drop(table.insert(K::from_bytes(&key), V::from_bytes(&value))?),
            None => drop(table.remove(K::from_bytes(&key))?),
        }
    }
    Ok(())
}

/// Every table of schema 1.
const TABLES: &[Kind] = &[
    kind::<Text, Text>("meta", Number::None),
    kind::<u64, Bytes>("events", Number::Event),
    kind::<(Text, Text), Bytes>("receipts", Number::None),
    kind::<u64, Bytes>("outbox", Number::Effect),
    kind::<Text, Bytes>("projects", Number::None),
    kind::<Text, Bytes>("threads", Number::None),
    kind::<Text, Bytes>("runs", Number::None),
    kind::<Text, Bytes>("messages", Number::None),
    kind::<Text, Bytes>("items", Number::None),
    kind::<Text, Bytes>("requests", Number::None),
    kind::<Text, Bytes>("tasks", Number::None),
    kind::<Text, Bytes>("transfers", Number::None),
    kind::<Text, Bytes>("sessions", Number::None),
    kind::<(Text, u64), (u64, Text)>("item_text", Number::None),
    kind::<(u64, u64), Text>("threads_by_change", Number::Event),
    kind::<(Text, u32), Text>("runs_by_thread", Number::None),
    kind::<(Text, u32), Text>("open_runs", Number::None),
    kind::<Text, u32>("active_threads", Number::None),
    kind::<(Text, u64), Text>("items_by_thread", Number::Place),
    kind::<(Text, Text), Text>("items_by_origin", Number::None),
    kind::<(Text, u64), Text>("open_items", Number::Place),
    kind::<(Text, u64), Text>("assistant_items", Number::None),
    kind::<(Text, u64), Text>("pending_requests", Number::Event),
    kind::<(Text, u64), Text>("tasks_by_parent", Number::Event),
    kind::<(Text, Text, Text), Text>("transfers_by_pair", Number::None),
    kind::<Text, ()>("open_sessions", Number::None),
];

/// Every row of a journal's file, which nobody has open.
pub(crate) fn dump(file: &Path) -> anyhow::Result<Dump> {
    let database = Database::open(file)?;
    let transaction = database.begin_read()?;
    let known: BTreeSet<&str> = TABLES.iter().map(|kind| kind.name).collect();
    for table in transaction.list_tables()? {
        ensure!(
            known.contains(table.name()),
            "the journal has a table {} that the benchmark does not know",
            table.name()
        );
    }
    TABLES
        .iter()
        .map(|kind| Ok((kind.name, (kind.read)(&transaction, kind.name)?)))
        .collect()
}

/// What one command changed.
pub(crate) struct Tape {
    changes: Vec<(&'static Kind, Vec<Change>)>,
    /// Ids the command made.
    fresh: BTreeSet<Vec<u8>>,
    events: u64,
    effects: u64,
    places: u64,
    /// Bytes of keys and values written.
    pub(crate) bytes: usize,
    /// Rows written or removed.
    pub(crate) rows: usize,
}

impl Tape {
    /// Compares a journal before and after one command.
    pub(crate) fn between(before: &Dump, after: &Dump) -> anyhow::Result<Self> {
        let mut known = BTreeSet::new();
        for (key, value) in before.values().flatten() {
            known.extend(ids(key).chain(ids(value)));
        }
        let (mut changes, mut fresh) = (Vec::new(), BTreeSet::new());
        let (mut bytes, mut rows) = (0, 0);
        for kind in TABLES {
            let (old, new) = (table(before, kind)?, table(after, kind)?);
            let gone = old.keys().filter(|key| !new.contains_key(*key));
            let mut changed: Vec<Change> = gone.map(|key| (key.clone(), None)).collect();
            let put = new
                .iter()
                .filter(|(key, value)| old.get(*key) != Some(*value));
            changed.extend(put.map(|(key, value)| (key.clone(), Some(value.clone()))));
            for (key, value) in &changed {
                let value = value.as_deref().unwrap_or_default();
                bytes += key.len() + value.len();
                rows += 1;
                fresh.extend(
                    ids(key)
                        .chain(ids(value))
                        .filter(|id| !known.contains(id))
                        .map(<[u8]>::to_vec),
                );
            }
            if !changed.is_empty() {
                changes.push((kind, changed));
            }
        }
        let grown = |name: &str| -> u64 {
            let put = changes
                .iter()
                .filter(|(kind, _)| kind.name == name)
                .flat_map(|(_, changed)| changed);
            put.filter(|(_, value)| value.is_some()).count() as u64
        };
        let (events, effects, places) = (grown("events"), grown("outbox"), grown("open_items"));
        Ok(Self {
            changes,
            fresh,
            events,
            effects,
            places,
            bytes,
            rows,
        })
    }

    /// The same for the `number`-th command after it: other ids, higher numbers.
    fn shifted(&self, bytes: &[u8], number: u64) -> Vec<u8> {
        let mut shifted = bytes.to_vec();
        let mut at = 0;
        while let Some(id) = shifted.get(at..at + ID_DIGITS) {
            if self.fresh.contains(id) {
                let place = self.fresh.range(..id.to_vec()).count();
                let fresh = format!(
                    "{:032x}",
                    (u128::from(number) << 64 | place as u128)
                        .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
                );
                if let Some(into) = shifted.get_mut(at..at + ID_DIGITS) {
                    into.copy_from_slice(fresh.as_bytes());
                }
                at += ID_DIGITS;
            } else {
                at += 1;
            }
        }
        shifted
    }

    fn key(&self, kind: &Kind, key: &[u8], number: u64) -> Vec<u8> {
        let mut shifted = self.shifted(key, number);
        let step = match kind.number {
            Number::None => return shifted,
            Number::Event => self.events,
            Number::Effect => self.effects,
            Number::Place => self.places,
        };
        if let Some(last) = shifted.last_chunk_mut::<8>() {
            *last = (u64::from_le_bytes(*last) + number * step).to_le_bytes();
        }
        shifted
    }

    /// Every change of the commands from `first` on, ready to be written.
    pub(crate) fn play(&self, first: u64, count: u64) -> Played {
        let changes = self.changes.iter().map(|(kind, changed)| {
            let mut all = Vec::new();
            for number in first..first + count {
                all.extend(changed.iter().map(|(key, value)| {
                    let value = value.as_ref().map(|value| self.shifted(value, number));
                    (self.key(kind, key, number), value)
                }));
            }
            (*kind, all)
        });
        Played(changes.collect())
    }
}

/// The changes of one commit.
pub(crate) struct Played(Vec<(&'static Kind, Vec<Change>)>);

/// Ids in stored bytes.
fn ids(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    bytes
        .chunk_by(move |one, other| is_digit(one) && is_digit(other))
        .flat_map(|run| run.chunks_exact(ID_DIGITS))
}

fn table<'d>(dump: &'d Dump, kind: &Kind) -> anyhow::Result<&'d Rows> {
    dump.get(kind.name)
        .with_context(|| format!("no table {}", kind.name))
}

/// redb with a journal's rows in it and nothing around it.
pub(crate) struct Bare {
    database: Database,
}

impl Bare {
    /// A new file that holds these rows.
    pub(crate) fn holding(file: &Path, rows: &Dump) -> anyhow::Result<Self> {
        let database = Builder::new()
            .set_cache_size(threads::limits::STORE_CACHE_BYTES_MAX)
            .create(file)?;
        let transaction = database.begin_write()?;
        for kind in TABLES {
            let mut all = table(rows, kind)?
                .iter()
                .map(|(key, value)| (key.clone(), Some(value.clone())));
            (kind.write)(&transaction, kind.name, &mut all)?;
        }
        transaction.commit()?;
        Ok(Self { database })
    }

    /// One durable commit.
    pub(crate) fn commit(&self, played: Played) -> anyhow::Result<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        for (kind, changed) in played.0 {
            (kind.write)(&transaction, kind.name, &mut changed.into_iter())?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Number of rows in each table.
    pub(crate) fn counts(&self) -> anyhow::Result<BTreeMap<&'static str, usize>> {
        let transaction = self.database.begin_read()?;
        TABLES
            .iter()
            .map(|kind| Ok((kind.name, (kind.read)(&transaction, kind.name)?.len())))
            .collect()
    }
}

/// Number of rows in each table.
pub(crate) fn counts(dump: &Dump) -> BTreeMap<&'static str, usize> {
    dump.iter()
        .map(|(name, rows)| (*name, rows.len()))
        .collect()
}
