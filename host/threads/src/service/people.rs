//! What people do at the host: Projects, threads, messages, answers.

use domain::authority::{Authority, HumanEntry};
use domain::command::{
    AddProject, Answer, AnsweredBy, Command, CreateThread, SendMessage, SendMode,
};
use domain::error::{Denial, DenialCode};
use domain::ids::{ProjectId, ProviderInstanceId, RequestId, ThreadId};
use domain::message::{CreatedBy, CreationSource, Provenance};
use domain::modes::Modes;
use domain::project::Project;
use domain::provider::{ModelSelection, ProviderSnapshot, Steering};
use domain::request::Reply;
use domain::thread::Thread;
use domain::view::View;

use super::reading::found;
use super::types::{CallKey, CreatedThread, NewThread, SentMessage};
use super::{ThreadManagementService, people_only, store, wrong_answer};

impl ThreadManagementService {
    /// Registers a Project. `root` is absolute and canonical: the caller's side made it so.
    ///
    /// # Errors
    /// `human_only`, `invalid_request`.
    pub async fn add_project(
        &self,
        caller: &Authority,
        name: String,
        root: String,
    ) -> Result<ProjectId, Denial> {
        people_only(caller)?;
        let command = Command::AddProject(AddProject { name, root });
        match self
            .submit(caller, once("project add"), command)
            .await?
            .0
            .answer
        {
            Answer::Project { project_id } => Ok(project_id),
            _ => Err(wrong_answer()),
        }
    }

    /// Makes a thread.
    ///
    /// # Errors
    /// `human_only`, `project_not_found`, `target_required`, `provider_unavailable`, `model_unavailable`,
    /// `invalid_request`.
    pub async fn create_thread(
        &self,
        caller: &Authority,
        request: NewThread,
    ) -> Result<CreatedThread, Denial> {
        let entry = people_only(caller)?;
        let project = self.project_named(&request.project)?;
        let defaults = &self.inner.settings.defaults;
        let wanted = request.provider.or_else(|| defaults.provider.clone());
        let Some(instance_id) = wanted else {
            return Err(Denial::new(
                DenialCode::TargetRequired,
                "No provider was named and none is configured: name one, or add \
                 `provider = \"NAME\"` under [defaults] in weft.toml.",
            ));
        };
        let snapshot = self.usable(&instance_id).await?;
        // The default model is one of the default provider; another provider chooses its own.
        let is_default = defaults
            .provider
            .as_ref()
            .is_none_or(|provider| *provider == instance_id);
        let default_model = defaults.model.clone().filter(|_| is_default);
        let model = request.model.or(default_model);
        let modes = Modes {
            runtime: request.runtime_mode.unwrap_or(defaults.modes.runtime),
            interaction: request
                .interaction_mode
                .unwrap_or(defaults.modes.interaction),
        };
        check_offer(&snapshot, model.as_deref(), modes)?;
        let command = Command::CreateThread(CreateThread {
            project_id: project.id,
            title: request.title,
            provider_instance_id: instance_id,
            model: ModelSelection {
                model,
                options: Vec::new(),
            },
            modes,
            provenance: written_by_person(entry),
            prompt: request.prompt,
        });
        match self
            .submit(caller, once("thread create"), command)
            .await?
            .0
            .answer
        {
            Answer::Thread { thread_id, run_id } => Ok(CreatedThread { thread_id, run_id }),
            _ => Err(wrong_answer()),
        }
    }

    /// Sends a message to a thread.
    ///
    /// # Errors
    /// `human_only`, `thread_not_found`, `thread_not_sendable`, `invalid_request`.
    pub async fn send(
        &self,
        caller: &Authority,
        thread_id: &ThreadId,
        text: String,
        mode: SendMode,
    ) -> Result<SentMessage, Denial> {
        let entry = people_only(caller)?;
        let thread = self.existing(thread_id)?;
        let snapshots = self.inner.providers.snapshots();
        let steering = snapshots
            .iter()
            .find(|snapshot| snapshot.instance_id == thread.provider_instance_id)
            .map_or(Steering::None, |snapshot| snapshot.steering);
        let command = Command::SendMessage(SendMessage {
            thread_id: thread_id.clone(),
            text,
            provenance: written_by_person(entry),
            mode,
            steering,
            caller: domain::command::Caller::Person,
        });
        match self
            .submit(caller, once("thread send"), command)
            .await?
            .0
            .answer
        {
            Answer::Sent {
                message_id,
                run_id,
                status,
                delivery,
            } => Ok(SentMessage {
                message_id,
                run_id,
                status,
                delivery,
            }),
            _ => Err(wrong_answer()),
        }
    }

    /// Stops a thread and everything it delegated; answers how many runs were met.
    ///
    /// # Errors
    /// `human_only`, `thread_not_found`, `invalid_request`.
    pub async fn stop(
        &self,
        caller: &Authority,
        thread_id: &ThreadId,
        reason: Option<String>,
    ) -> Result<u32, Denial> {
        people_only(caller)?;
        let command = Command::StopThread {
            thread_id: thread_id.clone(),
            reason: reason.unwrap_or_else(|| "stopped by a person".to_owned()),
        };
        match self
            .submit(caller, once("thread stop"), command)
            .await?
            .0
            .answer
        {
            Answer::Stopped { runs } => Ok(runs),
            _ => Err(wrong_answer()),
        }
    }

