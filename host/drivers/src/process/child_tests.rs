use super::*;
use crate::process::{HostMarker, become_subreaper};

struct Bench {
    _data: tempfile::TempDir,
    folder: PathBuf,
    table: ProcessTable,
    outlet: Outlet,
    events: mpsc::Receiver<ProcessEvent>,
}

impl Bench {
    fn new() -> Self {
        become_subreaper().unwrap();
        let data = tempfile::tempdir().unwrap();
        let marker = HostMarker::load_or_create(data.path()).unwrap();
        let (outlet, events) = Outlet::new();
        let folder = data.path().to_owned();
        Self {
            _data: data,
            folder,
            table: ProcessTable::start(marker),
            outlet,
            events,
        }
    }

    fn shell(&self, script: &str) -> Supervised {
        self.shell_with(script, SessionSecrets::default())
    }

    fn shell_with(&self, script: &str, secrets: SessionSecrets) -> Supervised {
        Supervised::start(
            &self.table,
            SpawnOrder {
                process_id: 7,
                session: "session-test".to_owned(),
                program: PathBuf::from("/bin/bash"),
                arguments: vec!["-c".to_owned(), script.to_owned()],
                environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
                working_folder: self.folder.clone(),
                line_bytes_max: limits::LINE_BYTES_MAX as usize,
                secrets,
                outlet: self.outlet.clone(),
            },
        )
        .unwrap()
    }

    /// Next line's text and state; fails on an exit.
    async fn line(&mut self) -> (String, LineState) {
        match self.event().await {
            ProcessEvent::Line { text, state, .. } => (text, state),
            ProcessEvent::Exited { status, .. } => panic!("exited with {status}"),
        }
    }

    async fn event(&mut self) -> ProcessEvent {
        tokio::time::timeout(Duration::from_secs(20), self.events.recv())
            .await
            .expect("an event within 20 s")
            .expect("an open channel")
    }

    async fn exit(&mut self) -> (Vec<String>, ExitStatus) {
        let mut lines = Vec::new();
        loop {
            match self.event().await {
                ProcessEvent::Line { text, .. } => lines.push(text),
                ProcessEvent::Exited { status, .. } => return (lines, status),
            }
        }
    }

    fn pid_in(&self, file: &str) -> u32 {
        std::fs::read_to_string(self.folder.join(file))
            .unwrap()
            .trim()
            .parse()
            .unwrap()
    }
}

