//! The committed description of the API.

#[cfg(test)]
mod tests {
    use crate::openapi;
    use std::{collections::BTreeSet, fs, path::Path};

    /// `GALATEA_WRITE_OPENAPI=1` writes the file anew.
    #[test]
    fn the_committed_description_is_the_one_of_the_code() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
        let now = openapi().to_pretty_json().unwrap() + "\n";
        if std::env::var_os("GALATEA_WRITE_OPENAPI").is_some() {
            fs::write(&path, &now).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == now, "write it anew with GALATEA_WRITE_OPENAPI=1 and commit it");
    }

    /// A second operation of a name, or a second type of one, would silently replace the first.
    #[test]
    fn operations_have_unique_ids() {
        let document = serde_json::to_value(openapi()).unwrap();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
        let mut ids = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            assert!(path.starts_with("/api/v1/"), "{path}");
            for (method, operation) in methods.as_object().unwrap() {
                let id = operation["operationId"].as_str().unwrap();
                assert!(ids.insert(id.to_owned()), "{method} {path}: {id} is there twice");
                for status in ["400", "401", "403", "404", "405", "409", "413", "415", "422", "429"]
                {
                    assert!(operation["responses"][status].is_object(), "{id}: {status}");
                }
            }
        }
        assert!(ids.len() > 30, "{ids:?}");
        let text = document.to_string();
        for (at, _) in text.match_indices("#/components/schemas/") {
            let name = text[at..].split('"').next().unwrap().rsplit('/').next().unwrap();
            assert!(document["components"]["schemas"][name].is_object(), "{name} is described");
        }
    }
}
