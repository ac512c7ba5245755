//! A disk that fails, or that a crash leaves without, or with only parts of, what was not synced.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use redb::StorageBackend;

use crate::store::Source;

/// A disk. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk(Arc<Mutex<Platter>>);

#[derive(Debug, Default)]
struct Platter {
    /// What a reader sees.
    live: Vec<u8>,
    /// What a crash leaves for certain.
    durable: Vec<u8>,
    /// What was done since the last sync, in order.
    unsynced: Vec<Op>,
    /// Calls that can fail, since the fault was set.
    calls: u64,
    fault: Fault,
    syncing: Syncing,
    capture: Option<Crash>,
    captured: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
enum Op {
    Write(usize, Vec<u8>),
    Resize(usize),
}

/// Which calls fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    /// None.
    #[default]
    Never,
    /// The one with this number, from 1.
    Once(u64),
    /// The one with this number and all after it.
    From(u64),
}

/// What a sync does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Syncing {
    #[default]
    Durable,
    Pretended,
}

/// What a crash leaves of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    /// Nothing.
    Nothing,
    /// Some sectors of this many bytes, chosen by the seed.
    Torn {
        /// Bytes that are written whole or not at all.
        sector: usize,
        /// Chooses.
        seed: u64,
    },
}

impl Disk {
    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().unwrap()
    }

    fn holding(bytes: Vec<u8>) -> Self {
        let platter = Platter {
            live: bytes.clone(),
            durable: bytes,
            ..Platter::default()
        };
        Self(Arc::new(Mutex::new(platter)))
    }

    /// A disk with what is in a file.
    pub(crate) fn holding_file(file: &std::path::Path) -> Self {
        Self::holding(std::fs::read(file).unwrap())
    }

    /// Sets which calls fail, counted from now.
    pub(crate) fn fail(&self, fault: Fault) {
        let mut platter = self.platter();
        platter.calls = 0;
        platter.fault = fault;
    }

    /// From now on a sync does nothing and says it did.
    pub(crate) fn pretend_to_sync(&self) {
        self.platter().syncing = Syncing::Pretended;
    }

    /// Calls that could have failed since [`Disk::fail`].
    pub(crate) fn calls(&self) -> u64 {
        self.platter().calls
    }

    /// Has the next sync keep what a crash just before it leaves.
    pub(crate) fn capture_at_next_sync(&self, crash: Crash) {
        self.platter().capture = Some(crash);
    }

    /// The disk as the crash left it that [`Disk::capture_at_next_sync`] asked for.
    pub(crate) fn captured(&self) -> Option<Self> {
        self.platter().captured.take().map(Self::holding)
    }

    /// The disk as a crash now leaves it.
    pub(crate) fn crashed(&self, crash: Crash) -> Self {
        Self::holding(self.platter().left_by(crash))
    }

    /// The disk as the next process finds it when only the process died.
    pub(crate) fn restarted(&self) -> Self {
        Self::holding(self.platter().live.clone())
    }
}

impl Platter {
    fn call(&mut self) -> io::Result<()> {
        self.calls += 1;
        let fails = match self.fault {
            Fault::Never => false,
            Fault::Once(number) => self.calls == number,
            Fault::From(number) => self.calls >= number,
        };
        if fails {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }

    fn left_by(&self, crash: Crash) -> Vec<u8> {
        let mut left = self.durable.clone();
        let Crash::Torn { sector, mut seed } = crash else {
            return left;
        };
        for op in &self.unsynced {
            match op {
                Op::Resize(length) => {
                    if heads(&mut seed) {
                        left.resize(*length, 0);
                    }
                }
                Op::Write(offset, bytes) => {
                    for (at, piece) in bytes.chunks(sector).enumerate() {
                        if heads(&mut seed) {
                            write_at(&mut left, offset + at * sector, piece);
                        }
                    }
                }
            }
        }
        left
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.platter().live.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = index(offset);
        out.copy_from_slice(&self.platter().live[offset..offset + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut platter = self.platter();
        platter.call()?;
        platter.live.resize(index(len), 0);
        platter.unsynced.push(Op::Resize(index(len)));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platter = self.platter();
        platter.call()?;
        if let Some(crash) = platter.capture.take() {
            platter.captured = Some(platter.left_by(crash));
        }
        if platter.syncing == Syncing::Durable {
            platter.durable = platter.live.clone();
            platter.unsynced.clear();
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut platter = self.platter();
        platter.call()?;
        write_at(&mut platter.live, index(offset), data);
        platter
            .unsynced
            .push(Op::Write(index(offset), data.to_vec()));
        Ok(())
    }
}

impl Source for Disk {
    fn len(&self) -> io::Result<u64> {
        StorageBackend::len(self)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read(offset, out)
    }
}

fn heads(seed: &mut u64) -> bool {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *seed >> 63 == 1
}

fn write_at(bytes: &mut Vec<u8>, offset: usize, data: &[u8]) {
    if bytes.len() < offset + data.len() {
        bytes.resize(offset + data.len(), 0);
    }
    bytes[offset..offset + data.len()].copy_from_slice(data);
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap()
}
