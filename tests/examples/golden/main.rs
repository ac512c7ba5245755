//! Writes the golden store of the present schema: `migrations/golden/NNNN.redb` and its line in
//! `SHA256SUMS`. The same code writes the same bytes: the clock stands, the ids come from a seed, and
//! one command is stored after another.

mod maker;
mod story;
mod words;

use std::path::{Path, PathBuf};

use anyhow::Result;
use sha2::{Digest, Sha256};

fn main() -> Result<()> {
    let schema = migrations::SCHEMA;
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations/golden");
    let name = format!("{schema:04}.redb");
    let folder = tempfile::tempdir()?;
    let made: PathBuf = folder.path().join(&name);
    // One thread: what is handed over is handed over before the next command.
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?
        .block_on(story::make(&made))?;
    let bytes = std::fs::read(&made)?;
    let hash = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    std::fs::write(golden.join(&name), &bytes)?;

    let sums = golden.join("SHA256SUMS");
    let listed = if sums.exists() {
        std::fs::read_to_string(&sums)?
    } else {
        String::new()
    };
    let mut lines: Vec<String> = listed
        .lines()
        .filter(|line| !line.ends_with(&name))
        .map(str::to_owned)
        .collect();
    lines.push(format!("{hash}  {name}"));
    lines.sort_by(|one, other| one.get(64..).cmp(&other.get(64..)));
    std::fs::write(&sums, lines.join("\n") + "\n")?;
    println!("{name}: {} bytes, {hash}", bytes.len());
    Ok(())
}
