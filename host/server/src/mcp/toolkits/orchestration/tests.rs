use domain::authority::Capability;
use rmcp::model::ListToolsResult;
use serde_json::Value;

use super::super::{describe_tools, offered_tools};
use crate::mcp::limits::{BYTES_PER_TOKEN, DESCRIPTION_CHARS_MAX, TOOL_LIST_TOKENS_MAX};
use crate::mcp::tool_rows;

#[test]
fn the_tools_clients_see() {
    let tools: Vec<_> = tool_rows().iter().map(|row| row.tool.clone()).collect();
    insta::assert_json_snapshot!("tools_list", ListToolsResult::with_all_items(tools));
}

#[test]
fn the_table_as_people_see_it() {
    let short: Vec<_> = describe_tools()
        .into_iter()
        .map(|tool| (tool.name, tool.toolkit, tool.endpoints, tool.annotations))
        .collect();
    insta::assert_json_snapshot!("tools_short", short);
}

#[test]
fn every_description_fits_and_names_a_neighbour() {
    let names: Vec<_> = describe_tools().into_iter().map(|tool| tool.name).collect();
    for tool in describe_tools() {
        let text = &tool.description;
        assert!(
            text.chars().count() <= DESCRIPTION_CHARS_MAX,
            "{}: {}",
            tool.name,
            text.chars().count()
        );
        let neighbour = names
            .iter()
            .any(|name| *name != tool.name && text.contains(name.as_str()));
        assert!(neighbour, "{}", tool.name);
        assert!(
            text.contains("instead"),
            "{} says when to prefer it",
            tool.name
        );
    }
}

#[test]
fn every_schema_is_an_object_that_refers_to_nothing() {
    for tool in describe_tools() {
        for schema in [&tool.input_schema, &tool.output_schema] {
            assert_eq!(
                schema.get("type"),
                Some(&Value::from("object")),
                "{}",
                tool.name
            );
            assert!(schema.contains_key("properties"), "{}", tool.name);
            assert!(
                !schema.contains_key("anyOf") && !schema.contains_key("oneOf"),
                "{}",
                tool.name
            );
            let text = serde_json::to_string(schema).expect("json");
            assert!(
                !text.contains("$ref") && !text.contains("$defs"),
                "{}",
                tool.name
            );
        }
        assert_eq!(
            tool.input_schema.get("additionalProperties"),
            Some(&Value::Bool(false)),
            "{}",
            tool.name
        );
    }
}

#[test]
fn the_list_of_tools_stays_cheap() {
    let tools: Vec<_> = tool_rows().iter().map(|row| row.tool.clone()).collect();
    let list = serde_json::to_vec(&ListToolsResult::with_all_items(tools)).expect("json");
    assert!(
        list.len() / BYTES_PER_TOKEN <= TOOL_LIST_TOKENS_MAX,
        "{} bytes",
        list.len()
    );
    let sum: usize = describe_tools().iter().map(|tool| tool.token_cost).sum();
    assert!(sum > 0 && sum <= TOOL_LIST_TOKENS_MAX);
}

#[test]
fn a_credential_is_shown_the_tools_of_its_toolkits() {
    let names = |granted: &[Capability]| -> Vec<String> {
        offered_tools(granted)
            .into_iter()
            .map(|tool| tool.name)
            .collect()
    };
    let all = [
        "orchestrator_capabilities",
        "delegate_task",
        "task_status",
        "task_cancel",
    ];
    assert_eq!(names(&[Capability::Orchestration]), all);
    assert_eq!(names(&[]), [""; 0]);
    let read_only: Vec<_> = offered_tools(&[Capability::Orchestration])
        .into_iter()
        .filter(|tool| tool.access == threads::ports::ToolAccess::ReadOnly)
        .map(|tool| tool.name)
        .collect();
    assert_eq!(read_only, ["orchestrator_capabilities"]);
}
