//! Secrets stay in the host: a driver holds placeholders, the host puts values in on the way out and takes them out of
//! everything that comes back.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

use threads::ports::Secret;

use crate::limits;
use crate::random::{self, NoRandomness};

/// Why a secret cannot be used. The value is never in the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Too short to be told apart from ordinary output.
    #[error(
        "the secret `{name}` has fewer than {} characters: it could not be kept out of logs. Use a longer one.",
        limits::SECRET_CHARS_MIN
    )]
    TooShort {
        /// Its name.
        name: String,
    },
    /// Longer than any credential.
    #[error(
        "the secret `{name}` has more than {} characters.",
        limits::SECRET_CHARS_MAX
    )]
    TooLong {
        /// Its name.
        name: String,
    },
    /// It would look different inside JSON.
    #[error(
        "the secret `{name}` holds a quote, a backslash, a control character or a letter outside ASCII: it would be \
         written in another form inside a message and could not be kept out of logs. Use another one."
    )]
    Character {
        /// Its name.
        name: String,
    },
    /// Its name is no environment variable name.
    #[error("`{name}` cannot be the name of a secret: use letters, digits and `_`.")]
    Name {
        /// The name.
        name: String,
    },
}

/// A secret of a provider instance that passed the checks.
#[derive(Clone, Debug)]
pub struct NamedSecret {
    name: String,
    value: Secret,
}

impl NamedSecret {
    /// Checks a secret when the configuration is read.
    ///
    /// # Errors
    /// [`SecretError`] names the secret and what to change.
    pub fn new(name: impl Into<String>, value: Secret) -> Result<Self, SecretError> {
        let name = name.into();
        let is_word = !name.is_empty()
            && name.len() <= 128
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_word {
            return Err(SecretError::Name {
                name: crate::text::one_line(&name, 128),
            });
        }
        check_value(&name, value.expose())?;
        Ok(Self { name, value })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn value(&self) -> &Secret {
        &self.value
    }
}

fn check_value(name: &str, value: &str) -> Result<(), SecretError> {
    let name = || name.to_owned();
    if value
        .chars()
        .any(|c| !(' '..='~').contains(&c) || c == '"' || c == '\\')
    {
        return Err(SecretError::Character { name: name() });
    }
    if value.len() < limits::SECRET_CHARS_MIN {
        return Err(SecretError::TooShort { name: name() });
    }
    if value.len() > limits::SECRET_CHARS_MAX {
        return Err(SecretError::TooLong { name: name() });
    }
    Ok(())
}

/// Why a secret cannot be taken into a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HoldError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

/// The secrets of one provider session and their placeholders. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct SessionSecrets {
    held: Arc<RwLock<Arc<[Held]>>>,
}

#[derive(Clone)]
struct Held {
    placeholder: String,
    value: Secret,
}

impl std::fmt::Debug for SessionSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionSecrets")
            .field("held", &self.held().len())
            .finish()
    }
}

impl SessionSecrets {
    /// Takes a secret and returns what stands for it in this session alone.
    pub(crate) fn hold(&self, name: &str, value: &Secret) -> Result<String, HoldError> {
        check_value(name, value.expose())?;
        let placeholder = format!("weft-secret-{:032x}", random::bits()?);
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let mut all = held.to_vec();
        all.push(Held {
            placeholder: placeholder.clone(),
            value: value.clone(),
        });
        // Longest first: a secret that holds another one is replaced as a whole.
        all.sort_by_key(|entry| std::cmp::Reverse(entry.value.expose().len()));
        *held = all.into();
        Ok(placeholder)
    }

