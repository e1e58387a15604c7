//! Compares words in every script: folded, and cut where the script cuts them.

mod fold;
mod script;

pub(super) use self::{
    fold::folded,
    script::{begins, ends, is_unspaced, is_word},
};
