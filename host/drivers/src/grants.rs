//! What a driver may start: its manifest and the operator's grant, both.

use std::collections::{BTreeMap, BTreeSet};

use domain::ids::ProviderInstanceId;

use crate::bindings::v0_1::types::{EnvironmentVariable, Spawn};
use crate::limits;
use crate::manifest::{AGENT_PROGRAM, EnvironmentSource, HOLE, Manifest, REST, SpawnTemplate};
use crate::secrets::SessionSecrets;

/// What the operator allows of what a driver declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    /// All of it.
    #[default]
    Declared,
    /// These names alone.
    Named(BTreeSet<String>),
}

impl Grant {
    fn allows(&self, name: &str) -> bool {
        match self {
            Self::Declared => true,
            Self::Named(names) => names.contains(name),
        }
    }
}

/// The operator's grants for one provider instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Spawn templates, by name.
    pub spawn: Grant,
    /// Environment variables, by name.
    pub environment: Grant,
    /// Commands of logical programs other than `agent`: program and leading arguments.
    pub programs: BTreeMap<String, Vec<String>>,
}

/// Why an action is refused. Ends the session; the message names the line to add where one would help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the driver asked for the command line `{template}`, which it does not declare")]
    UnknownTemplate { template: String },
    #[error(
        "the driver asked for the command line `{template}` ({purpose}), which is not granted. To allow it, add \
         `{template}` to `grants.spawn` of provider instance `{instance}`"
    )]
    TemplateNotGranted {
        template: String,
        purpose: String,
        instance: String,
    },
    #[error(
        "the driver asked for the program `{program}` ({purpose}), which is not granted. To allow it, add \
         `{program} = [\"/path/to/{program}\"]` to `grants.programs` of provider instance `{instance}`"
    )]
    ProgramNotGranted {
        program: String,
        purpose: String,
        instance: String,
    },
    #[error(
        "the driver gave {given} arguments to the command line `{template}`, which takes {wanted}"
    )]
    ArgumentCount {
        template: String,
        given: usize,
        wanted: String,
    },
    #[error("the driver gave `{template}` an argument that {reason}")]
    Argument { template: String, reason: String },
    #[error("the driver sets the environment variable `{name}`, which it does not declare")]
    UnknownVariable { name: String },
    #[error(
        "the driver sets the environment variable `{name}`, which is not granted. To allow it, add `{name}` to \
         `grants.environment` of provider instance `{instance}`"
    )]
    VariableNotGranted { name: String, instance: String },
    #[error("the driver sets the environment variable `{name}` to a value that {reason}")]
    Variable { name: String, reason: String },
}

/// What to run, with placeholders still in the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// Program as configured: a path or a name to be found on PATH.
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
}

/// Checks a driver's wishes for one provider instance.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) instance: ProviderInstanceId,
    pub(crate) grants: Grants,
    /// Program and leading arguments of `agent`.
    pub(crate) command: Vec<String>,
    /// Host variables the operator passes on to this instance.
    pub(crate) from_host: BTreeSet<String>,
    /// Variables the operator sets for this instance.
    pub(crate) environment: BTreeMap<String, String>,
    /// The host's own environment, as far as text goes.
    pub(crate) host_environment: BTreeMap<String, String>,
}

impl Gate {
    /// Turns a `spawn` into a command line, or refuses it.
    pub(crate) fn spawn(
        &self,
        manifest: &Manifest,
        wish: &Spawn,
        secrets: &SessionSecrets,
    ) -> Result<CommandLine, Refusal> {
        let template = manifest
            .templates()
            .iter()
            .find(|template| template.name == wish.template)
            .ok_or_else(|| Refusal::UnknownTemplate {
                template: shown(&wish.template),
            })?;
        if !self.grants.spawn.allows(&template.name) {
            return Err(Refusal::TemplateNotGranted {
                template: template.name.clone(),
                purpose: template.purpose.clone(),
                instance: self.instance.to_string(),
            });
        }
        let (program, leading) = self.program(template)?;
        let mut arguments = leading.to_vec();
        arguments.extend(fill(template, &wish.arguments, secrets)?);
        let environment = self.variables(manifest, &wish.environment)?;
        Ok(CommandLine {
            program: program.to_owned(),
            arguments,
            environment,
        })
    }

    fn program(&self, template: &SpawnTemplate) -> Result<(&str, &[String]), Refusal> {
        let words = if template.program == AGENT_PROGRAM {
            Some(&self.command)
        } else {
            self.grants.programs.get(&template.program)
        };
        words
            .and_then(|words| words.split_first())
            .map(|(program, leading)| (program.as_str(), leading))
            .ok_or_else(|| Refusal::ProgramNotGranted {
                program: template.program.clone(),
                purpose: template.purpose.clone(),
                instance: self.instance.to_string(),
            })
    }

