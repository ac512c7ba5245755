//! The operator's configuration: one TOML file, every key known, every value checked.

pub mod limits;
mod model;
pub mod paths;
mod problem;
pub mod providers;
mod read;
mod reader;
pub mod schema;
mod secrets;
mod show;
#[cfg(test)]
mod tests;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

pub use model::{
    Config, CredentialConfig, DefaultsConfig, DriverConfig, DriversConfig, Enablement,
    GrantsConfig, LimitsConfig, McpConfig, ProviderConfig,
};
pub use problem::{ConfigError, Problem};
pub(crate) use reader::near_miss;
pub use secrets::{SecretError, SecretSource};

use paths::DefaultFile;
use problem::Problems;
use reader::{Source, Table};

impl Config {
    /// Reads the named file, else the customary one, else takes the defaults.
    ///
    /// # Errors
    /// [`ConfigError`] when a named file is absent or a file can't be used.
    pub fn load(named: Option<&Path>) -> Result<Self, ConfigError> {
        if let Some(path) = named {
            return Self::read_file(path);
        }
        match paths::default_config_file()? {
            DefaultFile::Named(path) => Self::read_file(&path),
            DefaultFile::Customary(path) if path.exists() => Self::read_file(&path),
            DefaultFile::Customary(_) => Self::parse("", None),
        }
    }

    fn read_file(path: &Path) -> Result<Self, ConfigError> {
        let shown = path.display().to_string();
        let unreadable = |source| ConfigError::Unreadable {
            path: shown.clone(),
            source,
        };
        let path = std::path::absolute(path).map_err(unreadable)?;
        let file = std::fs::File::open(&path).map_err(unreadable)?;
        let mut text = String::new();
        let bytes = file
            .take(limits::CONFIG_BYTES_MAX + 1)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        if bytes as u64 > limits::CONFIG_BYTES_MAX {
            return Err(ConfigError::TooLarge {
                path: shown,
                max: limits::CONFIG_BYTES_MAX,
            });
        }
        Self::parse(&text, Some(path))
    }

    /// Reads a configuration's text. Relative paths in it start at the folder of `file`.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with every problem found.
    pub fn parse(text: &str, file: Option<PathBuf>) -> Result<Self, ConfigError> {
        let shown = file.as_ref().map_or_else(
            || "the configuration".to_owned(),
            |path| path.display().to_string(),
        );
        let source = Source::new(text);
        let problems = Problems::default();
        let document = match DeTable::parse(text) {
            Ok(document) => document,
            Err(error) => {
                let line = error.span().map_or(0, |span| source.line(span.start));
                problems.add(line, "", error.message());
                return Err(ConfigError::Invalid {
                    path: shown,
                    problems: problems.into_sorted(),
                });
            }
        };
        let config = read_document(document.get_ref(), &source, &problems, file)?;
        let problems = problems.into_sorted();
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError::Invalid {
                path: shown,
                problems,
            })
        }
    }

    /// The instances that hold: the configured ones, else the built-in set.
    #[must_use]
    pub fn effective_providers(&self) -> Vec<ProviderConfig> {
        self.providers.clone().unwrap_or_else(providers::built_in)
    }
}

fn read_document(
    document: &DeTable<'_>,
    source: &Source<'_>,
    problems: &Problems,
    file: Option<PathBuf>,
) -> Result<Config, ConfigError> {
    let top = Table::top(document, source, problems);
    let base = file
        .as_deref()
        .and_then(Path::parent)
        .unwrap_or_else(|| Path::new("/"))
        .to_owned();
    let storage = top.table("storage", "storage", "storage");
    let data_folder = match read::path(&storage, "data_folder", &base) {
        Some(path) => path,
        None => paths::default_data_folder()?,
    };
    let mut remarks = providers::Remarks::default();
    let providers = providers::read_all(&top, &base, &mut remarks);
    let defaults_table = top.table("defaults", "defaults", "defaults");
    let defaults = read::defaults(&defaults_table);
    check_default_provider(&defaults_table, &defaults, providers.as_deref());
    Ok(Config {
        warnings: remarks.warnings,
        data_folder,
        listen: read::listen(&top.table("server", "server", "server")),
        mcp: read::mcp(&top.table("mcp", "mcp", "mcp")),
        credentials: read::credentials(&top.table("credentials", "credentials", "credentials")),
        defaults,
        delegation_depth_max: read::delegation_depth_max(&top.table(
            "delegation",
            "delegation",
            "delegation",
        )),
        drivers: read::drivers(&top, &base),
        providers,
        file,
    })
}

/// A default that names no instance would refuse every new thread.
fn check_default_provider(
    table: &Table<'_>,
    defaults: &DefaultsConfig,
    providers: Option<&[ProviderConfig]>,
) {
    let (Some(provider), Some(providers)) = (&defaults.provider, providers) else {
        return;
    };
    if providers.iter().any(|known| known.id == *provider) {
        return;
    }
    let ids: Vec<&str> = providers.iter().map(|known| known.id.as_str()).collect();
    let hint = near_miss(provider.as_str(), &ids)
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    table.problem(
        "provider",
        format!("no instance of this id; allowed: {}{hint}", ids.join(", ")),
    );
}
