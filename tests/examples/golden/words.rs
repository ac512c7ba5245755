//! What the story speaks of.

use domain::command::{Command, Delegate, ResolvedTarget, Role};
use domain::ids::{ProviderInstanceId, ThreadId};
use domain::modes::{InteractionMode, RuntimeMode};
use domain::provider::{ModelOption, ModelSelection, OptionValue};
use domain::request::{Approval, Choice, Prompt, Question};
use domain::task::WakePolicy;

pub(crate) const INSTANCE: &str = "codex-main";

pub(crate) fn model() -> ModelSelection {
    ModelSelection {
        model: Some("m1".to_owned()),
        options: vec![
            ModelOption {
                id: "effort".to_owned(),
                value: OptionValue::Text("high".to_owned()),
            },
            ModelOption {
                id: "web".to_owned(),
                value: OptionValue::Toggle(true),
            },
        ],
    }
}

pub(crate) fn delegate(parent: &ThreadId, depth_max: u32) -> Command {
    Command::Delegate(Delegate {
        parent_thread_id: parent.clone(),
        caller_instance_id: ProviderInstanceId::new(INSTANCE),
        task: "Find out why the parser is slow.".to_owned(),
        title: None,
        role: Some(Role::Research),
        target: Ok(ResolvedTarget {
            instance_id: ProviderInstanceId::new(INSTANCE),
            model: model(),
            runtime_modes: RuntimeMode::ALL.to_vec(),
            interaction_modes: InteractionMode::ALL.to_vec(),
        }),
        runtime_mode: None,
        interaction_mode: None,
        wake: WakePolicy::Always,
        depth_max,
    })
}

pub(crate) fn approval() -> Prompt {
    Prompt::Approval(Approval {
        kind: "command".to_owned(),
        title: "cargo clean".to_owned(),
        reason: Some("The build is broken.".to_owned()),
        choices: vec![Choice::Accept, Choice::Decline],
        options: Vec::new(),
    })
}

pub(crate) fn question() -> Prompt {
    Prompt::Questions(vec![Question {
        question_id: "which".to_owned(),
        header: "Parser".to_owned(),
        text: "Which parser do you mean?".to_owned(),
        options: Vec::new(),
        multi_select: false,
        custom_answer: true,
        secret: false,
        required: true,
    }])
}
