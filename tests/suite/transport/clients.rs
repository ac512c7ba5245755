//! rmcp's own client against the running server, in both lifecycles.

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};

use super::parent::Parent;

fn call(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

#[tokio::test(flavor = "multi_thread")]
async fn rmcps_client_finds_and_calls_all_four_tools_in_both_lifecycles() {
    let parent = Parent::start("say over");
    for lifecycle in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    ] {
        let config =
            StreamableHttpClientTransportConfig::with_uri(parent.host.mcp_url().to_owned())
                .auth_header(parent.token.clone());
        let transport = StreamableHttpClientTransport::from_config(config);
        let client = serve_client_with_lifecycle((), transport, lifecycle)
            .await
            .unwrap();
        let tools = client.list_all_tools().await.unwrap();
        let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "delegate_task",
                "orchestrator_capabilities",
                "task_cancel",
                "task_status"
            ]
        );
        let answer = async |call: CallToolRequestParams| {
            let result = client.call_tool(call).await.unwrap();
            assert_ne!(result.is_error, Some(true), "{result:?}");
            result.structured_content.unwrap()
        };
        let offered = answer(call("orchestrator_capabilities", json!({}))).await;
        assert_eq!(offered["parentThreadId"], parent.thread);
        let waited = json!({ "task": "script: slow 3 500", "mode": "wait" });
        let waited = answer(call("delegate_task", waited)).await;
        assert_eq!(waited["status"], "completed", "{waited}");
        let begun = answer(call("delegate_task", json!({ "task": "script: hang" }))).await;
        let task = json!({ "taskId": begun["taskId"] });
        let status = answer(call("task_status", task.clone())).await;
        assert_eq!(status["workState"], "working", "{status}");
        let cancelled = answer(call("task_cancel", task)).await;
        assert_eq!(cancelled["taskId"], begun["taskId"]);
        let unknown = client
            .call_tool(call("task_status", json!({ "taskId": "task-0" })))
            .await
            .unwrap();
        assert_eq!(unknown.is_error, Some(true));
        assert_eq!(
            unknown.structured_content.unwrap()["code"],
            "task_not_found"
        );
        client.cancel().await.unwrap();
    }
}
