//! Cutting text to a bound without breaking a character.
#![forbid(unsafe_code)]

/// The longest prefix of `text` that has at most `bytes_max` bytes and ends between characters.
#[must_use]
pub fn prefix(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let mut end = bytes_max;
    while end > 0 && !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// `text` if it fits, else its start with an ellipsis, together at most `bytes_max` bytes.
#[must_use]
pub fn shortened(text: &str, bytes_max: usize) -> String {
    const ELLIPSIS: &str = "…";
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let kept = prefix(text, bytes_max.saturating_sub(ELLIPSIS.len()));
    format!("{kept}{ELLIPSIS}")
}

/// The first line of `text`, shortened: for titles.
#[must_use]
pub fn one_line(text: &str, bytes_max: usize) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    shortened(line, bytes_max)
}

#[cfg(test)]
mod tests {
    use super::{one_line, prefix, shortened};

    #[test]
    fn a_cut_never_splits_a_character() {
        for (text, bytes_max, expected) in [
            ("abc", 3, "abc"),
            ("abc", 2, "ab"),
            ("aé", 2, "a"),
            ("é", 1, ""),
            ("", 0, ""),
        ] {
            assert_eq!(prefix(text, bytes_max), expected, "{text:?} at {bytes_max}");
        }
    }

    #[test]
    fn a_shortened_text_keeps_its_bound() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abc…");
        assert_eq!(one_line("\n  first \nsecond", 100), "first");
    }
}
