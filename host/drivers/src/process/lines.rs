//! Cuts a byte stream into lines, with bounded memory and in linear time.

use std::io::{BufRead, Result as IoResult};

/// Whether a line is all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineState {
    /// Ended by a line end.
    Whole,
    /// The stream ended first.
    Unterminated,
    /// Longer than the bound; the rest up to the next line end is dropped.
    OverLimit,
}

/// One line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawLine {
    /// Its text; bytes that are not UTF-8 became U+FFFD.
    pub(crate) text: String,
    /// Whether it is all there.
    pub(crate) state: LineState,
}

/// Collects bytes into lines of at most `bytes_max` bytes.
#[derive(Debug)]
pub(crate) struct LineCutter {
    bytes_max: usize,
    pending: Vec<u8>,
    /// The line was over the limit: what follows up to a line end is dropped.
    skipping: bool,
}

impl LineCutter {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            pending: Vec::new(),
            skipping: false,
        }
    }

    /// Takes bytes and gives the lines they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> IoResult<Vec<RawLine>> {
        let mut lines = Vec::new();
        while !bytes.is_empty() {
            if self.skipping {
                let last = bytes.last().copied();
                bytes.skip_until(b'\n')?;
                // Bytes are left only behind a line end.
                self.skipping = bytes.is_empty() && last != Some(b'\n');
                continue;
            }
            bytes.read_until(b'\n', &mut self.pending)?;
            if self.pending.last() == Some(&b'\n') {
                self.pending.pop();
                let line = std::mem::take(&mut self.pending);
                lines.push(self.finish_line(line, LineState::Whole));
            } else if self.pending.len() > self.bytes_max + 1 {
                // One more than the bound may still be the CR of a line end.
                let line = std::mem::take(&mut self.pending);
                self.skipping = true;
                lines.push(self.finish_line(line, LineState::OverLimit));
            }
        }
        Ok(lines)
    }

    /// The stream is over: what is left, if anything.
    pub(crate) fn finish(&mut self) -> Option<RawLine> {
        if self.skipping || self.pending.is_empty() {
            return None;
        }
        let line = std::mem::take(&mut self.pending);
        Some(self.finish_line(line, LineState::Unterminated))
    }

    fn finish_line(&self, mut bytes: Vec<u8>, state: LineState) -> RawLine {
        if state == LineState::Whole && bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        let mut over = state == LineState::OverLimit || bytes.len() > self.bytes_max;
        if over {
            bytes.truncate(self.bytes_max);
            drop_split_character(&mut bytes);
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                // A replacement is longer than what it replaces.
                over = over || text.len() > self.bytes_max;
                crate::text::cut(text, self.bytes_max)
            }
        };
        RawLine {
            text,
            state: if over { LineState::OverLimit } else { state },
        }
    }
}

/// Removes the start of a character whose rest was cut off.
fn drop_split_character(bytes: &mut Vec<u8>) {
    if let Err(error) = std::str::from_utf8(bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LineState::{OverLimit, Unterminated, Whole};

    fn cut(bytes_max: usize, chunks: &[&[u8]]) -> Vec<(String, LineState)> {
        let mut cutter = LineCutter::new(bytes_max);
        let mut lines = Vec::new();
        for chunk in chunks {
            lines.extend(cutter.push(chunk).unwrap());
        }
        lines.extend(cutter.finish());
        lines
            .into_iter()
            .map(|line| (line.text, line.state))
            .collect()
    }

    fn check(bytes_max: usize, stream: &[u8], expected: &[(&str, LineState)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(t, s)| ((*t).to_owned(), *s))
            .collect();
        assert_eq!(cut(bytes_max, &[stream]), expected, "in one piece");
        let single: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(cut(bytes_max, &single), expected, "byte by byte");
    }

    #[test]
    fn lines_end_at_line_feeds_alone() {
        check(99, b"", &[]);
        check(99, b"a\nb\n", &[("a", Whole), ("b", Whole)]);
        check(
            99,
            b"a\r\n\r\nb\n",
            &[("a", Whole), ("", Whole), ("b", Whole)],
        );
        check(99, b"a\rb\n", &[("a\rb", Whole)]);
        check(99, b"a\r\r\n", &[("a\r", Whole)]);
        check(
            99,
            "a\u{2028}b\u{85}c\n".as_bytes(),
            &[("a\u{2028}b\u{85}c", Whole)],
        );
        check(99, b"a\0b\n", &[("a\0b", Whole)]);
        check(99, b"\xef\xbb\xbf{}\n", &[("\u{feff}{}", Whole)]);
    }

    #[test]
    fn a_stream_that_ends_in_a_line_says_so() {
        check(99, b"a\nhalf", &[("a", Whole), ("half", Unterminated)]);
        check(99, b"half\r", &[("half\r", Unterminated)]);
        check(
            99,
            b"{\"looks\":\"whole\"}",
            &[("{\"looks\":\"whole\"}", Unterminated)],
        );
    }

    #[test]
    fn characters_may_be_split_between_reads_and_bad_bytes_are_marked() {
        check(99, "äöü€😀\n".as_bytes(), &[("äöü€😀", Whole)]);
        check(99, b"a\xffb\n", &[("a\u{fffd}b", Whole)]);
        check(
            99,
            b"\xed\xa0\x80\n",
            &[("\u{fffd}\u{fffd}\u{fffd}", Whole)],
        );
        check(99, b"\xe2\x82", &[("\u{fffd}", Unterminated)]);
    }

    #[test]
    fn a_line_at_the_bound_is_whole_and_one_byte_more_is_not() {
        check(3, b"abc\n", &[("abc", Whole)]);
        check(3, b"abc\r\n", &[("abc", Whole)]);
        check(3, b"abcd\nx\n", &[("abc", OverLimit), ("x", Whole)]);
        check(3, b"abcdefgh\nx\n", &[("abc", OverLimit), ("x", Whole)]);
        check(3, b"abcdefgh", &[("abc", OverLimit)]);
        check(3, "ab€\n".as_bytes(), &[("ab", OverLimit)]);
        check(3, b"\xff\xff\n", &[("\u{fffd}", OverLimit)]);
    }

    #[test]
    fn memory_is_bounded_without_any_line_end() {
        let mut cutter = LineCutter::new(1_000);
        let chunk = vec![b'x'; 64 << 10];
        let mut lines = 0;
        for _ in 0..1_000 {
            lines += cutter.push(&chunk).unwrap().len();
            assert!(cutter.pending.capacity() <= 1 << 18);
        }
        assert_eq!(lines, 1);
    }
}
