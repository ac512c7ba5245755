//! Where the configuration and the data folder are when nobody says so.

use std::env::VarError;
use std::path::{Path, PathBuf};

use super::problem::ConfigError;

/// Variable that names the configuration file.
pub const CONFIG_VARIABLE: &str = "WEFT_CONFIG";

/// The configuration file nobody named: `$WEFT_CONFIG`, else `weft/weft.toml` in the configuration folder.
///
/// # Errors
/// [`ConfigError::NoHome`] when no variable says where that is.
pub fn default_config_file() -> Result<DefaultFile, ConfigError> {
    if let Some(path) = variable(CONFIG_VARIABLE) {
        return Ok(DefaultFile::Named(path));
    }
    let folder = base_folder("XDG_CONFIG_HOME", ".config", "--config")?;
    Ok(DefaultFile::Customary(folder.join("weft/weft.toml")))
}

/// A configuration file and whether its absence is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultFile {
    /// The variable names it: it must exist.
    Named(PathBuf),
    /// The customary place: absent means defaults.
    Customary(PathBuf),
}

/// The data folder nobody named.
///
/// # Errors
/// [`ConfigError::NoHome`] when no variable says where that is.
pub fn default_data_folder() -> Result<PathBuf, ConfigError> {
    Ok(base_folder("XDG_DATA_HOME", ".local/share", "--data-folder")?.join("weft"))
}

fn base_folder(
    name: &'static str,
    under_home: &str,
    option: &'static str,
) -> Result<PathBuf, ConfigError> {
    // The specification of these variables: a relative path is ignored.
    if let Some(path) = variable(name).filter(|path| path.is_absolute()) {
        return Ok(path);
    }
    let home = variable("HOME").filter(|path| path.is_absolute());
    Ok(home
        .ok_or(ConfigError::NoHome(name, option))?
        .join(under_home))
}

/// A variable that is set and not empty.
fn variable(name: &str) -> Option<PathBuf> {
    let value = match std::env::var(name) {
        Ok(value) => value.into(),
        Err(VarError::NotUnicode(value)) => value,
        Err(VarError::NotPresent) => return None,
    };
    Some(PathBuf::from(value)).filter(|path| !path.as_os_str().is_empty())
}

/// A path as it is written in the file: `~/` is the home folder, relative paths start at `base`.
pub(super) fn resolve(base: &Path, text: &str) -> Option<PathBuf> {
    if text.is_empty() || text.contains('\0') {
        return None;
    }
    match text.strip_prefix("~/") {
        Some(rest) => variable("HOME").map(|home| home.join(rest)),
        None => Some(base.join(text)),
    }
}

/// Looks a program up as a shell does: a name with `/` is a path, else the first executable on `PATH`.
#[must_use]
pub fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_executable(path));
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
