//! Fork and rollback. A place in a conversation is the id of the turn it ends with.
#![forbid(unsafe_code)]

use driver_sdk::failure::{self, Class};
use driver_sdk::jsonrpc::RpcError;
use driver_sdk::types::{EffectOutcome, Fork, Rollback};
use serde_json::{Value, json};

use crate::core::{Call, Codex};
use crate::errors;
use crate::limits::{TURN_PAGE_ENTRIES, TURN_PAGES_MAX};
use crate::thread::ThreadKey;
use crate::views::{Opened, TurnPage, WholeThread};

/// A search for the turn after a place.
#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) effect_id: String,
    key: ThreadKey,
    native: String,
    /// The last turn that stays. `None`: none does.
    point: Option<String>,
    /// The oldest turn seen so far that goes.
    first_gone: Option<String>,
    gone: u32,
    pages: u32,
}

/// Turns to drop.
#[derive(Debug)]
pub(crate) struct Cut {
    pub(crate) effect_id: String,
    native: String,
    turns: u32,
}

/// A copy to verify.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) effect_id: String,
    native: String,
    point: Option<String>,
}

impl Codex {
    /// `fork`
    pub(crate) fn fork(&mut self, fork: Fork) {
        self.effects.begin(&fork.effect_id);
        let Some(native) = self
            .key_of(&fork.thread_id)
            .and_then(|key| self.thread(key))
            .and_then(|t| t.native.clone())
        else {
            self.refuse_unknown_thread(&fork.effect_id);
            return;
        };
        let mut params = json!({ "threadId": native, "excludeTurns": true });
        if let (Some(point), Some(object)) = (&fork.native_point, params.as_object_mut()) {
            object.insert("lastTurnId".to_owned(), json!(point));
        }
        self.effects.sent(&fork.effect_id);
        let copy = Copy {
            effect_id: fork.effect_id,
            native: String::new(),
            point: fork.native_point,
        };
        self.call_default("thread/fork", &params, Call::Fork(copy));
    }

    /// The answer to `thread/fork`. A copy up to a point is checked: versions that do not know `lastTurnId` copy all and
    /// say nothing.
    pub(crate) fn forked(&mut self, mut copy: Copy, answer: Result<Option<Opened>, RpcError<'_>>) {
        match answer {
            Ok(Some(opened)) => copy.native = opened.thread.id.to_string(),
            Ok(None) => {
                let failure =
                    failure::transport("Codex copied the conversation without naming the copy.");
                self.end_effect(&copy.effect_id, EffectOutcome::Failed(failure));
                return;
            }
            Err(error) => {
                let failure = errors::of_call("to copy the conversation", &error);
                self.end_effect(&copy.effect_id, EffectOutcome::Refused(failure));
                return;
            }
        }
        if copy.point.is_some() {
            let params = json!({ "threadId": copy.native, "limit": 1, "itemsView": "notLoaded" });
            self.call_default("thread/turns/list", &params, Call::CheckFork(copy));
        } else {
            self.fork_is_done(copy);
        }
    }

    /// The last turn of the copy.
    pub(crate) fn fork_checked(
        &mut self,
        copy: Copy,
        answer: Result<Option<TurnPage>, RpcError<'_>>,
    ) {
        let last = answer
            .ok()
            .flatten()
            .and_then(|page| page.data.first().map(|turn| turn.id.to_string()));
        if last == copy.point {
            self.fork_is_done(copy);
            return;
        }
        self.let_go_of_copy(&copy.native);
        let failure = failure::new(
            Class::Validation,
            "This version of Codex cannot copy a conversation up to an earlier turn. Update Codex, or copy all of it.",
        );
        self.end_effect(&copy.effect_id, EffectOutcome::Refused(failure));
    }

    fn fork_is_done(&mut self, copy: Copy) {
        // The host opens the copy when it wants it, here or elsewhere.
        self.let_go_of_copy(&copy.native);
        self.end_effect(&copy.effect_id, EffectOutcome::Forked(copy.native));
    }

    fn let_go_of_copy(&mut self, native: &str) {
        let params = json!({ "threadId": native });
        self.call_default("thread/unsubscribe", &params, Call::Forget);
    }

    /// `rollback`
    pub(crate) fn rollback(&mut self, rollback: Rollback) {
        self.effects.begin(&rollback.effect_id);
        let found = self
            .key_of(&rollback.thread_id)
            .and_then(|key| self.thread(key));
        let Some((key, native, busy)) =
            found.and_then(|t| Some((t.key, t.native.clone()?, t.turn.is_some())))
        else {
            self.refuse_unknown_thread(&rollback.effect_id);
            return;
        };
        if busy {
            let failure = failure::validation("The thread runs a turn. Stop it first.");
            self.end_effect(&rollback.effect_id, EffectOutcome::Refused(failure));
            return;
        }
        let search = Search {
            effect_id: rollback.effect_id,
            key,
            native,
            point: rollback.native_point,
            first_gone: None,
            gone: 0,
            pages: 0,
        };
        self.list_turns(search, None);
    }

