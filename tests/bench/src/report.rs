//! The table of figures, and its place in the documentation.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::samples::Samples;

/// The figures stand between these lines of the document.
const BEGIN: &str = "<!-- figures: begin -->";
const END: &str = "<!-- figures: end -->";

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// What was measured.
    pub(crate) figure: String,
    /// The host's value.
    pub(crate) ours: String,
    /// What stands beside it, and its value.
    pub(crate) beside: String,
    /// Both, compared.
    pub(crate) compared: String,
    /// What is aimed at.
    pub(crate) aim: String,
    /// Whether that was met.
    pub(crate) verdict: Verdict,
}

/// What became of an aim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was met.
    Met,
    /// It was not.
    Missed,
    /// There is none.
    Printed,
}

impl Verdict {
    /// Met where the value is at most the aim.
    pub(crate) fn at_most(value: f64, aim: f64) -> Self {
        if value <= aim {
            Self::Met
        } else {
            Self::Missed
        }
    }

    /// Met where the value is at least the aim.
    pub(crate) fn at_least(value: f64, aim: f64) -> Self {
        if value >= aim {
            Self::Met
        } else {
            Self::Missed
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "**missed**",
            Self::Printed => "",
        }
    }
}

/// Everything that was measured.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

impl Report {
    /// Adds a line and shows it at once.
    pub(crate) fn add(&mut self, row: Row) {
        eprintln!(
            "  {}: {} | {} | {} | aim {} {}",
            row.figure,
            row.ours,
            row.beside,
            row.compared,
            row.aim,
            row.verdict.word()
        );
        self.rows.push(row);
    }

    /// The table in Markdown.
    pub(crate) fn markdown(&self, machine: &str) -> String {
        let mut text = format!("{machine}\n\n");
        text.push_str(
            "| Figure | Weft: median / p99 | Beside: median / p99 | Compared | Aim | |\n",
        );
        text.push_str("| --- | --- | --- | --- | --- | --- |\n");
        for row in &self.rows {
            // Writing to a string can't fail.
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} |",
                row.figure,
                row.ours,
                row.beside,
                row.compared,
                row.aim,
                row.verdict.word()
            );
        }
        text
    }
}

/// Puts the figures into the document.
pub(crate) fn write(document: &Path, figures: &str) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(document)
        .with_context(|| format!("could not read {}", document.display()))?;
    let Some((before, rest)) = text.split_once(BEGIN) else {
        bail!("{} has no line {BEGIN}", document.display());
    };
    let Some((_, after)) = rest.split_once(END) else {
        bail!("{} has no line {END}", document.display());
    };
    let text = format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", figures.trim());
    std::fs::write(document, text)?;
    Ok(())
}

/// Median and p99 with a unit that fits.
pub(crate) fn times(samples: &Samples) -> String {
    format!("{} / {}", time(samples.median()), time(samples.p99()))
}

/// A time given in microseconds, with a unit that fits.
pub(crate) fn time(micros: f64) -> String {
    if micros >= 1e6 {
        format!("{:.2} s", micros / 1e6)
    } else if micros >= 1e3 {
        format!("{:.2} ms", micros / 1e3)
    } else {
        format!("{micros:.2} µs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_put_between_the_marks_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("performance.md");
        std::fs::write(&file, format!("before\n{BEGIN}\nold\n{END}\nafter\n")).unwrap();
        write(&file, "new").unwrap();
        write(&file, "newer").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, format!("before\n{BEGIN}\n\nnewer\n\n{END}\nafter\n"));
        std::fs::write(&file, "no marks").unwrap();
        assert!(write(&file, "new").is_err());
    }

    #[test]
    fn a_time_has_a_unit_that_fits() {
        for (micros, expected) in [(1.234, "1.23 µs"), (1_500.0, "1.50 ms"), (2e6, "2.00 s")] {
            assert_eq!(time(micros), expected);
        }
    }
}
