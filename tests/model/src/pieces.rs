//! How a text is cut into streamed pieces, the same for every API.

use crate::limits::PIECE_WORDS;

/// Pieces of some words each, which together are the text, blanks included.
pub(crate) fn of_text(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    words.chunks(PIECE_WORDS).map(<[&str]>::concat).collect()
}

/// One numbered piece of a `slow` answer.
pub(crate) fn of_slow(number: u64) -> String {
    format!("tick {number} ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_together_are_the_text() {
        for text in ["", "one", "a b c d e f g h i", "  two\n\nlines é ", "\n"] {
            assert_eq!(of_text(text).concat(), text);
        }
        assert_eq!(of_text("a b c d e"), ["a b c d ", "e"]);
    }
}
