//! A real server process on a store of its own, and the command line against it.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use model::ModelServer;
use serde_json::Value;
use tempfile::TempDir;

use super::feed::Feed;
use super::follow::Followed;
use super::{agents, compiled};

/// Variable that holds the key for the scripted model.
const MODEL_KEY: &str = "WEFT_TEST_MODEL_KEY";

/// The key: a canary, looked for where it must not be.
pub(crate) const MODEL_KEY_VALUE: &str = "sk-canary-of-the-model-key-4711";

/// What the server under test is configured with.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    /// Lines before the providers.
    head: String,
    providers: String,
    log: LogDepth,
}

/// How much the server writes down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LogDepth {
    /// What helps to understand a failed test.
    #[default]
    Usual,
    /// Everything: the whole log, and recordings of the sessions.
    Everything,
}

impl Configuration {
    /// Adds lines that stand before the providers, for example a table of their own.
    pub(crate) fn with(mut self, lines: &str) -> Self {
        writeln!(self.head, "{lines}").unwrap();
        self
    }

    /// Lets the server log and record everything.
    pub(crate) fn logged_in_full(mut self) -> Self {
        self.log = LogDepth::Everything;
        self
    }

    /// Adds the scripted agent as the instance `scripted`.
    pub(crate) fn scripted(self) -> Self {
        self.scripted_as("scripted", "")
    }

    /// Adds the scripted agent under a name, with further lines of its table.
    pub(crate) fn scripted_as(mut self, id: &str, lines: &str) -> Self {
        writeln!(
            self.providers,
            "[[providers]]\nid = \"{id}\"\ndriver = \"scripted\"\n{lines}"
        )
        .unwrap();
        self
    }

    /// Adds the real codex as the instance `codex`, its model played by `model`.
    pub(crate) fn codex(self, model: &ModelServer) -> Self {
        self.codex_as("codex", model, "")
    }

    /// Adds the real codex under a name, with further lines of its table.
    pub(crate) fn codex_as(self, id: &str, model: &ModelServer, lines: &str) -> Self {
        self.codex_behind(id, &agents::codex(), model, lines)
    }

    /// Adds the real codex behind a program that starts it.
    pub(crate) fn codex_behind(
        mut self,
        id: &str,
        program: &Path,
        model: &ModelServer,
        lines: &str,
    ) -> Self {
        let url = format!("openai_base_url=\"{}\"", model.openai_url());
        writeln!(
            self.providers,
            "[[providers]]\nid = \"{id}\"\ndriver = \"codex\"\n\
             command = [{program:?}, \"-c\", '{url}', \"-c\", 'model=\"gpt-5.5\"']\n{lines}\n\
             [providers.env]\nCODEX_HOME = \"@FOLDER@/codex-home\"\n\
             [providers.secrets]\nOPENAI_API_KEY = {{ env = \"{MODEL_KEY}\" }}",
        )
        .unwrap();
        self
    }

    /// Adds any provider's table.
    pub(crate) fn provider(mut self, table: &str) -> Self {
        writeln!(self.providers, "[[providers]]\n{table}").unwrap();
        self
    }

    fn text(&self, folder: &Path) -> String {
        let text = format!(
            "[storage]\ndata_folder = \"@FOLDER@/data\"\n\n[server]\nlisten = \"127.0.0.1:0\"\n\n{}\n{}",
            self.head, self.providers
        );
        text.replace("@FOLDER@", folder.to_str().unwrap())
    }
}

/// A running server with one Project, `shop`, a git repository.
#[derive(Debug)]
pub(crate) struct TestHost {
    folder: TempDir,
    log: LogDepth,
    server: Option<Child>,
    ready: Value,
}

impl TestHost {
    /// Starts a server on an empty store and registers its Project.
    pub(crate) fn start(configuration: &Configuration) -> Self {
        let folder = TempDir::with_prefix("weft-test-").unwrap();
        for inner in ["codex-home", "tmp"] {
            std::fs::create_dir_all(folder.path().join(inner)).unwrap();
        }
        compiled::bring(&folder.path().join("data"));
        std::fs::write(
            folder.path().join("weft.toml"),
            configuration.text(folder.path()),
        )
        .unwrap();
        make_repository(&folder.path().join("shop"));
        let mut host = Self {
            folder,
            log: configuration.log,
            server: None,
            ready: Value::Null,
        };
        host.start_again();
        let project = host.project().to_str().unwrap().to_owned();
        host.weft_json(&["project", "add", &project, "--name", "shop", "--json"]);
        host
    }

