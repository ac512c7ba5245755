//! A fake of the provider pool, for tests of what stands in front of it.
//!
//! It keeps the work it is given and does nothing with it: a test says what the agents report.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use domain::ids::{DriverKind, ProviderInstanceId, RunId, ThreadId};
use domain::modes::{InteractionMode, RuntimeMode};
use domain::provider::{ModelInfo, ProviderSnapshot, Readiness, Steering};
use threads::ports::{BoxFuture, ProviderPort, ProviderWork, ThreadOpening};
use tokio::sync::watch;

/// A fake [`ProviderPort`].
#[derive(Debug, Default)]
pub(crate) struct FakeProviders {
    told: Mutex<Told>,
    work: watch::Sender<Vec<ProviderWork>>,
}

#[derive(Debug, Default)]
struct Told {
    snapshots: Vec<ProviderSnapshot>,
    /// What looking again at an instance will show.
    cures: BTreeMap<ProviderInstanceId, ProviderSnapshot>,
    /// Instances looked at again, in order.
    looks: Vec<ProviderInstanceId>,
}

impl FakeProviders {
    /// Providers of which the host knows this.
    pub(crate) fn of(snapshots: Vec<ProviderSnapshot>) -> Arc<Self> {
        let told = Told {
            snapshots,
            ..Told::default()
        };
        Arc::new(Self {
            told: Mutex::new(told),
            work: watch::Sender::new(Vec::new()),
        })
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap()
    }

    /// From now on the host knows this of the instance.
    pub(crate) fn show(&self, snapshot: ProviderSnapshot) {
        let mut told = self.told();
        told.snapshots
            .retain(|known| known.instance_id != snapshot.instance_id);
        told.snapshots.push(snapshot);
    }

    /// Looking at the instance again will show this.
    pub(crate) fn cure(&self, snapshot: ProviderSnapshot) {
        self.told()
            .cures
            .insert(snapshot.instance_id.clone(), snapshot);
    }

    /// How often the instance was looked at again.
    pub(crate) fn looks_at(&self, instance: &str) -> usize {
        let told = self.told();
        let same = |looked: &&ProviderInstanceId| looked.as_str() == instance;
        told.looks.iter().filter(same).count()
    }

    /// The work given so far, in order.
    pub(crate) fn work(&self) -> Vec<ProviderWork> {
        self.work.borrow().clone()
    }

    /// Waits for the first work that `wanted` reads something from.
    pub(crate) async fn given<T>(&self, wanted: impl Fn(&ProviderWork) -> Option<T>) -> T {
        let mut work = self.work.subscribe();
        let found = work.wait_for(|work| work.iter().any(|work| wanted(work).is_some()));
        let work = found.await.unwrap().clone();
        work.iter().find_map(wanted).unwrap()
    }

    /// Waits until the turn of a run is handed over.
    pub(crate) async fn turn(&self, run: &RunId) -> (ThreadOpening, String) {
        self.given(|work| match work {
            ProviderWork::StartTurn {
                thread,
                run_id,
                text,
            } if run_id == run => Some((thread.clone(), text.clone())),
            _ => None,
        })
        .await
    }

    /// Waits until this many turns of a thread were handed over, and answers the last of them.
    pub(crate) async fn turn_number(&self, thread: &ThreadId, number: usize) -> (RunId, String) {
        let mut work = self.work.subscribe();
        loop {
            let turns = self.turns_of(thread);
            if let Some(turn) = number.checked_sub(1).and_then(|at| turns.get(at)) {
                return turn.clone();
            }
            work.changed().await.unwrap();
        }
    }

    /// Turns handed over so far for a thread: run and text, in order.
    pub(crate) fn turns_of(&self, thread: &ThreadId) -> Vec<(RunId, String)> {
        let turn = |work: ProviderWork| match work {
            ProviderWork::StartTurn {
                thread: opening,
                run_id,
                text,
            } if opening.thread_id == *thread => Some((run_id, text)),
            _ => None,
        };
        self.work().into_iter().filter_map(turn).collect()
    }
}

impl ProviderPort for FakeProviders {
    fn snapshots(&self) -> Vec<ProviderSnapshot> {
        self.told().snapshots.clone()
    }

    fn reprobe<'a>(&'a self, instance: &'a ProviderInstanceId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let cure = {
                let mut told = self.told();
                told.looks.push(instance.clone());
                told.cures.remove(instance)
            };
            if let Some(cure) = cure {
                self.show(cure);
            }
        })
    }

    fn submit(&self, work: ProviderWork) {
        self.work.send_modify(|kept| kept.push(work));
    }
}

/// A usable instance that offers these models and every mode.
pub(crate) fn instance(id: &str, driver: &str, models: &[&str]) -> ProviderSnapshot {
    ProviderSnapshot {
        instance_id: ProviderInstanceId::new(id),
        driver_kind: DriverKind::new(driver),
        display_name: None,
        models: models.iter().copied().map(model).collect(),
        runtime_modes: RuntimeMode::ALL.to_vec(),
        interaction_modes: InteractionMode::ALL.to_vec(),
        steering: Steering::Native,
        mcp_wait_ms_max: None,
        version: Some("1.0.0".to_owned()),
        constraints: Vec::new(),
        readiness: Readiness::Ready,
    }
}

/// The same instance, which can't be used now.
pub(crate) fn unusable(mut snapshot: ProviderSnapshot, why: &str) -> ProviderSnapshot {
    snapshot.constraints = vec![why.to_owned()];
    snapshot.readiness = Readiness::Unusable;
    snapshot
}

fn model(id: &str) -> ModelInfo {
    ModelInfo {
        id: id.to_owned(),
        label: None,
        preferred: false,
        options: Vec::new(),
    }
}
