//! From the interface's records to the host's words, with every text measured on the way.

use domain::item::{ItemHead, ItemStatus};
use domain::modes::Modes;
use domain::provider::{ModelInfo, ModelOptionInfo, ModelSelection, OptionValue};
use domain::provider_event::{Failure, FailureClass, TurnOutcome, Usage};
use domain::request::{Approval, Choice, ChoiceOption, Prompt, Question, QuestionOption, Reply};

use super::v0_1::types as wit;
use crate::limits;

/// Longest failure message, bytes, as the interface says.
const FAILURE_MESSAGE_BYTES_MAX: usize = 4_096;

/// Longest failure code, bytes, as the interface says.
const FAILURE_CODE_BYTES_MAX: usize = 128;

/// Most entries of one list inside an event.
const LIST_MAX: usize = 256;

/// A text or list of an event is over its bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("`{field}` has {size} bytes, the most is {max}")]
    Text {
        field: &'static str,
        size: usize,
        max: usize,
    },
    #[error("`{field}` has {size} entries, the most is {max}")]
    List {
        field: &'static str,
        size: usize,
        max: usize,
    },
    #[error("`{field}` is not a JSON object")]
    Json { field: &'static str },
}

/// Measures what comes out of a guest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    pub(crate) text_bytes_max: usize,
}

impl Measure {
    pub(crate) fn text(self, field: &'static str, text: String) -> Result<String, Unfit> {
        bounded(field, text, self.text_bytes_max)
    }

    fn optional(self, field: &'static str, text: Option<String>) -> Result<Option<String>, Unfit> {
        text.map(|text| self.text(field, text)).transpose()
    }

    pub(crate) fn id(self, field: &'static str, id: String) -> Result<String, Unfit> {
        bounded(field, id, limits::ID_BYTES_MAX)
    }

    pub(crate) fn optional_id(
        self,
        field: &'static str,
        id: Option<String>,
    ) -> Result<Option<String>, Unfit> {
        id.map(|id| self.id(field, id)).transpose()
    }

    /// A JSON object, kept as text. An empty text reads as an empty object.
    pub(crate) fn object(self, field: &'static str, json: String) -> Result<String, Unfit> {
        let json = self.text(field, json)?;
        if json.is_empty() {
            return Ok("{}".to_owned());
        }
        let object: Result<serde_json::Map<String, serde_json::Value>, _> =
            serde_json::from_str(&json);
        match object {
            Ok(_) => Ok(json),
            Err(_) => Err(Unfit::Json { field }),
        }
    }

    pub(crate) fn list<T>(self, field: &'static str, list: Vec<T>) -> Result<Vec<T>, Unfit> {
        if list.len() > LIST_MAX {
            return Err(Unfit::List {
                field,
                size: list.len(),
                max: LIST_MAX,
            });
        }
        Ok(list)
    }

    pub(crate) fn item_head(self, head: wit::ItemHead) -> Result<ItemHead, Unfit> {
        Ok(ItemHead {
            name: self.optional("item.head.name", head.name)?,
            server_name: self.optional("item.head.server-name", head.server_name)?,
            path: self.optional("item.head.path", head.path)?,
            exit_code: head.exit_code,
            lines_added: head.lines_added,
            lines_removed: head.lines_removed,
            native_item_id: self.optional_id("item.head.native-item-id", head.native_item_id)?,
        })
    }

    pub(crate) fn item_texts(
        self,
        title: Option<String>,
        text: Option<String>,
    ) -> Result<(Option<String>, Option<String>), Unfit> {
        let title = self.optional("item.title", title)?;
        let title = title.map(|title| crate::text::one_line(&title, TITLE_BYTES_MAX));
        Ok((title, self.optional("item.text", text)?))
    }

    pub(crate) fn prompt(self, prompt: wit::Prompt) -> Result<Prompt, Unfit> {
        Ok(match prompt {
            wit::Prompt::Approval(approval) => Prompt::Approval(self.approval(approval)?),
            wit::Prompt::Questions(questions) => Prompt::Questions(
                self.list("request.questions", questions)?
                    .into_iter()
                    .map(|question| self.question(question))
                    .collect::<Result<_, _>>()?,
            ),
        })
    }

    fn approval(self, approval: wit::Approval) -> Result<Approval, Unfit> {
        let mut choices: Vec<Choice> = self
            .list("approval.choices", approval.choices)?
            .iter()
            .filter_map(|word| Choice::from_word(word))
            .collect();
        if choices.is_empty() {
            // Whatever the provider calls its answers, a person can always refuse.
            choices.push(Choice::Decline);
        }
        let options = self
            .list("approval.options", approval.options)?
            .into_iter()
            .map(|option| {
                Ok(ChoiceOption {
                    option_id: self.id("approval.option-id", option.option_id)?,
                    label: self.text("approval.option.label", option.label)?,
                    choice: Choice::from_word(&option.choice).unwrap_or(Choice::Decline),
                })
            })
            .collect::<Result<_, Unfit>>()?;
        Ok(Approval {
            kind: self.id("approval.kind", approval.kind)?,
            title: self.text("approval.title", approval.title)?,
            reason: self.optional("approval.reason", approval.reason)?,
            choices,
            options,
        })
    }

