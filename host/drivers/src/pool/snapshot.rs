//! What the host tells about a provider instance.

use domain::provider::{ModelInfo, ProviderSnapshot, Readiness, Steering};

use super::config::InstanceConfig;
use crate::bindings::convert::Measure;
use crate::bindings::v0_1::types as wit;
use crate::limits;
use crate::manifest::{self, Manifest};

/// What a look at a provider found, in the host's words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    pub(super) models: Vec<ModelInfo>,
    pub(super) runtime_modes: Vec<domain::modes::RuntimeMode>,
    pub(super) interaction_modes: Vec<domain::modes::InteractionMode>,
    pub(super) version: Option<String>,
    /// Why it can't be used. Empty: usable.
    pub(super) constraints: Vec<String>,
}

impl Found {
    /// Reads a driver's snapshot. One that cannot be read is itself a constraint.
    pub(super) fn read(snapshot: wit::Snapshot, config: &InstanceConfig) -> Self {
        let measure = Measure {
            text_bytes_max: limits::MANIFEST_TEXT_BYTES_MAX,
        };
        let constraints = constraints(&snapshot, config);
        let models = match measure.models(snapshot.models) {
            Ok(models) => models,
            Err(unfit) => {
                let sentence = format!(
                    "Its driver published models that cannot be read: {unfit}. Report it to the driver's author."
                );
                return Self {
                    constraints: vec![sentence],
                    ..Self::default()
                };
            }
        };
        Self {
            models,
            runtime_modes: manifest::runtime_modes(&snapshot.runtime_modes),
            interaction_modes: manifest::interaction_modes(&snapshot.interaction_modes),
            version: snapshot
                .version
                .map(|version| crate::text::one_line(&version, 128)),
            constraints,
        }
    }
}

fn constraints(snapshot: &wit::Snapshot, config: &InstanceConfig) -> Vec<String> {
    let reason = snapshot
        .reason
        .as_deref()
        .map(|reason| crate::text::one_line(reason, 1_000));
    let command = config.command.first().map_or("its command", String::as_str);
    let usable = matches!(snapshot.status.as_str(), "ready" | "warning");
    if usable && snapshot.installation != "missing" && snapshot.authentication != "unauthenticated"
    {
        return Vec::new();
    }
    let sentence = reason.unwrap_or_else(|| {
        if snapshot.installation == "missing" {
            super::instance::missing(command, config)
        } else if snapshot.authentication == "unauthenticated" {
            format!("It is not logged in. Log in with `{command}` in a terminal, then look again.")
        } else {
            format!("It reports an error and no reason. Start `{command}` by hand to see it.")
        }
    });
    vec![sentence]
}

/// The snapshot of an instance as the rest of the host sees it.
pub(super) fn compose(
    config: &InstanceConfig,
    driver: Option<&Manifest>,
    found: Option<&Found>,
    constraints: Vec<String>,
    readiness: Readiness,
) -> ProviderSnapshot {
    let capabilities = driver.map(Manifest::capabilities);
    let offered = |found: Option<Vec<_>>, declared: Option<Vec<_>>| {
        found
            .filter(|modes| !modes.is_empty())
            .or(declared)
            .unwrap_or_default()
    };
    ProviderSnapshot {
        instance_id: config.id.clone(),
        driver_kind: config.kind.clone(),
        display_name: config
            .display_name
            .clone()
            .or_else(|| driver.map(|driver| driver.display_name().to_owned())),
        models: models(config, found),
        runtime_modes: offered(
            found.map(|found| found.runtime_modes.clone()),
            capabilities.map(|known| known.runtime_modes.clone()),
        ),
        interaction_modes: found
            .map(|found| found.interaction_modes.clone())
            .filter(|modes| !modes.is_empty())
            .or_else(|| capabilities.map(|known| known.interaction_modes.clone()))
            .unwrap_or_default(),
        steering: capabilities.map_or(Steering::None, |known| known.steering),
        mcp_wait_ms_max: capabilities
            .and_then(|known| known.mcp_wait_ms_max)
            .map(u64::from),
        version: found.and_then(|found| found.version.clone()),
        constraints,
        readiness,
    }
}

/// The operator's list wins; what the provider says of a listed model is kept.
fn models(config: &InstanceConfig, found: Option<&Found>) -> Vec<ModelInfo> {
    let published = found
        .map(|found| found.models.as_slice())
        .unwrap_or_default();
    if config.models.is_empty() {
        return published.to_vec();
    }
    config
        .models
        .iter()
        .enumerate()
        .map(|(place, id)| {
            let known = published.iter().find(|model| model.id == *id);
            ModelInfo {
                id: id.clone(),
                label: known.and_then(|model| model.label.clone()),
                preferred: place == 0,
                options: known.map(|model| model.options.clone()).unwrap_or_default(),
            }
        })
        .collect()
}
