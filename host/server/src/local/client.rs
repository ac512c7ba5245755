//! The command line's end of the local socket.

use std::path::{Path, PathBuf};

use bytes::{Buf as _, Bytes, BytesMut};
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::limits::{CONNECT_TIMEOUT, FEED_SILENCE_MAX, PAGE_MAX};
use super::socket::{self, SocketError};
use super::wire::{
    AddProject, CreateThread, Created, ErrorView, FeedLine, HostView, PROTOCOL, PROTOCOL_HEADER,
    ProjectView, RequestView, RespondTo, Resumed, SendMessage, SentView, StopThread, Stopped,
    ThreadDetailView, ThreadRowView,
};

/// Most bytes of one answer: a page of 100 items of the longest text, escaped.
const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Most bytes of one line of a feed: the longest item, escaped.
const FEED_LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Talks to the server of one data folder.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens.
    #[error("no server runs on {}: start one with `weft serve`, or name another folder with --data-folder", folder.display())]
    NotRunning {
        /// The data folder.
        folder: PathBuf,
    },
    /// The socket can't be used.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The system refused the socket.
    #[error("{path}: {source}")]
    Unreachable {
        /// The socket.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The server refused.
    #[error("{}", .0.message)]
    Refused(ErrorView),
    /// The server went away, or answered what this program can't read.
    #[error("the server's answer can't be used: {0}")]
    Broken(String),
}

impl ClientError {
    /// The refusal's word, where the server refused.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(error) => Some(&error.code),
            _ => None,
        }
    }
}

fn broken(error: impl std::fmt::Display) -> ClientError {
    ClientError::Broken(error.to_string())
}

impl Client {
    /// A client of the server on this data folder.
    #[must_use]
    pub fn new(data_folder: &Path) -> Self {
        Self {
            socket: socket::socket_path(data_folder),
        }
    }

    /// The host itself.
    ///
    /// # Errors
    /// [`ClientError`], as every call here.
    pub async fn host(&self) -> Result<HostView, ClientError> {
        self.get("/v1/host").await
    }

    /// Every Project.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn projects(&self) -> Result<Vec<ProjectView>, ClientError> {
        self.get("/v1/projects").await
    }

    /// Registers a Project.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn add_project(&self, request: &AddProject) -> Result<ProjectView, ClientError> {
        self.post("/v1/projects", request).await
    }

    /// A page of threads, the newest change first.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn threads(
        &self,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<ThreadRowView>, ClientError> {
        self.get(&format!("/v1/threads?offset={offset}&limit={limit}"))
            .await
    }

    /// Makes a thread.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn create_thread(&self, request: &CreateThread) -> Result<Created, ClientError> {
        self.post("/v1/threads", request).await
    }

    /// One thread with a page of its timeline.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn thread(&self, id: &str, after: u64) -> Result<ThreadDetailView, ClientError> {
        let id = escaped(id);
        self.get(&format!("/v1/threads/{id}?after={after}&limit={PAGE_MAX}"))
            .await
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn send(&self, id: &str, request: &SendMessage) -> Result<SentView, ClientError> {
        self.post(&format!("/v1/threads/{}/messages", escaped(id)), request)
            .await
    }

    /// Stops a thread.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn stop(&self, id: &str, request: &StopThread) -> Result<Stopped, ClientError> {
        self.post(&format!("/v1/threads/{}/stop", escaped(id)), request)
            .await
    }

    /// Lets the held runs of a thread's queue go on.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn resume(&self, id: &str) -> Result<Resumed, ClientError> {
        self.post(&format!("/v1/threads/{}/resume", escaped(id)), &())
            .await
    }

    /// Pending requests, of one thread or of all.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn requests(&self, thread: Option<&str>) -> Result<Vec<RequestView>, ClientError> {
        match thread {
            Some(id) => {
                self.get(&format!("/v1/requests?thread={}", escaped(id)))
                    .await
            }
            None => self.get("/v1/requests").await,
        }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn respond(&self, id: &str, request: &RespondTo) -> Result<(), ClientError> {
        let path = format!("/v1/requests/{}/reply", escaped(id));
        let body = serde_json::to_vec(request).map_err(broken)?;
        let response = self.exchange(Method::POST, &path, body).await?;
        accepted(response).await.map(drop)
    }

    /// Follows the journal after a place in it.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn feed(&self, after: u64) -> Result<FeedReader, ClientError> {
        let path = format!("/v1/feed?after={after}");
        let response = self.exchange(Method::GET, &path, Vec::new()).await?;
        Ok(FeedReader {
            body: accepted(response).await?,
            buffer: BytesMut::new(),
            scanned: 0,
        })
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        answer(self.exchange(Method::GET, path, Vec::new()).await?).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        request: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(request).map_err(broken)?;
        answer(self.exchange(Method::POST, path, body).await?).await
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Response<Incoming>, ClientError> {
        let stream = self.connect().await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(broken)?;
        // Ends by itself when the answer has been read or the sender is gone.
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "weft")
            .header(header::CONTENT_TYPE, "application/json")
            .header(PROTOCOL_HEADER, PROTOCOL)
            .body(Full::new(Bytes::from(body)))
            .map_err(broken)?;
        sender.send_request(request).await.map_err(broken)
    }

    async fn connect(&self) -> Result<UnixStream, ClientError> {
        use std::io::ErrorKind;
        socket::check_length(&self.socket)?;
        match timeout(CONNECT_TIMEOUT, UnixStream::connect(&self.socket)).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error))
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::ConnectionRefused
                ) =>
            {
                let folder = self
                    .socket
                    .ancestors()
                    .nth(2)
                    .unwrap_or(&self.socket)
                    .to_owned();
                Err(ClientError::NotRunning { folder })
            }
            Ok(Err(source)) => Err(self.unreachable(source)),
            Err(_) => Err(self.unreachable(ErrorKind::TimedOut.into())),
        }
    }

    fn unreachable(&self, source: std::io::Error) -> ClientError {
        ClientError::Unreachable {
            path: self.socket.display().to_string(),
            source,
        }
    }
}

