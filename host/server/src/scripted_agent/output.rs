use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tokio::sync::{mpsc, oneshot};

use super::limits::{EVENTS_QUEUED_MAX, FLOOD_CHUNK_BYTES};
use super::protocol::{Event, ItemId, RequestId};

/// Nobody reads the output any more: the host is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostGone;

/// What is written next.
#[derive(Debug)]
enum Frame {
    Line(String),
    /// Text without a line end.
    Part(String),
    /// A line of this many bytes.
    Flood(u64),
    /// Answered when all before it has left the process.
    Flush(oneshot::Sender<()>),
}

/// The way to the host, shared by all threads.
#[derive(Debug, Clone)]
pub(super) struct Output {
    frames: mpsc::Sender<Frame>,
    ids: Arc<AtomicU64>,
}

/// Starts the thread that writes: a pipe can't be written without blocking.
pub(super) fn start(writer: impl Write + Send + 'static) -> io::Result<Output> {
    let (frames, mut receiver) = mpsc::channel(EVENTS_QUEUED_MAX);
    thread::Builder::new()
        .name("scripted-agent-output".to_owned())
        .spawn(move || {
            let mut writer = BufWriter::new(writer);
            while let Some(frame) = receiver.blocking_recv() {
                // A failed write ends this thread, which closes the queue, which tells everybody.
                let written = write_frame(&mut writer, frame).and_then(|()| {
                    if receiver.is_empty() {
                        writer.flush()
                    } else {
                        Ok(())
                    }
                });
                if written.is_err() {
                    break;
                }
            }
        })?;
    Ok(Output {
        frames,
        ids: Arc::new(AtomicU64::new(1)),
    })
}

fn write_frame(writer: &mut impl Write, frame: Frame) -> io::Result<()> {
    match frame {
        Frame::Line(line) => writeln!(writer, "{line}"),
        Frame::Part(part) => writer.write_all(part.as_bytes()),
        Frame::Flood(bytes) => {
            let filler = [b'x'; FLOOD_CHUNK_BYTES];
            let mut left = bytes;
            while left > 0 {
                let count = usize::try_from(left)
                    .unwrap_or(usize::MAX)
                    .min(filler.len());
                writer.write_all(filler.get(..count).unwrap_or(&filler))?;
                left -= count as u64;
            }
            writeln!(writer)
        }
        Frame::Flush(done) => {
            writer.flush()?;
            // Whoever waited may have been interrupted.
            let _ = done.send(());
            Ok(())
        }
    }
}

impl Output {
    pub(super) async fn emit(&self, event: &Event) -> Result<(), HostGone> {
        match serde_json::to_string(event) {
            Ok(line) => self.line(line).await,
            Err(error) => {
                self.line(format!("an event can't be written: {error}"))
                    .await
            }
        }
    }

    /// Writes a line that is no event.
    pub(super) async fn line(&self, line: String) -> Result<(), HostGone> {
        self.send(Frame::Line(line)).await
    }

    /// Writes the beginning of a line.
    pub(super) async fn part(&self, part: String) -> Result<(), HostGone> {
        self.send(Frame::Part(part)).await
    }

    /// Writes one long line.
    pub(super) async fn flood(&self, bytes: u64) -> Result<(), HostGone> {
        self.send(Frame::Flood(bytes)).await
    }

    /// Waits until everything so far has left the process.
    pub(super) async fn flushed(&self) -> Result<(), HostGone> {
        let (done, receiver) = oneshot::channel();
        self.send(Frame::Flush(done)).await?;
        receiver.await.map_err(|_| HostGone)
    }

    /// Waits until nobody reads any more.
    pub(super) async fn closed(&self) {
        self.frames.closed().await;
    }

    /// An id for an entry of a turn, unique in this process.
    pub(super) fn next_item(&self) -> ItemId {
        ItemId(format!("item-{}", self.next_number()))
    }

    /// An id for a request, unique in this process.
    pub(super) fn next_request(&self) -> RequestId {
        RequestId(format!("request-{}", self.next_number()))
    }

    fn next_number(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    async fn send(&self, frame: Frame) -> Result<(), HostGone> {
        self.frames.send(frame).await.map_err(|_| HostGone)
    }
}
