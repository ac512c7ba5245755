//! MCP requests written by hand and replies read byte by byte: what no client library would send or show.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::PATIENCE;

/// Which of the two forms a request is written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// 2025-11-25 and before, inside the session with this id.
    Session(String),
    /// 2026-07-28, each request for itself.
    Stateless,
}

/// Address of an endpoint's URL.
pub(crate) fn address_of(mcp_url: &str) -> SocketAddr {
    let rest = mcp_url.strip_prefix("http://").unwrap();
    rest.strip_suffix("/mcp").unwrap().parse().unwrap()
}

/// A request to be written.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub(crate) method: &'static str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Raw {
    /// A request that every check lets pass but that says nothing yet.
    pub(crate) fn new(method: &'static str, token: &str) -> Self {
        let raw = Self {
            method,
            headers: Vec::new(),
            body: Vec::new(),
        };
        raw.with("host", "localhost")
            .with("accept", "application/json, text/event-stream")
            .with("content-type", "application/json")
            .with("authorization", &format!("Bearer {token}"))
    }

    /// A JSON-RPC request.
    pub(crate) fn request(form: &Form, token: &str, method: &str, mut params: Value) -> Self {
        let raw = match form {
            Form::Session(id) => Self::in_session(token, id),
            Form::Stateless => {
                let meta = |name: &str| format!("io.modelcontextprotocol/{name}");
                params["_meta"][meta("protocolVersion")] = json!("2026-07-28");
                params["_meta"][meta("clientInfo")] = json!({ "name": "raw", "version": "1" });
                params["_meta"][meta("clientCapabilities")] = json!({});
                Self::new("POST", token)
                    .with("mcp-protocol-version", "2026-07-28")
                    .with("mcp-method", method)
            }
        };
        raw.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
    }

    /// A call of a tool.
    pub(crate) fn call(form: &Form, token: &str, tool: &str, arguments: &Value) -> Self {
        let params = json!({ "name": tool, "arguments": arguments });
        let raw = Self::request(form, token, "tools/call", params);
        match form {
            Form::Session(_) => raw,
            Form::Stateless => raw.with("mcp-name", tool),
        }
    }

    fn in_session(token: &str, id: &str) -> Self {
        Self::new("POST", token)
            .with("mcp-session-id", id)
            .with("mcp-protocol-version", "2025-11-25")
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body(body.to_string().into_bytes())
    }

    pub(crate) fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Sets a header, in place of any of that name.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        let mut raw = self.without(name);
        raw.headers.push((name.to_owned(), value.to_owned()));
        raw
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(own, _)| own != name);
        self
    }

    /// Sends it and reads the reply's head.
    pub(crate) async fn open(&self, address: SocketAddr) -> io::Result<Reply> {
        let mut stream = TcpStream::connect(address).await?;
        let mut head = format!("{} /mcp HTTP/1.1\r\n", self.method);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!(
            "content-length: {}\r\nconnection: close\r\n\r\n",
            self.body.len()
        ));
        // A refused request may be closed on while its body is still being sent: the reply tells.
        let sending = [head.as_bytes(), &self.body].concat();
        let _sent = stream.write_all(&sending).await;
        Reply::read_head(stream).await
    }

    /// Sends it and reads the whole reply.
    pub(crate) async fn send(&self, address: SocketAddr) -> io::Result<Whole> {
        self.open(address).await?.whole().await
    }
}

/// Makes a session of the session form.
pub(crate) async fn session(address: SocketAddr, token: &str) -> io::Result<Form> {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "raw", "version": "1" },
    });
    let initialize = Raw::new("POST", token)
        .json(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
    let reply = initialize.send(address).await?;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let id = reply.header("mcp-session-id").unwrap().to_owned();
    let initialized = Raw::in_session(token, &id)
        .json(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(initialized.send(address).await?.status, 202);
    Ok(Form::Session(id))
}

/// A reply that is being read.
#[derive(Debug)]
pub(crate) struct Reply {
    stream: TcpStream,
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    /// Bytes of the body as they came, still in chunks where it is chunked.
    raw: Vec<u8>,
}

/// A reply that was read to its end.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    async fn read_head(mut stream: TcpStream) -> io::Result<Self> {
        let mut raw = Vec::new();
        let end = loop {
            if let Some(end) = raw.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end;
            }
            more(&mut stream, &mut raw, PATIENCE).await?;
        };
        let head = String::from_utf8(raw[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.get(9..12)).unwrap();
        let status = status.parse().unwrap();
        let headers = lines
            .map(|line| line.split_once(':').unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Ok(Self {
            stream,
            status,
            headers,
            raw: raw.split_off(end + 4),
        })
    }

    /// The body as far as it has come.
    pub(crate) fn so_far(&self) -> String {
        let chunked = header(&self.headers, "transfer-encoding") == Some("chunked");
        let body = if chunked {
            unchunk(&self.raw)
        } else {
            self.raw.clone()
        };
        String::from_utf8_lossy(&body).into_owned()
    }

    /// Reads on until the body holds what is looked for.
    pub(crate) async fn until(&mut self, found: impl Fn(&str) -> bool) -> io::Result<String> {
        loop {
            let body = self.so_far();
            if found(&body) {
                return Ok(body);
            }
            more(&mut self.stream, &mut self.raw, PATIENCE).await?;
        }
    }

    /// Reads to the end.
    pub(crate) async fn whole(mut self) -> io::Result<Whole> {
        loop {
            match more(&mut self.stream, &mut self.raw, PATIENCE).await {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Whole {
            status: self.status,
            body: self.so_far(),
            headers: self.headers,
        })
    }
}

impl Whole {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The JSON-RPC message, whether it came as JSON or as the last event of a stream. `None`: the reply broke off.
    pub(crate) fn message(&self) -> Option<Value> {
        let data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"));
        let last = data.map(str::trim).rfind(|data| !data.is_empty());
        serde_json::from_str(last.unwrap_or(&self.body)).ok()
    }

    /// The structured content of a tool's answer. `None`: the reply broke off before it.
    pub(crate) fn content(&self) -> Option<Value> {
        let message = self.message()?;
        let content = message.get("result")?.get("structuredContent")?;
        Some(content.clone())
    }
}

/// How many comments a stream has carried.
pub(crate) fn comments(body: &str) -> usize {
    body.lines().filter(|line| line.starts_with(':')).count()
}

/// Reads some more; the end of the stream is an error of its own kind.
async fn more(stream: &mut TcpStream, raw: &mut Vec<u8>, patience: Duration) -> io::Result<()> {
    let read = tokio::time::timeout(patience, stream.read_buf(raw)).await;
    match read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(own, _)| own == name);
    found.map(|(_, value)| value.as_str())
}

fn unchunk(mut raw: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(line) = raw.windows(2).position(|bytes| bytes == b"\r\n") {
        let size = std::str::from_utf8(&raw[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        let rest = &raw[line + 2..];
        body.extend_from_slice(&rest[..size.min(rest.len())]);
        raw = rest.get(size + 2..).unwrap_or_default();
    }
    body
}
