//! Frames on their way to a process's standard input: bounded in number and size.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

use crate::limits;

/// Why a frame was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StdinError {
    /// The process does not read: the queue is at its bound.
    Stalled,
    /// The process is gone or its input was closed.
    Closed,
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct StdinQueue {
    frames: mpsc::Sender<Vec<u8>>,
    bytes: Arc<AtomicUsize>,
}

impl StdinQueue {
    /// Starts the task that writes.
    pub(crate) fn start(pipe: ChildStdin) -> Self {
        let (frames, receiver) = mpsc::channel(limits::STDIN_FRAMES_MAX);
        let bytes = Arc::new(AtomicUsize::new(0));
        tokio::spawn(write_frames(pipe, receiver, Arc::clone(&bytes)));
        Self { frames, bytes }
    }

    /// Takes one frame and puts a line feed behind it. Never waits.
    pub(crate) fn push(&self, frame: &str) -> Result<(), StdinError> {
        let size = frame.len() + 1;
        // Only the session's own task pushes, so nothing is added between these two lines.
        let waiting = self.bytes.load(Ordering::Acquire);
        if waiting > 0 && waiting + size > limits::STDIN_BYTES_MAX {
            return Err(StdinError::Stalled);
        }
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(frame.as_bytes());
        bytes.push(b'\n');
        self.bytes.fetch_add(size, Ordering::AcqRel);
        self.frames.try_send(bytes).map_err(|error| {
            self.bytes.fetch_sub(size, Ordering::AcqRel);
            match error {
                mpsc::error::TrySendError::Full(_) => StdinError::Stalled,
                mpsc::error::TrySendError::Closed(_) => StdinError::Closed,
            }
        })
    }
}

/// Ends when the queue is dropped, which closes the pipe, or when the process no longer reads.
async fn write_frames(
    mut pipe: ChildStdin,
    mut frames: mpsc::Receiver<Vec<u8>>,
    bytes: Arc<AtomicUsize>,
) {
    while let Some(frame) = frames.recv().await {
        let written = pipe.write_all(&frame).await;
        bytes.fetch_sub(frame.len(), Ordering::AcqRel);
        if let Err(error) = written {
            // The process ended or closed its input; its exit tells the rest.
            tracing::debug!(%error, "a process no longer reads its standard input");
            return;
        }
    }
}