/// The body of an accepted call; a refusal becomes an error.
async fn accepted(response: Response<Incoming>) -> Result<Incoming, ClientError> {
    if response.status().is_success() {
        return Ok(response.into_body());
    }
    let status = response.status();
    let bytes = whole(response.into_body()).await?;
    match serde_json::from_slice::<ErrorView>(&bytes) {
        Ok(error) => Err(ClientError::Refused(error)),
        Err(_) => Err(ClientError::Broken(format!("status {status}"))),
    }
}

async fn answer<T: DeserializeOwned>(response: Response<Incoming>) -> Result<T, ClientError> {
    let body = accepted(response).await?;
    serde_json::from_slice(&whole(body).await?).map_err(broken)
}

async fn whole(body: Incoming) -> Result<Bytes, ClientError> {
    Ok(Limited::new(body, ANSWER_BYTES_MAX)
        .collect()
        .await
        .map_err(broken)?
        .to_bytes())
}

/// Escapes everything that is not plain in a path or query.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Reads a feed line by line.
#[derive(Debug)]
pub struct FeedReader {
    body: Incoming,
    buffer: BytesMut,
    /// Bytes of the buffer known to hold no line end.
    scanned: usize,
}

impl FeedReader {
    /// The next line; `None` when the server closed the feed.
    ///
    /// # Errors
    /// [`ClientError::Broken`] when the server is silent for too long or what it sends can't be read.
    pub async fn next(&mut self) -> Result<Option<FeedLine>, ClientError> {
        loop {
            let unread = self.buffer.get(self.scanned..).unwrap_or_default();
            if let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(self.scanned + end);
                self.buffer.advance(1);
                self.scanned = 0;
                return serde_json::from_slice(&line).map(Some).map_err(broken);
            }
            self.scanned = self.buffer.len();
            if self.scanned > FEED_LINE_BYTES_MAX {
                return Err(ClientError::Broken(
                    "a line of the feed has no end".to_owned(),
                ));
            }
            let silence = |_| ClientError::Broken("the server is silent".to_owned());
            let frame = timeout(FEED_SILENCE_MAX, self.body.frame())
                .await
                .map_err(silence)?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(broken(error)),
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.buffer.extend_from_slice(data);
                    }
                }
            }
        }
    }
}
