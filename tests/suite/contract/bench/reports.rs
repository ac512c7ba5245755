//! What agents report.

use domain::ids::{ProviderInstanceId, ProviderSessionId, RequestId, ThreadId};
use domain::item::{ItemHead, ItemKind, ItemStatus};
use domain::provider_event::{
    Blocking, ProviderEvent, ProviderItem, ProviderReport, Resume, TurnOutcome,
};
use domain::request::Prompt;
use domain::run::RunStatus;
use domain::view::View;

use super::{Bench, OWN, Talk};

impl Bench {
    /// The provider session of a thread, in this life of the host.
    pub(in crate::contract) fn session(&self, thread: &ThreadId) -> ProviderSessionId {
        ProviderSessionId::new(format!("session-{}-{thread}", self.life))
    }

    /// Reports for the session of a thread.
    pub(in crate::contract) async fn report(&self, thread: &ThreadId, event: ProviderEvent) {
        let report = ProviderReport {
            session_id: self.session(thread),
            instance_id: ProviderInstanceId::new(OWN),
            event,
        };
        self.reports.send(report).await.unwrap();
    }

    /// The provider has the turn and works on it.
    pub(in crate::contract) async fn turn_starts(&self, talk: &Talk) {
        let (opening, _) = self.providers.turn(&talk.run).await;
        assert_eq!(opening.thread_id, talk.thread);
        let thread_id = talk.thread.clone();
        self.report(&talk.thread, ProviderEvent::ThreadAttached { thread_id })
            .await;
        let native = opening
            .native
            .map_or_else(|| format!("native-{}", talk.thread), |native| native.id);
        let ready = ProviderEvent::ThreadReady {
            thread_id: talk.thread.clone(),
            native_thread_id: native,
            resume: Resume::Possible,
            model: None,
        };
        self.report(&talk.thread, ready).await;
        let started = ProviderEvent::TurnStarted {
            run_id: talk.run.clone(),
            native_turn_id: None,
        };
        self.report(&talk.thread, started).await;
        self.until_run(&talk.run, RunStatus::Running).await;
    }

    /// The agent says something in its turn.
    pub(in crate::contract) async fn says(&self, talk: &Talk, text: &str) {
        let item = ProviderItem {
            driver_item_id: format!("item-{}", talk.run),
            thread_id: talk.thread.clone(),
            run_id: Some(talk.run.clone()),
            parent_driver_item_id: None,
            kind: ItemKind::AssistantMessage,
            status: ItemStatus::Completed,
            title: None,
            text: Some(text.to_owned()),
            head: ItemHead::default(),
            body_json: "{}".to_owned(),
        };
        self.report(&talk.thread, ProviderEvent::Item(item)).await;
    }

    /// The turn ends; returns when that is stored.
    pub(in crate::contract) async fn turn_ends(&self, talk: &Talk, outcome: TurnOutcome) {
        let ended = ProviderEvent::TurnEnded {
            run_id: talk.run.clone(),
            outcome,
            native_point: None,
        };
        self.report(&talk.thread, ended).await;
        let what = format!("the end of {}", talk.run);
        self.until(&what, |reader| {
            reader.run(&talk.run).unwrap().unwrap().status.is_terminal()
        })
        .await;
    }

    /// The agent answers and its turn completes.
    pub(in crate::contract) async fn answers(&self, talk: &Talk, text: &str) {
        self.says(talk, text).await;
        self.turn_ends(talk, TurnOutcome::Completed).await;
    }

    /// The agent opens a request; returns when it is stored.
    pub(in crate::contract) async fn asks(
        &self,
        talk: &Talk,
        id: &str,
        blocking: Blocking,
        prompt: Prompt,
    ) {
        let opened = ProviderEvent::RequestOpened {
            request_id: RequestId::new(id),
            thread_id: talk.thread.clone(),
            run_id: Some(talk.run.clone()),
            blocking,
            prompt,
            detail_json: "{}".to_owned(),
        };
        self.report(&talk.thread, opened).await;
        let id = RequestId::new(id);
        self.until("a request", |reader| reader.request(&id).unwrap().is_some())
            .await;
    }
}