    fn list_turns(&mut self, search: Search, cursor: Option<&str>) {
        let params = json!({
            "threadId": search.native,
            "limit": TURN_PAGE_ENTRIES,
            "cursor": cursor,
            "itemsView": "notLoaded",
        });
        self.call_default("thread/turns/list", &params, Call::ListTurns(search));
    }

    /// A page of turns, newest first. Versions without the list give the whole thread instead.
    pub(crate) fn turns_listed(
        &mut self,
        mut search: Search,
        answer: Result<Option<TurnPage>, RpcError<'_>>,
    ) {
        let page = match answer {
            Ok(Some(page)) => page,
            Ok(None) => TurnPage {
                data: Vec::new(),
                next_cursor: None,
            },
            Err(error) if errors::is_not_offered(&error) => {
                let params = json!({ "threadId": search.native, "includeTurns": true });
                self.call_default("thread/read", &params, Call::ReadTurns(search));
                return;
            }
            Err(error) => {
                let failure = errors::of_call("to list the turns", &error);
                self.end_effect(&search.effect_id, EffectOutcome::Refused(failure));
                return;
            }
        };
        search.pages += 1;
        let found = search.take(page.data.iter().map(|turn| turn.id.as_ref()));
        match page.next_cursor {
            Some(cursor) if !found && search.pages < TURN_PAGES_MAX => {
                self.list_turns(search, Some(&cursor));
            }
            cursor => self.cut(search, found, cursor.is_none()),
        }
    }

    /// The whole thread, oldest turn first.
    pub(crate) fn turns_read(
        &mut self,
        mut search: Search,
        answer: Result<Option<WholeThread>, RpcError<'_>>,
    ) {
        match answer {
            Ok(whole) => {
                let turns = whole.map(|whole| whole.thread.turns).unwrap_or_default();
                let found = search.take(turns.iter().rev().map(|turn| turn.id.as_ref()));
                self.cut(search, found, true);
            }
            Err(error) => {
                let failure = errors::of_call("to read the conversation", &error);
                self.end_effect(&search.effect_id, EffectOutcome::Refused(failure));
            }
        }
    }

    fn cut(&mut self, search: Search, found: bool, seen_all: bool) {
        if !found && (search.point.is_some() || !seen_all) {
            let failure =
                failure::validation("Codex does not know this place in the conversation.");
            self.end_effect(&search.effect_id, EffectOutcome::Refused(failure));
            return;
        }
        let Some(first_gone) = search.first_gone else {
            self.end_effect(&search.effect_id, EffectOutcome::Done); // Nothing comes after the place.
            return;
        };
        self.effects.sent(&search.effect_id);
        if let Some(thread) = self.thread(search.key) {
            thread.meter = crate::usage::Meter::default();
        }
        let params = json!({ "threadId": search.native, "beforeTurnId": first_gone });
        let cut = Cut {
            effect_id: search.effect_id,
            native: search.native,
            turns: search.gone,
        };
        self.call_default("thread/revert", &params, Call::Revert(cut));
    }

    /// The answer to `thread/revert`. Older versions have `thread/rollback` instead.
    pub(crate) fn reverted(&mut self, cut: Cut, answer: Result<(), RpcError<'_>>) {
        match answer {
            Ok(()) => self.end_effect(&cut.effect_id, EffectOutcome::Done),
            Err(error) if errors::is_not_offered(&error) => {
                let params: Value = json!({ "threadId": cut.native, "numTurns": cut.turns });
                self.call_default("thread/rollback", &params, Call::Rollback(cut.effect_id));
            }
            Err(error) => self.rolled_back(&cut.effect_id, Err(error)),
        }
    }

    /// The answer to `thread/rollback`.
    pub(crate) fn rolled_back(&mut self, effect_id: &str, answer: Result<(), RpcError<'_>>) {
        let outcome = match answer {
            Ok(()) => EffectOutcome::Done,
            Err(error) => EffectOutcome::Refused(errors::of_call("to drop the turns", &error)),
        };
        self.end_effect(effect_id, outcome);
    }
}

impl Search {
    /// Takes turns, newest first, up to the place. Whether it was reached.
    fn take<'a>(&mut self, turns: impl Iterator<Item = &'a str>) -> bool {
        for turn in turns {
            if self.point.as_deref() == Some(turn) {
                return true;
            }
            self.first_gone = Some(turn.to_owned());
            self.gone += 1;
        }
        false
    }
}
