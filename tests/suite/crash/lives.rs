//! One host after the other on the same store, each killed at a moment of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use domain::run::RunStatus;
use server::local::wire::StopThread;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::ledger::{Entries, Ledger};
use super::load::{Cut, Life, Load};
use super::moments::Moments;
use super::orphans::agents_of;
use super::stored::Stored;
use crate::support::overheard::OVERHEARD_FILE;
use crate::support::people::{all_settled, all_threads};
use crate::support::wire::address_of;
use crate::support::{PATIENCE, TestHost};

/// Threads that delegate through their agent's own credential.
const PARENTS: usize = 2;

/// In each of so many lives the journal is read from its beginning and made again from its events; in the others what
/// is new is read.
const WHOLE_LOOK_EACH: u32 = 5;

/// From when the moment of a death counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum From {
    /// From when the host is ready.
    Ready,
    /// From when agents begin to delegate.
    Delegation,
}

/// What all lives came to, but for those in peace.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// Threads, messages and tasks that were acknowledged.
    pub(super) threads: usize,
    pub(super) messages: usize,
    pub(super) tasks: usize,
    /// Commands whose answer nobody heard.
    pub(super) unheard: usize,
    /// Processes of the children's provider at work when a host was killed.
    pub(super) agents_at_death: usize,
    /// Runs that had an agent then.
    pub(super) runs_at_death: usize,
}

/// A host that lives again and again.
pub(super) struct Lives {
    host: TestHost,
    load: Load,
    ledger: Ledger,
    moments: Moments,
    number: u32,
    parents: Vec<String>,
    /// What the journal held when it was last read.
    stored: Stored,
    sums: Sums,
}

impl Lives {
    /// Begins with a host that runs.
    pub(super) fn of(host: TestHost, load: Load) -> Self {
        Self {
            host,
            load,
            ledger: Ledger::default(),
            moments: Moments::new(),
            number: 0,
            parents: Vec::new(),
            stored: Stored::default(),
            sums: Sums::default(),
        }
    }

    fn data(&self) -> PathBuf {
        self.host.folder().join("data")
    }

    fn life(&self) -> Life {
        Life {
            delegating: Arc::new(Notify::new()),
            number: self.number,
            load: self.load.clone(),
            person: self.host.person(),
            mcp: address_of(self.host.mcp_url()),
            overheard: self.host.folder().join(OVERHEARD_FILE),
            ledger: self.ledger.clone(),
        }
    }

    /// Lets the host work, kills it at a random moment, looks at what it left, and starts the next one.
    pub(super) async fn live(&mut self, from: From, millis: RangeInclusive<u64>) {
        self.number += 1;
        let life = self.life();
        let busy = self.begin_load(&life);
        if let From::Delegation = from {
            let begun = tokio::time::timeout(PATIENCE, life.delegating.notified());
            begun.await.expect("no agent begins to delegate");
        }
        tokio::time::sleep(self.moments.within(&millis)).await;
        let agents = self.kill();
        let left = busy.join_all().await;
        self.parents.extend(left.into_iter().flatten().flatten());
        self.look_at_journal();
        self.host.start_again();
        self.check_no_orphans(&agents);
        self.check_restart().await;
    }

    /// What the killed host left; from time to time all of it anew.
    fn look_at_journal(&mut self) {
        if self.number.is_multiple_of(WHOLE_LOOK_EACH) {
            self.stored = Stored::default();
        }
        self.stored.read_on(&self.data());
        self.stored.check(&self.ledger.book());
    }

    /// A life in which everything comes to its end.
    pub(super) async fn live_in_peace(&mut self) {
        self.number += 1;
        let busy = self.begin_load(&self.life());
        let left = busy.join_all().await;
        let made = left.into_iter().filter_map(|left| left.unwrap());
        self.parents.extend(made);
        let person = self.host.person();
        for thread in &self.parents {
            person
                .stop(thread, &StopThread { reason: None })
                .await
                .unwrap();
        }
        all_settled(&person).await.unwrap();
    }

