//! Standard output of a command: whole or not at all, and never a panic when nobody reads.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use super::plain;

/// Standard output.
pub(crate) struct Out {
    writer: Box<dyn Write>,
}

impl Out {
    /// The process's standard output.
    pub(crate) fn standard() -> Self {
        Self::into(BufWriter::new(io::stdout()))
    }

    /// Output into anything.
    pub(crate) fn into(writer: impl Write + 'static) -> Self {
        Self {
            writer: Box::new(writer),
        }
    }

    /// Writes text that is known to be inert.
    ///
    /// # Errors
    /// What the system says; a closed pipe among it.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.writer.write_all(text.as_bytes())
    }

    /// Writes a line, stripped of what steers a terminal.
    ///
    /// # Errors
    /// As [`Out::text`].
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        self.text(&plain::plain(line))?;
        self.text("\n")
    }

    /// Writes a value as JSON on one line.
    ///
    /// # Errors
    /// As [`Out::text`].
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        plain::write_json(self.writer.as_mut(), value)
    }

    /// Writes rows under their headings, in columns.
    ///
    /// # Errors
    /// As [`Out::text`].
    pub(crate) fn table<const N: usize>(
        &mut self,
        headings: [&str; N],
        rows: &[[String; N]],
    ) -> io::Result<()> {
        let mut all = vec![headings.map(str::to_owned)];
        all.extend(
            rows.iter()
                .map(|row| row.each_ref().map(|cell| cell_text(cell))),
        );
        let mut widths = [0_usize; N];
        for row in &all {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in &all {
            let mut line = String::new();
            for (width, cell) in widths.iter().zip(row) {
                line.push_str(cell);
                line.push_str(&" ".repeat(width + 2 - cell.chars().count()));
            }
            self.text(line.trim_end())?;
            self.text("\n")?;
        }
        Ok(())
    }

    /// Hands everything to the reader now.
    ///
    /// # Errors
    /// As [`Out::text`].
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Longest cell of a table, characters: a line of a wide terminal holds two.
const CELL_CHARS_MAX: usize = 100;

fn cell_text(cell: &str) -> String {
    plain::one_line(cell, CELL_CHARS_MAX)
}

/// What a test's output wrote.
#[cfg(test)]
#[derive(Clone, Default)]
pub(crate) struct Written(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

#[cfg(test)]
impl Written {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).unwrap()
    }
}

#[cfg(test)]
impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_stands_in_columns_and_is_inert() {
        let written = Written::default();
        let mut out = Out::into(written.clone());
        let rows = [
            ["a".to_owned(), "\u{1b}[31mlong\ncell".to_owned()],
            ["bcd".to_owned(), String::new()],
        ];
        out.table(["id", "text"], &rows).unwrap();
        assert_eq!(written.text(), "id   text\na    long cell\nbcd\n");
    }
}
