//! A running endpoint over four small tools, with a clock that is moved by hand.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use domain::authority::Capability;
use domain::error::{Denial, DenialCode};
use domain::ids::{ProviderInstanceId, ProviderSessionId, ThreadId};
use domain::time::Timestamp;
use futures::FutureExt as _;
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};
use threads::clock::SimulatedClock;
use threads::ports::{CredentialPort as _, CredentialRequest};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::credentials::{CredentialRegistry, CredentialSettings, EnvironmentId};
use crate::mcp::endpoint::{McpEndpoint, listen};
use crate::mcp::toolkits::{EndpointKind, ToolCall, ToolFn, ToolRow};
use crate::mcp::{McpSettings, endpoint_url};

/// Idle limit of the credentials, in milliseconds of the simulated clock.
pub(super) const IDLE: u64 = 60_000;

/// A shortened keep-alive.
pub(super) const KEEP_ALIVE: Duration = Duration::from_millis(100);

/// What the tools tell the test and what the test tells them.
#[derive(Clone, Debug)]
pub(super) struct Bench {
    /// How each long call came to its end: `released` or `gone`.
    ended: mpsc::UnboundedSender<&'static str>,
    /// One permit lets one long call end.
    pub(super) release: Arc<Semaphore>,
    /// One permit for each long call that has begun.
    pub(super) begun: Arc<Semaphore>,
}

impl Bench {
    async fn released(&self) {
        self.release.acquire().await.expect("open").forget();
    }
}

/// A running endpoint.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) address: SocketAddr,
    pub(super) registry: Arc<CredentialRegistry>,
    pub(super) clock: SimulatedClock,
    pub(super) bench: Bench,
    pub(super) ended: mpsc::UnboundedReceiver<&'static str>,
    stop: CancellationToken,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Host {
    pub(super) async fn start() -> Self {
        Self::with(McpSettings {
            keep_alive: KEEP_ALIVE,
            ..McpSettings::default()
        })
        .await
    }

    pub(super) async fn with(settings: McpSettings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let clock = SimulatedClock::at(Timestamp::from_millis(1_800_000_000_000));
        let registry = Arc::new(CredentialRegistry::new(
            CredentialSettings {
                environment_id: EnvironmentId::new("environment-1"),
                server_name: "t3-code".to_owned(),
                url: endpoint_url(address),
                capabilities: vec![Capability::Orchestration],
                idle: Duration::from_millis(IDLE),
                life: Duration::from_millis(10 * IDLE),
            },
            Arc::new(clock.clone()),
        ));
        let (sender, ended) = mpsc::unbounded_channel();
        let empty = || Arc::new(Semaphore::new(0));
        let bench = Bench {
            ended: sender,
            release: empty(),
            begun: empty(),
        };
        let stop = CancellationToken::new();
        let endpoint = McpEndpoint::with_rows(
            &settings,
            Arc::clone(&registry),
            rows().into(),
            bench.clone(),
            stop.clone(),
        )
        .expect("good settings");
        let serving = tokio::spawn(listen(listener, endpoint.router(), stop.clone()));
        Self {
            address,
            registry,
            clock,
            bench,
            ended,
            stop,
            serving,
        }
    }

    /// A bearer token for a thread of this name.
    pub(super) fn token(&self, thread: &str) -> String {
        let request = CredentialRequest {
            thread_id: ThreadId::new(thread),
            instance_id: ProviderInstanceId::new("codex-main"),
            session_id: ProviderSessionId::new("session-1"),
        };
        self.registry
            .mint(&request)
            .expect("tools are on")
            .token
            .expose()
            .to_owned()
    }

    /// Waits until a long call has begun.
    pub(super) async fn call_begun(&self) {
        self.bench.begun.acquire().await.expect("open").forget();
    }

    /// How the next long call ended.
    pub(super) async fn call_ended(&mut self) -> &'static str {
        self.ended.recv().await.expect("the bench stands")
    }

    /// Stops the host; every request must end by itself.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        self.serving.await.expect("no panic").expect("served");
    }
}

fn rows() -> Vec<ToolRow<Bench>> {
    use EndpointKind::{External, ProviderSession};
    vec![
        row(
            "echo",
            Capability::Orchestration,
            &[ProviderSession],
            |_, call| echo(call).boxed(),
        ),
        row(
            "wait",
            Capability::Orchestration,
            &[ProviderSession],
            |bench, call| wait(bench, call).boxed(),
        ),
        row(
            "work",
            Capability::Orchestration,
            &[ProviderSession],
            |bench, call| work(bench, call).boxed(),
        ),
        row(
            "refuse",
            Capability::Orchestration,
            &[ProviderSession],
            |_, _| refuse().boxed(),
        ),
        row(
            "ungranted",
            Capability::ThreadControl,
            &[ProviderSession],
            |_, call| echo(call).boxed(),
        ),
        row(
            "elsewhere",
            Capability::Orchestration,
            &[External],
            |_, call| echo(call).boxed(),
        ),
    ]
}

fn row(
    name: &'static str,
    toolkit: Capability,
    endpoints: &'static [EndpointKind],
    call: ToolFn<Bench>,
) -> ToolRow<Bench> {
    let Value::Object(schema) = json!({ "type": "object" }) else {
        panic!("an object")
    };
    ToolRow {
        toolkit,
        endpoints,
        tool: Tool::new(name, "for tests", schema),
        call,
    }
}

/// Says who called with what.
async fn echo(call: ToolCall) -> Result<Value, Denial> {
    let arguments: JsonObject = call.arguments.clone();
    Ok(json!({ "caller": call.principal.authority.thread_id, "arguments": arguments }))
}

/// A parked wait, which ends when its caller goes away.
async fn wait(bench: Bench, call: ToolCall) -> Result<Value, Denial> {
    call.attendance.park()?;
    let gone = call.attendance.gone();
    bench.begun.add_permits(1);
    let work = async {
        tokio::select! {
            biased;
            () = bench.released() => "released",
            () = gone.cancelled() => "gone",
        }
    };
    let ended = call.attendance.during("it goes on", work).await;
    bench.ended.send(ended).expect("the test listens");
    Ok(json!({ "ended": ended }))
}

/// Work that takes its time and does not mind whether its caller is there.
async fn work(bench: Bench, call: ToolCall) -> Result<Value, Denial> {
    bench.begun.add_permits(1);
    call.attendance.during("it goes on", bench.released()).await;
    Ok(json!({ "ended": "released" }))
}

async fn refuse() -> Result<Value, Denial> {
    Err(Denial::new(DenialCode::ParentNotActive, "no active run"))
}
