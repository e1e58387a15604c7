//! Environment variables for one character, as in elizaOS: `CHARACTER.<NAME>.X`, `<NAME>_X` and
//! `CHARACTER.<ID>.X`.

use galatea_core::{Character, settings::Layer};

use super::variables::find;

/// The settings in `layer` that apply to this character only, strongest first.
pub(super) fn layers(layer: &Layer, character: &Character) -> Vec<Layer> {
    let name = plain(&character.name);
    let identity = character.identity().id().to_string();
    let dotted = |who: &str| {
        let prefix = format!("CHARACTER.{who}.");
        layer
            .iter()
            .filter_map(|(key, setting)| Some((strip(key, &prefix)?.to_owned(), setting.clone())))
            .collect::<Layer>()
    };
    let prefix = format!("{name}_");
    let prefixed: Layer = layer
        .iter()
        // A known setting keeps its meaning, even for an agent whose name is its prefix, such as
        // OpenAI.
        .filter(|(key, _)| !name.is_empty() && find(key).is_none())
        .filter_map(|(key, setting)| Some((strip(key, &prefix)?, setting)))
        .filter(|(key, _)| is_setting(key))
        .map(|(key, setting)| (key.to_owned(), setting.clone()))
        .collect();
    // The id as written in the file, and the id derived from it.
    let ids = character.id.iter().map(String::as_str).chain([identity.as_str()]).map(dotted);
    [dotted(&name), prefixed].into_iter().chain(ids).filter(|layer| !layer.is_empty()).collect()
}

/// Whether `key` is a known setting. A prefix alone is too common to accept every key that starts
/// with it (`HOME_…`).
fn is_setting(key: &str) -> bool {
    find(key).is_some()
        || key.strip_suffix("_FILE").is_some_and(|base| find(base).is_some_and(|v| v.secret))
}

/// A character's name as used in variables: upper case, with every character except letters and
/// digits replaced by `_`.
fn plain(name: &str) -> String {
    name.trim().to_uppercase().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect()
}

/// The rest of `key` after `prefix`. Case is ignored.
fn strip<'a>(key: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = (key.get(..prefix.len())?, key.get(prefix.len()..)?);
    (head.eq_ignore_ascii_case(prefix) && !rest.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::settings::{Origin, Setting};

    fn layer(names: &[&str]) -> Layer {
        names
            .iter()
            .map(|n| ((*n).to_owned(), Setting { value: (*n).into(), origin: Origin::Environment }))
            .collect()
    }

    #[test]
    fn all_three_forms_are_found_in_order() {
        let character = Character { name: "Ada B.".into(), ..Character::default() };
        let id = character.identity().id().to_string();
        let by_id = format!("CHARACTER.{id}.OPENAI_API_KEY");
        let found = layers(
            &layer(&[
                &by_id,
                "ADA_B__OPENAI_API_KEY",
                "CHARACTER.ADA_B_.OPENAI_API_KEY",
                "OPENAI_API_KEY",
                "PATH",
            ]),
            &character,
        );
        let values: Vec<_> = found.iter().map(|l| l["OPENAI_API_KEY"].text()).collect();
        assert_eq!(values, ["CHARACTER.ADA_B_.OPENAI_API_KEY", "ADA_B__OPENAI_API_KEY", &by_id]);
    }

    #[test]
    fn an_agent_called_openai_takes_nothing_from_others() {
        let character = Character { name: "OpenAI".into(), ..Character::default() };
        assert!(layers(&layer(&["OPENAI_SMALL_MODEL", "OPENAI_PATH"]), &character).is_empty());
    }
}
