//! From the operator's words to what the driver runtime takes.

use std::time::Duration;

use domain::authority::Capability;
use domain::ids::ProviderInstanceId;
use drivers::grants::{Grant, Grants};
use drivers::limits::SessionLimits;
use drivers::pool::{Enabled, InstanceConfig};
use drivers::secrets::NamedSecret;
use threads::service::{ServiceSettings, ThreadDefaults};

use super::ServeError;
use crate::config::{Config, Enablement, GrantsConfig, LimitsConfig, ProviderConfig};

/// Sentences for people whose agent is missing.
const INSTALL_HINTS: &[(&str, &str)] = &[(
    "codex",
    "Install it with `npm install -g @openai/codex`, then run `codex login`.",
)];

/// Every instance in the operator's order.
pub(super) fn instances(config: &Config) -> Result<Vec<InstanceConfig>, ServeError> {
    config
        .effective_providers()
        .into_iter()
        .map(|provider| instance(config, provider))
        .collect()
}

fn instance(config: &Config, provider: ProviderConfig) -> Result<InstanceConfig, ServeError> {
    let driver = config.driver(&provider.driver);
    let enabled = match (provider.enablement, driver.enablement) {
        (Enablement::Enabled, Enablement::Enabled) => Enabled::Yes,
        _ => Enabled::No,
    };
    // An instance that is switched off needs no secret, so none has to be there.
    let secrets = match enabled {
        Enabled::Yes => secrets(&provider)?,
        Enabled::No => Vec::new(),
    };
    let hint = INSTALL_HINTS
        .iter()
        .find(|(kind, _)| *kind == provider.driver.as_str());
    Ok(InstanceConfig {
        enabled,
        install_hint: hint.map(|(_, hint)| (*hint).to_owned()),
        environment_from_host: provider.env_from_host.into_iter().collect(),
        environment: provider.env,
        limits: limits(provider.limits.or(driver.limits)),
        secrets,
        settings_json: serde_json::Value::Object(provider.settings).to_string(),
        grants: grants(provider.grants),
        id: provider.id,
        kind: provider.driver,
        display_name: provider.display_name,
        command: provider.command,
        models: provider.models,
        threads_per_session: provider.threads_per_session,
    })
}

fn secrets(provider: &ProviderConfig) -> Result<Vec<NamedSecret>, ServeError> {
    let failed = |name: &str, why: String| ServeError::Secret {
        provider: ProviderInstanceId::clone(&provider.id),
        name: name.to_owned(),
        why,
    };
    provider
        .secrets
        .iter()
        .map(|(name, source)| {
            let secret = source
                .resolve()
                .map_err(|error| failed(name, error.to_string()))?;
            NamedSecret::new(name, secret).map_err(|error| failed(name, error.to_string()))
        })
        .collect()
}

fn grants(grants: GrantsConfig) -> Grants {
    let grant = |names: Option<Vec<String>>| {
        names.map_or(Grant::Declared, |names| {
            Grant::Named(names.into_iter().collect())
        })
    };
    Grants {
        spawn: grant(grants.spawn),
        environment: grant(grants.environment),
        programs: grants.programs,
    }
}

/// The operator's bounds over the runtime's. The configuration's own bounds fit every type here.
fn limits(said: LimitsConfig) -> SessionLimits {
    let usual = SessionLimits::default();
    let narrow = |said: Option<u64>, usual: u32| {
        said.map_or(usual, |value| u32::try_from(value).unwrap_or(u32::MAX))
    };
    SessionLimits {
        memory_bytes_max: said
            .memory_bytes_max
            .map_or(usual.memory_bytes_max, |bytes| {
                usize::try_from(bytes).unwrap_or(usize::MAX)
            }),
        call_time_max: said
            .call_ms_max
            .map_or(usual.call_time_max, Duration::from_millis),
        line_bytes_max: narrow(said.line_bytes_max, usual.line_bytes_max),
        text_bytes_max: narrow(said.text_bytes_max, usual.text_bytes_max),
        file_bytes_max: narrow(said.file_bytes_max, usual.file_bytes_max),
        actions_max: narrow(said.actions_max, usual.actions_max),
        processes_max: narrow(said.processes_max, usual.processes_max),
        ..usual
    }
}

/// Settings of the service.
pub(super) fn service_settings(config: &Config) -> ServiceSettings {
    ServiceSettings {
        delegation_depth_max: config.delegation_depth_max,
        defaults: ThreadDefaults {
            provider: config.defaults.provider.clone(),
            model: config.defaults.model.clone(),
            modes: config.defaults.modes,
        },
    }
}

/// Toolkits credentials grant.
pub(super) fn capabilities(config: &Config) -> Vec<Capability> {
    config.mcp.toolkits.clone()
}

/// Time until an idle thread is let go.
pub(super) fn idle_time(config: &Config) -> Duration {
    config
        .drivers
        .idle_minutes
        .map_or(drivers::limits::IDLE_TIME_DEFAULT, |minutes| {
            Duration::from_secs(minutes.saturating_mul(60))
        })
}
