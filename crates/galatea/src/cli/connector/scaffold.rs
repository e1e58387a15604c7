//! The files of a new connector. The templates form a connector for an invented platform named
//! parrot, in `crates/galatea/scaffold`.

/// Pairs of a path in the new crate's folder, and the text for the platform parrot.
macro_rules! templates {
    ($($path:literal),+ $(,)?) => {
        &[("Cargo.toml", include_str!("../../../scaffold/Cargo.toml.in")), $(($path, include_str!(concat!("../../../scaffold/", $path)))),+]
    };
}

const TEMPLATES: &[(&str, &str)] = templates![
    "README.md",
    "src/config.rs",
    "src/connector.rs",
    "src/decode.rs",
    "src/encode.rs",
    "src/error.rs",
    "src/lib.rs",
    "src/receive.rs",
    "src/send.rs",
    "tests/suite.rs",
    "tests/platform/http.rs",
    "tests/platform/mod.rs",
];

/// A checked name in every spelling the templates need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spellings {
    /// `galatea-my-chat`.
    pub(super) package: String,
    /// `galatea_my_chat`.
    pub(super) library: String,
    /// `my_chat`. Settings start with its upper case, and the name of a variable cannot contain a
    /// hyphen.
    pub(super) source: String,
    /// `MyChat`.
    pub(super) title: String,
}

impl Spellings {
    /// The spellings of a name such as `my-chat`.
    pub(super) fn of(name: &str) -> Self {
        let source = name.replace('-', "_");
        let title = name.split('-').map(capital).collect();
        Self {
            package: format!("galatea-{name}"),
            library: format!("galatea_{source}"),
            source,
            title,
        }
    }

    fn apply(&self, template: &str) -> String {
        let code = format!("GAL-{}-", self.source.to_ascii_uppercase().replace('_', "-"));
        let text = template.replace("galatea-parrot", &self.package).replace("GAL-PARROT-", &code);
        text.replace("parrot", &self.source)
            .replace("Parrot", &self.title)
            .replace("PARROT", &self.source.to_ascii_uppercase())
    }

    /// The files of the crate: path in its folder, and text.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'static str, String)> {
        TEMPLATES.iter().map(|(path, template)| (*path, self.apply(template)))
    }

    /// The two lines to add outside the new folder.
    pub(super) fn edits(&self) -> [Edit; 2] {
        let Self { package, library, title, .. } = self;
        [
            Edit {
                file: "crates/galatea-host/Cargo.toml",
                below: "[dependencies]",
                line: format!("{package} = {{ path = \"../../connectors/{package}\" }}"),
            },
            Edit {
                file: "crates/galatea-host/src/platforms/list.rs",
                below: "pub const PLATFORMS: &[Platform] = &[",
                line: format!(
                    "    platform::<{library}::{title}Config>(\"{title}\", {library}::parse_link),"
                ),
            },
        ]
    }
}

/// A line to add by hand.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(super) struct Edit {
    /// Relative to the root of the checkout.
    pub(super) file: &'static str,
    /// An existing line. The new one goes somewhere below it, at best directly.
    pub(super) below: &'static str,
    pub(super) line: String,
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_of_the_folder_is_part_of_the_scaffold() {
        fn count(folder: &Path) -> usize {
            let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            entries.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
        }
        assert_eq!(count(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scaffold")), TEMPLATES.len());
    }

    #[test]
    fn a_name_takes_the_template_s_place_everywhere() {
        let name = Spellings::of("my-chat2");
        for (path, text) in name.files() {
            assert!(!text.to_lowercase().contains("parrot"), "{path}");
        }
        let all: String = name.files().map(|(_, text)| text).collect();
        for spelling in [
            "name = \"galatea-my-chat2\"",
            "Source::new(\"my_chat2\")",
            "MY_CHAT2_TOKEN",
            "GAL-MY-CHAT2-401",
            "MyChat2Config",
            "use galatea_my_chat2::",
        ] {
            assert!(all.contains(spelling), "{spelling}");
        }
    }

    #[test]
    fn the_tutorial_shows_what_the_scaffold_holds() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let tutorial = std::fs::read_to_string(root.join("docs/add-a-connector.md")).unwrap();
        let excerpts: Vec<_> = tutorial
            .split("```rust\n")
            .skip(1)
            .map(|rest| rest.split("```").next().unwrap())
            .collect();
        assert!(excerpts.len() > 8, "{}", excerpts.len());
        for excerpt in excerpts {
            assert!(
                TEMPLATES.iter().any(|(_, text)| text.contains(excerpt)),
                "no file of the scaffold holds:\n{excerpt}"
            );
        }
        for edit in Spellings::of("parrot").edits() {
            assert!(
                tutorial.contains(&format!(
                    "`{}` | `{}` | `{}`",
                    edit.file,
                    edit.below,
                    edit.line.trim()
                )),
                "{}",
                edit.line
            );
        }
        assert!(tutorial.contains(&format!("({} files)", TEMPLATES.len())));
    }

    #[test]
    fn the_places_of_the_two_lines_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for edit in Spellings::of("new").edits() {
            let text = std::fs::read_to_string(root.join(edit.file)).unwrap();
            assert_eq!(text.lines().filter(|line| *line == edit.below).count(), 1, "{}", edit.file);
        }
    }
}
