//! The human API over a local socket, and the client the command line uses. Apart from `/mcp`: no credential
//! opens it, and no agent may.

pub mod client;
mod convert;
mod feed;
pub mod limits;
pub mod peer;
mod routes;
pub mod socket;
pub mod wire;

use axum::extract::connect_info::IntoMakeServiceWithConnectInfo;
use tokio::net::UnixListener;

pub use routes::{LocalApi, router};

use peer::Peer;

/// Serves people until the API's stop token fires and their calls have ended.
///
/// # Errors
/// When the socket can't be listened on any more.
pub async fn listen(listener: UnixListener, api: LocalApi) -> std::io::Result<()> {
    let stop = api.stop.clone();
    let service: IntoMakeServiceWithConnectInfo<_, Peer> =
        router(api).into_make_service_with_connect_info();
    axum::serve(listener, service)
        .with_graceful_shutdown(async move { stop.cancelled().await })
        .await
}
