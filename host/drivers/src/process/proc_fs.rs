//! What `/proc` says about processes.

use std::fs;

use domain::session::ProcessRecord;

/// One line of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessRow {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    pub(crate) life: Life,
    pub(crate) start_ticks: u64,
}

/// Whether a process runs or waits to be reaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Alive,
    Zombie,
}

impl ProcessRow {
    pub(crate) fn record(&self) -> ProcessRecord {
        ProcessRecord {
            pid: self.pid,
            start_ticks: self.start_ticks,
        }
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.life == Life::Alive
    }
}

/// One process, if it exists.
pub(crate) fn row(pid: u32) -> Option<ProcessRow> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Every process there is. Processes come and go meanwhile; each row is true for a moment.
pub(crate) fn rows() -> Vec<ProcessRow> {
    let Ok(entries) = fs::read_dir("/proc") else {
        tracing::error!("cannot read /proc: processes left behind cannot be found");
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(row)
        .collect()
}

/// Whether the environment a process was started with holds all of these variables. False where it cannot be read.
pub(crate) fn was_started_with(pid: u32, variables: &[(&str, &str)]) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
        return false;
    };
    let entries: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
    variables
        .iter()
        .all(|(name, value)| entries.contains(&format!("{name}={value}").as_bytes()))
}

fn parse(pid: u32, stat: &str) -> Option<ProcessRow> {
    // The second field is the program's name in brackets and may hold anything, brackets too.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<u32>().ok();
    Some(ProcessRow {
        pid,
        life: match *fields.first()? {
            "Z" | "X" | "x" => Life::Zombie,
            _ => Life::Alive,
        },
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        start_ticks: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_is_no_trap() {
        let stat = "42 (a) b (c)) S 7 42 40 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 123456 0 0";
        assert_eq!(
            parse(42, stat),
            Some(ProcessRow {
                pid: 42,
                parent: 7,
                group: 42,
                session: 40,
                life: Life::Alive,
                start_ticks: 123_456
            })
        );
        assert_eq!(parse(42, "42 (a) Z 7"), None);
        assert_eq!(parse(42, ""), None);
    }

    #[test]
    fn the_own_process_is_in_the_table() {
        let own = row(std::process::id()).unwrap();
        assert!(own.is_alive() && own.start_ticks > 0);
        assert!(rows().contains(&own));
        assert!(row(u32::MAX).is_none());
    }
}
