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
use domain::request::{Prompt, Reply, Request};
use domain::run::{Run, RunPurpose, RunStatus};
use domain::thread::Thread;
use domain::view::View;

use super::types::{
    CallKey, CreatedThread, Feed, NewThread, ObservedState, SentMessage, ThreadDetail, ThreadRow,
};
use super::{ThreadManagementService, people_only, store, wrong_answer};
use crate::store::{Reader, StoreError};

/// Most rows of a list and most items of a page.
const PAGE_MAX: usize = 100;

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

    /// Every Project, by name.
    ///
    /// # Errors
    /// `human_only`.
    #[allow(clippy::unused_async, reason = "one calling convention for every call")]
    pub async fn projects(&self, caller: &Authority) -> Result<Vec<Project>, Denial> {
        people_only(caller)?;
        self.read()?.projects().map_err(store)
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

    /// Threads, the newest change first. `limit` is at most 100.
    ///
    /// # Errors
    /// `human_only`.
    #[allow(clippy::unused_async, reason = "one calling convention for every call")]
    pub async fn threads(
        &self,
        caller: &Authority,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<ThreadRow>, Denial> {
        people_only(caller)?;
        let reader = self.read()?;
        let threads = reader.threads(offset, limit.min(PAGE_MAX)).map_err(store)?;
        threads
            .into_iter()
            .map(|thread| row(&reader, thread))
            .collect()
    }

    /// One thread with a page of its timeline after a position. `limit` is at most 100.
    ///
    /// # Errors
    /// `human_only`, `thread_not_found`.
    #[allow(clippy::unused_async, reason = "one calling convention for every call")]
    pub async fn thread(
        &self,
        caller: &Authority,
        thread_id: &ThreadId,
        after_position: u64,
        limit: usize,
    ) -> Result<ThreadDetail, Denial> {
        people_only(caller)?;
        let reader = self.read()?;
        let sequence = reader.sequence().map_err(store)?;
        let thread = found(reader.thread(thread_id).map_err(store)?, thread_id)?;
        Ok(ThreadDetail {
            row: row(&reader, thread)?,
            runs: reader.runs_of(thread_id).map_err(store)?,
            items: reader
                .items_after(thread_id, after_position, limit.min(PAGE_MAX))
                .map_err(store)?,
            requests: reader.pending_requests_of(thread_id).map_err(store)?,
            tasks: reader.tasks_of(thread_id).map_err(store)?,
            sequence,
        })
    }

    /// Pending requests, of one thread or of all.
    ///
    /// # Errors
    /// `human_only`, `thread_not_found`.
    #[allow(clippy::unused_async, reason = "one calling convention for every call")]
    pub async fn requests(
        &self,
        caller: &Authority,
        thread_id: Option<&ThreadId>,
    ) -> Result<Vec<Request>, Denial> {
        people_only(caller)?;
        let reader = self.read()?;
        match thread_id {
            Some(id) => {
                found(reader.thread(id).map_err(store)?, id)?;
                reader.pending_requests_of(id).map_err(store)
            }
            None => reader.pending_requests().map_err(store),
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

    /// Facts after a place in the journal: at once if there are any, else as soon as there are.
    ///
    /// # Errors
    /// `human_only`, `storage_unavailable` when the journal takes nothing more.
    pub async fn feed(
        &self,
        caller: &Authority,
        after_sequence: u64,
        limit: usize,
    ) -> Result<Feed, Denial> {
        people_only(caller)?;
        let mut feed = self.inner.changes.feed();
        feed.past(after_sequence).await.map_err(|_ended| {
            Denial::new(DenialCode::StorageUnavailable, "The host is going down.")
        })?;
        let events = self
            .read()?
            .events_after(after_sequence, limit)
            .map_err(store)?;
        let sequence = events
            .last()
            .map_or(after_sequence, |(sequence, _)| *sequence);
        Ok(Feed { events, sequence })
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

fn found(thread: Option<Thread>, id: &ThreadId) -> Result<Thread, Denial> {
    thread
        .filter(|thread| thread.deleted_at.is_none())
        .ok_or_else(|| {
            Denial::new(
                DenialCode::ThreadNotFound,
                format!("There is no thread {id}."),
            )
        })
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

fn row(reader: &Reader, thread: Thread) -> Result<ThreadRow, Denial> {
    build_row(reader, thread).map_err(store)?.ok_or_else(|| {
        Denial::new(
            DenialCode::OrchestrationError,
            "A thread stands in a Project that is not there.",
        )
    })
}

fn build_row(reader: &Reader, thread: Thread) -> Result<Option<ThreadRow>, StoreError> {
    let Some(project) = reader.project(&thread.project_id)? else {
        return Ok(None);
    };
    let latest_run = latest_run(reader, &thread.id)?;
    let active = reader
        .open_runs_of(&thread.id)?
        .into_iter()
        .rfind(|run| run.status.is_active());
    let requests = reader.pending_requests_of(&thread.id)?;
    let state = observed_state(active.as_ref(), latest_run.as_ref(), &requests);
    let pending_requests = requests.into_iter().map(|request| request.id).collect();
    Ok(Some(ThreadRow {
        thread,
        project,
        latest_run,
        pending_requests,
        state,
    }))
}

/// The newest run; a withdrawn wake was never more than a plan and says nothing of the thread.
fn latest_run(reader: &Reader, thread: &ThreadId) -> Result<Option<Run>, StoreError> {
    let is_withdrawn_wake =
        |run: &Run| run.purpose == RunPurpose::Wake && run.status == RunStatus::Cancelled;
    match reader.latest_run(thread)? {
        Some(run) if is_withdrawn_wake(&run) => {
            let runs = reader.runs_of(thread)?;
            Ok(runs.into_iter().rfind(|run| !is_withdrawn_wake(run)))
        }
        latest => Ok(latest),
    }
}

/// The public status, from facts, the most pressing first.
fn observed_state(
    active: Option<&Run>,
    latest: Option<&Run>,
    requests: &[Request],
) -> ObservedState {
    let approval = |r: &Request| matches!(r.prompt, Prompt::Approval(_));
    if requests.iter().any(approval) {
        return ObservedState::WaitingForApproval;
    }
    if requests.iter().any(Request::is_blocking_question) {
        return ObservedState::WaitingForInput;
    }
    match (active.map(|run| run.status), latest.map(|run| run.status)) {
        (Some(RunStatus::Starting | RunStatus::Preparing), _) => ObservedState::Starting,
        (Some(_), _) => ObservedState::Running,
        (None, None) => ObservedState::Idle,
        (None, Some(RunStatus::Completed)) => ObservedState::Completed,
        (None, Some(RunStatus::Failed)) => ObservedState::Failed,
        (None, Some(_)) => ObservedState::Stopped,
    }
}
