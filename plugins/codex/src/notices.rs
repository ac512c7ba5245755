//! What Codex says beside its work: warnings, retries, lines that came too long.
#![forbid(unsafe_code)]

use driver_sdk::clip;
use driver_sdk::limits::TITLE_BYTES_MAX;
use driver_sdk::logging::{self, LogLevel};
use driver_sdk::types::{Event, Item, ItemHead, ItemStatus};
use serde_json::json;

use crate::core::Codex;
use crate::errors;
use crate::limits::WARNINGS_PER_THREAD_MAX;
use crate::thread::ThreadKey;
use crate::views::{ErrorNotice, WarningNotice};

impl Codex {
    /// An item of kind `notice`: in the running turn, or of the thread where there is none.
    pub(crate) fn notice(&mut self, key: ThreadKey, title: &str, text: &str, code: &str) {
        let item_id = self.new_item_id();
        let text_bytes_max = self.out.text_bytes_max();
        let Some(thread) = self.thread(key) else {
            return;
        };
        let turn = thread.turn.as_ref().filter(|turn| turn.announced);
        let item = Item {
            item_id,
            thread_id: thread.host_id.clone(),
            turn_id: turn.map(|turn| turn.host_id.clone()),
            parent_item_id: None,
            kind: "notice".to_owned(),
            status: ItemStatus::Completed,
            title: Some(clip::one_line(title, TITLE_BYTES_MAX)),
            text: Some(clip::shortened(text, text_bytes_max)),
            head: empty_head(),
            body_json: json!({ "code": code }).to_string(),
            extra: None,
        };
        self.out.emit(Event::Item(item));
    }

    /// `error`: one that is retried is a notice; one that is not is kept for the end of the turn, which follows.
    pub(crate) fn error_notice(&mut self, notice: &ErrorNotice) {
        let Some(thread) = self.thread_native(&notice.thread_id) else {
            return;
        };
        let key = thread.key;
        let Some(turn) = thread.turn_named(&notice.turn_id) else {
            return;
        };
        if notice.will_retry {
            let title = notice.error.message.to_string();
            self.notice(key, &title, &errors::said(&notice.error), "retry");
        } else {
            turn.failure = Some(errors::of_turn(&notice.error));
        }
    }

    /// `warning` and `guardianWarning`: shown once per thread.
    pub(crate) fn warning(&mut self, notice: &WarningNotice) {
        let Some(text) = notice.message.as_deref().or(notice.summary.as_deref()) else {
            return;
        };
        let native = notice.thread_id.as_deref();
        let Some(key) = native.and_then(|native| self.key_of_native(native)) else {
            logging::write(LogLevel::Info, text);
            return;
        };
        let Some(thread) = self.thread(key) else {
            return;
        };
        if thread.warnings.len() >= WARNINGS_PER_THREAD_MAX
            || thread.warnings.iter().any(|w| w == text)
        {
            return;
        }
        thread.warnings.push(text.to_owned());
        self.notice(key, text, text, "warning");
    }

    /// A notice in every thread that works.
    pub(crate) fn notice_everywhere(&mut self, title: &str, text: &str, code: &str) {
        for key in self.keys() {
            if self.thread(key).is_some_and(|thread| thread.turn.is_some()) {
                self.notice(key, title, text, code);
            }
        }
    }
}

/// A head that says nothing.
pub(crate) fn empty_head() -> ItemHead {
    ItemHead {
        name: None,
        server_name: None,
        path: None,
        exit_code: None,
        lines_added: None,
        lines_removed: None,
        native_item_id: None,
    }
}
