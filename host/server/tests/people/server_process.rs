//! `weft serve` as a process, without drivers: how it comes up, whom it refuses, how it ends.

use std::process::{ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use server::local::client::Client;
use server::local::wire::AddProject;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// Longest time a start or an end may take here.
const PATIENCE: Duration = Duration::from_secs(30);

/// Blocks of 512 bytes a server may write in one file: room for an empty journal and little more.
const FILE_BLOCKS_MAX: u32 = 2_048;

struct Server {
    folder: TempDir,
    child: Child,
    ready: Value,
}

fn program(folder: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    configure(&mut command, folder);
    command
}

fn configure(command: &mut Command, folder: &TempDir) {
    let config = folder.path().join("weft.toml");
    let text = "[server]\nlisten = \"127.0.0.1:0\"\n[storage]\ndata_folder = \"data\"\n[drivers]\nfolder = \"none\"\n";
    std::fs::write(&config, text).unwrap();
    command.arg("--config").arg(config).kill_on_drop(true);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

impl Server {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let command = program(&folder);
        Self::started(folder, command).await
    }

    async fn started(folder: TempDir, mut command: Command) -> Self {
        let mut child = command.args(["serve", "--ready-json"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line())
            .await
            .unwrap()
            .unwrap();
        let ready = serde_json::from_str(&line.expect("the server is ready")).unwrap();
        Self {
            folder,
            child,
            ready,
        }
    }

    fn client(&self) -> Client {
        Client::new(&self.folder.path().join("data"))
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id().unwrap()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    async fn ended(&mut self) -> (ExitStatus, String) {
        let mut log = String::new();
        let reading = async {
            self.child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut log)
                .await
                .unwrap();
            self.child.wait().await.unwrap()
        };
        let status = tokio::time::timeout(PATIENCE, reading)
            .await
            .expect("the server ends");
        (status, log)
    }
}

#[tokio::test]
async fn a_server_tells_where_it_is_and_asks_agents_for_a_credential() {
    let server = Server::start().await;
    assert_eq!(server.ready["pid"], server.child.id().unwrap());
    let host = server.client().host().await.unwrap();
    assert_eq!(server.ready["mcpUrl"], host.mcp_url);
    let url = host.mcp_url.strip_prefix("http://").unwrap();
    let address = url.strip_suffix("/mcp").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}

#[tokio::test]
async fn either_signal_ends_a_server_in_good_order() {
    use rustix::process::Signal;
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::start().await;
        server.client().projects().await.unwrap();
        let asked = Instant::now();
        server.signal(signal);
        let (status, log) = server.ended().await;
        assert!(status.success(), "{status} {log}");
        assert!(asked.elapsed() < server::serve::limits::SHUTDOWN_TIME_MAX);
    }
}

#[tokio::test]
async fn what_was_stored_is_there_after_a_kill() {
    let mut server = Server::start().await;
    let root = server.folder.path().to_str().unwrap().to_owned();
    let added = server
        .client()
        .add_project(&AddProject { name: None, root })
        .await
        .unwrap();
    server.signal(rustix::process::Signal::KILL);
    server.child.wait().await.unwrap();
    let Server { folder, .. } = server;
    let command = program(&folder);
    let server = Server::started(folder, command).await;
    let projects = server.client().projects().await.unwrap();
    assert_eq!(
        projects.iter().map(|p| &p.id).collect::<Vec<_>>(),
        [&added.id]
    );
}

async fn output(mut command: Command) -> Output {
    tokio::time::timeout(PATIENCE, command.output())
        .await
        .unwrap()
        .unwrap()
}

#[tokio::test]
async fn a_second_server_on_one_data_folder_is_refused() {
    let server = Server::start().await;
    let mut second = program(&server.folder);
    second.arg("serve");
    let refused = output(second).await;
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(
        told.contains(&server.child.id().unwrap().to_string()),
        "{told}"
    );
    server.client().projects().await.unwrap();
}

#[tokio::test]
async fn a_process_with_an_agents_mark_is_no_person() {
    let server = Server::start().await;
    let mark = std::fs::read_to_string(server.folder.path().join("data/host-marker")).unwrap();
    for (mark, code) in [(mark.trim(), Some(1)), ("other", Some(0))] {
        let mut command = program(&server.folder);
        command.args(["project", "list"]).env("WEFT_HOST", mark);
        let answered = output(command).await;
        let told = String::from_utf8(answered.stderr).unwrap();
        assert_eq!(answered.status.code(), code, "{told}");
        assert_eq!(told.contains("human_only"), code == Some(1), "{told}");
    }
}

#[tokio::test]
async fn a_server_whose_store_fails_ends_with_an_error() {
    let folder = tempfile::tempdir().unwrap();
    // A file that can't grow answers a write with an error, as a full disk does.
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!(
            "trap '' XFSZ; ulimit -f {FILE_BLOCKS_MAX}; exec \"$0\" \"$@\""
        ))
        .arg(env!("CARGO_BIN_EXE_weft"));
    configure(&mut command, &folder);
    let mut server = Server::started(folder, command).await;
    let client = server.client();
    let mut refusal = None;
    for number in 0..20_000 {
        let root = server.folder.path().join(number.to_string());
        std::fs::create_dir(&root).unwrap();
        let name = format!("{number:0>400}");
        let request = AddProject {
            name: Some(name),
            root: root.to_str().unwrap().to_owned(),
        };
        if let Err(error) = client.add_project(&request).await {
            refusal = Some(error);
            break;
        }
    }
    let refusal = refusal.expect("the store fails");
    assert_eq!(refusal.code(), Some("storage_unavailable"), "{refusal}");
    let (status, log) = server.ended().await;
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("going down"), "{log}");
}
