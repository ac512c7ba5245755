//! Short words for what tests say again and again.

use domain::authority::{Authority, HumanEntry};
use domain::error::{Denial, DenialCode};
use domain::provider_event::{Failure, FailureClass, TurnOutcome};
use domain::request::{Approval, Choice, Prompt, Question};
use threads::service::{CallKey, DelegateRequest, NewThread, TargetRequest, WaitMode};

/// Longer than any test: a wait with it ends by what happens. One that misses it fails its test after this.
pub(in crate::contract) const LONG: WaitMode = WaitMode::WaitMs(60_000);

/// A person at the command line.
pub(in crate::contract) static PERSON: Authority = Authority::Human(HumanEntry::CommandLine);

/// A thread with everything as configured, and no prompt.
pub(in crate::contract) fn new_thread() -> NewThread {
    NewThread {
        project: "weft".to_owned(),
        provider: None,
        model: None,
        runtime_mode: None,
        interaction_mode: None,
        title: None,
        prompt: None,
    }
}

/// A delegation with everything inherited, without waiting.
pub(in crate::contract) fn asking(task: &str) -> DelegateRequest {
    DelegateRequest {
        task: task.to_owned(),
        target: TargetRequest::default(),
        title: None,
        role: None,
        runtime_mode: None,
        interaction_mode: None,
        wait: WaitMode::Async,
        call: call(None, task),
    }
}

/// A delegation that is waited for.
pub(in crate::contract) fn waiting(task: &str, wait: WaitMode) -> DelegateRequest {
    DelegateRequest {
        wait,
        ..asking(task)
    }
}

pub(in crate::contract) fn call(key: Option<&str>, digest: &str) -> CallKey {
    CallKey {
        key: key.map(str::to_owned),
        digest: digest.to_owned(),
    }
}

pub(in crate::contract) fn failure(message: &str) -> TurnOutcome {
    TurnOutcome::Failed(Failure {
        class: FailureClass::ProviderError,
        message: message.to_owned(),
        code: None,
        retryable: None,
    })
}

/// One question with a free answer.
pub(in crate::contract) fn question() -> Prompt {
    Prompt::Questions(vec![Question {
        question_id: "colour".to_owned(),
        header: "Colour".to_owned(),
        text: "Which colour?".to_owned(),
        options: Vec::new(),
        multi_select: false,
        custom_answer: true,
        secret: false,
        required: true,
    }])
}

pub(in crate::contract) fn approval() -> Prompt {
    Prompt::Approval(Approval {
        kind: "command".to_owned(),
        title: "rm -r target".to_owned(),
        reason: None,
        choices: vec![Choice::Accept, Choice::Decline],
        options: Vec::new(),
    })
}

/// The code a call was refused with.
pub(in crate::contract) fn code<T: std::fmt::Debug>(result: Result<T, Denial>) -> DenialCode {
    let denial = result.unwrap_err();
    assert!(!denial.message.is_empty(), "a refusal says what to do");
    denial.code
}
