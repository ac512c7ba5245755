//! The endpoint over real sockets: raw requests in both forms, and rmcp's own client.

mod checks;
mod client;
mod fixture;
mod journal;
mod parent;
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
    assert!(!config.cancellation_token.is_cancelled());
    // The last field is private, and a new one would show here.
    let printed = format!("{config:?}");
    assert!(
        printed.contains("validate_empty_origin_allowlist: true"),
        "{printed}"
    );
    let fields = printed.matches(": ").count()
        - format!("{:?}", config.cancellation_token)
            .matches(": ")
            .count();
    assert_eq!(fields, 11, "rmcp has a new setting, decide it: {printed}");
}
