//! Approvals and questions: asked by an agent, shown to a person, answered or not, and never answered by an agent.

mod codex;
mod human;
mod scripted;
