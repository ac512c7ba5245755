//! Events of the driver: checked against what it holds, then told to the journal.

use domain::ids::{RequestId, RunId, ThreadId};
use domain::item::ItemKind;
use domain::provider_event::{Blocking, ProviderEvent, ProviderItem, Resume, TurnOutcome};
use tokio::time::Instant;

use super::{Effects, Ledger, OpenItem, OpenRequest, Owed, Phase, TurnPhase, Violation};
use crate::bindings::convert;
use crate::bindings::v0_1::types as wit;
use crate::limits;
use crate::manifest::ThreadsHeld;
use crate::random;

/// Whether something the driver names is there.
enum Known<T> {
    Here(T),
    /// It was, and is over: agents speak late.
    Over,
}

impl Ledger {
    /// Takes one event.
    pub(crate) fn event(&mut self, event: wit::Event, now: Instant) -> Result<Effects, Violation> {
        self.last_sign = now;
        let mut effects = Effects::default();
        match event {
            wit::Event::Snapshot(snapshot) => effects.snapshot = Some(snapshot),
            wit::Event::ThreadReady(ready) => self.thread_ready(ready, now, &mut effects)?,
            wit::Event::TurnStarted(started) => self.turn_started(started, &mut effects)?,
            wit::Event::TurnEnded(ended) => self.turn_over(ended, now, &mut effects)?,
            wit::Event::EffectEnded(ended) => self.effect_ended(ended, now, &mut effects)?,
            wit::Event::Item(item) => self.item(item, &mut effects)?,
            wit::Event::Text(text) => self.text(text, &mut effects)?,
            wit::Event::Request(request) => self.request(request, &mut effects)?,
            wit::Event::RequestClosed(closed) => self.request_closed(closed, &mut effects)?,
            wit::Event::Usage(usage) => self.usage(&usage, &mut effects)?,
            wit::Event::Background(background) => self.background(background, &mut effects)?,
            wit::Event::SessionEnded(ended) => {
                effects.ended = Some(ended.failure.map(convert::failure));
            }
            wit::Event::Extension(extension) => {
                let name = crate::text::one_line(&extension.name, 64);
                tracing::debug!(name, "the driver sent an extension this host does not know");
            }
        }
        Ok(effects)
    }

    fn thread(&self, id: &str, event: &'static str) -> Result<Known<ThreadId>, Violation> {
        let id = ThreadId::new(id);
        if self.threads.contains_key(&id) {
            Ok(Known::Here(id))
        } else if self.threads_over.contains(&id) {
            Ok(Known::Over)
        } else {
            Err(Violation::ForeignThread { event })
        }
    }

    fn turn(&self, id: &str, event: &'static str) -> Result<Known<RunId>, Violation> {
        let id = RunId::new(id);
        if self.turns.contains_key(&id) {
            Ok(Known::Here(id))
        } else if self.turns_over.contains(&id) {
            Ok(Known::Over)
        } else {
            Err(Violation::ForeignTurn { event })
        }
    }

    /// The thread and, where one is named, the turn of an event; the turn must be the thread's.
    fn place(
        &self,
        thread: &str,
        turn: Option<&str>,
        event: &'static str,
    ) -> Result<Known<(ThreadId, Option<RunId>)>, Violation> {
        let Known::Here(thread) = self.thread(thread, event)? else {
            return Ok(Known::Over);
        };
        let Some(turn) = turn else {
            return Ok(Known::Here((thread, None)));
        };
        let Known::Here(run) = self.turn(turn, event)? else {
            return Ok(Known::Over);
        };
        match self.turns.get(&run) {
            Some(live) if live.thread == thread => Ok(Known::Here((thread, Some(run)))),
            _ => Err(Violation::ForeignTurn { event }),
        }
    }

