//! A client that does nothing but write requests and read replies, on one connection.

use std::net::SocketAddr;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// Largest reply that is read, bytes.
const REPLY_BYTES_MAX: usize = 1 << 20;

/// Which of the two forms of MCP a call has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// 2025-11-25, inside a session.
    Session,
    /// 2026-07-28, each request for itself.
    Stateless,
    /// 2025-11-25 without a session: the stateless form of the SDK for Node.
    Sessionless,
}

impl Form {
    const fn version(self) -> &'static str {
        match self {
            Self::Session | Self::Sessionless => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }
}

/// A call that is made again and again.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) path: String,
    /// Bearer token; `None`: the server asks for none.
    pub(crate) token: Option<String>,
    pub(crate) form: Form,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
}

/// One connection, which makes one call at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    call: Call,
    session: Option<String>,
    next_id: u64,
    body: Vec<u8>,
}

impl Connection {
    /// Connects and, in the session form, shakes hands.
    pub(crate) async fn open(address: SocketAddr, call: Call) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut connection = Self {
            stream: BufReader::new(stream),
            call,
            session: None,
            next_id: 1,
            body: Vec::new(),
        };
        if connection.call.form == Form::Session {
            connection.shake_hands().await?;
        }
        Ok(connection)
    }

    async fn shake_hands(&mut self) -> anyhow::Result<()> {
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": self.call.form.version(),
            "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        }});
        self.send(&hello.to_string()).await?;
        let (status, session) = self.read().await?;
        ensure!(status == 200, "initialize was answered with {status}");
        self.session = Some(session.context("a session has an id")?);
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.send(&ready.to_string()).await?;
        let (status, _) = self.read().await?;
        ensure!(status == 202, "initialized was answered with {status}");
        Ok(())
    }

    /// Makes the call once and answers the body of its reply. Ids differ: rmcp lets equal ids of a session wait for
    /// each other.
    pub(crate) async fn call(&mut self) -> anyhow::Result<&str> {
        let id = self.next_id;
        self.next_id += 1;
        let mut params = json!({ "name": self.call.tool, "arguments": self.call.arguments });
        if self.call.form == Form::Stateless
            && let Some(params) = params.as_object_mut()
        {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": self.call.form.version(),
                "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            params.insert("_meta".to_owned(), meta);
        }
        let request =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        self.send(&request.to_string()).await?;
        let (status, _) = self.read().await?;
        let body = std::str::from_utf8(&self.body)?;
        let is_result = body.contains("\"result\"") && !body.contains("\"isError\":true");
        ensure!(
            status == 200 && is_result,
            "a call was answered with {status}: {body}"
        );
        Ok(body)
    }

    async fn send(&mut self, body: &str) -> anyhow::Result<()> {
        use std::fmt::Write as _;
        let call = &self.call;
        let mut request = format!(
            "POST {} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n",
            call.path,
            body.len()
        );
        if let Some(token) = &call.token {
            write!(request, "authorization: Bearer {token}\r\n")?;
        }
        if let Some(session) = &self.session {
            write!(request, "mcp-session-id: {session}\r\n")?;
        }
        if self.next_id > 1 {
            write!(request, "mcp-protocol-version: {}\r\n", call.form.version())?;
        }
        if call.form == Form::Stateless {
            write!(
                request,
                "mcp-method: tools/call\r\nmcp-name: {}\r\n",
                call.tool
            )?;
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        Ok(())
    }

    /// Reads a reply to its end: its status and the session it names. The body is kept.
    async fn read(&mut self) -> anyhow::Result<(u16, Option<String>)> {
        let status = self.line().await?;
        let status = status.get(9..12).context("a status")?.parse()?;
        let (mut length, mut is_chunked, mut session) = (0, false, None);
        loop {
            let line = self.line().await?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').context("a header")?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse()?,
                "transfer-encoding" => is_chunked = value == "chunked",
                "mcp-session-id" => session = Some(value.to_owned()),
                _ => {}
            }
        }
        self.body.clear();
        if is_chunked {
            loop {
                let size = self.line().await?;
                let size = usize::from_str_radix(&size, 16).context("the size of a chunk")?;
                self.take(size).await?;
                self.line().await?;
                if size == 0 {
                    break;
                }
            }
        } else {
            self.take(length).await?;
        }
        Ok((status, session))
    }

    async fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await? == 0 {
            bail!("the server closed the connection");
        }
        Ok(line.trim_end().to_owned())
    }

    async fn take(&mut self, size: usize) -> anyhow::Result<()> {
        let start = self.body.len();
        ensure!(start + size <= REPLY_BYTES_MAX, "a reply is too long");
        self.body.resize(start + size, 0);
        let into = self.body.get_mut(start..).unwrap_or_default();
        self.stream.read_exact(into).await?;
        Ok(())
    }
}
