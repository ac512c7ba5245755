//! Answers to approvals and questions.

use crate::command::{AnsweredBy, Command};
use crate::effect::Effect;
use crate::error::DenialCode::{self, *};
use crate::ids::RequestId;
use crate::provider_event::ProviderEvent;
use crate::request::*;

use super::world::World;

pub(super) fn approval(choices: &[Choice]) -> Prompt {
    Prompt::Approval(Approval {
        kind: "command".to_owned(),
        title: "rm -rf build".to_owned(),
        reason: None,
        choices: choices.to_vec(),
        options: Vec::new(),
    })
}

fn question(id: &str) -> Question {
    Question {
        question_id: id.to_owned(),
        header: String::new(),
        text: format!("What about {id}?"),
        options: Vec::new(),
        multi_select: false,
        custom_answer: true,
        secret: false,
        required: false,
    }
}

fn offering(id: &str, values: &[&str]) -> Question {
    let option = |value: &&str| QuestionOption {
        value: (*value).to_owned(),
        label: value.to_uppercase(),
        description: None,
    };
    Question {
        options: values.iter().map(option).collect(),
        custom_answer: false,
        ..question(id)
    }
}

/// `colour` of red and blue, required; `parts`, several; `name`, free; `key`, a secret.
pub(super) fn questions() -> Prompt {
    Prompt::Questions(vec![
        Question {
            required: true,
            ..offering("colour", &["red", "blue"])
        },
        Question {
            multi_select: true,
            ..offering("parts", &["a", "b", "c"])
        },
        Question {
            custom_answer: true,
            ..offering("name", &["weft"])
        },
        Question {
            secret: true,
            ..question("key")
        },
    ])
}

fn answers(list: &[(&str, &[&str])]) -> Reply {
    let answer = |(id, values): &(&str, &[&str])| QuestionAnswer {
        question_id: (*id).to_owned(),
        values: values.iter().map(|&value| value.to_owned()).collect(),
    };
    Reply::Answers(list.iter().map(answer).collect())
}

fn decision(choice: Choice) -> Reply {
    Reply::Decision {
        choice,
        message: None,
    }
}

fn respond(id: &RequestId, reply: Reply, answered_by: AnsweredBy) -> Command {
    Command::Respond {
        request_id: id.clone(),
        reply,
        answered_by,
    }
}

#[test]
fn only_a_person_decides_an_approval() {
    for reply in [
        decision(Choice::Accept),
        decision(Choice::Decline),
        Reply::Dismissed("no".to_owned()),
    ] {
        let mut world = World::new();
        let talk = world.running();
        let asked = world.ask("request-1", &talk.run, approval(&[]));
        let by_agent = respond(&asked, reply.clone(), AnsweredBy::Agent);
        assert_eq!(world.deny(by_agent), HumanOnly, "{reply:?}");
        assert!(world.request(&asked).is_pending());
        let taken = world.run(respond(&asked, reply.clone(), AnsweredBy::Person));
        assert_eq!(
            taken.effects,
            [Effect::Respond {
                thread_id: talk.thread,
                request_id: asked.clone(),
                reply: reply.clone()
            }]
        );
        assert_eq!(world.request(&asked).status, RequestStatus::Resolved(reply));
        assert!(world.request(&asked).resolved_at.is_some());
    }
}

#[test]
fn an_approval_takes_the_answers_its_provider_takes() {
    use Choice::{Accept, AcceptAlways, Cancel, Decline};
    for (taken, choice, refused) in [
        (vec![Accept, Decline], Accept, None),
        (vec![Accept, Decline], Decline, None),
        (vec![Accept, Decline], AcceptAlways, Some(InvalidRequest)),
        (vec![Accept, Cancel], Decline, Some(InvalidRequest)),
        (vec![], AcceptAlways, None),
    ] {
        let mut world = World::new();
        let talk = world.running();
        let asked = world.ask("request-1", &talk.run, approval(&taken));
        let command = respond(&asked, decision(choice), AnsweredBy::Person);
        let code = world.try_run(&command).err().map(|denial| denial.code);
        assert_eq!(code, refused, "{choice:?} of {taken:?}");
    }
}

