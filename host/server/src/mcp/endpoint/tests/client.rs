//! rmcp's own client, in both lifecycles.

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::json;

use super::fixture::Host;
use crate::mcp::endpoint_url;

#[tokio::test]
async fn rmcps_client_lists_calls_and_waits_in_both_lifecycles() {
    for lifecycle in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    ] {
        let host = Host::start().await;
        let config = StreamableHttpClientTransportConfig::with_uri(endpoint_url(host.address))
            .auth_header(host.token("thread-1"));
        let transport = StreamableHttpClientTransport::from_config(config);
        let client = serve_client_with_lifecycle((), transport, lifecycle)
            .await
            .expect("a connection");
        let tools = client.list_all_tools().await.expect("a list");
        assert_eq!(tools.len(), 4);
        let echo = CallToolRequestParams::new("echo");
        let answer = client
            .call_tool(echo)
            .await
            .expect("an answer")
            .structured_content;
        assert_eq!(answer.expect("structured")["caller"], "thread-1");
        let refused = client
            .call_tool(CallToolRequestParams::new("refuse"))
            .await
            .expect("an answer");
        assert_eq!(refused.is_error, Some(true));
        assert!(
            client
                .call_tool(CallToolRequestParams::new("nothing"))
                .await
                .is_err()
        );
        let wait = client.call_tool(CallToolRequestParams::new("wait"));
        let release = async {
            host.call_begun().await;
            host.bench.release.add_permits(1);
        };
        let (answer, ()) = tokio::join!(wait, release);
        let answer = answer.expect("an answer").structured_content;
        assert_eq!(answer, Some(json!({ "ended": "released" })));
        client.cancel().await.expect("a clean end");
        host.stop().await;
    }
}
