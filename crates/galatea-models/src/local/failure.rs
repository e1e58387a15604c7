//! The error for a model that cannot be used.

use galatea_core::Error;

pub(super) fn unusable(what: &'static str) -> Error {
    Error::invalid(what).with_code(crate::wire::codes::CONFIG).with_fix(
        "download a Model2Vec model with a WordPiece tokenizer, such as minishlab/potion-base-8M, into the folder of LOCAL_EMBEDDING_FOLDER",
    )
}
