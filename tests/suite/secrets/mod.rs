//! Where the two secrets of a session, the bearer of Weft's tools and the key of the model, can be seen.
//!
//! A small program between the host and codex keeps a copy of what the host hands over, so that a test knows the
//! bearer. The copy lies outside everything that is searched.

mod exposed;
mod handed;
mod hidden;
