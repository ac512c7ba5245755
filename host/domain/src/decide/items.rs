//! What provider sessions say of items and their text.

use crate::event::{Event, ItemText};
use crate::ids::{MessageId, ThreadId};
use crate::item::{Item, ItemKind, ItemOrigin, ItemStatus};
use crate::message::{CreatedBy, CreationSource, Message, Provenance, Role};
use crate::provider_event::{ProviderItem, ProviderReport};
use crate::run::Run;
use crate::thread::Thread;
use crate::view::View;

use super::draft::Draft;
use super::settle::closed_with;

pub(super) fn put_provider_item<V: View>(
    draft: &mut Draft<'_, V>,
    report: &ProviderReport,
    told: &ProviderItem,
) -> Result<(), V::Fault> {
    let Some(thread) = draft.thread(&told.thread_id)? else {
        return Ok(());
    };
    let origin = ItemOrigin {
        session_id: report.session_id.clone(),
        driver_item_id: told.driver_item_id.clone(),
    };
    let mut item = item_at(draft, thread, &origin, told.kind)?;
    let parent = match &told.parent_driver_item_id {
        Some(id) => draft.item_place(&ItemOrigin {
            session_id: report.session_id.clone(),
            driver_item_id: id.clone(),
        })?,
        None => None,
    };
    item.run_id = told.run_id.clone().or(item.run_id);
    item.parent_item_id = parent.map(|parent| parent.id).or(item.parent_item_id);
    item.kind = told.kind;
    item.title = told.title.clone().or(item.title);
    item.head = told.head.clone();
    item.body_json.clone_from(&told.body_json);
    if let Some(text) = &told.text {
        item.text.clone_from(text);
    }
    // A turn's end closed it; a late word from the provider does not open it again.
    if !item.status.is_closed() || told.status.is_closed() {
        item.status = told.status;
    }
    if let Some(run) = run_of(draft, &item)?
        && run.status.is_terminal()
        && !item.status.is_closed()
    {
        item.status = closed_with(run.status);
    }
    if item.kind == ItemKind::AssistantMessage
        && item.status == ItemStatus::Completed
        && !item.text.is_empty()
    {
        store_assistant_message(draft, &mut item)?;
    }
    draft.put_item(item);
    Ok(())
}

/// The item the session speaks of, or a new one at the end of the timeline.
fn item_at<V: View>(
    draft: &mut Draft<'_, V>,
    mut thread: Thread,
    origin: &ItemOrigin,
    kind: ItemKind,
) -> Result<Item, V::Fault> {
    if let Some(item) = draft.item_by_origin(origin)? {
        return Ok(item);
    }
    let mut item = draft.new_item(&mut thread, kind);
    item.status = ItemStatus::Running;
    item.origin = Some(origin.clone());
    Ok(item)
}

pub(super) fn append_text<V: View>(
    draft: &mut Draft<'_, V>,
    report: &ProviderReport,
    thread_id: &ThreadId,
    driver_item_id: &str,
    appended: &str,
) -> Result<(), V::Fault> {
    let origin = ItemOrigin {
        session_id: report.session_id.clone(),
        driver_item_id: driver_item_id.to_owned(),
    };
    let place = match draft.item_place(&origin)? {
        Some(place) => place,
        None => {
            let Some(thread) = draft.thread(thread_id)? else {
                return Ok(());
            };
            let mut item = item_at(draft, thread, &origin, ItemKind::AssistantMessage)?;
            item.run_id = draft.active_run_of(thread_id)?.map(|run| run.id);
            if item.run_id.is_none() {
                // No turn's end will close it.
                item.status = ItemStatus::Completed;
            }
            let place = item.place();
            draft.put_item(item);
            place
        }
    };
    draft.push(Event::ItemTextAppended(ItemText {
        item_id: place.id,
        thread_id: place.thread_id,
        position: place.position,
        appended: appended.to_owned(),
        at: draft.now(),
    }));
    Ok(())
}

fn run_of<V: View>(draft: &Draft<'_, V>, item: &Item) -> Result<Option<Run>, V::Fault> {
    match &item.run_id {
        Some(id) => draft.run(id),
        None => Ok(None),
    }
}

fn store_assistant_message<V: View>(
    draft: &mut Draft<'_, V>,
    item: &mut Item,
) -> Result<(), V::Fault> {
    let run = run_of(draft, item)?;
    let id = match &item.message_id {
        Some(id) => id.clone(),
        None => MessageId::from_random(draft.next_bits()),
    };
    item.message_id = Some(id.clone());
    draft.put_message(Message {
        id,
        thread_id: item.thread_id.clone(),
        run_id: item.run_id.clone(),
        role: Role::Assistant,
        text: item.text.clone(),
        provenance: Provenance {
            created_by: CreatedBy::Agent,
            creation_source: CreationSource::Provider,
            source_thread_id: None,
            source_run_id: item.run_id.clone(),
            source_provider_instance_id: run.as_ref().map(|r| r.provider_instance_id.clone()),
            source_model: run.and_then(|r| r.model.model),
        },
        wakes: None,
        created_at: draft.now(),
        asks: None,
    });
    Ok(())
}
