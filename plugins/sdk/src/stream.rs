//! What a driver keeps of a process's outputs besides its frames: noise between them, and the end of standard error.
#![forbid(unsafe_code)]

use std::collections::VecDeque;

use crate::clip;
use crate::limits::{NOISE_LINES_MAX, SHOWN_LINE_BYTES_MAX, TAIL_BYTES_MAX, TAIL_LINES_MAX};
use crate::logging::{self, LogLevel};

/// Lines on a protocol stream that are no protocol.
#[derive(Debug, Default)]
pub struct Noise {
    seen: u32,
}

impl Noise {
    /// Counts one such line. The first is logged; empty ones are not noise.
    ///
    /// # Errors
    /// The text to show, once there were more than [`NOISE_LINES_MAX`].
    pub fn observe(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if line.is_empty() {
            return Ok(());
        }
        self.seen = self.seen.saturating_add(1);
        let shown = clip::shortened(line, SHOWN_LINE_BYTES_MAX);
        if self.seen == 1 {
            logging::write(
                LogLevel::Warn,
                &format!("a line that is no protocol: {shown}"),
            );
        }
        if self.seen > NOISE_LINES_MAX {
            return Err(shown);
        }
        Ok(())
    }
}

/// The last lines of standard error, bounded in lines and bytes.
#[derive(Debug, Default)]
pub struct Tail {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Tail {
    /// Keeps one line, without colour codes, and lets go of the oldest beyond the bounds.
    pub fn push(&mut self, line: &str) {
        let plain = without_escapes(line);
        let plain = clip::shortened(plain.trim_end(), TAIL_BYTES_MAX);
        if plain.is_empty() {
            return;
        }
        self.bytes += plain.len();
        self.lines.push_back(plain);
        while self.lines.len() > TAIL_LINES_MAX || self.bytes > TAIL_BYTES_MAX {
            match self.lines.pop_front() {
                Some(oldest) => self.bytes -= oldest.len(),
                None => break,
            }
        }
    }

    /// The kept lines, oldest first, with line feeds between. `None`: nothing was printed.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        if self.lines.is_empty() {
            return None;
        }
        Some(
            self.lines
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join("\n"),
        )
    }
}

/// `text` without terminal escape sequences and other control characters, which would garble a message.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            for c in rest.by_ref() {
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
        } else if !c.is_control() || c == '\t' {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{Noise, Tail};
    use crate::limits::{NOISE_LINES_MAX, TAIL_BYTES_MAX, TAIL_LINES_MAX};

    #[test]
    fn noise_is_tolerated_up_to_its_bound_and_then_shown() {
        let mut noise = Noise::default();
        for _ in 0..NOISE_LINES_MAX {
            assert_eq!(noise.observe("Welcome!"), Ok(()));
        }
        assert_eq!(
            noise.observe("one too many"),
            Err("one too many".to_owned())
        );
    }

    #[test]
    fn empty_lines_are_no_noise() {
        let mut noise = Noise::default();
        for _ in 0..=NOISE_LINES_MAX {
            assert_eq!(noise.observe(" \u{feff}\t"), Ok(()));
        }
    }

    #[test]
    fn a_tail_keeps_the_end_within_its_bounds() {
        let mut tail = Tail::default();
        assert_eq!(tail.text(), None);
        for n in 0..100 {
            tail.push(&format!("\u{1b}[31mline {n}\u{1b}[0m"));
        }
        let text = tail.text().unwrap();
        assert_eq!(text.lines().count(), TAIL_LINES_MAX);
        assert!(text.ends_with("line 99") && !text.contains('\u{1b}'));
        tail.push(&"x".repeat(10 * TAIL_BYTES_MAX));
        assert!(tail.text().unwrap().len() <= TAIL_BYTES_MAX);
    }
}
