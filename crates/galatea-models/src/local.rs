//! Embeddings in this process: static models in the form of Model2Vec, read from a folder with
//! `model.safetensors`, `tokenizer.json` and, optionally, `config.json`.
//!
//! Such a model is a table with a vector for each token; the embedding of a text is the mean of its
//! tokens' vectors. That needs no runtime for neural networks, no further crate, and some
//! microseconds a text. It is weaker than a transformer: the order of words has no effect.

mod failure;
mod tensors;
mod tokenizer;

use async_trait::async_trait;
use galatea_core::{EmbeddingModel, ModelInfo, Result, model::ModelLimits};
use serde_json::Value;
use std::{fs::File, io::Read, path::Path};

use failure::unusable;
use tensors::Matrix;
use tokenizer::Tokenizer;

/// Largest file that is read. The largest known static models have 500 MB.
const LARGEST: u64 = 1 << 30;
/// Tokens of a text that count, as in Model2Vec itself. Longer texts are cut.
const TOKENS: u16 = 512;

/// A static embedding model in memory.
pub struct LocalEmbedding {
    info: ModelInfo,
    tokenizer: Tokenizer,
    table: Matrix,
    /// A factor for each token, in models that keep them apart from the vectors.
    weights: Option<Vec<f32>>,
}

impl LocalEmbedding {
    /// Reads a model. Its name is that of the folder with a checksum of the table, since vectors of
    /// two tables cannot be compared.
    ///
    /// # Errors
    /// `Invalid` with the file and the reason.
    pub fn open(folder: &Path) -> Result<Self> {
        let table = read(&folder.join("model.safetensors"))?;
        let tokens = read(&folder.join("tokenizer.json"))?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        Self::of(&name.unwrap_or_else(|| "model".to_owned()), &table, &tokens)
            .map_err(|error| error.with("folder", folder.display()))
    }

    fn of(name: &str, table: &[u8], tokens: &[u8]) -> Result<Self> {
        let checksum = checksum(table);
        let tensors = tensors::read(table)?;
        let tokens: Value = serde_json::from_slice(tokens)
            .map_err(|error| unusable("tokenizer.json is not valid JSON").with("cause", error))?;
        let tokenizer = Tokenizer::of(&tokens)?;
        let rows = tensors.table.rows();
        if tokenizer.largest().is_some_and(|id| id >= rows) {
            return Err(unusable("the tokenizer has tokens that the table has no vector for"));
        }
        if tensors.weights.as_ref().is_some_and(|weights| weights.len() != rows) {
            return Err(unusable("the table and its weights differ in length"));
        }
        let info = ModelInfo {
            provider: "local".to_owned(),
            model: format!("{name}@{checksum:08x}"),
            limits: ModelLimits { window: Some(u32::from(TOKENS)), output: None },
            ..ModelInfo::default()
        };
        Ok(Self { info, tokenizer, table: tensors.table, weights: tensors.weights })
    }

    /// The mean of the vectors of a text's tokens. All zeros for a text without a known token.
    fn embed_one(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.table.width()];
        let mut count = 0_u16;
        for id in self.tokenizer.token_ids(text).take(usize::from(TOKENS)) {
            let weight = self.weights.as_ref().map_or(1.0, |weights| weights[id]);
            for (sum, number) in sum.iter_mut().zip(self.table.row(id)) {
                *sum += number * weight;
            }
            count += 1;
        }
        let count = f32::from(count.max(1));
        sum.iter_mut().for_each(|number| *number /= count);
        sum
    }
}

#[async_trait]
impl EmbeddingModel for LocalEmbedding {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.embed_one(text)).collect())
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let failed = |cause: String| {
        unusable("a file of the embedding model cannot be read")
            .with("file", path.display())
            .with("cause", cause)
    };
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > LARGEST {
        return Err(failed("it is larger than 1 GiB".to_owned()));
    }
    Ok(bytes)
}

/// FNV-1a (<http://www.isthe.com/chongo/tech/comp/fnv/>), 32 bits. Distinguishes files; it is not a
/// protection.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619))
}

#[cfg(test)]
mod tests;
