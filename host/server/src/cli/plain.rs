//! Text of strangers, made inert for a terminal: no control sequence, no mark that turns the direction of text.

use std::io::{self, Write};

/// Takes control sequences out of a text that comes in pieces. One per stream: a sequence may be cut anywhere.
#[derive(Debug, Default)]
pub(crate) struct Stripper {
    state: State,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Ordinary text.
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// In a sequence that ends with a letter.
    Control,
    /// In a sequence that ends with BEL or ST.
    Command,
    /// In such a sequence, after ESC.
    CommandEscape,
}

impl Stripper {
    /// What is left of a piece. Line ends and tabs stay.
    pub(crate) fn strip(&mut self, piece: &str) -> String {
        let mut kept = String::with_capacity(piece.len());
        for character in piece.chars() {
            if let Some(character) = self.take(character) {
                kept.push(character);
            }
        }
        kept
    }

    fn take(&mut self, character: char) -> Option<char> {
        // No sequence reaches past its line, so that none hides what follows.
        if character == '\n' {
            self.state = State::Text;
            return Some(character);
        }
        match self.state {
            State::Text => self.text(character),
            State::Escape => {
                self.state = match character {
                    '[' => State::Control,
                    ']' | 'P' | 'X' | '^' | '_' => State::Command,
                    ' '..='/' => State::Escape,
                    _ => State::Text,
                };
                None
            }
            State::Control => match character {
                ' '..='?' => None,
                '@'..='~' => {
                    self.state = State::Text;
                    None
                }
                _ => self.text(character),
            },
            State::Command => {
                match character {
                    '\u{7}' | '\u{9c}' => self.state = State::Text,
                    '\u{1b}' => self.state = State::CommandEscape,
                    _ => {}
                }
                None
            }
            State::CommandEscape => {
                self.state = if character == '\\' {
                    State::Text
                } else {
                    State::Command
                };
                None
            }
        }
    }

    fn text(&mut self, character: char) -> Option<char> {
        self.state = match character {
            '\u{1b}' => State::Escape,
            '\u{9b}' => State::Control,
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => State::Command,
            _ => State::Text,
        };
        (character == '\t' || !steers(character)).then_some(character)
    }
}

/// A whole text without control sequences.
#[must_use]
pub(crate) fn plain(text: &str) -> String {
    Stripper::default().strip(text)
}

/// A whole text on one line of at most `chars_max` characters.
#[must_use]
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let line = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= chars_max {
        return line;
    }
    let kept: String = line.chars().take(chars_max.saturating_sub(3)).collect();
    format!("{kept}...")
}

/// Moves the cursor, or turns or hides text.
fn steers(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
        )
        || ('\u{202a}'..='\u{202e}').contains(&character)
        || ('\u{2066}'..='\u{2069}').contains(&character)
}

/// Writes JSON on one line, with every character that steers a terminal escaped. The value stays the same.
///
/// # Errors
/// What the writer says.
pub(crate) fn write_json(out: &mut dyn Write, value: &impl serde::Serialize) -> io::Result<()> {
    let text = serde_json::to_string(value)?;
    let mut start = 0;
    for (at, character) in text
        .char_indices()
        .filter(|(_, character)| steers(*character))
    {
        out.write_all(text.get(start..at).unwrap_or_default().as_bytes())?;
        write!(out, "\\u{:04x}", u32::from(character))?;
        start = at + character.len_utf8();
    }
    out.write_all(text.get(start..).unwrap_or_default().as_bytes())?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_taken_out_wherever_they_are_cut() {
        for (text, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[2J\u{1b}[1;1Hcleared", "cleared"),
            ("\u{1b}]0;title\u{7}after", "after"),
            (
                "\u{1b}]8;;http://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\",
                "link",
            ),
            ("\u{1b}Pq#0\u{1b}\\sixel", "sixel"),
            ("\u{9b}31mC1", "C1"),
            ("\u{9d}0;t\u{9c}C1", "C1"),
            ("a\rb\u{8}c\u{7f}d\u{0}", "abcd"),
            ("safe\u{202e}evil\u{2066}", "safeevil"),
            ("\u{1b}(Bcharset", "charset"),
            ("\u{1b}]0;never ends\nnext", "\nnext"),
            ("\u{1b}[99\nnext", "\nnext"),
            ("\u{1b}[é", "é"),
            ("\u{1b}[\u{1b}[31mx", "x"),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
            let mut stripper = Stripper::default();
            let cut: String = text
                .chars()
                .map(|c| stripper.strip(&c.to_string()))
                .collect();
            assert_eq!(cut, expected, "cut: {text:?}");
        }
    }

    #[test]
    fn json_for_a_terminal_is_inert_and_keeps_its_value() {
        let value = serde_json::json!({"text": "\u{1b}[31m\u{9b}\u{202e}é\u{7f}"});
        let mut written = Vec::new();
        write_json(&mut written, &value).unwrap();
        let text = String::from_utf8(written).unwrap();
        assert!(!text.trim_end().chars().any(steers), "{text:?}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }

    #[test]
    fn a_line_is_cut_at_its_bound() {
        assert_eq!(one_line("a\n b\u{1b}[1m  c", 80), "a b c");
        assert_eq!(one_line("abcdef", 5), "ab...");
    }
}
