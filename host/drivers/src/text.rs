//! Text from strangers, made fit for one line of a log, a terminal or a message.

/// The longest start of `text` of at most `bytes_max` bytes that ends at a character.
pub(crate) fn prefix(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let mut end = bytes_max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Cuts `text` in place to at most `bytes_max` bytes.
pub(crate) fn cut(mut text: String, bytes_max: usize) -> String {
    let end = prefix(&text, bytes_max).len();
    text.truncate(end);
    text
}

/// One line without control characters or marks that turn the direction of text, at most `bytes_max` bytes.
pub(crate) fn one_line(text: &str, bytes_max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(bytes_max));
    let mut cut = false;
    for character in text.trim().chars() {
        let shown = if steers_terminals(character) {
            ' '
        } else {
            character
        };
        if line.len() + shown.len_utf8() > bytes_max.saturating_sub('…'.len_utf8()) {
            cut = true;
            break;
        }
        line.push(shown);
    }
    if cut {
        line.push('…');
    }
    line
}

fn steers_terminals(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}')
        || ('\u{202a}'..='\u{202e}').contains(&character)
        || ('\u{2066}'..='\u{2069}').contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_never_splits_a_character() {
        for (text, max, expected) in [
            ("abc", 2, "ab"),
            ("aé", 2, "a"),
            ("é", 1, ""),
            ("é", 2, "é"),
            ("", 0, ""),
        ] {
            assert_eq!(prefix(text, max), expected, "{text} {max}");
        }
    }

    #[test]
    fn one_line_is_inert_and_bounded() {
        assert_eq!(one_line("\u{1b}[31mred\u{7}\nnext", 100), " [31mred  next");
        assert_eq!(one_line("safe\u{202e}evil", 100), "safe evil");
        assert_eq!(one_line("abcdefgh", 8), "abcde…");
        assert_eq!(one_line("abcde", 8), "abcde");
    }
}
