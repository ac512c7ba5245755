//! Where a delegated child runs: pure, against what the provider instances say of themselves.

use crate::command::ResolvedTarget;
use crate::error::{Denial, DenialCode};
use crate::ids::{DriverKind, ProviderInstanceId};
use crate::provider::{ModelInfo, ModelOption, ModelSelection, OptionValue, ProviderSnapshot};
use crate::thread::Thread;

/// What the caller asked for. Every field `None`: as the parent.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Exactly this instance.
    pub instance_id: Option<&'a ProviderInstanceId>,
    /// Any instance of this driver.
    pub driver_kind: Option<&'a DriverKind>,
    /// Exactly this model.
    pub model: Option<&'a str>,
    /// These options.
    pub options: Option<&'a [ModelOption]>,
}

/// A refused resolution, and the instance that is worth looking at again before giving up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// Why.
    pub denial: Denial,
    /// The definite instance that was unavailable.
    pub reprobe: Option<ProviderInstanceId>,
}

/// Finds the instance, model and options of a child of `parent`.
///
/// # Errors
/// [`Unresolved`] with `provider_unavailable`, `model_unavailable` or `invalid_request`.
pub fn resolve(
    parent: &Thread,
    wanted: Wanted<'_>,
    snapshots: &[ProviderSnapshot],
) -> Result<ResolvedTarget, Unresolved> {
    let snapshot = instance(parent, wanted, snapshots)?;
    let model = model(parent, wanted, snapshot).map_err(final_word)?;
    let options = options(parent, wanted, snapshot, model.as_deref()).map_err(final_word)?;
    Ok(ResolvedTarget {
        instance_id: snapshot.instance_id.clone(),
        model: ModelSelection { model, options },
        runtime_modes: snapshot.runtime_modes.clone(),
        interaction_modes: snapshot.interaction_modes.clone(),
    })
}

const fn final_word(denial: Denial) -> Unresolved {
    Unresolved {
        denial,
        reprobe: None,
    }
}

fn unavailable(message: String, reprobe: Option<ProviderInstanceId>) -> Unresolved {
    Unresolved {
        denial: Denial::new(DenialCode::ProviderUnavailable, message),
        reprobe,
    }
}

fn instance<'s>(
    parent: &Thread,
    wanted: Wanted<'_>,
    snapshots: &'s [ProviderSnapshot],
) -> Result<&'s ProviderSnapshot, Unresolved> {
    let by_id = |id: &ProviderInstanceId| snapshots.iter().find(|s| s.instance_id == *id);
    let chosen = match (wanted.instance_id, wanted.driver_kind) {
        (Some(id), _) => id.clone(),
        (None, None) => parent.provider_instance_id.clone(),
        (None, Some(kind)) => {
            let usable = |s: &&ProviderSnapshot| s.driver_kind == *kind && s.constraints.is_empty();
            let own = by_id(&parent.provider_instance_id).filter(|s| usable(s));
            return own
                .or_else(|| snapshots.iter().find(usable))
                .ok_or_else(|| {
                    unavailable(
                        format!(
                            "No usable provider instance runs the driver {kind}: see \
                         orchestrator_capabilities for what is usable and why others are not."
                        ),
                        None,
                    )
                });
        }
    };
    let Some(snapshot) = by_id(&chosen) else {
        return Err(unavailable(
            format!("There is no provider instance {chosen}: see orchestrator_capabilities."),
            None,
        ));
    };
    if let Some(kind) = wanted.driver_kind
        && snapshot.driver_kind != *kind
    {
        return Err(final_word(Denial::new(
            DenialCode::InvalidRequest,
            format!(
                "The instance {chosen} runs the driver {}, not {kind}.",
                snapshot.driver_kind
            ),
        )));
    }
    if !snapshot.constraints.is_empty() {
        return Err(unavailable(
            format!(
                "The instance {chosen} can't be used: {}",
                snapshot.constraints.join(" ")
            ),
            Some(chosen),
        ));
    }
    Ok(snapshot)
}

fn model(
    parent: &Thread,
    wanted: Wanted<'_>,
    snapshot: &ProviderSnapshot,
) -> Result<Option<String>, Denial> {
    if let Some(model) = wanted.model {
        if snapshot.models.is_empty() || snapshot.model(model).is_some() {
            return Ok(Some(model.to_owned()));
        }
        let offered: Vec<&str> = snapshot.models.iter().map(|m| m.id.as_str()).collect();
        return Err(Denial::new(
            DenialCode::ModelUnavailable,
            format!(
                "{} does not offer the model {model}. It offers: {}.",
                snapshot.instance_id,
                offered.join(", ")
            ),
        ));
    }
    if snapshot.instance_id == parent.provider_instance_id {
        return Ok(parent.model.model.clone());
    }
    // Another provider's own default is its first advertised model, or its own choice.
    Ok(snapshot.models.first().map(|m| m.id.clone()))
}

fn options(
    parent: &Thread,
    wanted: Wanted<'_>,
    snapshot: &ProviderSnapshot,
    model: Option<&str>,
) -> Result<Vec<ModelOption>, Denial> {
    let Some(options) = wanted.options else {
        let same = snapshot.instance_id == parent.provider_instance_id
            && parent.model.model.as_deref() == model;
        return Ok(if same {
            parent.model.options.clone()
        } else {
            Vec::new()
        });
    };
    let published = model
        .and_then(|id| snapshot.model(id))
        .filter(|m| !m.options.is_empty());
    for (at, option) in options.iter().enumerate() {
        if options
            .iter()
            .take(at)
            .any(|earlier| earlier.id == option.id)
        {
            return Err(invalid(format!("The option {} is given twice.", option.id)));
        }
        if let Some(info) = published {
            check_option(info, option)?;
        }
    }
    Ok(options.to_vec())
}

fn check_option(model: &ModelInfo, option: &ModelOption) -> Result<(), Denial> {
    let Some(info) = model.options.iter().find(|info| info.id == option.id) else {
        let known: Vec<&str> = model.options.iter().map(|info| info.id.as_str()).collect();
        return Err(invalid(format!(
            "The model {} has no option {}. It has: {}.",
            model.id,
            option.id,
            known.join(", ")
        )));
    };
    match (&option.value, info.choices.is_empty()) {
        (OptionValue::Toggle(_), true) => Ok(()),
        (OptionValue::Text(text), false) if info.choices.contains(text) => Ok(()),
        (_, true) => Err(invalid(format!(
            "The option {} takes true or false.",
            option.id
        ))),
        (_, false) => Err(invalid(format!(
            "The option {} takes one of: {}.",
            option.id,
            info.choices.join(", ")
        ))),
    }
}

fn invalid(message: String) -> Denial {
    Denial::new(DenialCode::InvalidRequest, message)
}