    fn thread_ready(
        &mut self,
        ready: wit::ThreadReady,
        now: Instant,
        effects: &mut Effects,
    ) -> Result<(), Violation> {
        let measure = self.identity.measure;
        let Known::Here(thread_id) = self.thread(&ready.thread_id, "thread-ready")? else {
            return Ok(());
        };
        let native_thread_id =
            measure.id("thread-ready.native-thread-id", ready.native_thread_id)?;
        let model = measure.optional_id("thread-ready.model", ready.model)?;
        if ready
            .capabilities
            .is_some_and(|capabilities| capabilities.threads == "one")
        {
            self.held = ThreadsHeld::One;
        }
        if let Some(thread) = self.threads.get_mut(&thread_id) {
            thread.phase = Phase::Open;
            thread.native_id = Some(native_thread_id.clone());
        }
        self.effects
            .retain(|_, owed| !matches!(owed, Owed::Open(id) if *id == thread_id));
        effects.reports.push(ProviderEvent::ThreadReady {
            thread_id: thread_id.clone(),
            native_thread_id,
            resume: if ready.resumable {
                Resume::Possible
            } else {
                Resume::Impossible
            },
            model,
        });
        self.pump(&thread_id, now, effects);
        Ok(())
    }

    fn turn_started(
        &mut self,
        started: wit::TurnStarted,
        effects: &mut Effects,
    ) -> Result<(), Violation> {
        let native_turn_id = self
            .identity
            .measure
            .optional_id("turn-started.native-turn-id", started.native_turn_id)?;
        let Known::Here(run_id) = self.turn(&started.turn_id, "turn-started")? else {
            return Ok(());
        };
        let Some(turn) = self.turns.get_mut(&run_id) else {
            return Ok(());
        };
        if turn.phase == TurnPhase::Started {
            return Err(Violation::NotNow {
                event: "turn-started",
                why: "the turn runs already",
            });
        }
        turn.phase = TurnPhase::Started;
        let steers = std::mem::take(&mut turn.steers);
        self.effects
            .retain(|_, owed| !matches!(owed, Owed::Start(id) if *id == run_id));
        effects.reports.push(ProviderEvent::TurnStarted {
            run_id: run_id.clone(),
            native_turn_id,
        });
        for (message_id, text) in steers {
            self.send_steer(&run_id, message_id, text, effects);
        }
        Ok(())
    }

    fn turn_over(
        &mut self,
        ended: wit::TurnEnded,
        now: Instant,
        effects: &mut Effects,
    ) -> Result<(), Violation> {
        let native_point = self
            .identity
            .measure
            .optional_id("turn-ended.native-point", ended.native_point)?;
        let Known::Here(run_id) = self.turn(&ended.turn_id, "turn-ended")? else {
            return Ok(());
        };
        let Some(turn) = self.turns.get(&run_id) else {
            return Ok(());
        };
        if turn.phase != TurnPhase::Started {
            return Err(Violation::NotNow {
                event: "turn-ended",
                why: "the turn has not started",
            });
        }
        let thread_id = turn.thread.clone();
        self.end_turn(
            &run_id,
            convert::outcome(ended.outcome),
            native_point,
            effects,
        );
        if let Some(thread) = self.threads.get_mut(&thread_id) {
            thread.last_active = now;
            if ended.native_thread_state == "broken" {
                thread.phase = Phase::Broken;
            }
        }
        self.pump(&thread_id, now, effects);
        Ok(())
    }