#[test]
fn answers_fit_their_questions() {
    let cases: [(&str, Reply, Option<&str>); 14] = [
        ("the required one", answers(&[("colour", &["red"])]), None),
        (
            "all",
            answers(&[
                ("colour", &["blue"]),
                ("parts", &["a", "c"]),
                ("name", &["x"]),
                ("key", &["k"]),
            ]),
            None,
        ),
        (
            "own words where taken",
            answers(&[("colour", &["red"]), ("name", &["mine"])]),
            None,
        ),
        ("dismissed", Reply::Dismissed("later".to_owned()), None),
        (
            "nothing for the required one",
            answers(&[("name", &["x"])]),
            Some("What about colour?"),
        ),
        (
            "an empty answer for the required one",
            answers(&[("colour", &[])]),
            Some("needs an answer"),
        ),
        ("no answer at all", answers(&[]), Some("needs an answer")),
        (
            "an unknown question",
            answers(&[("colour", &["red"]), ("x", &["y"])]),
            Some("colour, parts, name, key"),
        ),
        (
            "answered twice",
            answers(&[("colour", &["red"]), ("colour", &["blue"])]),
            Some("twice"),
        ),
        (
            "two for one",
            answers(&[("colour", &["red", "blue"])]),
            Some("takes one answer"),
        ),
        (
            "not offered",
            answers(&[("colour", &["green"])]),
            Some("red, blue"),
        ),
        (
            "one of several not offered",
            answers(&[("colour", &["red"]), ("parts", &["a", "x"])]),
            Some("a, b, c"),
        ),
        (
            "the label for the value",
            answers(&[("colour", &["RED"])]),
            Some("red, blue"),
        ),
        ("a decision", decision(Choice::Accept), Some("answer them")),
    ];
    for (name, reply, refused) in cases {
        for by in [AnsweredBy::Person, AnsweredBy::Agent] {
            let mut world = World::new();
            let talk = world.running();
            let asked = world.ask("request-1", &talk.run, questions());
            match (world.try_run(&respond(&asked, reply.clone(), by)), refused) {
                (Ok(decision), None) => {
                    assert_eq!(decision.effects.len(), 1, "{name}");
                    assert!(!world.request(&asked).is_pending(), "{name}");
                }
                (Err(denial), Some(word)) => {
                    assert_eq!(denial.code, InvalidRequest, "{name}");
                    assert!(denial.message.contains(word), "{name}: {denial}");
                    assert!(world.request(&asked).is_pending(), "{name}");
                }
                (got, _) => panic!("{name}: {got:?}"),
            }
        }
    }
}

#[test]
fn an_approval_takes_no_answers_to_questions() {
    let mut world = World::new();
    let talk = world.running();
    let asked = world.ask("request-1", &talk.run, approval(&[]));
    let reply = answers(&[("colour", &["red"])]);
    assert_eq!(
        world.deny(respond(&asked, reply, AnsweredBy::Person)),
        InvalidRequest
    );
}

#[test]
fn what_is_no_longer_open_takes_no_answer() {
    type End = fn(&mut World, &RequestId);
    let cases: [(&str, DenialCode, End); 4] = [
        ("answered", RequestNotPending, |world, id| {
            world.run(respond(id, decision(Choice::Decline), AnsweredBy::Person));
        }),
        ("withdrawn", RequestNotPending, |world, id| {
            let (request_id, reason) = (id.clone(), "withdrawn".to_owned());
            world.report(ProviderEvent::RequestClosed { request_id, reason });
        }),
        ("turn over", RequestNotPending, |world, id| {
            let run = world.request(id).run_id.clone().expect("a run");
            world.complete(&run);
        }),
        ("stopped", RequestNotPending, |world, id| {
            let thread = world.request(id).thread_id.clone();
            world.stop(&thread);
        }),
    ];
    for (name, code, end) in cases {
        let mut world = World::new();
        let talk = world.running();
        let asked = world.ask("request-1", &talk.run, approval(&[]));
        end(&mut world, &asked);
        let late = respond(&asked, decision(Choice::Accept), AnsweredBy::Person);
        assert_eq!(world.deny(late), code, "{name}");
    }
    let unknown = respond(
        &RequestId::new("request-x"),
        decision(Choice::Accept),
        AnsweredBy::Agent,
    );
    assert_eq!(World::new().deny(unknown), RequestNotFound);
}

#[test]
fn a_secret_goes_to_the_provider_and_into_nothing_stored() {
    const SECRET: &str = "hunter2";
    let mut world = World::new();
    let talk = world.running();
    let asked = world.ask("request-1", &talk.run, questions());
    let reply = answers(&[("colour", &["red"]), ("key", &[SECRET])]);
    let decision = world.run(respond(&asked, reply.clone(), AnsweredBy::Person));

    let stored = format!(
        "{} {}",
        serde_json::to_string(&decision.events).expect("JSON"),
        serde_json::to_string(&decision.effects).expect("JSON")
    );
    assert!(!stored.contains(SECRET), "{stored}");
    assert!(stored.contains("red"), "what is no secret stays readable");
    assert!(
        matches!(&decision.effects[..], [Effect::Respond { reply: told, .. }] if *told == reply),
        "the provider gets it"
    );
}