    fn question(self, question: wit::Question) -> Result<Question, Unfit> {
        let options = self
            .list("question.options", question.options)?
            .into_iter()
            .map(|option| {
                Ok(QuestionOption {
                    value: self.text("question.option.value", option.value)?,
                    label: self.text("question.option.label", option.label)?,
                    description: self
                        .optional("question.option.description", option.description)?,
                })
            })
            .collect::<Result<_, Unfit>>()?;
        Ok(Question {
            question_id: self.id("question.question-id", question.question_id)?,
            header: self.text("question.header", question.header)?,
            text: self.text("question.text", question.text)?,
            options,
            multi_select: question.multi_select,
            custom_answer: question.custom_answer,
            secret: question.secret,
            required: question.required,
        })
    }

    pub(crate) fn models(self, models: Vec<wit::ModelInfo>) -> Result<Vec<ModelInfo>, Unfit> {
        self.list("snapshot.models", models)?
            .into_iter()
            .map(|model| {
                let options = self
                    .list("model.options", model.options)?
                    .into_iter()
                    .map(|option| {
                        Ok(ModelOptionInfo {
                            id: self.id("model.option.id", option.id)?,
                            label: self.optional("model.option.label", option.label)?,
                            choices: self.list("model.option.choices", option.choices)?,
                            default_value: option.default_value.map(|value| match value {
                                wit::OptionValue::Text(text) => OptionValue::Text(text),
                                wit::OptionValue::Toggle(toggle) => OptionValue::Toggle(toggle),
                            }),
                        })
                    })
                    .collect::<Result<_, Unfit>>()?;
                Ok(ModelInfo {
                    id: self.id("model.id", model.id)?,
                    label: self.optional("model.label", model.label)?,
                    preferred: model.preferred,
                    options,
                })
            })
            .collect()
    }
}

/// Longest title of an item, bytes: more fits no line anybody reads.
const TITLE_BYTES_MAX: usize = 1_024;

fn bounded(field: &'static str, text: String, max: usize) -> Result<String, Unfit> {
    if text.len() > max {
        return Err(Unfit::Text {
            field,
            size: text.len(),
            max,
        });
    }
    Ok(text)
}

/// A failure, cut to its bounds.
pub(crate) fn failure(failure: wit::Failure) -> Failure {
    Failure {
        class: FailureClass::from_word(&failure.class),
        message: crate::text::cut(failure.message, FAILURE_MESSAGE_BYTES_MAX),
        code: failure
            .code
            .map(|code| crate::text::cut(code, FAILURE_CODE_BYTES_MAX)),
        retryable: failure.retryable,
    }
}

/// A failure the host itself tells.
pub(crate) fn host_failure(class: FailureClass, code: &str, message: impl Into<String>) -> Failure {
    Failure {
        class,
        message: crate::text::cut(message.into(), FAILURE_MESSAGE_BYTES_MAX),
        code: Some(code.to_owned()),
        retryable: None,
    }
}

pub(crate) fn outcome(outcome: wit::TurnOutcome) -> TurnOutcome {
    match outcome {
        wit::TurnOutcome::Completed => TurnOutcome::Completed,
        wit::TurnOutcome::Interrupted => TurnOutcome::Interrupted,
        wit::TurnOutcome::Failed(cause) => TurnOutcome::Failed(failure(cause)),
    }
}

pub(crate) fn usage(usage: &wit::Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        output_tokens: usage.output_tokens,
        reasoning_tokens: usage.reasoning_tokens,
        context_tokens: usage.context_tokens,
        context_tokens_max: usage.context_tokens_max,
    }
}

pub(crate) fn item_status(status: wit::ItemStatus) -> ItemStatus {
    match status {
        wit::ItemStatus::Pending => ItemStatus::Pending,
        wit::ItemStatus::Running => ItemStatus::Running,
        wit::ItemStatus::Waiting => ItemStatus::Waiting,
        wit::ItemStatus::Completed => ItemStatus::Completed,
        wit::ItemStatus::Failed => ItemStatus::Failed,
        wit::ItemStatus::Cancelled => ItemStatus::Cancelled,
        wit::ItemStatus::Interrupted => ItemStatus::Interrupted,
    }
}

// ------------------------------------------------------------------ to the guest

pub(crate) fn model_to_guest(model: &ModelSelection) -> wit::ModelSelection {
    wit::ModelSelection {
        model: model.model.clone(),
        options: model
            .options
            .iter()
            .map(|option| wit::ModelOption {
                id: option.id.clone(),
                value: match &option.value {
                    OptionValue::Toggle(toggle) => wit::OptionValue::Toggle(*toggle),
                    OptionValue::Text(text) => wit::OptionValue::Text(text.clone()),
                },
            })
            .collect(),
    }
}

pub(crate) fn modes_to_guest(modes: Modes) -> wit::Modes {
    wit::Modes {
        runtime_mode: modes.runtime.word().to_owned(),
        interaction_mode: modes.interaction.word().to_owned(),
    }
}

/// `options` are those of the approval that is answered.
pub(crate) fn reply_to_guest(reply: Reply, options: &[ChoiceOption]) -> wit::Reply {
    match reply {
        Reply::Decision { choice, message } => wit::Reply::Decision(wit::Decision {
            choice: choice.word().to_owned(),
            message,
            option_id: options
                .iter()
                .find(|option| option.choice == choice)
                .map(|option| option.option_id.clone()),
        }),
        Reply::Answers(answers) => wit::Reply::Answers(
            answers
                .into_iter()
                .map(|answer| wit::QuestionAnswer {
                    question_id: answer.question_id,
                    values: answer.values,
                })
                .collect(),
        ),
        Reply::Dismissed(why) => wit::Reply::Dismissed(why),
    }
}