    /// From weakest to strongest: what every program needs, what the manifest passes on, what the operator sets, what the
    /// driver sets.
    fn variables(
        &self,
        manifest: &Manifest,
        wished: &[EnvironmentVariable],
    ) -> Result<BTreeMap<String, String>, Refusal> {
        let mut variables: BTreeMap<String, String> = self
            .host_environment
            .iter()
            .filter(|(name, _)| is_basic(name) || self.from_host.contains(*name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for need in manifest.environment() {
            if need.source == EnvironmentSource::Host
                && self.grants.environment.allows(&need.name)
                && let Some(value) = self.host_environment.get(&need.name)
            {
                variables.insert(need.name.clone(), value.clone());
            }
        }
        variables.extend(self.environment.clone());
        for variable in wished {
            self.check_variable(manifest, variable)?;
            variables.insert(variable.name.clone(), variable.value.clone());
        }
        Ok(variables)
    }

    fn check_variable(
        &self,
        manifest: &Manifest,
        variable: &EnvironmentVariable,
    ) -> Result<(), Refusal> {
        let declared = manifest.environment().iter().any(|need| {
            need.name == variable.name
                && matches!(
                    need.source,
                    EnvironmentSource::Driver | EnvironmentSource::Secret
                )
        });
        if !declared {
            return Err(Refusal::UnknownVariable {
                name: shown(&variable.name),
            });
        }
        if !self.grants.environment.allows(&variable.name) {
            return Err(Refusal::VariableNotGranted {
                name: variable.name.clone(),
                instance: self.instance.to_string(),
            });
        }
        let reason = if variable.value.contains('\0') {
            "holds NUL".to_owned()
        } else if variable.value.len() > limits::ENVIRONMENT_VALUE_BYTES_MAX {
            format!(
                "has more than {} bytes",
                limits::ENVIRONMENT_VALUE_BYTES_MAX
            )
        } else {
            return Ok(());
        };
        Err(Refusal::Variable {
            name: variable.name.clone(),
            reason,
        })
    }
}

/// Puts words into the holes of a template.
fn fill(
    template: &SpawnTemplate,
    given: &[String],
    secrets: &SessionSecrets,
) -> Result<Vec<String>, Refusal> {
    let refuse = |reason: String| Refusal::Argument {
        template: template.name.clone(),
        reason,
    };
    for word in given {
        if word.len() > limits::ARGUMENT_BYTES_MAX {
            return Err(refuse(format!(
                "has more than {} bytes",
                limits::ARGUMENT_BYTES_MAX
            )));
        }
        if word.contains(['\0', '\n', '\r']) {
            return Err(refuse("holds NUL or a line end".to_owned()));
        }
        // Everybody on the machine can read a command line.
        if secrets.names_one(word) {
            return Err(refuse("holds the placeholder of a secret".to_owned()));
        }
    }
    let takes_rest = template.arguments.last().is_some_and(|word| word == REST);
    let fixed = template.arguments.len() - usize::from(takes_rest);
    let holes: usize = template
        .arguments
        .iter()
        .take(fixed)
        .map(|word| word.matches(HOLE).count())
        .sum();
    let fits = if takes_rest {
        given.len() >= holes && given.len() - holes <= limits::ARGUMENT_WORDS_MAX
    } else {
        given.len() == holes
    };
    if !fits {
        return Err(Refusal::ArgumentCount {
            template: template.name.clone(),
            given: given.len(),
            wanted: match takes_rest {
                true => format!("{holes} to {}", holes + limits::ARGUMENT_WORDS_MAX),
                false => holes.to_string(),
            },
        });
    }
    let mut words = given.iter();
    let mut filled: Vec<String> = template
        .arguments
        .iter()
        .take(fixed)
        .map(|pattern| fill_word(pattern, &mut words))
        .collect();
    filled.extend(words.cloned());
    Ok(filled)
}

fn fill_word<'a>(pattern: &str, words: &mut impl Iterator<Item = &'a String>) -> String {
    let mut parts = pattern.split(HOLE);
    let mut word = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        word.push_str(words.next().map_or("", String::as_str));
        word.push_str(part);
    }
    word
}

/// Variables every program may see: where things are and how to talk to people, never how programs load.
fn is_basic(name: &str) -> bool {
    const BASIC: [&str; 12] = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "TERM",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    ];
    BASIC.contains(&name) || name.starts_with("LC_") || name.starts_with("XDG_")
}

/// Refuses names that are no names, that change how programs load, and the host's own marks.
pub(crate) fn check_environment_name(name: &str) -> Result<(), String> {
    const LOADING: [&str; 14] = [
        "PATH",
        "NODE_OPTIONS",
        "NODE_PATH",
        "BASH_ENV",
        "ENV",
        "IFS",
        "SHELLOPTS",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PERL5OPT",
        "PERL5LIB",
        "RUBYOPT",
        "RUBYLIB",
        "JAVA_TOOL_OPTIONS",
    ];
    let mut bytes = name.bytes();
    let starts_well = bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let goes_on_well = bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !starts_well || !goes_on_well || name.len() > 128 {
        return Err("is no name of an environment variable".to_owned());
    }
    if LOADING.contains(&name) || name.starts_with("LD_") || name.starts_with("DYLD_") {
        return Err("changes how programs load, which no driver may".to_owned());
    }
    if name.starts_with("WEFT_") {
        return Err("belongs to the host".to_owned());
    }
    Ok(())
}

fn shown(text: &str) -> String {
    crate::text::one_line(text, 120)
}

#[cfg(test)]
#[path = "grants_tests.rs"]
mod tests;