    /// Starts the server on the store it left.
    pub(crate) fn start_again(&mut self) {
        assert!(self.server.is_none(), "the server runs already");
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_path())
            .unwrap();
        let mut command = self.command(&["serve", "--ready-json"]);
        if self.log == LogDepth::Everything {
            command.arg("--record").env("WEFT_LOG", "trace");
        }
        let mut server = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        self.server = Some(server);
        self.ready = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("the server did not come up:\n{}", self.log()));
    }

    /// Ends the server as a crash does.
    pub(crate) fn kill(&mut self) {
        let mut server = self.server.take().expect("the server runs");
        server.kill().unwrap();
        server.wait().unwrap();
    }

    /// Ends the server in good order.
    pub(crate) fn stop(&mut self) {
        let mut server = self.server.take().expect("the server runs");
        let pid = rustix::process::Pid::from_child(&server);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = server.wait().unwrap();
        assert!(
            status.success(),
            "the server ended with {status}:\n{}",
            self.log()
        );
    }

    /// The server's process.
    pub(crate) fn pid(&self) -> u32 {
        self.server.as_ref().expect("the server runs").id()
    }

    /// Address of the MCP endpoint.
    pub(crate) fn mcp_url(&self) -> &str {
        self.ready["mcpUrl"].as_str().unwrap()
    }

    /// Folder of everything of this server.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The Project's folder.
    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("shop")
    }

    /// Folder of everything the server stores.
    pub(crate) fn data_folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("weft.log")
    }

    /// The server's log so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// A call of the command line.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(agents::weft());
        command
            .env_remove("OPENAI_API_KEY")
            .env(MODEL_KEY, MODEL_KEY_VALUE)
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.folder.path().join("tmp"))
            .env("WEFT_LOG", "info,drivers=trace,threads=debug,server=debug")
            .arg("--config")
            .arg(self.folder.path().join("weft.toml"))
            .args(words)
            .stdin(Stdio::null());
        command
    }

    /// Calls the command line and answers what came of it.
    pub(crate) fn weft(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Calls the command line, which must succeed and print JSON.
    pub(crate) fn weft_json(&self, words: &[&str]) -> Value {
        let printed = self.weft_ok(words);
        serde_json::from_str(&printed).unwrap_or_else(|_| panic!("no JSON: {printed}"))
    }

    /// Calls the command line, which must refuse, and answers what it says.
    pub(crate) fn weft_refused(&self, words: &[&str]) -> String {
        let output = self.weft(words);
        assert!(!output.status.success(), "weft {words:?} was not refused");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Calls the command line, which must succeed, and answers what it prints.
    pub(crate) fn weft_ok(&self, words: &[&str]) -> String {
        let output = self.weft(words);
        assert!(
            output.status.success(),
            "weft {words:?} ended with {}:\n{}\n{}\nlog:\n{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
            self.log()
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Starts a thread and follows it, with further words of `weft run`.
    pub(crate) fn run_with(&self, provider: &str, words: &[&str], prompt: &str) -> Followed {
        let mut all = vec!["run", "--project", "shop", "--provider", provider, "--json"];
        all.extend(words);
        all.extend(["--", prompt]);
        Followed::start(self.command(&all))
    }

    /// Starts a thread and follows it.
    pub(crate) fn run(&self, provider: &str, prompt: &str) -> Followed {
        self.run_with(provider, &[], prompt)
    }

    /// Everything the server does, from the first fact of its journal.
    pub(crate) fn feed(&self) -> Feed {
        Feed::start(self.data_folder())
    }

    /// A thread as `weft thread show` tells it.
    pub(crate) fn thread(&self, id: &str) -> Value {
        self.weft_json(&["thread", "show", id, "--json"])
    }

    /// What the agent of a thread said last.
    pub(crate) fn last_text(&self, id: &str) -> String {
        let thread = self.thread(id);
        let items = thread["items"].as_array().unwrap();
        let said = items
            .iter()
            .rfind(|item| item["kind"] == "assistant_message");
        let said = said.unwrap_or_else(|| panic!("nothing was said: {thread}"));
        said["text"].as_str().unwrap().to_owned()
    }

    /// Sends a message without waiting for what comes of it.
    pub(crate) fn tell(&self, thread: &str, text: &str) {
        self.weft_json(&["thread", "send", thread, "--json", "--", text]);
    }

    /// Sends a message and follows the run it starts.
    pub(crate) fn send(&self, thread: &str, text: &str) -> Followed {
        Followed::start(self.command(&["thread", "send", thread, "--follow", "--json", "--", text]))
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            // A test that failed leaves its server; nothing of it may stay.
            let pid = rustix::process::Pid::from_child(&server);
            let _gone = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            let _status = server.wait();
        }
        compiled::keep(&self.data_folder());
        if std::thread::panicking() {
            eprintln!("server log:\n{}", self.log());
        }
    }
}

fn make_repository(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("README.md"), "# Shop\n").unwrap();
    for words in [
        &["init", "-q"][..],
        &["add", "."],
        &["commit", "-qm", "Start"],
    ] {
        let done = Command::new("git")
            .current_dir(folder)
            .args(["-c", "user.name=test", "-c", "user.email=test@localhost"])
            .args(words)
            .status()
            .unwrap();
        assert!(done.success());
    }
}
