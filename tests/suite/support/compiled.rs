//! Compiled drivers, kept from test to test: each test has a data folder of its own, and compiling takes longer
//! than most tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::agents;

/// Folder of the compiled drivers below a data folder.
const CACHE: &str = "cache/drivers";

/// Gives a new data folder what an earlier test compiled.
pub(crate) fn bring(data_folder: &Path) {
    let kept = kept();
    if kept.is_dir() {
        copy(&kept, &data_folder.join(CACHE));
    }
}

/// Keeps what a server compiled, if nobody did before.
pub(crate) fn keep(data_folder: &Path) {
    let (compiled, kept) = (data_folder.join(CACHE), kept());
    if kept.is_dir() || !compiled.is_dir() {
        return;
    }
    let own = kept.with_extension(std::process::id().to_string());
    copy(&compiled, &own);
    if fs::rename(&own, &kept).is_err() {
        // Another test was faster.
        fs::remove_dir_all(&own).unwrap();
    }
}

/// Named after this build of the program and its drivers.
fn kept() -> PathBuf {
    let program = agents::weft();
    let drivers = fs::read_dir(program.with_file_name("drivers")).unwrap();
    let newest = drivers
        .map(|entry| entry.unwrap().path())
        .chain([program])
        .map(|path| fs::metadata(path).unwrap().modified().unwrap())
        .max()
        .unwrap();
    let nanos = newest.duration_since(UNIX_EPOCH).unwrap().as_nanos();
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("compiled-{nanos}"))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else if !entry.file_name().to_string_lossy().contains(".wip-") {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
