//! One write transaction: several commands, each decided against what those before it wrote.

use domain::effect::Effect;
use domain::event::Event;
use domain::ids::RequestKey;
use domain::time::Timestamp;
use redb::{ReadableTable, WriteTransaction};

use super::StoreError;
use super::record::{Receipt, Recorded, decode, encode};
use super::tables::{Tables, WriteTables};
use super::view::State;

/// Where the journal and the outbox end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    /// Number of the newest event; 0: none.
    pub(crate) sequence: u64,
    /// Number of the newest effect ever put into the outbox; 0: none.
    pub(crate) effect: u64,
}

impl Ends {
    /// Reads them from a set of tables.
    pub(crate) fn read(tables: &impl Tables) -> Result<Self, StoreError> {
        let sequence = tables
            .events()?
            .last()?
            .map_or(0, |(number, _)| number.value());
        let effect = tables
            .outbox()?
            .last()?
            .map_or(0, |(number, _)| number.value());
        Ok(Self { sequence, effect })
    }
}

/// Whether a transaction has anything to commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Nothing was written.
    Nothing,
    /// Something was.
    Something,
}

/// The open tables of one write transaction.
#[derive(Debug)]
pub(crate) struct Batch<'t> {
    state: State<WriteTables<'t>>,
    ends: Ends,
    content: Content,
    bytes: usize,
}

impl<'t> Batch<'t> {
    pub(crate) fn new(transaction: &'t WriteTransaction, ends: Ends) -> Self {
        Self {
            state: State(WriteTables::new(transaction)),
            ends,
            content: Content::Nothing,
            bytes: 0,
        }
    }

    /// What the rules may ask: it shows everything this batch wrote.
    pub(crate) fn view(&self) -> &State<WriteTables<'t>> {
        &self.state
    }

    pub(crate) fn ends(&self) -> Ends {
        self.ends
    }

    pub(crate) fn content(&self) -> Content {
        self.content
    }

    /// Event bytes written so far.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Stores a fact and folds it.
    pub(crate) fn append(
        &mut self,
        at: Timestamp,
        key: Option<&RequestKey>,
        event: &Event,
    ) -> Result<(), StoreError> {
        let seq = self.ends.sequence.saturating_add(1);
        let bytes = encode(
            "events",
            &Recorded {
                seq,
                at,
                key,
                event,
            },
        )?;
        let tables = &mut self.state.0;
        tables.events.write()?.insert(seq, bytes.as_slice())?;
        tables.fold(seq, event)?;
        self.ends.sequence = seq;
        self.bytes = self.bytes.saturating_add(bytes.len());
        self.content = Content::Something;
        Ok(())
    }

    /// Puts an effect at the end of the outbox and answers its number there.
    pub(crate) fn push_effect(&mut self, effect: &Effect) -> Result<u64, StoreError> {
        let number = self.ends.effect.saturating_add(1);
        let bytes = encode("outbox", effect)?;
        self.state
            .0
            .outbox
            .write()?
            .insert(number, bytes.as_slice())?;
        self.ends.effect = number;
        self.content = Content::Something;
        Ok(number)
    }

    /// Forgets the effects up to this number. On its own that is nothing to commit for: it goes with
    /// whatever is written next.
    pub(crate) fn forget_effects(&mut self, upto: u64) -> Result<(), StoreError> {
        self.state
            .0
            .outbox
            .write()?
            .retain_in(..=upto, |_, _| false)?;
        Ok(())
    }

    pub(crate) fn receipt(&self, key: &RequestKey) -> Result<Option<Receipt>, StoreError> {
        let stored = self
            .state
            .0
            .receipts()?
            .get((key.namespace.as_str(), key.key.as_str()))?;
        stored
            .map(|bytes| decode("receipts", bytes.value()))
            .transpose()
    }

    pub(crate) fn put_receipt(
        &mut self,
        key: &RequestKey,
        receipt: &Receipt,
    ) -> Result<(), StoreError> {
        let bytes = encode("receipts", receipt)?;
        let key = (key.namespace.as_str(), key.key.as_str());
        self.state
            .0
            .receipts
            .write()?
            .insert(key, bytes.as_slice())?;
        self.content = Content::Something;
        Ok(())
    }
}
