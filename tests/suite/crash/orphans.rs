//! Agent processes of a host, found as nobody else finds them: by the mark in their environment.

use std::collections::BTreeMap;
use std::path::Path;

/// Processes that carry the mark of this data folder: pid and start time, with what they run.
pub(super) fn agents_of(data_folder: &Path) -> BTreeMap<(u32, String), String> {
    let Ok(mark) = std::fs::read_to_string(data_folder.join("host-marker")) else {
        return BTreeMap::new();
    };
    let mark = format!("WEFT_HOST={}", mark.trim());
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // A process may end while it is looked at.
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        if !read("environ")
            .split(|byte| *byte == 0)
            .any(|word| word == mark.as_bytes())
        {
            continue;
        }
        let stat = String::from_utf8_lossy(&read("stat")).into_owned();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let Some(started) = after_name.split_whitespace().nth(19) else {
            continue;
        };
        let words = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        found.insert((pid, started.to_owned()), words);
    }
    found
}
