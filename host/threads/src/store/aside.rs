//! A file read as it is, with every write kept in memory.
//!
//! After an I/O error redb reads nothing more from its file, but a host that goes down should still
//! answer questions. Opening the file once more through this backend repairs it in memory, as the next
//! start will on disk, and leaves the file untouched.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// Bytes of one piece that is kept in memory when any of it is written: the engine's own page.
const PIECE: usize = 4_096;

/// Bytes that are only read.
pub(crate) trait Source: Send + Sync + fmt::Debug {
    /// Number of bytes.
    fn len(&self) -> io::Result<u64>;

    /// Fills `out` from `offset`; all of it is there.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
}

impl Source for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(out, offset)
    }
}

/// The backend.
#[derive(Debug)]
pub(crate) struct Aside {
    source: Box<dyn Source>,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    pieces: HashMap<u64, Box<[u8; PIECE]>>,
    len: u64,
    /// Bytes of the source that still count: less than it has, once the file was cut.
    source_len: u64,
}

impl Aside {
    pub(crate) fn new(source: Box<dyn Source>) -> io::Result<Self> {
        let len = source.len()?;
        let written = Written {
            pieces: HashMap::new(),
            len,
            source_len: len,
        };
        Ok(Self {
            source,
            written: Mutex::new(written),
        })
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A piece as it stands: written, else read, else zeros.
    fn piece(&self, written: &Written, number: u64) -> io::Result<Box<[u8; PIECE]>> {
        if let Some(piece) = written.pieces.get(&number) {
            return Ok(piece.clone());
        }
        let mut piece = Box::new([0; PIECE]);
        let offset = number.saturating_mul(PIECE as u64);
        let there = written.source_len.saturating_sub(offset);
        let there = usize::try_from(there).unwrap_or(PIECE).min(PIECE);
        if let Some(part) = piece.get_mut(..there).filter(|part| !part.is_empty()) {
            self.source.read_at(offset, part)?;
        }
        Ok(piece)
    }
}

/// The piece that `offset` is in, and where in it.
fn place(offset: u64) -> (u64, usize) {
    let piece = PIECE as u64;
    // Smaller than a piece, so it fits.
    (
        offset / piece,
        usize::try_from(offset % piece).unwrap_or_default(),
    )
}

impl StorageBackend for Aside {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().len)
    }

    fn read(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        let written = self.written();
        if offset.saturating_add(out.len() as u64) > written.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while !out.is_empty() {
            let (number, start) = place(offset);
            let piece = self.piece(&written, number)?;
            let from = piece.get(start..).unwrap_or_default();
            let count = from.len().min(out.len());
            let (now, later) = out.split_at_mut(count);
            now.copy_from_slice(from.get(..count).unwrap_or_default());
            offset = offset.saturating_add(count as u64);
            out = later;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.written();
        if len < written.len {
            let (number, start) = place(len);
            let mut cut = self.piece(&written, number)?;
            cut.iter_mut().skip(start).for_each(|byte| *byte = 0);
            written.pieces.retain(|&kept, _| kept < number);
            written.pieces.insert(number, cut);
            written.source_len = written.source_len.min(len);
        }
        written.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, mut offset: u64, mut data: &[u8]) -> io::Result<()> {
        let mut written = self.written();
        written.len = written.len.max(offset.saturating_add(data.len() as u64));
        while !data.is_empty() {
            let (number, start) = place(offset);
            let mut piece = self.piece(&written, number)?;
            let into = piece.get_mut(start..).unwrap_or_default();
            let (now, later) = data.split_at(into.len().min(data.len()));
            if let Some(into) = into.get_mut(..now.len()) {
                into.copy_from_slice(now);
            }
            written.pieces.insert(number, piece);
            offset = offset.saturating_add(now.len() as u64);
            data = later;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Source for Vec<u8> {
        fn len(&self) -> io::Result<u64> {
            Ok(Vec::len(self) as u64)
        }

        fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            let offset = usize::try_from(offset).unwrap();
            out.copy_from_slice(&self[offset..offset + out.len()]);
            Ok(())
        }
    }

    fn read(aside: &Aside, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut out = vec![0xff; len];
        aside.read(offset, &mut out)?;
        Ok(out)
    }

    /// Every operation on the backend does what it does to a plain list of bytes.
    #[test]
    fn it_behaves_like_the_file_it_stands_for() {
        let source: Vec<u8> = (0..PIECE * 3 + 17)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect();
        let aside = Aside::new(Box::new(source.clone())).unwrap();
        let mut plain = source.clone();
        let mut dice = 7_u64;
        let mut roll = |below: usize| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(dice >> 33).unwrap() % below
        };
        for round in 0..500 {
            match roll(4) {
                0 => {
                    let len = roll(PIECE * 5);
                    plain.resize(len, 0);
                    aside.set_len(len as u64).unwrap();
                }
                1 => {
                    let (offset, len) = (roll(PIECE * 5), 1 + roll(PIECE * 2));
                    let data = vec![u8::try_from(round % 256).unwrap(); len];
                    if plain.len() < offset + len {
                        plain.resize(offset + len, 0);
                    }
                    plain[offset..offset + len].copy_from_slice(&data);
                    aside.write(offset as u64, &data).unwrap();
                }
                _ => {
                    let offset = roll(plain.len() + 1);
                    let len = roll(plain.len() - offset + 1);
                    let got = read(&aside, offset as u64, len).unwrap();
                    assert!(got == plain[offset..offset + len], "round {round}");
                }
            }
            assert_eq!(aside.len().unwrap(), plain.len() as u64);
        }
        assert!(read(&aside, plain.len() as u64, 1).is_err());
    }

    #[test]
    fn what_is_cut_off_does_not_come_back() {
        let aside = Aside::new(Box::new(vec![1_u8; PIECE * 2])).unwrap();
        aside.set_len(10).unwrap();
        aside.set_len(PIECE as u64 * 2).unwrap();
        let mut expected = vec![0; PIECE * 2];
        expected[..10].fill(1);
        assert!(read(&aside, 0, PIECE * 2).unwrap() == expected);
    }
}
