//! The endpoint over real sockets: raw requests in both forms, and rmcp's own client.

mod checks;
mod client;
mod fixture;
mod journal;
mod sessions;
mod waits;
mod wire;

use super::*;

#[test]
fn every_setting_of_rmcps_endpoint_is_ours() {
    let own = |list: &[&str]| {
        list.iter()
            .map(|entry| (*entry).to_owned())
            .collect::<Vec<_>>()
    };
    let neighbourhood = Neighbourhood::new(
        &own(&["localhost", "127.0.0.1:7420", "::1"]),
        &own(&["http://localhost:*", "https://console.example"]),
    )
    .expect("good lists");
    let config = rmcp_config(
        &neighbourhood,
        Duration::from_secs(10),
        CancellationToken::new(),
    );
    assert_eq!(
        config.allowed_hosts,
        ["localhost", "127.0.0.1:7420", "[::1]"]
    );
    assert_eq!(
        config.allowed_origins,
        ["http://localhost:*", "https://console.example:443"]
    );
    assert_eq!(config.sse_keep_alive, Some(Duration::from_secs(10)));
    assert_eq!(config.sse_retry, Some(Duration::from_secs(3)));
    assert!(config.legacy_session_mode);
    assert!(!config.json_response);
    assert!(config.session_store.is_none());
    assert_eq!(config.max_request_body_bytes, 16 * 1024 * 1024);
    assert!(!config.stateless_protocol_metadata_required);
    // One field is private and one is a token; a further one would show here.
    let printed = format!("{config:?}");
    let fields = [
        "cancellation_token",
        "validate_empty_origin_allowlist: true",
    ];
    assert!(
        fields.iter().all(|field| printed.contains(field)),
        "{printed}"
    );
    let names = printed.matches(": ").count();
    assert!(
        printed.starts_with("StreamableHttpServerConfig { sse_keep_alive"),
        "{printed}"
    );
    assert!(names >= 11, "{printed}");
}
