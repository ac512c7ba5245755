//! `wit/` is what drivers and host are built from, and says all a driver may touch.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wit_component::DecodedWasm;
use wit_parser::{
    Function, FunctionKind, Handle, Interface, Resolve, Type, TypeDefKind, TypeId, WorldId,
    WorldItem,
};

use crate::support::agents;

const PACKAGE: &str = "weft:orchestration-adapter";
const WORLD: &str = "driver";

/// Drivers that come with the host.
const SHIPPED: [&str; 2] = ["codex", "scripted"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

/// The world of `wit/`.
fn written() -> (Resolve, WorldId) {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(root().join("wit")).unwrap();
    let world = resolve.select_world(&[package], Some(WORLD)).unwrap();
    (resolve, world)
}

/// The world a shipped driver has.
fn built(driver: &str) -> (Resolve, WorldId) {
    let folder = agents::weft().with_file_name("drivers");
    let bytes = std::fs::read(folder.join(format!("{driver}.wasm"))).unwrap();
    match wit_component::decode(&bytes).unwrap() {
        DecodedWasm::Component(resolve, world) => (resolve, world),
        DecodedWasm::WitPackage(..) => panic!("{driver} is an interface, not a driver"),
    }
}

/// Interfaces by their full names.
type Interfaces = BTreeMap<String, BTreeMap<String, String>>;

/// What a world takes and gives: for each interface, what each of its names means.
fn sides((resolve, world): &(Resolve, WorldId)) -> (Interfaces, Interfaces) {
    let world = &resolve.worlds[*world];
    let side = |items: &mut dyn Iterator<Item = &WorldItem>| -> Interfaces {
        items
            .map(|item| match item {
                WorldItem::Interface { id, .. } => (
                    resolve.id_of(*id).unwrap(),
                    meanings(resolve, &resolve.interfaces[*id]),
                ),
                other => panic!("a driver takes and gives interfaces only: {other:?}"),
            })
            .collect()
    };
    (
        side(&mut world.imports.values()),
        side(&mut world.exports.values()),
    )
}

fn meanings(resolve: &Resolve, interface: &Interface) -> BTreeMap<String, String> {
    let types = interface.types.iter();
    let functions = interface.functions.iter();
    types
        .map(|(name, id)| (name.clone(), definition(resolve, *id)))
        .chain(functions.map(|(name, function)| (name.clone(), signature(resolve, function))))
        .collect()
}

fn definition(resolve: &Resolve, id: TypeId) -> String {
    let optional = |ty: &Option<Type>| ty.as_ref().map_or("_".to_owned(), |ty| word(resolve, ty));
    match &resolve.types[id].kind {
        TypeDefKind::Record(record) => {
            let fields = record.fields.iter();
            list(
                "record",
                fields.map(|it| format!("{}: {}", it.name, word(resolve, &it.ty))),
            )
        }
        TypeDefKind::Variant(variant) => {
            let cases = variant.cases.iter();
            list(
                "variant",
                cases.map(|it| format!("{}({})", it.name, optional(&it.ty))),
            )
        }
        TypeDefKind::Enum(of) => list("enum", of.cases.iter().map(|it| it.name.clone())),
        TypeDefKind::Flags(of) => list("flags", of.flags.iter().map(|it| it.name.clone())),
        TypeDefKind::Tuple(of) => list("tuple", of.types.iter().map(|it| word(resolve, it))),
        TypeDefKind::Result(of) => format!("result<{}, {}>", optional(&of.ok), optional(&of.err)),
        TypeDefKind::Option(of) => format!("option<{}>", word(resolve, of)),
        TypeDefKind::List(of) => format!("list<{}>", word(resolve, of)),
        TypeDefKind::Handle(Handle::Own(of)) => format!("own<{}>", word(resolve, &Type::Id(*of))),
        TypeDefKind::Handle(Handle::Borrow(of)) => {
            format!("borrow<{}>", word(resolve, &Type::Id(*of)))
        }
        TypeDefKind::Resource => "resource".to_owned(),
        TypeDefKind::Type(of) => word(resolve, of),
        other => panic!("the interface has no {}", other.as_str()),
    }
}

/// A type where it is used: by its name if it has one. What the name means is compared where it stands.
fn word(resolve: &Resolve, ty: &Type) -> String {
    match ty {
        Type::Id(id) => match &resolve.types[*id].name {
            Some(name) => name.clone(),
            None => definition(resolve, *id),
        },
        plain => format!("{plain:?}"),
    }
}

fn signature(resolve: &Resolve, function: &Function) -> String {
    let kind = match function.kind {
        FunctionKind::Freestanding => "function",
        FunctionKind::Method(_) => "method",
        FunctionKind::Static(_) => "static",
        FunctionKind::Constructor(_) => "constructor",
        _ => panic!("{} is asynchronous", function.name),
    };
    let taken = function.params.iter();
    let taken = taken.map(|it| format!("{}: {}", it.name, word(resolve, &it.ty)));
    let given = function.result.as_ref().map(|ty| word(resolve, ty));
    list(kind, taken.chain(given.map(|ty| format!("-> {ty}"))))
}

fn list(kind: &str, parts: impl Iterator<Item = String>) -> String {
    format!("{kind} {{ {} }}", parts.collect::<Vec<_>>().join(", "))
}

/// The version stands in one place: the package's name.
fn versioned(interface: &str) -> String {
    let (resolve, world) = written();
    let package = resolve.worlds[world].package.unwrap();
    let version = resolve.packages[package].name.version.clone().unwrap();
    format!("{PACKAGE}/{interface}@{version}")
}

#[test]
fn a_driver_takes_types_and_log_and_gives_the_adapter() {
    let names = |of: &Interfaces| of.keys().cloned().collect::<Vec<_>>();
    let (taken, given) = sides(&written());
    assert_eq!(names(&taken), [versioned("log"), versioned("types")]);
    assert_eq!(names(&given), [versioned("adapter")]);
    for driver in SHIPPED {
        let (taken, given) = sides(&built(driver));
        for name in taken.keys() {
            let allowed = [versioned("log"), versioned("types")];
            assert!(allowed.contains(name), "{driver} imports {name}");
        }
        assert_eq!(names(&given), [versioned("adapter")], "{driver}");
    }
}

#[test]
fn every_name_in_a_shipped_driver_means_what_wit_says() {
    let (written_taken, written_given) = sides(&written());
    for driver in SHIPPED {
        let (taken, given) = sides(&built(driver));
        // A component leaves out what it does not use of what it takes.
        for (interface, names) in &taken {
            for (name, meaning) in names {
                let expected = written_taken[interface].get(name);
                assert_eq!(Some(meaning), expected, "{driver}: {interface}.{name}");
            }
        }
        assert_eq!(given, written_given, "{driver}: what it gives");
    }
}

/// The world of a changed `world.wit`.
fn changed(from: &str, to: &str) -> (Resolve, WorldId) {
    let text = std::fs::read_to_string(root().join("wit/world.wit")).unwrap();
    assert!(text.contains(from), "{from}");
    let mut resolve = Resolve::default();
    let package = resolve
        .push_str("world.wit", &text.replacen(from, to, 1))
        .unwrap();
    let world = resolve.select_world(&[package], Some(WORLD)).unwrap();
    (resolve, world)
}

#[test]
fn a_changed_interface_is_not_what_the_drivers_were_built_from() {
    assert_eq!(sides(&changed("", "")), sides(&written()));
    let turn = "record turn-started {\n    turn-id: string,\n    native-turn-id: option<string>,";
    for (from, to) in [
        // A field renamed, of another type, added, in another place.
        (turn, turn.replace("native-turn-id", "native-id")),
        (turn, turn.replace("option<string>", "string")),
        (turn, format!("{turn}\n    model: string,")),
        (
            turn,
            "record turn-started {\n    native-turn-id: option<string>,\n    turn-id: string,"
                .to_owned(),
        ),
        // What a function takes and gives.
        ("inputs: list<input>", "inputs: input".to_owned()),
        (
            "describe: func() -> driver-info;",
            "describe: func() -> driver-info;\n  hello: func();".to_owned(),
        ),
        (
            "orchestration-adapter@0.1.0",
            "orchestration-adapter@0.1.1".to_owned(),
        ),
    ] {
        let (taken, given) = sides(&changed(from, &to));
        for driver in SHIPPED {
            let (built_taken, built_given) = sides(&built(driver));
            let is_part = built_taken.iter().all(|(interface, names)| {
                let known = taken.get(interface);
                names
                    .iter()
                    .all(|(name, meaning)| known.and_then(|it| it.get(name)) == Some(meaning))
            });
            assert!(!is_part || built_given != given, "{driver}: {to}");
        }
    }
}

#[test]
fn the_types_a_driver_was_built_with_are_all_of_them() {
    // Every type is reached from the adapter's functions, so a driver carries each; a type that no
    // function reaches has no place in the interface.
    let name = versioned("types");
    let (written, _) = sides(&written());
    for driver in SHIPPED {
        let (taken, _) = sides(&built(driver));
        let missing: Vec<&String> = written[&name]
            .keys()
            .filter(|it| !taken[&name].contains_key(*it))
            .collect();
        assert!(missing.is_empty(), "{driver} lacks {missing:?}");
    }
}

#[test]
fn host_and_drivers_are_generated_from_this_folder() {
    for file in [
        "host/drivers/src/bindings/v0_1.rs",
        "plugins/sdk/src/bindings.rs",
    ] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        let crate_folder = root().join(file.split_once("/src/").unwrap().0);
        let path = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("path: \"")?.strip_suffix("\","))
            .unwrap();
        let named = crate_folder.join(path).canonicalize().unwrap();
        assert_eq!(named, root().join("wit").canonicalize().unwrap(), "{file}");
    }
}

/// Every `*.rs` file below a folder, build folders left out.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn bindings_are_generated_in_two_places_alone() {
    let mut files = Vec::new();
    for folder in ["host", "plugins"] {
        sources(&root().join(folder), &mut files);
    }
    let generators = ["component::bindgen!", "wit_bindgen::generate!"];
    let mut found: Vec<String> = files
        .iter()
        .filter(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            generators.iter().any(|word| text.contains(word))
        })
        .map(|path| path.strip_prefix(root()).unwrap().display().to_string())
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "host/drivers/src/bindings/v0_1.rs",
            "plugins/sdk/src/bindings.rs"
        ]
    );
}

#[test]
fn nothing_is_frozen_before_the_first_release() {
    let frozen = std::fs::read_dir(root().join("wit/frozen")).unwrap();
    let mut names: Vec<String> = frozen
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["README.md"]);
}
