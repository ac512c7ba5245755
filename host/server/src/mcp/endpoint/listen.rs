//! Serving a router on a listener.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::Router;
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::mcp::limits::SHUTDOWN_GRACE;

/// Address agents on this machine reach the endpoint at. A wildcard address becomes the loopback one.
#[must_use]
pub fn endpoint_url(bound: SocketAddr) -> String {
    let host = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    format!("http://{}/mcp", SocketAddr::new(host, bound.port()))
}

/// Serves until `stop` fires and then until running requests have ended, at most
/// [`SHUTDOWN_GRACE`] longer.
///
/// # Errors
/// Accepting connections failed for good.
pub async fn listen(
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let listener = listener.tap_io(|stream| {
        // An event goes out in several writes; held back for their acknowledgements each costs 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its send delay");
        }
    });
    let stopped = stop.clone();
    let serving = axum::serve(listener, router)
        .with_graceful_shutdown(async move { stopped.cancelled().await })
        .into_future();
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        served = &mut serving => return served,
        () = stop.cancelled() => {}
    }
    match tokio::time::timeout(SHUTDOWN_GRACE, serving).await {
        Ok(served) => served,
        Err(_) => {
            tracing::info!("requests still running at shutdown are cut");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_handed_out_is_reachable_from_this_machine() {
        for (bound, url) in [
            ("0.0.0.0:7420", "http://127.0.0.1:7420/mcp"),
            ("127.0.0.1:7420", "http://127.0.0.1:7420/mcp"),
            ("192.168.1.5:80", "http://192.168.1.5:80/mcp"),
            ("[::]:7420", "http://[::1]:7420/mcp"),
            ("[::1]:7420", "http://[::1]:7420/mcp"),
        ] {
            assert_eq!(endpoint_url(bound.parse().expect("address")), url);
        }
    }
}
