use std::io::{self, BufRead};
use std::thread;

use tokio::sync::mpsc;

use super::limits::{LINE_BYTES_MAX, LINES_QUEUED_MAX};

/// What was read up to a line end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(String),
    /// Longer than the bound; it was skipped.
    TooLong,
    /// Not UTF-8.
    NotText,
}

/// Reads lines on a thread of its own, since the standard input can't be read without blocking. The queue
/// closes when the input ends; a last line without a line end is cut off and dropped.
pub(super) fn start(mut reader: impl BufRead + Send + 'static) -> io::Result<mpsc::Receiver<Line>> {
    let (lines, receiver) = mpsc::channel(LINES_QUEUED_MAX);
    thread::Builder::new()
        .name("scripted-agent-input".to_owned())
        .spawn(move || {
            // A failed read is the end, as for any process whose input is gone.
            while let Ok(Some(line)) = read_line(&mut reader, LINE_BYTES_MAX) {
                if lines.blocking_send(line).is_err() {
                    break;
                }
            }
        })?;
    Ok(receiver)
}

fn read_line(reader: &mut impl BufRead, bytes_max: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(None);
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let (part, used) = match end {
            Some(end) => (chunk.get(..end).unwrap_or_default(), end + 1),
            None => (chunk, chunk.len()),
        };
        too_long |= line.len() + part.len() > bytes_max;
        if !too_long {
            line.extend_from_slice(part);
        }
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(match String::from_utf8(line) {
                _ if too_long => Line::TooLong,
                Ok(line) => Line::Whole(line),
                Err(_) => Line::NotText,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_up_to_the_bound() {
        let input: &[u8] = b"abcd\nabcde\n\n\xff\nab\r\ncut off";
        for capacity in [1, 3, 64] {
            let mut reader = io::BufReader::with_capacity(capacity, input);
            let mut lines = Vec::new();
            while let Some(line) = read_line(&mut reader, 4).unwrap() {
                lines.push(line);
            }
            let whole = |text: &str| Line::Whole(text.to_owned());
            assert_eq!(
                lines,
                [
                    whole("abcd"),
                    Line::TooLong,
                    whole(""),
                    Line::NotText,
                    whole("ab\r")
                ],
                "{capacity}"
            );
        }
    }
}
