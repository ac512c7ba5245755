//! `weft request`: list, answer, allow, deny.

use domain::request::{Choice, Prompt, Question, QuestionAnswer, Reply};

use super::Outcome;
use super::args::RequestCommand;
use super::live::request_lines;
use super::out::Out;
use super::shared::{Failure, Setup};
use crate::config::near_miss;
use crate::local::client::Client;
use crate::local::wire::{RequestView, RespondTo};

pub(super) async fn request(
    out: &mut Out,
    setup: &Setup,
    command: RequestCommand,
) -> Result<Outcome, Failure> {
    let client = setup.client()?;
    match command {
        RequestCommand::List { thread, json } => {
            let requests = client.requests(thread.as_deref()).await?;
            if json {
                out.json(&serde_json::json!({ "requests": requests }))?;
            } else if requests.is_empty() {
                out.line("nothing waits for an answer")?;
            }
            for request in requests.iter().filter(|_| !json) {
                out.line(&format!("{}  thread {}", request.id, request.thread_id))?;
                for line in request_lines(&setup.program(), request) {
                    out.line(&format!("  {line}"))?;
                }
            }
            Ok(Outcome::Done)
        }
        RequestCommand::Answer {
            id,
            values,
            to,
            dismiss,
        } => {
            let reply = match dismiss {
                Some(why) => Reply::Dismissed(why),
                None => Reply::Answers(answers(&pending(&client, &id).await?, values, &to)?),
            };
            respond(out, &client, &id, reply, "answered").await
        }
        RequestCommand::Allow {
            id,
            for_session,
            always,
        } => {
            let choice = match (for_session, always) {
                (true, _) => Choice::AcceptForSession,
                (false, true) => Choice::AcceptAlways,
                (false, false) => Choice::Accept,
            };
            let reply = Reply::Decision {
                choice,
                message: None,
            };
            respond(out, &client, &id, reply, "allowed").await
        }
        RequestCommand::Deny {
            id,
            message,
            end_turn,
        } => {
            let choice = if end_turn {
                Choice::Cancel
            } else {
                Choice::Decline
            };
            let reply = Reply::Decision { choice, message };
            respond(out, &client, &id, reply, "denied").await
        }
    }
}

async fn respond(
    out: &mut Out,
    client: &Client,
    id: &str,
    reply: Reply,
    done: &str,
) -> Result<Outcome, Failure> {
    client.respond(id, &RespondTo { reply }).await?;
    out.line(done)?;
    Ok(Outcome::Done)
}

async fn pending(client: &Client, id: &str) -> Result<RequestView, Failure> {
    let requests = client.requests(None).await?;
    requests
        .into_iter()
        .find(|request| request.id == id)
        .ok_or_else(|| {
            Failure::Asked(format!(
                "{id} does not wait for an answer; see `weft request list`"
            ))
        })
}

/// Puts the words of the command line to the questions they answer.
fn answers(
    request: &RequestView,
    values: Vec<String>,
    to: &[String],
) -> Result<Vec<QuestionAnswer>, Failure> {
    let Prompt::Questions(questions) = &request.prompt else {
        return Err(Failure::Asked(format!(
            "{} is an approval: use `weft request allow` or `weft request deny`",
            request.id
        )));
    };
    let mut answers: Vec<QuestionAnswer> = Vec::new();
    if to.is_empty() {
        let [question] = questions.as_slice() else {
            return Err(Failure::Asked(format!(
                "there are {} questions: answer each with --to QUESTION=VALUE; questions: {}",
                questions.len(),
                ids(questions).join(", ")
            )));
        };
        if values.is_empty() {
            return Err(Failure::Asked(
                "name the answer, or --dismiss WHY".to_owned(),
            ));
        }
        let values = checked(question, values)?;
        answers.push(QuestionAnswer {
            question_id: question.question_id.clone(),
            values,
        });
        return Ok(answers);
    }
    for answer in to {
        let (id, value) = answer.split_once('=').unwrap_or((answer, ""));
        let question = questions.iter().find(|question| question.question_id == id);
        let question = question.ok_or_else(|| unknown_question(id, questions))?;
        match answers.iter_mut().find(|answer| answer.question_id == id) {
            Some(known) => known.values.push(value.to_owned()),
            None => answers.push(QuestionAnswer {
                question_id: question.question_id.clone(),
                values: vec![value.to_owned()],
            }),
        }
    }
    for answer in &mut answers {
        if let Some(question) = questions
            .iter()
            .find(|q| q.question_id == answer.question_id)
        {
            answer.values = checked(question, std::mem::take(&mut answer.values))?;
        }
    }
    let missing = |question: &&Question| {
        question.required
            && !answers
                .iter()
                .any(|a| a.question_id == question.question_id)
    };
    match questions.iter().find(missing) {
        Some(question) => Err(Failure::Asked(format!(
            "{} must be answered too: --to {}=VALUE",
            question.question_id, question.question_id
        ))),
        None => Ok(answers),
    }
}