    /// Starts a host and kills it before or while it becomes ready.
    pub(super) async fn be_stillborn(&mut self, millis: RangeInclusive<u64>) {
        self.kill();
        let mut server = self.host.command(&["serve"]);
        let mut server = server
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        tokio::time::sleep(self.moments.within(&millis)).await;
        server.kill().unwrap();
        server.wait().unwrap();
        self.look_at_journal();
        self.host.start_again();
        self.check_restart().await;
    }

    /// Begins to ask things of the host; answers the parents made.
    fn begin_load(&self, life: &Life) -> JoinSet<Result<Option<String>, Cut>> {
        let mut busy = JoinSet::new();
        for place in 0..self.load.people {
            let life = life.clone();
            busy.spawn(async move { life.be_a_person(place).await.map(|()| None) });
        }
        for place in 0..PARENTS {
            let (life, known) = (life.clone(), self.parents.get(place).cloned());
            busy.spawn(async move {
                match known {
                    Some(thread) => life.be_an_agent(thread).await.map(|()| None),
                    None => life.make_parent(place).await.map(Some),
                }
            });
        }
        let life = life.clone();
        busy.spawn(async move { life.script_a_parent().await.map(|()| None) });
        busy
    }

    /// Kills the host; answers the agents it had.
    fn kill(&mut self) -> BTreeMap<(u32, String), String> {
        let mut agents = agents_of(&self.data());
        self.host.kill();
        // Those that were just being started.
        agents.extend(agents_of(&self.data()));
        let at_work = |words: &&String| words.contains(self.load.child_words);
        self.sums.agents_at_death += agents.values().filter(at_work).count();
        agents
    }

    fn check_no_orphans(&self, agents: &BTreeMap<(u32, String), String>) {
        let now = agents_of(&self.data());
        let orphans: Vec<_> = agents
            .iter()
            .filter(|(process, _)| now.contains_key(process))
            .collect();
        assert!(
            orphans.is_empty(),
            "agents outlive their host: {orphans:?}\n{}",
            self.host.log()
        );
    }

    /// What the next host says of the runs and threads it found.
    async fn check_restart(&mut self) {
        let before = &self.stored;
        let person = self.host.person();
        let listed = all_threads(&person).await.unwrap();
        let listed: BTreeSet<&str> = listed.iter().map(|row| row.thread.id.as_str()).collect();
        for thread in before.threads.keys() {
            assert!(listed.contains(thread.as_str()), "{thread} is not listed");
        }
        let had_agent = |status: RunStatus| status.is_active();
        for run in before.runs.values().filter(|run| had_agent(run.status)) {
            self.sums.runs_at_death += 1;
            let thread = person.thread(run.thread_id.as_str(), 0).await.unwrap();
            let now = thread
                .runs
                .iter()
                .find(|now| now.id == run.id.as_str())
                .unwrap();
            assert_eq!(now.status, RunStatus::Interrupted, "{now:?}");
            let reason = now.reason.as_deref().unwrap_or_default();
            let stopped = run.is_stopping();
            assert!(stopped || reason == "host_restarted", "{now:?}");
        }
    }

    /// Lets a last life end in peace, and looks at the store of a host that was stopped in good order.
    pub(super) async fn end(mut self) -> Sums {
        let sums = self.sums();
        self.live_in_peace().await;
        self.host.stop();
        assert_eq!(
            agents_of(&self.data()),
            BTreeMap::new(),
            "agents outlive a stopped host"
        );
        let mut stored = Stored::default();
        stored.read_on(&self.data());
        stored.check(&self.ledger.book());
        stored.check_all_over();
        println!("{} lives: {sums:?}", self.number);
        sums
    }

    fn sums(&self) -> Sums {
        let book = self.ledger.book();
        Sums {
            threads: Entries::answered(&book.threads),
            messages: Entries::answered(&book.messages),
            tasks: Entries::answered(&book.tasks),
            unheard: book.unheard(),
            ..self.sums.clone()
        }
    }
}
