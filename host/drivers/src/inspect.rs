//! What can be known of a component without compiling it.

use wasmparser::{Encoding, Parser, Payload};

use crate::limits;
use crate::load_error::LoadError;

/// The interface version this host speaks.
pub const INTERFACE_VERSION: &str = "0.1.0";

/// Custom section in which a driver carries its interface version.
const VERSION_SECTION: &str = "orchestration-adapter:api-version";

/// Interface every driver exports, without its version.
const ADAPTER: &str = "weft:orchestration-adapter/adapter";

/// Interfaces a driver may import, without their version.
const IMPORTS_ALLOWED: [&str; 2] = [
    "weft:orchestration-adapter/types",
    "weft:orchestration-adapter/log",
];

/// What the bytes say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inspection {
    /// Names of the imported interfaces, in the file's order.
    pub(crate) imports: Vec<String>,
    /// Interface version the driver was built against.
    pub(crate) version: String,
}

/// Checks size, form, imports and version.
pub(crate) fn inspect(bytes: &[u8]) -> Result<Inspection, LoadError> {
    if bytes.len() as u64 > limits::COMPONENT_BYTES_MAX {
        return Err(LoadError::TooLarge {
            bytes: bytes.len() as u64,
        });
    }
    check_header(bytes)?;
    let outline = outline(bytes)?;
    let extra: Vec<&str> = outline
        .imports
        .iter()
        .map(String::as_str)
        .filter(|name| !IMPORTS_ALLOWED.contains(&without_version(name)))
        .collect();
    if !extra.is_empty() {
        return Err(LoadError::ExtraImports {
            names: extra.join(", "),
        });
    }
    let Some(export) = outline
        .exports
        .iter()
        .find(|name| without_version(name) == ADAPTER)
    else {
        return Err(LoadError::WrongWorld(format!(
            "it does not export `{ADAPTER}`"
        )));
    };
    let exported = export.split_once('@').map_or("", |(_, version)| version);
    for version in outline
        .version_section
        .iter()
        .map(String::as_str)
        .chain([exported])
    {
        check_version(version)?;
    }
    Ok(Inspection {
        imports: outline.imports,
        version: exported.to_owned(),
    })
}

fn check_header(bytes: &[u8]) -> Result<(), LoadError> {
    const MAGIC: &[u8] = b"\0asm";
    let seen = bytes.get(..MAGIC.len()).unwrap_or(bytes);
    if !MAGIC.starts_with(seen) || seen.is_empty() {
        return Err(LoadError::NotWasm);
    }
    if bytes.len() < 8 {
        return Err(LoadError::Truncated {
            offset: bytes.len() as u64,
        });
    }
    Ok(())
}

/// Names at the top of the component, and the version section wherever it stands.
#[derive(Default)]
struct Outline {
    imports: Vec<String>,
    exports: Vec<String>,
    version_section: Option<String>,
}

fn outline(bytes: &[u8]) -> Result<Outline, LoadError> {
    let mut outline = Outline::default();
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|e| read_error(&e, bytes))? {
            Payload::Version {
                encoding: Encoding::Module,
                ..
            } if depth == 0 => {
                return Err(LoadError::CoreModule);
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    let import = import.map_err(|e| read_error(&e, bytes))?;
                    outline.imports.push(import.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    let export = export.map_err(|e| read_error(&e, bytes))?;
                    outline.exports.push(export.name.name.to_owned());
                }
            }
            Payload::CustomSection(section) if section.name() == VERSION_SECTION => {
                let text =
                    String::from_utf8_lossy(section.data().get(..32).unwrap_or(section.data()));
                outline
                    .version_section
                    .get_or_insert_with(|| text.into_owned());
            }
            Payload::UnknownSection { id, .. } => {
                return Err(LoadError::Malformed(format!(
                    "it has a section of the unknown kind {id}"
                )));
            }
            _ => {}
        }
    }
    Ok(outline)
}

fn read_error(error: &wasmparser::BinaryReaderError, bytes: &[u8]) -> LoadError {
    // The reader has no kind for it; its words are held by a test.
    if error.message().contains("unexpected end") {
        return LoadError::Truncated {
            offset: bytes.len() as u64,
        };
    }
    LoadError::Malformed(error.to_string())
}

fn without_version(name: &str) -> &str {
    name.split_once('@').map_or(name, |(bare, _)| bare)
}

fn check_version(found: &str) -> Result<(), LoadError> {
    let ours = numbers(INTERFACE_VERSION);
    let theirs = numbers(found);
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return Err(LoadError::BadVersion(crate::text::one_line(found, 32)));
    };
    match theirs.cmp(&ours) {
        std::cmp::Ordering::Greater => Err(LoadError::NewerInterface {
            found: found.to_owned(),
        }),
        std::cmp::Ordering::Equal => Ok(()),
        // Same track: 0.1.x hosts keep serving older 0.1 drivers.
        std::cmp::Ordering::Less if (theirs[0], theirs[1]) == (ours[0], ours[1]) => Ok(()),
        std::cmp::Ordering::Less => Err(LoadError::OlderInterface {
            found: found.to_owned(),
        }),
    }
}

fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_this_track_are_taken_and_others_refused() {
        for (version, expected) in [
            ("0.1.0", "ok"),
            ("0.1.1", "newer"),
            ("0.2.0", "newer"),
            ("1.0.0", "newer"),
            ("0.0.9", "older"),
            ("0.1", "bad"),
            ("", "bad"),
            ("0.1.0-rc.1", "bad"),
            ("0.1.0.0", "bad"),
        ] {
            let found = match check_version(version) {
                Ok(()) => "ok",
                Err(LoadError::NewerInterface { .. }) => "newer",
                Err(LoadError::OlderInterface { .. }) => "older",
                Err(LoadError::BadVersion(_)) => "bad",
                Err(other) => panic!("{other}"),
            };
            assert_eq!(found, expected, "{version}");
        }
    }

    #[test]
    fn bytes_that_are_no_component_are_told_apart() {
        let core_module = b"\0asm\x01\0\0\0".as_slice();
        let empty_component = b"\0asm\x0d\0\x01\0".as_slice();
        // A component with a section that claims more bytes than there are.
        let cut = b"\0asm\x0d\0\x01\0\x0a\x20\x01".as_slice();
        let odd_section = b"\0asm\x0d\0\x01\0\x7f\x01\x00".as_slice();
        for (name, bytes, expected) in [
            ("empty", b"".as_slice(), "NotWasm"),
            ("text", b"hello world".as_slice(), "NotWasm"),
            ("half a magic number", b"\0as".as_slice(), "Truncated"),
            ("magic alone", b"\0asm".as_slice(), "Truncated"),
            ("core module", core_module, "CoreModule"),
            ("cut section", cut, "Truncated"),
            ("unknown section", odd_section, "Malformed"),
            ("empty component", empty_component, "WrongWorld"),
        ] {
            let error = format!("{:?}", inspect(bytes).unwrap_err());
            assert!(error.starts_with(expected), "{name}: {error}");
        }
    }

    #[test]
    fn a_file_over_the_bound_is_refused_unread() {
        let bytes = vec![0; usize::try_from(limits::COMPONENT_BYTES_MAX).unwrap() + 1];
        assert!(matches!(inspect(&bytes), Err(LoadError::TooLarge { .. })));
    }
}
