use serde_json::{Value, json};

/// Namespace of Weft's tools, as codex derives it from the server's default key `t3-code`.
const WEFT_NAMESPACE: &str = "mcp__t3_code";

/// Stands between the server's key and the tool's name in flat names.
const FLAT_SEPARATOR: &str = "__";

/// The tools a request lists, as pairs of namespace and name.
#[derive(Debug)]
pub(crate) struct Tools {
    listed: Vec<(Option<String>, String)>,
}

impl Tools {
    pub(crate) fn listed_in(body: &Value) -> Self {
        let tools = body
            .get("tools")
            .and_then(Value::as_array)
            .map(Vec::as_slice);
        let mut listed = Vec::new();
        for tool in tools.unwrap_or_default() {
            let Some(name) = name_of(tool) else { continue };
            match tool.get("tools").and_then(Value::as_array) {
                Some(inner) => listed.extend(
                    inner
                        .iter()
                        .filter_map(name_of)
                        .map(|inner| (Some(name.to_owned()), inner.to_owned())),
                ),
                None => listed.push((None, name.to_owned())),
            }
        }
        Self { listed }
    }

    /// Namespace and name to call a function by. `NAMESPACE/NAME` is taken as it is; a bare name is
    /// looked for in the request. One that isn't listed is one of Weft's: codex hides tools of MCP
    /// servers behind a search with some models, and takes the call all the same.
    pub(crate) fn function(&self, written: &str) -> (Option<String>, String) {
        if written.contains('/') {
            return split(written);
        }
        if let Some((namespace, name)) = self.listed.iter().find(|(_, name)| name == written) {
            return (namespace.clone(), name.clone());
        }
        let flat_end = format!("{FLAT_SEPARATOR}{written}");
        if let Some((namespace, name)) = self
            .listed
            .iter()
            .find(|(_, name)| name.ends_with(&flat_end))
        {
            return (namespace.clone(), name.clone());
        }
        (Some(WEFT_NAMESPACE.to_owned()), written.to_owned())
    }

    /// Name and arguments that run a command with the shell tool of the request.
    pub(crate) fn shell(&self, command: &str) -> Option<(String, Value)> {
        let candidates = [
            ("exec_command", json!({"cmd": command})),
            ("shell_command", json!({"command": command})),
            ("shell", json!({"command": ["bash", "-lc", command]})),
        ];
        candidates
            .into_iter()
            .find(|(name, _)| {
                self.listed
                    .iter()
                    .any(|(space, tool)| space.is_none() && tool == name)
            })
            .map(|(name, arguments)| (name.to_owned(), arguments))
    }

    /// Why [`Self::shell`] found nothing.
    pub(crate) fn no_shell(&self) -> String {
        let names: Vec<&str> = self.listed.iter().map(|(_, name)| name.as_str()).collect();
        format!(
            "`shell`: the request lists no shell tool; it lists {}",
            names.join(", ")
        )
    }
}

fn name_of(tool: &Value) -> Option<&str> {
    tool.get("name").and_then(Value::as_str)
}

/// Splits `NAMESPACE/NAME`; without a slash there is no namespace.
pub(crate) fn split(written: &str) -> (Option<String>, String) {
    match written.split_once('/') {
        Some((namespace, name)) => (Some(namespace.to_owned()), name.to_owned()),
        None => (None, written.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(listed: &Value) -> Tools {
        Tools::listed_in(&json!({ "tools": listed }))
    }

    #[test]
    fn a_function_is_called_the_way_the_request_lists_it() {
        let namespaced =
            json!([{"type": "namespace", "name": "mcp__x", "tools": [{"name": "task_status"}]}]);
        let flat = json!([{"type": "function", "name": "mcp__t3-code__task_status"}]);
        let own = json!([{"type": "function", "name": "update_plan"}, {"type": "web_search"}]);
        let table = [
            (&namespaced, "task_status", Some("mcp__x"), "task_status"),
            (&flat, "task_status", None, "mcp__t3-code__task_status"),
            (&own, "update_plan", None, "update_plan"),
            (&own, "task_status", Some("mcp__t3_code"), "task_status"),
            (&namespaced, "a/b", Some("a"), "b"),
            (
                &Value::Null,
                "task_status",
                Some("mcp__t3_code"),
                "task_status",
            ),
        ];
        for (listed, written, namespace, name) in table {
            let found = tools(listed).function(written);
            assert_eq!(
                found,
                (namespace.map(str::to_owned), name.to_owned()),
                "{written} {listed}"
            );
        }
    }

    #[test]
    fn a_command_runs_with_the_listed_shell_tool() {
        let table = [
            ("exec_command", json!({"cmd": "ls"})),
            ("shell_command", json!({"command": "ls"})),
            ("shell", json!({"command": ["bash", "-lc", "ls"]})),
        ];
        for (name, arguments) in table {
            let listed = json!([{"type": "function", "name": "view_image"}, {"type": "function", "name": name}]);
            assert_eq!(
                tools(&listed).shell("ls"),
                Some((name.to_owned(), arguments))
            );
        }
        let none = tools(&json!([{"type": "function", "name": "view_image"}]));
        assert_eq!(none.shell("ls"), None);
        assert_eq!(
            none.no_shell(),
            "`shell`: the request lists no shell tool; it lists view_image"
        );
    }
}
