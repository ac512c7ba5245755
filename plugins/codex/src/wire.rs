//! The frequent parts of Codex's frames: pieces of items, and items. They borrow from the line; unknown members are
//! skipped. The rest is in [`crate::views`].
#![forbid(unsafe_code)]

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

type Text<'a> = Cow<'a, str>;

/// Reads `params` or `result` into `T`. `None`: it has another shape than this driver knows.
pub(crate) fn read<'a, T: Deserialize<'a>>(json: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(json?.get()).ok()
}

/// Any streamed piece of an item.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Delta<'a> {
    #[serde(borrow)]
    pub(crate) thread_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) turn_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) item_id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) delta: Text<'a>,
    #[serde(default)]
    pub(crate) summary_index: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ItemNotice<'a> {
    #[serde(borrow)]
    pub(crate) thread_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) turn_id: Text<'a>,
    #[serde(borrow)]
    pub(crate) item: Item<'a>,
}

/// An item of any type: each uses some of the members.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Item<'a> {
    #[serde(rename = "type", borrow)]
    pub(crate) kind: Text<'a>,
    #[serde(borrow)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) status: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) command: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) cwd: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) aggregated_output: Option<Text<'a>>,
    #[serde(default)]
    pub(crate) exit_code: Option<i32>,
    #[serde(default)]
    pub(crate) duration_ms: Option<u64>,
    #[serde(borrow, default)]
    pub(crate) changes: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) server: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) tool: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) namespace: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) content_items: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) query: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) action: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) path: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) prompt: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) review: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct Change<'a> {
    #[serde(borrow)]
    pub(crate) path: Text<'a>,
    #[serde(borrow)]
    pub(crate) kind: ChangeKind<'a>,
    #[serde(borrow, default)]
    pub(crate) diff: Text<'a>,
}

#[derive(Deserialize)]
pub(crate) struct ChangeKind<'a> {
    #[serde(rename = "type", borrow)]
    pub(crate) word: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) move_path: Option<Text<'a>>,
}
