//! One agent delegates to another, on the real thing.

mod codex;
mod scripted;
