//! Prints what holds, for `weft config check`. Places of secrets are shown, values never.

use std::fmt::{self, Display, Write as _};
use std::path::Path;

use domain::authority::Capability;

use super::model::{Config, Enablement, ProviderConfig};
use super::paths::find_program;

impl Config {
    /// What holds, with where it comes from.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = String::new();
        // Writing to a text can't fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        match &self.file {
            Some(path) => writeln!(out, "file             {}", path.display())?,
            None => writeln!(out, "file             none, defaults hold")?,
        }
        line(out, "data folder", &self.data_folder.display())?;
        line(out, "listen", &self.listen)?;
        line(out, "mcp server name", &self.mcp.server_name)?;
        line(
            out,
            "toolkits",
            &listed(self.mcp.toolkits.iter().map(|kit| word(*kit))),
        )?;
        line(out, "allowed hosts", &listed(self.mcp.allowed_hosts.iter()))?;
        line(
            out,
            "allowed origins",
            &listed(self.mcp.allowed_origins.iter()),
        )?;
        line(out, "keep-alive", &format!("{} s", self.mcp.keep_alive_s))?;
        let (idle, life) = (self.credentials.idle_hours, self.credentials.life_days);
        line(
            out,
            "credentials",
            &format!("idle {idle} h, life {life} days"),
        )?;
        line(
            out,
            "default provider",
            &or_none(self.defaults.provider.as_ref()),
        )?;
        line(out, "default model", &or_none(self.defaults.model.as_ref()))?;
        let modes = self.defaults.modes;
        line(
            out,
            "default modes",
            &format!("{}, {}", modes.runtime.word(), modes.interaction.word()),
        )?;
        line(out, "delegation depth", &self.delegation_depth_max)?;
        let folder = self.drivers.folder.as_deref().map(Path::display);
        line(
            out,
            "drivers",
            &folder.map_or_else(|| "beside the program".to_owned(), |f| f.to_string()),
        )?;
        for (kind, driver) in &self.drivers.kinds {
            let state = enablement(driver.enablement);
            let pinned = driver.sha256.as_ref().map_or("", |_| ", digest pinned");
            line(
                out,
                &format!("  driver {kind}"),
                &format!("{state}{pinned}"),
            )?;
        }
        let origin = if self.providers.is_some() {
            "configured"
        } else {
            "built-in set"
        };
        let providers = self.effective_providers();
        line(out, "providers", &format!("{} ({origin})", providers.len()))?;
        for provider in &providers {
            write_provider(out, provider)?;
        }
        for warning in &self.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        Ok(())
    }
}

fn write_provider(out: &mut String, provider: &ProviderConfig) -> fmt::Result {
    writeln!(
        out,
        "  {}: driver {}, {}, command {:?}",
        provider.id,
        provider.driver,
        enablement(provider.enablement),
        provider.command
    )?;
    // A driver's own advice on installing it comes when a thread is started.
    if let Some(program) = provider.command.first() {
        match find_program(program) {
            Some(path) => writeln!(out, "    program {}", path.display())?,
            None => writeln!(out, "    program {program} is not on this machine")?,
        }
    }
    if !provider.env.is_empty() {
        writeln!(out, "    sets {}", listed(provider.env.keys()))?;
    }
    if !provider.env_from_host.is_empty() {
        writeln!(
            out,
            "    passes on {}",
            listed(provider.env_from_host.iter())
        )?;
    }
    for (name, source) in &provider.secrets {
        let state = match source.resolve() {
            Ok(_) => "usable".to_owned(),
            Err(error) => format!("not usable: {error}"),
        };
        writeln!(out, "    secret {name} from {}: {state}", source.place())?;
    }
    Ok(())
}

fn line(out: &mut String, name: &str, value: &dyn Display) -> fmt::Result {
    writeln!(out, "{name:<16} {value}")
}

const fn word(toolkit: Capability) -> &'static str {
    match toolkit {
        Capability::Orchestration => "orchestration",
        Capability::ThreadControl => "thread-control",
    }
}

const fn enablement(state: Enablement) -> &'static str {
    match state {
        Enablement::Enabled => "enabled",
        Enablement::Disabled => "disabled",
    }
}

fn or_none<T: Display>(value: Option<T>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

fn listed<T: Display>(values: impl Iterator<Item = T>) -> String {
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    if values.is_empty() {
        "none".to_owned()
    } else {
        values.join(", ")
    }
}
