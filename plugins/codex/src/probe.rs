//! Looking at the provider: installed, which version, logged in, which models.
#![forbid(unsafe_code)]

use driver_sdk::failure;
use driver_sdk::jsonrpc::RpcError;
use driver_sdk::types::{
    Action, Event, ExitCause, Failure, ModelInfo, ModelOptionInfo, OptionValue, Snapshot, Spawn,
};
use serde_json::json;

use crate::core::{Call, Codex, Process, VERSION_PROCESS};
use crate::describe::{self, EFFORT_OPTION};
use crate::errors;
use crate::launch;
use crate::limits::{HANDSHAKE_MS, LIST_ENTRIES_MAX, MODEL_PAGE_ENTRIES, MODEL_PAGES_MAX};
use crate::timers::Purpose;
use crate::views::{Account, Model, ModelPage};

/// What a probe learned so far.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    authentication: Authentication,
    models: Vec<ModelInfo>,
    pages: u32,
    /// Why the app-server did not start, while the version is asked.
    failed: Option<Failure>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Authentication {
    #[default]
    Unknown,
    Authenticated,
    Unauthenticated,
}

impl Codex {
    /// The process greeted a probe.
    pub(crate) fn probe_greeted(&mut self) {
        self.call_default(
            "account/read",
            &json!({ "refreshToken": false }),
            Call::Account,
        );
    }

    /// The answer to `account/read`.
    pub(crate) fn account_read(&mut self, answer: Result<Option<Account>, RpcError<'_>>) {
        let has_key = launch::api_key(&self.config).is_some();
        let Some(probe) = self.probe.as_mut() else {
            return;
        };
        if let Ok(Some(account)) = answer {
            let logged_in = account.account.is_some();
            probe.authentication = match (logged_in, account.requires_openai_auth) {
                (true, _) | (false, false) => Authentication::Authenticated,
                // A key from the environment is used without being an account.
                (false, true) if has_key => Authentication::Unknown,
                (false, true) => Authentication::Unauthenticated,
            };
        }
        self.ask_models(None);
    }

    fn ask_models(&mut self, cursor: Option<&str>) {
        let params = json!({ "limit": MODEL_PAGE_ENTRIES, "cursor": cursor });
        self.call_default("model/list", &params, Call::Models);
    }

    /// The answer to `model/list`.
    pub(crate) fn models_listed(&mut self, answer: Result<Option<ModelPage>, RpcError<'_>>) {
        let Some(probe) = self.probe.as_mut() else {
            return;
        };
        let page = match answer {
            Ok(page) => page.unwrap_or(ModelPage {
                data: Vec::new(),
                next_cursor: None,
            }),
            Err(error) => {
                let failure = errors::of_call("to list its models", &error);
                self.finish_probe(Some(&failure));
                return;
            }
        };
        probe.models.extend(
            page.data
                .iter()
                .filter(|model| !model.hidden)
                .map(model_info),
        );
        probe.models.truncate(LIST_ENTRIES_MAX);
        probe.pages += 1;
        match page.next_cursor {
            Some(cursor) if probe.pages < MODEL_PAGES_MAX => self.ask_models(Some(&cursor)),
            _ => self.finish_probe(None),
        }
    }

    /// The app-server did not come up. A program that is there is asked for its version, to say whether it is too old.
    pub(crate) fn probe_failed(&mut self, failure: Failure, cause: Option<&ExitCause>) {
        let Some(probe) = self.probe.as_mut() else {
            return;
        };
        if !matches!(cause, Some(ExitCause::Code(_)))
            || self.version.is_some()
            || probe.failed.is_some()
        {
            self.finish_probe(Some(&failure));
            return;
        }
        probe.failed = Some(failure);
        self.out.push(Action::Spawn(Spawn {
            process_id: VERSION_PROCESS,
            template: describe::VERSION.to_owned(),
            arguments: Vec::new(),
            environment: launch::environment(&self.config, None),
        }));
        self.arm(Purpose::Handshake, HANDSHAKE_MS);
    }

    /// A line of `codex --version`.
    pub(crate) fn version_line(&mut self, line: &str) {
        if self.version.is_none() {
            self.version = launch::version_in_line(line).map(str::to_owned);
        }
    }

    /// `codex --version` ended, or took too long.
    pub(crate) fn version_asked(&mut self) {
        self.stop_timer(Purpose::Handshake);
        let failed = self.probe.as_mut().and_then(|probe| probe.failed.take());
        let old = self
            .version
            .as_deref()
            .filter(|version| !launch::Version::suffices(version));
        let failure = match (old, failed) {
            (Some(version), _) => errors::too_old(version),
            (None, Some(failure)) => failure,
            (None, None) => failure::transport("Codex did not start."),
        };
        self.finish_probe(Some(&failure));
    }

    /// Ends the probe with its snapshot.
    pub(crate) fn finish_probe(&mut self, failure: Option<&Failure>) {
        let Some(probe) = self.probe.take() else {
            return;
        };
        let missing = matches!(&self.process, Process::Gone { started: false });
        let logged_out = probe.authentication == Authentication::Unauthenticated;
        let reason = match failure {
            Some(failure) => Some(failure.message.clone()),
            None if logged_out => Some(format!("Codex is not logged in. {}", errors::login_hint())),
            None => None,
        };
        self.out.emit(Event::Snapshot(Snapshot {
            installation: if missing { "missing" } else { "installed" }.to_owned(),
            version: self.version.clone(),
            authentication: probe.authentication.word().to_owned(),
            status: if reason.is_some() { "error" } else { "ready" }.to_owned(),
            models: probe.models,
            runtime_modes: Vec::new(),
            interaction_modes: Vec::new(),
            reason,
            extra: None,
        }));
        self.finish();
    }
}

impl Authentication {
    fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Authenticated => "authenticated",
            Self::Unauthenticated => "unauthenticated",
        }
    }
}

fn model_info(model: &Model) -> ModelInfo {
    let choices: Vec<String> = model
        .supported_reasoning_efforts
        .iter()
        .map(|effort| effort.reasoning_effort.to_string())
        .collect();
    let default_value = model
        .default_reasoning_effort
        .as_ref()
        .map(|effort| OptionValue::Text(effort.to_string()));
    let options = if choices.is_empty() {
        Vec::new()
    } else {
        let label = Some("Reasoning effort".to_owned());
        vec![ModelOptionInfo {
            id: EFFORT_OPTION.to_owned(),
            label,
            choices,
            default_value,
        }]
    };
    ModelInfo {
        id: model.model.as_ref().unwrap_or(&model.id).to_string(),
        label: model
            .display_name
            .as_ref()
            .map(std::string::ToString::to_string),
        preferred: model.is_default,
        options,
        context_tokens_max: None,
        extra: None,
    }
}
