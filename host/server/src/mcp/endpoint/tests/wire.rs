//! Requests written by hand and replies read byte by byte: what no client library would send or show.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Which of the two forms a request is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// 2025-11-25 and before, inside a session.
    Session,
    /// 2026-07-28, each request for itself.
    Stateless,
}

impl Form {
    pub(super) const BOTH: [Self; 2] = [Self::Session, Self::Stateless];
}

/// A request to be written.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) method: &'static str,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Raw {
    /// A request every check lets pass.
    pub(super) fn new(method: &'static str, token: &str) -> Self {
        let headers = [
            ("host", "localhost"),
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
        ];
        let headers = headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
        Self {
            method,
            target: "/mcp".to_owned(),
            headers,
            body: Vec::new(),
        }
        .with("authorization", &format!("Bearer {token}"))
    }

    /// The handshake of the session form.
    pub(super) fn initialize(token: &str, version: &str) -> Self {
        Self::new("POST", token).json(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": { "name": "raw", "version": "1" },
            },
        }))
    }

    /// A call of a tool; `session` is used by the session form alone.
    pub(super) fn call(
        form: Form,
        token: &str,
        session: &str,
        tool: &str,
        arguments: Value,
    ) -> Self {
        let mut params = json!({ "name": tool });
        params["arguments"] = arguments;
        Self::request(form, token, session, "tools/call", params).with_if(
            form == Form::Stateless,
            "mcp-name",
            tool,
        )
    }

    /// A request of either form.
    pub(super) fn request(
        form: Form,
        token: &str,
        session: &str,
        method: &str,
        mut params: Value,
    ) -> Self {
        let raw = Self::new("POST", token);
        let raw = match form {
            Form::Session => raw
                .with("mcp-session-id", session)
                .with("mcp-protocol-version", "2025-11-25"),
            Form::Stateless => {
                params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
                params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                    json!({ "name": "raw", "version": "1" });
                params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
                raw.with("mcp-protocol-version", "2026-07-28")
                    .with("mcp-method", method)
            }
        };
        raw.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
    }

    pub(super) fn json(self, body: &Value) -> Self {
        self.body(body.to_string().into_bytes())
    }

    pub(super) fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Sets a header, in place of any of that name.
    pub(super) fn with(self, name: &str, value: &str) -> Self {
        let mut raw = self.without(name);
        raw.headers.push((name.to_owned(), value.to_owned()));
        raw
    }

    /// Adds a header beside any of that name.
    pub(super) fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(own, _)| own != name);
        self
    }

    fn with_if(self, condition: bool, name: &str, value: &str) -> Self {
        if condition {
            self.with(name, value)
        } else {
            self
        }
    }

    /// Sends it and reads the reply's head.
    pub(super) async fn open(&self, address: SocketAddr) -> Reply {
        let mut stream = TcpStream::connect(address).await.expect("the host listens");
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!(
            "content-length: {}\r\nconnection: close\r\n\r\n",
            self.body.len()
        ));
        // A refused request may be closed on while its body is still being sent.
        let _ = stream.write_all(head.as_bytes()).await;
        let _ = stream.write_all(&self.body).await;
        Reply::read_head(stream).await
    }

    /// Sends it and reads the whole reply.
    pub(super) async fn send(&self, address: SocketAddr) -> Whole {
        self.open(address).await.whole().await
    }
}

/// A reply that is being read.
#[derive(Debug)]
pub(super) struct Reply {
    stream: TcpStream,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// Bytes of the body as they came, still in chunks where it is chunked.
    raw: Vec<u8>,
}

/// A reply that was read to its end.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Reply {
    async fn read_head(mut stream: TcpStream) -> Self {
        let mut raw = Vec::new();
        let end = loop {
            if let Some(end) = raw.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end;
            }
            let read = stream.read_buf(&mut raw).await.expect("a reply");
            assert_ne!(
                read,
                0,
                "the reply broke off in its head: {}",
                String::from_utf8_lossy(&raw)
            );
        };
        let head = String::from_utf8(raw[..end].to_vec()).expect("text");
        let mut lines = head.split("\r\n");
        let status = lines.next().expect("a status line")[9..12]
            .parse()
            .expect("a status");
        let headers = lines
            .map(|line| line.split_once(':').expect("a header"))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Self {
            stream,
            status,
            headers,
            raw: raw.split_off(end + 4),
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The body as far as it has come.
    pub(super) fn so_far(&self) -> String {
        if self.header("transfer-encoding") == Some("chunked") {
            String::from_utf8_lossy(&unchunk(&self.raw)).into_owned()
        } else {
            String::from_utf8_lossy(&self.raw).into_owned()
        }
    }

    /// Reads on until the body holds what is looked for.
    pub(super) async fn until(&mut self, found: impl Fn(&str) -> bool) -> String {
        loop {
            let body = self.so_far();
            if found(&body) {
                return body;
            }
            let read = self
                .stream
                .read_buf(&mut self.raw)
                .await
                .expect("more of the reply");
            assert_ne!(read, 0, "the reply ended at: {body}");
        }
    }

    pub(super) async fn whole(mut self) -> Whole {
        while self.stream.read_buf(&mut self.raw).await.unwrap_or(0) > 0 {}
        Whole {
            status: self.status,
            body: self.so_far(),
            headers: self.headers,
        }
    }
}

impl Whole {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The JSON-RPC message, whether it came as JSON or as the last event of a stream.
    pub(super) fn message(&self) -> Value {
        last_message(&self.body)
    }
}

/// The last JSON-RPC message of a body of either kind.
pub(super) fn last_message(body: &str) -> Value {
    let mut data = body
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(str::trim);
    let text = data.rfind(|data| !data.is_empty()).unwrap_or(body);
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {body:?}"))
}

/// How many comments a stream has carried.
pub(super) fn comments(body: &str) -> usize {
    body.lines().filter(|line| line.starts_with(':')).count()
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(own, _)| own == name)
        .map(|(_, value)| value.as_str())
}

fn unchunk(mut raw: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(line) = raw.windows(2).position(|bytes| bytes == b"\r\n") {
        let size = std::str::from_utf8(&raw[..line]).expect("text");
        let size = usize::from_str_radix(size, 16).expect("a chunk's size");
        let rest = &raw[line + 2..];
        body.extend_from_slice(&rest[..size.min(rest.len())]);
        raw = rest.get(size + 2..).unwrap_or_default();
    }
    body
}

/// Makes a session and answers its id.
pub(super) async fn session(address: SocketAddr, token: &str) -> String {
    let reply = Raw::initialize(token, "2025-11-25").send(address).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let id = reply
        .header("mcp-session-id")
        .expect("a session id")
        .to_owned();
    let initialized = Raw::new("POST", token)
        .with("mcp-session-id", &id)
        .with("mcp-protocol-version", "2025-11-25")
        .json(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(initialized.send(address).await.status, 202);
    id
}
