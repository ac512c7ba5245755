//! A thread in the middle of a turn whose agent is this test.

use std::net::SocketAddr;

use serde_json::Value;

use crate::support::follow::Followed;
use crate::support::overheard::OVERHEARD;
use crate::support::wire::{Form, Raw, Reply, Whole, address_of, session};
use crate::support::{Configuration, TestHost};

/// A running server, a parent that hangs in its turn, and the bearer its agent was given.
pub(super) struct Parent {
    pub(super) host: TestHost,
    pub(super) run: Followed,
    pub(super) thread: String,
    pub(super) token: String,
    pub(super) address: SocketAddr,
}

impl Parent {
    /// Starts a server with a keep-alive of one second. Steered, the parent goes on with `then`.
    pub(super) fn start(then: &str) -> Self {
        let configuration = Configuration::default()
            .with("[mcp]\nkeep_alive_s = 1\nallowed_hosts = [\"weft.test\"]\nallowed_origins = [\"http://weft.test\"]")
            .scripted()
            .overheard();
        let host = TestHost::start(&configuration);
        let mut run = host.run(OVERHEARD, &format!("script: hang ;; {then}"));
        run.change("run", |run| run["status"] == "running");
        let thread = run.thread_id();
        Self {
            token: host.bearer(&thread).unwrap(),
            address: address_of(host.mcp_url()),
            host,
            run,
            thread,
        }
    }

    /// Both forms of the protocol; the session form inside a new session.
    pub(super) async fn forms(&self) -> [Form; 2] {
        [self.session().await, Form::Stateless]
    }

    pub(super) async fn session(&self) -> Form {
        session(self.address, &self.token).await.unwrap()
    }

    pub(super) fn raw(&self, form: &Form, tool: &str, arguments: &Value) -> Raw {
        Raw::call(form, &self.token, tool, arguments)
    }

    /// Calls a tool and answers its structured content.
    pub(super) async fn call(&self, form: &Form, tool: &str, arguments: &Value) -> Value {
        let reply = self.send(&self.raw(form, tool, arguments)).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply
            .content()
            .unwrap_or_else(|| panic!("no answer: {}", reply.body))
    }

    /// Begins to call a tool.
    pub(super) async fn begin(&self, form: &Form, tool: &str, arguments: &Value) -> Reply {
        let reply = self
            .raw(form, tool, arguments)
            .open(self.address)
            .await
            .unwrap();
        assert_eq!(reply.status, 200, "{}", reply.so_far());
        reply
    }

    pub(super) async fn send(&self, raw: &Raw) -> Whole {
        raw.send(self.address).await.unwrap()
    }

    /// Lets the parent's turn go on.
    pub(super) fn steer(&self) {
        self.host.weft_json(&[
            "thread",
            "send",
            &self.thread,
            "--mode",
            "steer",
            "--json",
            "--",
            "go on",
        ]);
    }

    /// Place in the journal.
    pub(super) async fn sequence(&self) -> u64 {
        self.host
            .person()
            .thread(&self.thread, 0)
            .await
            .unwrap()
            .sequence
    }
}