async fn assert_all_gone(pids: &[u32]) {
    for pid in pids {
        assert!(
            proc_fs::row(*pid).is_none(),
            "process {pid} is still there: {:?}",
            proc_fs::row(*pid)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_both_outputs_come_before_the_exit() {
    let mut bench = Bench::new();
    let process = bench.shell("echo one; echo two >&2; printf half; exit 3");
    let (mut lines, status) = bench.exit().await;
    lines.sort();
    assert_eq!(lines, ["half", "one", "two"]);
    assert_eq!(status.code(), Some(3));
    process.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_closes_its_output_and_lives_on_is_ended() {
    let mut bench = Bench::new();
    let process = bench.shell("echo one; exec sleep 600 >&-");
    let (lines, status) = bench.exit().await;
    assert_eq!(lines.first().map(String::as_str), Some("one"));
    assert!(lines[1].contains("closed its standard output"), "{lines:?}");
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
    process.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_reach_the_process_and_a_closed_input_ends_it() {
    let mut bench = Bench::new();
    let mut process = bench.shell("while read -r line; do echo \"got $line\"; done; echo over");
    process.write("a").unwrap();
    process.write("b").unwrap();
    assert_eq!(bench.line().await.0, "got a");
    assert_eq!(bench.line().await.0, "got b");
    process.close_stdin();
    assert_eq!(process.write("c"), Err(StdinError::Closed));
    let (lines, status) = bench.exit().await;
    assert_eq!(lines, ["over"]);
    assert!(status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_is_what_was_asked_for_and_the_marks() {
    let mut bench = Bench::new();
    let _process = bench.shell("exec env");
    let (lines, _) = bench.exit().await;
    let mut names: Vec<_> = lines
        .iter()
        .map(|line| line.split('=').next().unwrap())
        .collect();
    names.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name));
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "PATH",
            "WEFT_HOST",
            "WEFT_PROVIDER_PROCESS",
            "WEFT_PROVIDER_SESSION"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_with_a_grandchild_that_left_its_group_and_ignores_the_signal_is_gone_in_time() {
    let mut bench = Bench::new();
    let process = bench.shell(
        "trap '' TERM; echo $$ > leader
         bash -c 'trap \"\" TERM; echo $$ > child; setsid bash -c \"trap \\\"\\\" TERM; echo \\$\\$ > stray; touch ready; while :; do sleep 1; done\" & while :; do sleep 1; done' &
         while [ ! -e ready ]; do sleep 0.01; done; echo ready; while :; do sleep 1; done",
    );
    assert_eq!(bench.line().await.0, "ready");
    let pids = [
        bench.pid_in("leader"),
        bench.pid_in("child"),
        bench.pid_in("stray"),
    ];
    assert_ne!(
        proc_fs::row(pids[2]).unwrap().group,
        pids[0],
        "the stray left the group"
    );
    let begun = Instant::now();
    process.stop();
    process.ended().await;
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "took {:?}",
        begun.elapsed()
    );
    assert_all_gone(&pids).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_leaves_behind_at_its_own_exit_is_ended_and_reaped() {
    let mut bench = Bench::new();
    let process = bench.shell(
        "setsid bash -c 'echo $$ > stray; touch ready; exec sleep 600' &
         while [ ! -e ready ]; do sleep 0.01; done; echo last words; exit 0",
    );
    let begun = Instant::now();
    let (lines, status) = bench.exit().await;
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "the exit waits for no stray"
    );
    assert_eq!(
        (lines.as_slice(), status.code()),
        (["last words".to_owned()].as_slice(), Some(0))
    );
    process.ended().await;
    assert_all_gone(&[bench.pid_in("stray")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_does_not_read_stalls_at_the_bound() {
    let bench = Bench::new();
    let process = bench.shell("exec sleep 600");
    let frame = "x".repeat(100 << 10);
    let mut taken = 0;
    let refused = loop {
        match process.write(&frame) {
            Ok(()) => taken += frame.len(),
            Err(error) => break error,
        }
        assert!(
            taken <= limits::STDIN_BYTES_MAX + (1 << 20),
            "nothing stops the queue"
        );
    };
    assert_eq!(refused, StdinError::Stalled);
    process.stop();
    process.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_waits_in_the_pipe_and_not_in_memory() {
    let mut bench = Bench::new();
    let process = bench.shell("yes 0123456789012345678901234567890123456789 | head -c 1073741824");
    let mut bytes = 0_usize;
    let before = resident_bytes();
    let mut most = before;
    loop {
        match bench.event().await {
            ProcessEvent::Line { text, .. } => bytes += text.len() + 1,
            ProcessEvent::Exited { status, .. } => {
                assert!(status.success());
                break;
            }
        }
        if bytes % (1 << 20) < 41 {
            most = most.max(resident_bytes());
        }
        if bytes > 64 << 20 {
            // The rest behaves the same; the stop below is part of the test.
            process.stop();
            break;
        }
    }
    assert!(most - before < 32 << 20, "grew by {} bytes", most - before);
    drop(bench);
    process.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_endless_line_is_cut_and_told_once() {
    let mut bench = Bench::new();
    let process = bench.shell("head -c 1073741824 /dev/zero; echo; echo after");
    let before = resident_bytes();
    let (text, state) = bench.line().await;
    assert_eq!(
        (text.len(), state),
        (limits::LINE_BYTES_MAX as usize, LineState::OverLimit)
    );
    drop(text);
    assert_eq!(bench.line().await, ("after".to_owned(), LineState::Whole));
    assert!(resident_bytes().saturating_sub(before) < 32 << 20);
    let (lines, status) = bench.exit().await;
    assert!(lines.is_empty() && status.success());
    process.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_what_a_process_prints_becomes_its_placeholder() {
    let mut bench = Bench::new();
    let secrets = SessionSecrets::default();
    let secret = threads::ports::Secret::new("canary-0123456789abcdef");
    let placeholder = secrets.hold("token", &secret).unwrap();
    let _process = bench.shell_with(
        "echo says canary-0123456789abcdef twice canary-0123456789abcdef; echo canary-0123456789abcdef >&2; printf 'cut canary-01234567'",
        secrets,
    );
    let (mut lines, _) = bench.exit().await;
    lines.sort();
    assert_eq!(
        lines,
        [
            "cut ",
            &format!("says {placeholder} twice {placeholder}"),
            &placeholder
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_and_its_descendants_are_ours_and_others_are_not() {
    let mut bench = Bench::new();
    let process = bench.shell(
        "env -i setsid bash -c 'echo $$ > stray; touch ready; exec sleep 600' &
         while [ ! -e ready ]; do sleep 0.01; done; echo $$ > leader; echo ready; read -r line",
    );
    bench.line().await;
    let (leader, stray) = (bench.pid_in("leader"), bench.pid_in("stray"));
    assert!(bench.table.is_ours(leader) && bench.table.is_ours(stray));
    assert!(!bench.table.is_ours(std::process::id()), "the host itself");
    assert!(!bench.table.is_ours(1), "the first process");
    assert!(
        bench.table.is_ours(u32::MAX),
        "one that cannot be looked at"
    );
    process.stop();
    process.ended().await;
    assert_all_gone(&[leader, stray]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_cannot_run_is_an_error_and_not_a_process() {
    let bench = Bench::new();
    let mut order = SpawnOrder {
        process_id: 1,
        session: "s".to_owned(),
        program: PathBuf::from("/bin/true"),
        arguments: Vec::new(),
        environment: BTreeMap::new(),
        working_folder: bench.folder.join("gone"),
        line_bytes_max: 100,
        secrets: SessionSecrets::default(),
        outlet: bench.outlet.clone(),
    };
    let error = Supervised::start(&bench.table, order).unwrap_err();
    assert!(matches!(error, SpawnError::NoFolder(_)));
    std::fs::write(bench.folder.join("noise"), "\0not a program").unwrap();
    order = SpawnOrder {
        process_id: 1,
        session: "s".to_owned(),
        program: bench.folder.join("noise"),
        arguments: Vec::new(),
        environment: BTreeMap::new(),
        working_folder: bench.folder.clone(),
        line_bytes_max: 100,
        secrets: SessionSecrets::default(),
        outlet: bench.outlet.clone(),
    };
    assert!(matches!(
        Supervised::start(&bench.table, order),
        Err(SpawnError::System(_))
    ));
}

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = status.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4_096
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_leaves_no_core_dump() {
    let mut bench = Bench::new();
    let process = bench.shell("read -r line; ulimit -Sc");
    process.write("go").unwrap();
    assert_eq!(bench.exit().await.0, ["0"]);
}
