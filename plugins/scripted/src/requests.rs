//! What the agent asks: approvals and questions.
#![forbid(unsafe_code)]

use driver_sdk::clip;
use driver_sdk::types::{Approval, Event, Prompt, Question, QuestionOption, Request};

use crate::core::Scripted;
use crate::limits::APPROVAL_TITLE_BYTES_MAX;
use crate::state::{OpenRequest, RequestKind};
use crate::wire;

/// Decisions the agent takes.
const DECISIONS: [&str; 5] = [
    "accept",
    "acceptForSession",
    "acceptAlways",
    "decline",
    "cancel",
];

impl Scripted {
    pub(crate) fn asked(
        &mut self,
        turn_id: String,
        request_id: String,
        kind: RequestKind,
        prompt: Prompt,
    ) {
        let Some(thread) = self.thread_of_turn(&turn_id) else {
            return;
        };
        let request = Request {
            request_id: request_id.clone(),
            thread_id: thread.host_id.clone(),
            turn_id: Some(turn_id.clone()),
            item_id: None,
            blocking: true,
            prompt,
            detail_json: "{}".to_owned(),
            extra: None,
        };
        self.requests.push(OpenRequest {
            request_id,
            turn: turn_id,
            kind,
            answer_effect: None,
        });
        self.out.emit(Event::Request(request));
    }

    pub(crate) fn request_closed(&mut self, request_id: String, reason: &str) {
        let Some(position) = self
            .requests
            .iter()
            .position(|open| open.request_id == request_id)
        else {
            return;
        };
        let request = self.requests.remove(position);
        if let Some(effect_id) = &request.answer_effect {
            match reason {
                // The request's end is the answer.
                "answered" => {
                    self.effects.settle(effect_id);
                }
                _ => self.refuse_open(effect_id, "The turn ended before."),
            }
        }
        let reason = match reason {
            "answered" | "turn-ended" => reason,
            _ => "withdrawn",
        };
        self.report_closed(request_id, reason);
    }
}

pub(crate) fn approval(title: &str) -> Prompt {
    Prompt::Approval(Approval {
        kind: "permission".to_owned(),
        title: clip::shortened(title, APPROVAL_TITLE_BYTES_MAX),
        reason: None,
        choices: DECISIONS.iter().map(|word| (*word).to_owned()).collect(),
        options: Vec::new(),
    })
}

pub(crate) fn question(asked: wire::Question) -> Question {
    let option = |value: String| QuestionOption {
        label: value.clone(),
        value,
        description: None,
    };
    Question {
        question_id: asked.id,
        header: asked.header,
        text: asked.text,
        options: asked.options.into_iter().map(option).collect(),
        multi_select: false,
        custom_answer: true,
        secret: false,
        required: true,
    }
}
