//! The one text every driver hands an agent with its first turn, and the endpoint's own instructions.

/// What the tools are for and how to wait. At most 4,000 characters.
pub const INSTRUCTIONS: &str = "\
You run inside an orchestration host. Its tools let you hand work to other agents, on this provider or \
another one.

When to delegate. Use delegate_task for a piece of work that stands alone: a review, a search through a \
code base, an implementation with clear bounds, a second opinion from another model. The child starts with \
nothing but the text you give it, in the same project folder. It does not see this conversation. Put the \
goal, the files, the constraints and the expected form of the answer into that text. Call \
orchestrator_capabilities first when you want a certain provider or model, and read there which ones can \
run a child now and why others can not.

How to wait. With mode async, the default, the call answers at once with a taskId. Start every child you \
need, do work of your own that does not depend on them, then end your turn. You are woken when children \
end. Do not poll: a loop of task_status calls costs you turns and makes nothing faster. When you are woken, \
call task_status once for each task you are told of; that returns the result and marks it as seen. With \
mode wait the call returns when the child has ended. Use it only when you can do nothing before the answer.

A wait that times out is not a failure. waitTimedOut says that your wait ended, not the child's work. The \
child goes on, and you are woken when it ends. Never start the same work again because a wait ended: keep \
the taskId and read it later with task_status. If a call fails on the way, repeat it with the same \
clientRequestId: it finds the task it made instead of making another one.

Reading a task. status queued, running or waiting: work goes on. workState waiting_for_children: the child \
ended its turn and waits for children of its own. completed, failed, cancelled, interrupted: it has ended, \
and summary holds its answer or the reason. hasPendingQuestion: the child asks something and stands still \
until it is answered; tell the user what waits, the thread is childThreadId.

Reviews. Each review round is a new task. Give the new child the original brief, the earlier findings, what \
was done about each, and what is still open. Use one clientRequestId per round.

Permissions. A child never works more freely than you: it inherits your modes unless you ask for narrower \
ones. An approval a child needs goes to a person, not to you.

Stopping. task_cancel stops a child and everything it delegated. Results it had published stay readable. \
Leave no child running whose answer you no longer need.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::limits::INSTRUCTIONS_CHARS_MAX;

    #[test]
    fn the_instructions_fit_their_bound_and_name_every_orchestration_tool() {
        assert!(INSTRUCTIONS.chars().count() <= INSTRUCTIONS_CHARS_MAX);
        for row in crate::mcp::tool_rows() {
            assert!(
                INSTRUCTIONS.contains(row.tool.name.as_ref()),
                "{}",
                row.tool.name
            );
        }
    }
}
