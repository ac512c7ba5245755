//! Answers to questions and approvals.

use crate::command::{Answer, AnsweredBy};
use crate::effect::Effect;
use crate::error::{Denial, DenialCode};
use crate::ids::RequestId;
use crate::request::{Approval, Choice, Prompt, Question, QuestionAnswer, Reply, RequestStatus};
use crate::view::View;

use super::draft::Draft;
use super::{Ruled, refuse};

/// What stands in the journal in place of an answer that is a secret.
const SECRET_ANSWER: &str = "(secret)";

pub(super) fn respond<V: View>(
    draft: &mut Draft<'_, V>,
    request_id: &RequestId,
    reply: &Reply,
    answered_by: AnsweredBy,
) -> Ruled<V> {
    let Some(mut request) = draft.request(request_id)? else {
        refuse!(RequestNotFound, "There is no request {request_id}.")
    };
    match &request.status {
        RequestStatus::Pending => {}
        RequestStatus::Resolved(_) => {
            refuse!(
                RequestNotPending,
                "The request {request_id} has been answered already."
            )
        }
        RequestStatus::Invalidated(reason) => {
            refuse!(
                RequestNotPending,
                "The request {request_id} is no longer open: {reason}."
            )
        }
    }
    if let (Prompt::Approval(_), AnsweredBy::Agent) = (&request.prompt, answered_by) {
        refuse!(HumanOnly, "Only a person may decide an approval.");
    }
    if let Err(denial) = check_reply(&request.prompt, reply) {
        return Ok(Err(denial));
    }
    draft.effect(Effect::Respond {
        thread_id: request.thread_id.clone(),
        request_id: request.id.clone(),
        reply: reply.clone(),
    });
    request.status = RequestStatus::Resolved(without_secrets(&request.prompt, reply));
    request.resolved_at = Some(draft.now());
    draft.put_request(request);
    Ok(Ok(Answer::Done))
}

fn check_reply(prompt: &Prompt, reply: &Reply) -> Result<(), Denial> {
    match (prompt, reply) {
        (Prompt::Approval(approval), Reply::Decision { choice, .. }) => {
            check_choice(approval, *choice)
        }
        (_, Reply::Dismissed(_)) => Ok(()),
        (Prompt::Questions(questions), Reply::Answers(answers)) => {
            check_answers(questions, answers)
        }
        (Prompt::Approval(_), Reply::Answers(_)) => {
            Err(invalid("This is an approval: allow or deny it.".to_owned()))
        }
        (Prompt::Questions(_), Reply::Decision { .. }) => {
            Err(invalid("These are questions: answer them.".to_owned()))
        }
    }
}

fn check_choice(approval: &Approval, choice: Choice) -> Result<(), Denial> {
    if approval.choices.is_empty() || approval.choices.contains(&choice) {
        return Ok(());
    }
    let taken: Vec<&str> = approval.choices.iter().map(|c| c.word()).collect();
    Err(invalid(format!(
        "This approval does not take {}. It takes: {}.",
        choice.word(),
        taken.join(", ")
    )))
}

fn check_answers(questions: &[Question], answers: &[QuestionAnswer]) -> Result<(), Denial> {
    for (at, answer) in answers.iter().enumerate() {
        let Some(question) = questions
            .iter()
            .find(|q| q.question_id == answer.question_id)
        else {
            let known: Vec<&str> = questions.iter().map(|q| q.question_id.as_str()).collect();
            return Err(invalid(format!(
                "There is no question {}. The questions are: {}.",
                answer.question_id,
                known.join(", ")
            )));
        };
        if answers
            .iter()
            .take(at)
            .any(|earlier| earlier.question_id == answer.question_id)
        {
            return Err(invalid(format!(
                "The question {} is answered twice.",
                answer.question_id
            )));
        }
        check_values(question, answer)?;
    }
    let answered = |question: &&Question| {
        answers
            .iter()
            .any(|a| a.question_id == question.question_id && !a.values.is_empty())
    };
    match questions
        .iter()
        .filter(|q| q.required)
        .find(|q| !answered(q))
    {
        Some(open) => Err(invalid(format!(
            "The question {} ({}) needs an answer.",
            open.question_id, open.text
        ))),
        None => Ok(()),
    }
}

fn check_values(question: &Question, answer: &QuestionAnswer) -> Result<(), Denial> {
    if answer.values.len() > 1 && !question.multi_select {
        return Err(invalid(format!(
            "The question {} takes one answer.",
            question.question_id
        )));
    }
    if question.custom_answer || question.options.is_empty() {
        return Ok(());
    }
    let offered = |value: &&String| !question.options.iter().any(|o| o.value == **value);
    match answer.values.iter().find(offered) {
        Some(value) => {
            let words: Vec<&str> = question.options.iter().map(|o| o.value.as_str()).collect();
            Err(invalid(format!(
                "The question {} does not offer {value}. It offers: {}.",
                question.question_id,
                words.join(", ")
            )))
        }
        None => Ok(()),
    }
}

fn without_secrets(prompt: &Prompt, reply: &Reply) -> Reply {
    let (Prompt::Questions(questions), Reply::Answers(answers)) = (prompt, reply) else {
        return reply.clone();
    };
    let is_secret = |id: &str| questions.iter().any(|q| q.question_id == id && q.secret);
    Reply::Answers(
        answers
            .iter()
            .map(|answer| QuestionAnswer {
                question_id: answer.question_id.clone(),
                values: if is_secret(&answer.question_id) {
                    vec![SECRET_ANSWER.to_owned()]
                } else {
                    answer.values.clone()
                },
            })
            .collect(),
    )
}

fn invalid(message: String) -> Denial {
    Denial::new(DenialCode::InvalidRequest, message)
}