    fn effect_ended(
        &mut self,
        ended: wit::EffectEnded,
        now: Instant,
        effects: &mut Effects,
    ) -> Result<(), Violation> {
        let Some(owed) = self.effects.remove(&ended.effect_id) else {
            // What it was about may be over, and its books closed.
            return match ended
                .effect_id
                .strip_prefix("effect-")
                .and_then(|n| n.parse().ok())
            {
                Some(number) if (1..=self.effects_made).contains(&number) => Ok(()),
                _ => Err(Violation::UnknownEffect),
            };
        };
        let failure = match ended.outcome {
            wit::EffectOutcome::Done | wit::EffectOutcome::Forked(_) => None,
            wit::EffectOutcome::Refused(cause) | wit::EffectOutcome::Failed(cause) => {
                Some(convert::failure(cause))
            }
        };
        match (owed, failure) {
            (Owed::Open(_), None) => Err(Violation::NotNow {
                event: "effect-ended",
                why: "an opened thread is told by `thread-ready`",
            }),
            (Owed::Start(_), None) => Err(Violation::NotNow {
                event: "effect-ended",
                why: "a started turn is told by `turn-started`",
            }),
            (Owed::Open(thread_id), Some(failure)) => {
                self.opening_failed(&thread_id, &failure, effects);
                Ok(())
            }
            (Owed::Start(run_id), Some(failure)) => {
                let Some(turn) = self.turns.get(&run_id) else {
                    return Ok(());
                };
                let thread_id = turn.thread.clone();
                let outcome = match turn.interrupted {
                    Some(_) => TurnOutcome::Interrupted,
                    None => TurnOutcome::Failed(failure),
                };
                self.end_turn(&run_id, outcome, None, effects);
                self.pump(&thread_id, now, effects);
                Ok(())
            }
            (Owed::Steer(run_id, message_id), refusal) => {
                effects.reports.push(ProviderEvent::SteerEnded {
                    run_id,
                    message_id,
                    refusal,
                });
                Ok(())
            }
            (Owed::Answer(driver_id), Some(_)) => self.ask_again(&driver_id, effects),
            (Owed::Interrupt(run_id), None) => {
                self.never_started(&run_id, now, effects);
                Ok(())
            }
            (Owed::Answer(_) | Owed::Interrupt(_) | Owed::CloseThread, _) => Ok(()),
        }
    }

    /// An interrupt was done with: a turn that has not started will not.
    fn never_started(&mut self, run_id: &RunId, now: Instant, effects: &mut Effects) {
        let Some(turn) = self.turns.get(run_id) else {
            return;
        };
        if turn.phase == TurnPhase::Started {
            return;
        }
        let thread_id = turn.thread.clone();
        self.end_turn(run_id, TurnOutcome::Interrupted, None, effects);
        self.pump(&thread_id, now, effects);
    }

    /// The provider could not use an answer and still waits: the question is asked again, under a new id.
    fn ask_again(&mut self, driver_id: &str, effects: &mut Effects) -> Result<(), Violation> {
        let Some(open) = self.requests.get_mut(driver_id) else {
            return Ok(());
        };
        let id = RequestId::from_random(random::bits()?);
        effects.reports.push(ProviderEvent::RequestClosed {
            request_id: std::mem::replace(&mut open.id, id),
            reason: "superseded".to_owned(),
        });
        effects.reports.push(opened(open));
        Ok(())
    }

    fn item(&mut self, item: wit::Item, effects: &mut Effects) -> Result<(), Violation> {
        let measure = self.identity.measure;
        let driver_item_id = measure.id("item.item-id", item.item_id)?;
        let place = self.place(&item.thread_id, item.turn_id.as_deref(), "item")?;
        let (title, text) = measure.item_texts(item.title, item.text)?;
        let head = measure.item_head(item.head)?;
        let body_json = measure.object("item.body-json", item.body_json)?;
        let parent = measure.optional_id("item.parent-item-id", item.parent_item_id)?;
        let Known::Here((thread_id, run_id)) = place else {
            return Ok(());
        };
        let status = convert::item_status(item.status);
        if status.is_closed() {
            self.items.remove(&driver_item_id);
        } else {
            let open = OpenItem {
                thread: thread_id.clone(),
                run: run_id.clone(),
            };
            self.items.insert(driver_item_id.clone(), open);
            if self.items.len() > limits::ITEMS_OPEN_MAX {
                return Err(Violation::TooMany {
                    what: "items",
                    max: limits::ITEMS_OPEN_MAX,
                });
            }
        }
        effects.reports.push(ProviderEvent::Item(ProviderItem {
            driver_item_id,
            thread_id,
            run_id,
            parent_driver_item_id: parent,
            kind: ItemKind::from_word(&item.kind),
            status,
            title,
            text,
            head,
            body_json,
        }));
        Ok(())
    }

