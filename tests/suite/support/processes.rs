//! Processes of the system, as a test looks at them.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::PATIENCE;

/// One process, held so that its number means nobody else.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    handle: OwnedFd,
}

impl Process {
    /// Takes hold of a running process.
    pub(crate) fn of(pid: u32) -> Self {
        let handle = pidfd_open(raw(pid), PidfdFlags::empty()).unwrap();
        Self { pid, handle }
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until it has ended.
    pub(crate) fn wait_gone(&self) {
        let mut waited = [PollFd::new(&self.handle, PollFlags::IN)];
        let patience = Timespec::try_from(PATIENCE).unwrap();
        let ended = poll(&mut waited, Some(&patience)).unwrap();
        assert_eq!(
            ended,
            1,
            "process {} did not end: {}",
            self.pid,
            command_line(self.pid)
        );
    }

    /// Whether it has ended.
    pub(crate) fn is_gone(&self) -> bool {
        let mut waited = [PollFd::new(&self.handle, PollFlags::IN)];
        poll(&mut waited, Some(&Timespec::default())).unwrap() == 1
    }

    /// Ends it and its group as a crash does.
    pub(crate) fn kill_group(&self) {
        kill_process_group(raw(self.pid), Signal::KILL).unwrap();
    }
}

/// A command that agents run, which tells its number and then sleeps longer than any test.
#[derive(Debug)]
pub(crate) struct Sleeper {
    pipe: PathBuf,
    told: Receiver<String>,
}

impl Sleeper {
    /// Prepares the pipe that the command tells its number through.
    pub(crate) fn new(folder: &Path) -> Self {
        let pipe = folder.join("sleeper");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let (sender, told) = channel();
        let read = pipe.clone();
        std::thread::spawn(move || sender.send(fs::read_to_string(read).unwrap()));
        Self { pipe, told }
    }

    /// The command.
    pub(crate) fn command(&self) -> String {
        format!("echo $$ > {}; exec sleep 600", self.pipe.display())
    }

    /// Waits until it runs.
    pub(crate) fn process(&self) -> Process {
        let number = self
            .told
            .recv_timeout(PATIENCE)
            .expect("the command did not run");
        Process::of(number.trim().parse().unwrap())
    }
}

fn raw(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}

/// Every process below one, nearest first.
pub(crate) fn tree_of(root: u32) -> Vec<u32> {
    let mut parents: Vec<(u32, u32)> = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let name = entry.unwrap().file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent_of(pid) {
            parents.push((pid, parent));
        }
    }
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(&above) = tree.get(next) {
        tree.extend(
            parents
                .iter()
                .filter(|(_, parent)| *parent == above)
                .map(|(pid, _)| *pid),
        );
        next += 1;
    }
    tree.remove(0);
    tree
}

/// The first process below one whose command line holds a word.
pub(crate) fn find_below(root: u32, word: &str) -> u32 {
    let tree = tree_of(root);
    let found = tree.iter().find(|pid| command_line(**pid).contains(word));
    let lines = || {
        tree.iter()
            .map(|pid| command_line(*pid))
            .collect::<Vec<_>>()
    };
    *found.unwrap_or_else(|| panic!("no {word} among {:?}", lines()))
}

fn parent_of(pid: u32) -> Option<u32> {
    // It may have ended since it was listed.
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// The words a process was started with; empty for one that is gone.
pub(crate) fn command_line(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}