fn unknown_question(id: &str, questions: &[Question]) -> Failure {
    let ids = ids(questions);
    let hint = near_miss(id, &ids).map(|near| format!("; did you mean {near}?"));
    Failure::Asked(format!(
        "there is no question {id}; questions: {}{}",
        ids.join(", "),
        hint.unwrap_or_default()
    ))
}

fn ids(questions: &[Question]) -> Vec<&str> {
    questions
        .iter()
        .map(|question| question.question_id.as_str())
        .collect()
}

/// Values the question takes: a prepared answer's value, its label, or free text where that is taken.
fn checked(question: &Question, values: Vec<String>) -> Result<Vec<String>, Failure> {
    if values.len() > 1 && !question.multi_select {
        return Err(Failure::Asked(format!(
            "{} takes one answer",
            question.question_id
        )));
    }
    let value = |value: String| {
        let option = question
            .options
            .iter()
            .find(|o| o.value == value)
            .or_else(|| {
                question
                    .options
                    .iter()
                    .find(|o| o.label.eq_ignore_ascii_case(&value))
            });
        match option {
            Some(option) => Ok(option.value.clone()),
            None if question.custom_answer || question.options.is_empty() => Ok(value),
            None => {
                let known: Vec<&str> = question.options.iter().map(|o| o.value.as_str()).collect();
                Err(Failure::Asked(format!(
                    "{} does not take this answer; it takes: {}",
                    question.question_id,
                    known.join(", ")
                )))
            }
        }
    };
    values.into_iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use domain::request::QuestionOption;

    use super::*;

    fn question(id: &str, options: &[&str], multi_select: bool, custom_answer: bool) -> Question {
        let option = |value: &&str| QuestionOption {
            value: (*value).to_owned(),
            label: value.to_uppercase(),
            description: None,
        };
        Question {
            question_id: id.to_owned(),
            header: id.to_owned(),
            text: format!("{id}?"),
            options: options.iter().map(option).collect(),
            multi_select,
            custom_answer,
            secret: false,
            required: true,
        }
    }

    fn request(prompt: Prompt) -> RequestView {
        RequestView {
            id: "request-1".to_owned(),
            thread_id: "thread-1".to_owned(),
            run_id: None,
            prompt,
            status: "pending".to_owned(),
            reason: None,
            choice: None,
            created_at: String::new(),
        }
    }

    #[test]
    fn words_of_the_command_line_find_their_questions() {
        let one = || vec![question("color", &["red", "blue"], false, false)];
        let free = || vec![question("name", &[], false, false)];
        let many = || vec![question("color", &["red", "blue"], true, true)];
        let two = || [one(), free()].concat();
        for (questions, values, to, expected) in [
            (one(), vec!["red"], vec![], Ok("color=red")),
            (one(), vec!["BLUE"], vec![], Ok("color=blue")),
            (one(), vec!["green"], vec![], Err("it takes: red, blue")),
            (one(), vec!["red", "blue"], vec![], Err("takes one answer")),
            (one(), vec![], vec![], Err("name the answer")),
            (free(), vec!["Ada"], vec![], Ok("name=Ada")),
            (many(), vec!["red", "green"], vec![], Ok("color=red,green")),
            (two(), vec!["red"], vec![], Err("there are 2 questions")),
            (
                two(),
                vec![],
                vec!["color=red", "name=a=b"],
                Ok("color=red name=a=b"),
            ),
            (
                two(),
                vec![],
                vec!["color=red"],
                Err("name must be answered too"),
            ),
            (
                two(),
                vec![],
                vec!["colour=red"],
                Err("did you mean color?"),
            ),
        ] {
            let values = values.into_iter().map(str::to_owned).collect();
            let to: Vec<String> = to.into_iter().map(str::to_owned).collect();
            let told = match answers(&request(Prompt::Questions(questions)), values, &to) {
                Ok(answers) => Ok(answers
                    .iter()
                    .map(|a| format!("{}={}", a.question_id, a.values.join(",")))
                    .collect::<Vec<_>>()
                    .join(" ")),
                Err(failure) => Err(failure.to_string()),
            };
            match (&told, expected) {
                (Ok(told), Ok(expected)) => assert_eq!(told, expected),
                (Err(told), Err(expected)) => assert!(told.contains(expected), "{told}"),
                _ => panic!("{told:?} instead of {expected:?}"),
            }
        }
    }
}