    /// Lets the held runs of a thread's queue go on; answers how many were held.
    ///
    /// # Errors
    /// `human_only`, `thread_not_found`, `thread_not_sendable`.
    pub async fn resume(&self, caller: &Authority, thread_id: &ThreadId) -> Result<u32, Denial> {
        people_only(caller)?;
        let command = Command::ResumeQueue {
            thread_id: thread_id.clone(),
        };
        match self
            .submit(caller, once("thread resume"), command)
            .await?
            .0
            .answer
        {
            Answer::Resumed { runs } => Ok(runs),
            _ => Err(wrong_answer()),
        }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// `human_only`, `request_not_found`, `request_not_pending`, `invalid_request`.
    pub async fn respond(
        &self,
        caller: &Authority,
        request_id: &RequestId,
        reply: Reply,
    ) -> Result<(), Denial> {
        people_only(caller)?;
        let command = Command::Respond {
            request_id: request_id.clone(),
            reply,
            answered_by: AnsweredBy::Person,
        };
        self.submit(caller, once("request respond"), command)
            .await
            .map(drop)
    }

    fn existing(&self, thread_id: &ThreadId) -> Result<Thread, Denial> {
        found(self.read()?.thread(thread_id).map_err(store)?, thread_id)
    }

    fn project_named(&self, wanted: &str) -> Result<Project, Denial> {
        let projects = self.read()?.projects().map_err(store)?;
        projects
            .into_iter()
            .find(|p| p.id.as_str() == wanted || p.name == wanted || p.root == wanted)
            .ok_or_else(|| {
                Denial::new(
                    DenialCode::ProjectNotFound,
                    format!("{wanted} is no registered Project: add it with `weft project add`."),
                )
            })
    }

    /// The instance's snapshot if it can be used, looked at once more before it is refused.
    async fn usable(&self, instance_id: &ProviderInstanceId) -> Result<ProviderSnapshot, Denial> {
        let find = || {
            let snapshots = self.inner.providers.snapshots();
            snapshots
                .into_iter()
                .find(|snapshot| snapshot.instance_id == *instance_id)
        };
        let mut snapshot = find();
        if snapshot.as_ref().is_some_and(|s| !s.constraints.is_empty()) {
            self.inner.providers.reprobe(instance_id).await;
            snapshot = find();
        }
        match snapshot {
            Some(snapshot) if snapshot.constraints.is_empty() => Ok(snapshot),
            Some(snapshot) => Err(Denial::new(
                DenialCode::ProviderUnavailable,
                format!(
                    "{instance_id} can't be used: {}",
                    snapshot.constraints.join(" ")
                ),
            )),
            None => {
                let known: Vec<String> = self
                    .inner
                    .providers
                    .snapshots()
                    .iter()
                    .map(|snapshot| snapshot.instance_id.to_string())
                    .collect();
                Err(Denial::new(
                    DenialCode::ProviderUnavailable,
                    format!(
                        "There is no provider {instance_id}. Configured are: {}.",
                        known.join(", ")
                    ),
                ))
            }
        }
    }
}

/// A person's call at the command line is made once: its key is random.
fn once(what: &str) -> CallKey {
    CallKey {
        key: None,
        digest: what.to_owned(),
    }
}

fn written_by_person(entry: HumanEntry) -> Provenance {
    let mut provenance = Provenance::person_at_command_line();
    provenance.created_by = CreatedBy::User;
    provenance.creation_source = match entry {
        HumanEntry::CommandLine => CreationSource::Cli,
        HumanEntry::Console => CreationSource::Web,
    };
    provenance
}

fn check_offer(
    snapshot: &ProviderSnapshot,
    model: Option<&str>,
    modes: Modes,
) -> Result<(), Denial> {
    if let Some(model) = model
        && !snapshot.models.is_empty()
        && snapshot.model(model).is_none()
    {
        let offered: Vec<&str> = snapshot.models.iter().map(|m| m.id.as_str()).collect();
        return Err(Denial::new(
            DenialCode::ModelUnavailable,
            format!(
                "{} does not offer the model {model}. It offers: {}.",
                snapshot.instance_id,
                offered.join(", ")
            ),
        ));
    }
    let (runtime, interaction) = (&snapshot.runtime_modes, &snapshot.interaction_modes);
    if !runtime.is_empty() && !runtime.contains(&modes.runtime) {
        let words: Vec<&str> = runtime.iter().map(|m| m.word()).collect();
        return Err(not_offered(snapshot, modes.runtime.word(), &words));
    }
    if !interaction.is_empty() && !interaction.contains(&modes.interaction) {
        let words: Vec<&str> = interaction.iter().map(|m| m.word()).collect();
        return Err(not_offered(snapshot, modes.interaction.word(), &words));
    }
    Ok(())
}

fn not_offered(snapshot: &ProviderSnapshot, mode: &str, offered: &[&str]) -> Denial {
    Denial::new(
        DenialCode::InvalidRequest,
        format!(
            "{} does not offer {mode}. It offers: {}.",
            snapshot.instance_id,
            offered.join(", ")
        ),
    )
}
