//! What an agent must be to change something: alive, and no narrower than what it changes.

use crate::command::{AgentCaller, Caller};
use crate::error::{Denial, DenialCode};
use crate::modes::Modes;
use crate::run::Run;
use crate::thread::Thread;
use crate::view::View;

use super::draft::Draft;
use super::{Ruled, refuse};

/// The caller's thread and its newest live run, if that run belongs to the caller's instance.
pub(super) fn live_caller<V: View>(
    draft: &Draft<'_, V>,
    caller: &AgentCaller,
) -> Result<Option<(Thread, Run)>, V::Fault> {
    let Some(thread) = draft.thread(&caller.thread_id)? else {
        return Ok(None);
    };
    if !thread.is_open() {
        return Ok(None);
    }
    let run = draft.active_run_of(&thread.id)?;
    // What a stopped turn still starts would outlive the stop.
    Ok(run
        .filter(|run| run.provider_instance_id == caller.instance_id && !run.is_stopping())
        .map(|run| (thread, run)))
}

/// Whether the caller may change this thread: its own without more, another one only from a live run and only within
/// its own modes.
pub(super) fn may_change<V: View>(
    draft: &Draft<'_, V>,
    caller: &Caller,
    target: &Thread,
) -> Ruled<V, ()> {
    let Caller::Agent(agent) = caller else {
        return Ok(Ok(()));
    };
    if agent.thread_id == target.id {
        return Ok(Ok(()));
    }
    let Some((own, _)) = live_caller(draft, agent)? else {
        refuse!(
            ParentNotActive,
            "Only a thread with an active run of its own provider instance may change another \
             thread: this one has none now."
        );
    };
    Ok(within(own.modes, target.modes, target.id.as_str()))
}

/// Whether a thread with `target` modes is no broader than its changer's.
pub(super) fn within(own: Modes, target: Modes, name: &str) -> Result<(), Denial> {
    if target.runtime > own.runtime {
        return Err(Denial::new(
            DenialCode::RuntimeModeEscalationDenied,
            format!(
                "The thread {name} works in {}, broader than this thread's {}.",
                target.runtime.word(),
                own.runtime.word()
            ),
        ));
    }
    if target.interaction > own.interaction {
        return Err(Denial::new(
            DenialCode::InteractionModeEscalationDenied,
            format!(
                "The thread {name} works in {} mode, broader than this thread's {}.",
                target.interaction.word(),
                own.interaction.word()
            ),
        ));
    }
    Ok(())
}
