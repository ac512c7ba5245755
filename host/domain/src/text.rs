//! Rules for texts: lengths are counted in UTF-16 units, as the callers count them.

/// Length in UTF-16 units.
#[must_use]
pub fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The longest beginning of `text` of at most `units` UTF-16 units that cuts no character.
///
/// ```
/// use domain::text::{utf16_len, utf16_prefix};
///
/// assert_eq!(utf16_len("a\u{1f600}"), 3);
/// assert_eq!(utf16_prefix("a\u{1f600}b", 2), "a");
/// ```
#[must_use]
pub fn utf16_prefix(text: &str, units: usize) -> &str {
    let mut left = units;
    for (at, character) in text.char_indices() {
        let Some(rest) = left.checked_sub(character.len_utf16()) else {
            return text.get(..at).unwrap_or_default();
        };
        left = rest;
    }
    text
}

/// A title from a prompt: trimmed, and cut to `units` with three dots in place of the rest.
#[must_use]
pub fn title_from(prompt: &str, units: usize) -> String {
    let line = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    if utf16_len(&line) <= units {
        line
    } else {
        format!("{}...", utf16_prefix(&line, units.saturating_sub(3)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_prompt_cut_to_its_bound() {
        for (prompt, units, title) in [
            ("  do   this\nnow ", 72, "do this now"),
            ("abcdef", 6, "abcdef"),
            ("abcdefg", 6, "abc..."),
            ("a\u{1F600}bcdefgh", 6, "a\u{1F600}..."),
            ("ab\u{1F600}cdefgh", 6, "ab..."),
            ("", 6, ""),
        ] {
            assert_eq!(title_from(prompt, units), title, "{prompt:?}");
        }
    }
}
