//! The command line's words: singular nouns with a verb.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use domain::modes::{InteractionMode, RuntimeMode};

use crate::local::wire::SendWord;

/// Runs coding agents side by side and lets them delegate to each other.
#[derive(Clone, Debug, Parser)]
#[command(name = "weft", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Configuration file [default: $WEFT_CONFIG, else $XDG_CONFIG_HOME/weft/weft.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Folder of everything Weft stores; wins over the configuration
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_folder: Option<PathBuf>,
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the server
    Serve(Serve),
    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Look at the drivers
    #[command(subcommand)]
    Driver(DriverCommand),
    /// List the MCP tools agents are offered
    Tools {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Register and list Projects
    #[command(subcommand)]
    Project(ProjectCommand),
    /// Start a thread and show it live until its run ends
    Run(Run),
    /// Look at threads, send to them, stop them
    #[command(subcommand)]
    Thread(ThreadCommand),
    /// Answer questions and approvals
    #[command(subcommand)]
    Request(RequestCommand),
    /// The agent the scripted driver drives
    #[command(hide = true)]
    ScriptedAgent,
}

/// Start the server.
#[derive(Clone, Debug, Args)]
pub(crate) struct Serve {
    /// Record what every driver is told and answers, in the data folder
    #[arg(long)]
    pub(crate) record: bool,
    /// Address of the MCP endpoint; wins over the configuration
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// When ready, print one line of JSON on standard output
    #[arg(long)]
    pub(crate) ready_json: bool,
}

/// Look at the configuration.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Read a configuration, tell every problem, print what holds
    Check {
        /// The file [default: the one that holds]
        file: Option<PathBuf>,
    },
}

/// Look at the drivers.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum DriverCommand {
    /// List the drivers of the folder; needs no server
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Register and list Projects.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ProjectCommand {
    /// Register a folder agents may work in
    Add {
        /// The folder
        dir: PathBuf,
        /// Name of the Project [default: the folder's name]
        #[arg(long)]
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the registered Projects
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Start a thread and show it live.
///
/// Exit codes: 0 the run completed, 1 it could not be started or followed, 3 it failed, 4 it was stopped,
/// 130 interrupted here (the run goes on).
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    /// Registered Project: its folder, name or id
    #[arg(long, value_name = "DIR")]
    pub(crate) project: String,
    /// Provider instance [default: the configured one]
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Model [default: the configured one, else the provider's]
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// What the agent may do without asking
    #[arg(long, value_name = "MODE")]
    pub(crate) runtime_mode: Option<RuntimeWord>,
    /// Whether the agent works or plans
    #[arg(long, value_name = "MODE")]
    pub(crate) interaction_mode: Option<InteractionWord>,
    /// Title of the thread [default: from the prompt]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Register the folder as a Project if it is none
    #[arg(long)]
    pub(crate) add_project: bool,
    /// Print one JSON object a line, the result last
    #[arg(long)]
    pub(crate) json: bool,
    /// What to do; `-` reads it from standard input
    pub(crate) prompt: String,
}

/// What the agent may do without asking.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RuntimeWord {
    /// Every command and edit asks
    ApprovalRequired,
    /// Edits in the Project go through, other actions ask
    AutoAcceptEdits,
    /// Nothing asks
    FullAccess,
}

impl From<RuntimeWord> for RuntimeMode {
    fn from(word: RuntimeWord) -> Self {
        match word {
            RuntimeWord::ApprovalRequired => Self::ApprovalRequired,
            RuntimeWord::AutoAcceptEdits => Self::AutoAcceptEdits,
            RuntimeWord::FullAccess => Self::FullAccess,
        }
    }
}

/// Whether the agent works or plans.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum InteractionWord {
    /// Plans only
    Plan,
    /// Works
    Default,
}

impl From<InteractionWord> for InteractionMode {
    fn from(word: InteractionWord) -> Self {
        match word {
            InteractionWord::Plan => Self::Plan,
            InteractionWord::Default => Self::Default,
        }
    }
}

/// Threads.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ThreadCommand {
    /// List threads, the newest change first
    List {
        /// Most threads
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a thread's timeline
    Show {
        /// The thread
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Send a message to a thread
    Send {
        /// The thread
        id: String,
        /// The message; `-` reads it from standard input
        text: String,
        /// What to do when a run is active
        #[arg(long, default_value = "auto")]
        mode: SendArgument,
        /// Show the run live until it ends; exit codes as `weft run`
        #[arg(long)]
        follow: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Let the messages go on that a stop held back
    Resume {
        /// The thread
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop a thread and everything it delegated
    Stop {
        /// The thread
        id: String,
        /// Why, for people
        #[arg(long)]
        reason: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What to do with a message when a run is active.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SendArgument {
    /// Add it to the running turn where the provider can, else queue it
    Auto,
    /// Queue it behind the active run
    Queue,
    /// Add it to the running turn or refuse
    Steer,
}

impl From<SendArgument> for SendWord {
    fn from(word: SendArgument) -> Self {
        match word {
            SendArgument::Auto => Self::Auto,
            SendArgument::Queue => Self::Queue,
            SendArgument::Steer => Self::Steer,
        }
    }
}

/// Questions and approvals.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum RequestCommand {
    /// List what waits for an answer
    List {
        /// Of this thread alone
        #[arg(long, value_name = "ID")]
        thread: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Answer questions
    Answer {
        /// The request
        id: String,
        /// The answer, where there is one question; several where it takes several
        #[arg(value_name = "VALUE")]
        values: Vec<String>,
        /// The answer to one question of several
        #[arg(long = "to", value_name = "QUESTION=VALUE", conflicts_with = "values")]
        to: Vec<String>,
        /// Tell the agent that nobody will answer, and why
        #[arg(long, value_name = "WHY", conflicts_with_all = ["values", "to"])]
        dismiss: Option<String>,
    },
    /// Allow an approval
    Allow {
        /// The request
        id: String,
        /// This and its like until the session ends
        #[arg(long, conflicts_with = "always")]
        for_session: bool,
        /// From now on
        #[arg(long)]
        always: bool,
    },
    /// Deny an approval
    Deny {
        /// The request
        id: String,
        /// Told to the agent
        #[arg(long)]
        message: Option<String>,
        /// End the turn too
        #[arg(long)]
        end_turn: bool,
    },
}
