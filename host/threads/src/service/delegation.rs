//! The orchestration tools: delegate, read, wait, cancel.

use std::time::Duration;

use domain::authority::{AgentAuthority, Authority};
use domain::command::{Answer, CancelTask, Command, Delegate, ResolvedTarget};
use domain::decide::target::{self, Wanted};
use domain::error::{Denial, DenialCode};
use domain::ids::TaskId;
use domain::limits::WAIT_MS_MAX;
use domain::task::WakePolicy;
use domain::thread::Thread;
use domain::view::View;
use tokio_util::sync::CancellationToken;

use super::types::{
    CallKey, Cancelled, DelegateRequest, Delegated, Pending, TargetRequest, TaskView, WaitEnd,
    WaitMode,
};
use super::{ThreadManagementService, calling_thread, store, task_view, wrong_answer};

impl ThreadManagementService {
    /// Delegates; waits where asked. `gone` fires when the caller's connection is lost: the end then wakes
    /// the parent, as if the wait had timed out. A wait never ends the work.
    ///
    /// # Errors
    /// The codes of the tool's contract.
    pub async fn delegate(
        &self,
        caller: &Authority,
        request: DelegateRequest,
        gone: CancellationToken,
    ) -> Result<Delegated, Denial> {
        let agent = calling_thread(caller)?;
        let parent = self.parent(agent)?;
        // The rules refuse with it, in their order and under the caller's key.
        let target = self.resolve(&parent, &request.target).await;
        let wait = request.wait;
        let command = Command::Delegate(Delegate {
            parent_thread_id: agent.thread_id.clone(),
            caller_instance_id: agent.instance_id.clone(),
            task: request.task,
            title: request.title,
            role: request.role,
            target,
            runtime_mode: request.runtime_mode,
            interaction_mode: request.interaction_mode,
            wake: match wait {
                WaitMode::Async => WakePolicy::Always,
                WaitMode::WaitMs(_) => WakePolicy::SettledOnly,
            },
            depth_max: self.inner.settings.delegation_depth_max,
        });
        let (answered, request_key) = self.submit(caller, request.call, command).await?;
        let Answer::Delegated { task_id, .. } = answered.answer else {
            return Err(wrong_answer());
        };
        let (task, wait) = match wait {
            WaitMode::Async => (self.own_task(agent, &task_id)?, WaitEnd::Met),
            WaitMode::WaitMs(millis) => self.wait_for(agent, &task_id, millis, gone).await?,
        };
        Ok(Delegated {
            task,
            wait,
            request_key,
        })
    }

    /// Reads a task of the caller; reading an ended one acknowledges it, so that no wake is sent for it.
    ///
    /// # Errors
    /// `capability_denied`, `thread_credential_required`, `task_not_found`, `orchestration_error`.
    pub async fn task_status(
        &self,
        caller: &Authority,
        task_id: &TaskId,
    ) -> Result<TaskView, Denial> {
        let agent = calling_thread(caller)?;
        let view = self.own_task(agent, task_id)?;
        self.acknowledge(&view).await?;
        Ok(view)
    }

    /// Stops a task of the caller and everything it delegated; its wake is dropped.
    ///
    /// # Errors
    /// Those of [`task_status`](Self::task_status), the escalation codes and `task_not_cancellable`.
    pub async fn task_cancel(
        &self,
        caller: &Authority,
        task_id: &TaskId,
        reason: Option<String>,
        call: CallKey,
    ) -> Result<Cancelled, Denial> {
        let agent = calling_thread(caller)?;
        let command = Command::CancelTask(CancelTask {
            parent_thread_id: agent.thread_id.clone(),
            task_id: task_id.clone(),
            reason,
        });
        let (answered, request_key) = self.submit(caller, call, command).await?;
        match answered.answer {
            Answer::Cancelled { outcome } => Ok(Cancelled {
                task_id: task_id.clone(),
                outcome,
                request_key,
            }),
            _ => Err(wrong_answer()),
        }
    }

    fn parent(&self, agent: &AgentAuthority) -> Result<Thread, Denial> {
        self.read()?
            .thread(&agent.thread_id)
            .map_err(store)?
            .ok_or_else(|| {
                Denial::new(
                    DenialCode::ParentNotActive,
                    "The calling thread no longer exists.",
                )
            })
    }

    /// Where the child runs. An instance that was unavailable is looked at once more before the refusal.
    async fn resolve(
        &self,
        parent: &Thread,
        request: &TargetRequest,
    ) -> Result<ResolvedTarget, Denial> {
        let wanted = Wanted {
            instance_id: request.instance_id.as_ref(),
            driver_kind: request.driver_kind.as_ref(),
            model: request.model.as_deref(),
            options: request.options.as_deref(),
        };
        let providers = &self.inner.providers;
        let first = match target::resolve(parent, wanted, &providers.snapshots()) {
            Ok(target) => return Ok(target),
            Err(unresolved) => unresolved,
        };
        let Some(instance) = first.reprobe else {
            return Err(first.denial);
        };
        providers.reprobe(&instance).await;
        target::resolve(parent, wanted, &providers.snapshots()).map_err(|again| again.denial)
    }

    fn own_task(&self, agent: &AgentAuthority, task_id: &TaskId) -> Result<TaskView, Denial> {
        task_view::read(&self.read()?, &agent.thread_id, task_id)
            .map_err(store)?
            .ok_or_else(|| {
                Denial::new(
                    DenialCode::TaskNotFound,
                    format!("This thread delegated no task {task_id}."),
                )
            })
    }

    /// Waits for the task's end or a blocking question of its child. Holds nothing while it waits.
    async fn wait_for(
        &self,
        agent: &AgentAuthority,
        task_id: &TaskId,
        millis: u64,
        gone: CancellationToken,
    ) -> Result<(TaskView, WaitEnd), Denial> {
        let budget = Duration::from_millis(millis.clamp(1, WAIT_MS_MAX));
        let deadline = tokio::time::Instant::now() + budget;
        let mut own_changes = self.inner.changes.subscribe(&agent.thread_id);
        let first = self.own_task(agent, task_id)?;
        let mut child_changes = self.inner.changes.subscribe(&first.child_thread_id);
        loop {
            let view = self.own_task(agent, task_id)?;
            // An end that nobody is there to hear of is not read.
            if view.status.is_terminal() && !gone.is_cancelled() {
                self.acknowledge(&view).await?;
                return Ok((view, WaitEnd::Met));
            }
            if view.pending_question == Pending::Something {
                self.wake_always(task_id).await?;
                return Ok((view, WaitEnd::Met));
            }
            let changed = tokio::select! {
                biased;
                () = gone.cancelled() => false,
                changed = own_changes.changed() => changed.is_ok(),
                changed = child_changes.changed() => changed.is_ok(),
                () = tokio::time::sleep_until(deadline) => false,
            };
            if !changed {
                // Whoever waited will not see the end by this answer: the end must wake the parent.
                self.wake_always(task_id).await?;
                return Ok((self.own_task(agent, task_id)?, WaitEnd::TimedOut));
            }
        }
    }

    async fn wake_always(&self, task_id: &TaskId) -> Result<(), Denial> {
        self.submit_unkeyed(Command::WakeAlways {
            task_id: task_id.clone(),
        })
        .await
        .map(drop)
    }

    async fn acknowledge(&self, view: &TaskView) -> Result<(), Denial> {
        if !view.status.is_terminal() {
            return Ok(());
        }
        let command = Command::AcknowledgeTask {
            task_id: view.task_id.clone(),
        };
        self.submit_unkeyed(command).await.map(drop)
    }
}