    fn text(&mut self, text: wit::Text, effects: &mut Effects) -> Result<(), Violation> {
        let measure = self.identity.measure;
        let driver_item_id = measure.id("text.item-id", text.item_id)?;
        let appended = measure.text("text.appended", text.appended)?;
        // Text for an item that is closed, or of a turn that is over, comes too late.
        if let Some(item) = self.items.get(&driver_item_id) {
            let thread_id = item.thread.clone();
            effects.reports.push(ProviderEvent::Text {
                thread_id,
                driver_item_id,
                appended,
            });
        }
        Ok(())
    }

    fn request(&mut self, request: wit::Request, effects: &mut Effects) -> Result<(), Violation> {
        let measure = self.identity.measure;
        let driver_id = measure.id("request.request-id", request.request_id)?;
        let place = self.place(&request.thread_id, request.turn_id.as_deref(), "request")?;
        let prompt = measure.prompt(request.prompt)?;
        let detail_json = measure.object("request.detail-json", request.detail_json)?;
        let Known::Here((thread, run)) = place else {
            return Ok(());
        };
        if self.requests.contains_key(&driver_id) {
            return Err(Violation::NotNow {
                event: "request",
                why: "its id is in use",
            });
        }
        if self.requests.len() >= limits::REQUESTS_OPEN_MAX {
            return Err(Violation::TooMany {
                what: "requests",
                max: limits::REQUESTS_OPEN_MAX,
            });
        }
        let id = RequestId::from_random(random::bits()?);
        let blocking = if request.blocking {
            Blocking::Blocking
        } else {
            Blocking::NonBlocking
        };
        let open = OpenRequest {
            id,
            thread,
            run,
            blocking,
            prompt,
            detail_json,
        };
        effects.reports.push(opened(&open));
        self.requests.insert(driver_id, open);
        Ok(())
    }

    fn request_closed(
        &mut self,
        closed: wit::RequestClosed,
        effects: &mut Effects,
    ) -> Result<(), Violation> {
        let reason = self
            .identity
            .measure
            .id("request-closed.reason", closed.reason)?;
        self.effects
            .retain(|_, owed| !matches!(owed, Owed::Answer(id) if *id == closed.request_id));
        self.close_request(&closed.request_id, &reason, effects);
        Ok(())
    }

    fn usage(&mut self, usage: &wit::Usage, effects: &mut Effects) -> Result<(), Violation> {
        if let Known::Here(run_id) = self.turn(&usage.turn_id, "usage")? {
            effects.reports.push(ProviderEvent::Usage {
                run_id,
                usage: convert::usage(usage),
            });
        }
        Ok(())
    }

    fn background(
        &mut self,
        background: wit::Background,
        effects: &mut Effects,
    ) -> Result<(), Violation> {
        let measure = self.identity.measure;
        let Known::Here(thread_id) = self.thread(&background.thread_id, "background")? else {
            return Ok(());
        };
        let tasks = measure
            .list("background.tasks", background.tasks)?
            .into_iter()
            .map(|task| {
                measure.text(
                    "background.description",
                    task.description.unwrap_or(task.kind),
                )
            })
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(thread) = self.threads.get_mut(&thread_id) {
            thread.background = !tasks.is_empty();
            thread.last_active = self.last_sign;
        }
        effects
            .reports
            .push(ProviderEvent::Background { thread_id, tasks });
        Ok(())
    }
}

fn opened(open: &OpenRequest) -> ProviderEvent {
    ProviderEvent::RequestOpened {
        request_id: open.id.clone(),
        thread_id: open.thread.clone(),
        run_id: open.run.clone(),
        blocking: open.blocking,
        prompt: open.prompt.clone(),
        detail_json: open.detail_json.clone(),
    }
}