    /// Puts values in the place of placeholders.
    pub(crate) fn reveal<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut out = Cow::Borrowed(text);
        for entry in self.held().iter() {
            if out.contains(&entry.placeholder) {
                out = Cow::Owned(out.replace(&entry.placeholder, entry.value.expose()));
            }
        }
        out
    }

    /// Puts placeholders in the place of values.
    pub(crate) fn scrub<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut out = Cow::Borrowed(text);
        for entry in self.held().iter() {
            if out.contains(entry.value.expose()) {
                out = Cow::Owned(out.replace(entry.value.expose(), &entry.placeholder));
            }
        }
        out
    }

    /// Scrubs a text whose end was cut off, where half a secret may stand.
    pub(crate) fn scrub_cut(&self, text: &str) -> String {
        let mut out = self.scrub(text).into_owned();
        for entry in self.held().iter() {
            let value = entry.value.expose();
            let half = (1..value.len()).rev().find(|length| {
                // A secret is ASCII: every index is a character boundary.
                value
                    .get(..*length)
                    .is_some_and(|start| out.ends_with(start))
            });
            if let Some(length) = half {
                out.truncate(out.len() - length);
            }
        }
        out
    }

    /// Whether any placeholder stands in the text.
    pub(crate) fn names_one(&self, text: &str) -> bool {
        self.held()
            .iter()
            .any(|entry| text.contains(&entry.placeholder))
    }

    fn held(&self) -> Arc<[Held]> {
        Arc::clone(&self.held.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "canary-0123456789abcdef";

    #[test]
    fn a_secret_that_could_not_be_scrubbed_is_refused() {
        let bad = |name: &str, value: &str| {
            NamedSecret::new(name, Secret::new(value))
                .map(|_| ())
                .unwrap_err()
        };
        let named = || "KEY".to_owned();
        assert_eq!(
            bad("KEY", "fifteen-letters"),
            SecretError::TooShort { name: named() }
        );
        for value in [
            "with \" a quote in it",
            "with \\ a backslash",
            "with \n a line feed",
            "with \0 a NUL inside",
            "with \u{7f} a delete in it",
            "with ü, outside ASCII",
        ] {
            assert_eq!(
                bad("KEY", value),
                SecretError::Character { name: named() },
                "{value:?}"
            );
        }
        let long = "x".repeat(limits::SECRET_CHARS_MAX + 1);
        assert_eq!(bad("KEY", &long), SecretError::TooLong { name: named() });
        assert_eq!(
            bad("", TOKEN),
            SecretError::Name {
                name: String::new()
            }
        );
        assert!(NamedSecret::new("KEY", Secret::new("sixteen-letters!")).is_ok());
    }

    #[test]
    fn values_go_out_and_placeholders_come_back() {
        let secrets = SessionSecrets::default();
        let placeholder = secrets.hold("token", &Secret::new(TOKEN)).unwrap();
        assert!(!placeholder.contains("canary"));
        let frame = format!("{{\"authorization\":\"Bearer {placeholder}\"}}");
        let out = secrets.reveal(&frame).into_owned();
        assert_eq!(out, format!("{{\"authorization\":\"Bearer {TOKEN}\"}}"));
        assert_eq!(secrets.scrub(&out), frame);
        assert!(secrets.names_one(&frame) && !secrets.names_one(&out));
    }

    #[test]
    fn placeholders_differ_from_session_to_session() {
        let hold = || {
            SessionSecrets::default()
                .hold("token", &Secret::new(TOKEN))
                .unwrap()
        };
        assert_ne!(hold(), hold());
    }

    #[test]
    fn a_secret_inside_a_longer_one_does_not_leave_the_rest_standing() {
        let secrets = SessionSecrets::default();
        let inner = secrets.hold("inner", &Secret::new(TOKEN)).unwrap();
        let outer = secrets
            .hold("outer", &Secret::new(format!("{TOKEN}-and-more")))
            .unwrap();
        assert_eq!(
            secrets.scrub(&format!("{TOKEN}-and-more {TOKEN}")),
            format!("{outer} {inner}")
        );
    }

    #[test]
    fn half_a_secret_at_a_cut_is_removed() {
        let secrets = SessionSecrets::default();
        secrets.hold("token", &Secret::new(TOKEN)).unwrap();
        assert_eq!(secrets.scrub_cut("says canary-0123"), "says ");
        assert_eq!(secrets.scrub_cut("says nothing"), "says nothing");
    }

    #[test]
    fn nothing_prints_a_value() {
        let secrets = SessionSecrets::default();
        secrets.hold("token", &Secret::new(TOKEN)).unwrap();
        let named = NamedSecret::new("token", Secret::new(TOKEN)).unwrap();
        assert!(!format!("{secrets:?} {named:?}").contains(TOKEN));
    }
}
