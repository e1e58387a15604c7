//! Meaning of a text, as a vector of one model.

use crate::error::{Error, Result};

/// Most numbers of an embedding: some times as many as today's models have, 256 to 4,096.
const WIDEST: usize = 16_000;

/// Meaning of a text, as a model's vector of length 1. Only embeddings of the same model and width
/// can be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding(Vec<f32>);

impl Embedding {
    /// A model's vector, brought to length 1, so that all similarities are computed alike however
    /// long a model's vectors are.
    ///
    /// # Errors
    /// `Invalid` for a vector that points nowhere: without numbers, of zeros only, with something
    /// that is not a number; or one that is too wide.
    pub fn new(mut vector: Vec<f32>) -> Result<Self> {
        if vector.len() > WIDEST {
            return Err(Error::invalid("the model's vector is too wide to be stored")
                .with("numbers", vector.len())
                .with("limit", WIDEST));
        }
        let length = vector.iter().map(|n| f64::from(*n) * f64::from(*n)).sum::<f64>().sqrt();
        if !length.is_finite() || length == 0.0 {
            return Err(Error::invalid(
                "the model's vector points nowhere: it has no numbers, only zeros, or a value that is not a number",
            ));
        }
        for n in &mut vector {
            #[allow(clippy::cast_possible_truncation, reason = "between -1 and 1")]
            let unit = (f64::from(*n) / length) as f32;
            *n = unit;
        }
        Ok(Self(vector))
    }

    /// Its numbers; the sum of their squares is 1.
    pub fn numbers(&self) -> &[f32] {
        &self.0
    }

    /// Number of its elements.
    pub fn width(&self) -> usize {
        self.0.len()
    }

    /// Cosine similarity, from -1 (the opposite) to 1 (the same); none for another width.
    pub fn similarity(&self, other: &[f32]) -> Option<f32> {
        if self.0.len() != other.len() {
            return None;
        }
        let product: f64 =
            self.0.iter().zip(other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        #[allow(clippy::cast_possible_truncation, reason = "about -1 to 1")]
        let similarity = product.clamp(-1.0, 1.0) as f32;
        Some(similarity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_one_whatever_the_model_gave() {
        for scale in [1e-30_f32, 1.0, 1e30] {
            let embedding = Embedding::new(vec![3.0 * scale, 4.0 * scale]).unwrap();
            assert_eq!(embedding.numbers(), [0.6, 0.8]);
        }
    }

    #[test]
    fn what_points_nowhere_is_refused() {
        for vector in [
            vec![],
            vec![0.0, 0.0],
            vec![1.0, f32::NAN],
            vec![f32::INFINITY],
            vec![0.1; WIDEST + 1],
        ] {
            assert!(Embedding::new(vector).is_err());
        }
    }

    #[test]
    fn similarity_goes_from_the_opposite_to_the_same() {
        let of = |x, y| Embedding::new(vec![x, y]).unwrap();
        let east = of(2.0, 0.0);
        let near = |similarity: Option<f32>, expected: f32| {
            similarity.is_some_and(|l| (l - expected).abs() < 1e-6)
        };
        assert!(near(east.similarity(of(1.0, 0.0).numbers()), 1.0));
        assert!(near(east.similarity(of(0.0, 5.0).numbers()), 0.0));
        assert!(near(east.similarity(of(-1.0, 0.0).numbers()), -1.0));
        assert!(near(east.similarity(of(1.0, 1.0).numbers()), 0.5_f32.sqrt()));
        assert_eq!(east.similarity(&[1.0]), None);
    }
}
