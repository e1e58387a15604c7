//! Reads the safetensors format (<https://github.com/huggingface/safetensors>): the length of a
//! JSON header, the header with types, shapes and places, and the numbers.

use galatea_core::Result;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::unusable;

/// Longest header that is read, in bytes.
const HEADER: usize = 16 << 20;

/// A table of numbers, row by row.
pub(super) struct Matrix {
    numbers: Vec<f32>,
    width: usize,
}

impl Matrix {
    /// Numbers of a row; never 0.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn rows(&self) -> usize {
        self.numbers.len() / self.width
    }

    /// A row; empty if there is none.
    pub(super) fn row(&self, row: usize) -> &[f32] {
        row.checked_mul(self.width)
            .and_then(|from| self.numbers.get(from..from + self.width))
            .unwrap_or_default()
    }
}

/// Content of a static model's file.
pub(super) struct Tensors {
    /// A row for each token.
    pub(super) table: Matrix,
    /// A factor for each token.
    pub(super) weights: Option<Vec<f32>>,
}

#[derive(Deserialize)]
struct TensorEntry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

/// Reads the tensors of a static model.
///
/// # Errors
/// `Invalid` for a damaged file, and for a form that is not read.
pub(super) fn read(file: &[u8]) -> Result<Tensors> {
    let damaged = || unusable("model.safetensors is damaged");
    let (length, rest) = file.split_first_chunk::<8>().ok_or_else(damaged)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
    if length > HEADER || length > rest.len() {
        return Err(damaged());
    }
    let (header, data) = rest.split_at(length);
    let header: Map<String, Value> =
        serde_json::from_slice(header).map_err(|error| damaged().with("cause", error))?;
    if header.contains_key("mapping") {
        return Err(unusable("the model has a quantised vocabulary, which is not read"));
    }
    let find = |names: &[&str]| names.iter().find_map(|name| header.get(*name));
    let table = find(&["embeddings", "0", "embedding.weight"])
        .ok_or_else(|| unusable("model.safetensors has no table of embeddings"))?;
    let (shape, numbers) = tensor(table, data)?;
    let [rows, width] = shape[..] else {
        return Err(unusable("the embeddings are not a table of two dimensions"));
    };
    if rows == 0 || width == 0 {
        return Err(unusable("the table of embeddings is empty"));
    }
    let weights = match find(&["weights"]) {
        Some(weights) => Some(tensor(weights, data)?.1),
        None => None,
    };
    Ok(Tensors { table: Matrix { numbers, width }, weights })
}

/// Shape and numbers of a tensor.
fn tensor(entry: &Value, data: &[u8]) -> Result<(Vec<usize>, Vec<f32>)> {
    let damaged = || unusable("model.safetensors is damaged");
    let TensorEntry { dtype, shape, data_offsets: (from, to) } =
        TensorEntry::deserialize(entry).map_err(|error| damaged().with("cause", error))?;
    let bytes = data.get(from..to).ok_or_else(damaged)?;
    let (size, numbers): (usize, Vec<f32>) = match dtype.as_str() {
        "F32" => (4, chunks(bytes).map(f32::from_le_bytes).collect()),
        "F16" => (2, chunks(bytes).map(|half| from_half(u16::from_le_bytes(half))).collect()),
        "F64" => {
            #[allow(clippy::cast_possible_truncation, reason = "weights need no more")]
            let numbers = chunks(bytes).map(|wide| f64::from_le_bytes(wide) as f32).collect();
            (8, numbers)
        }
        _ => {
            return Err(
                unusable("the model's numbers are of a type that is not read").with("type", dtype)
            );
        }
    };
    let expected = shape.iter().try_fold(size, |sum, n| sum.checked_mul(*n));
    if expected != Some(bytes.len()) {
        return Err(damaged());
    }
    if numbers.iter().any(|number| !number.is_finite()) {
        return Err(unusable("the model holds numbers that are not finite"));
    }
    Ok((shape, numbers))
}

fn chunks<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().copied()
}

/// A number of 16 bits (IEEE 754 binary16).
fn from_half(half: u16) -> f32 {
    let sign = u32::from(half >> 15) << 31;
    let exponent = u32::from(half >> 10 & 0x1f);
    let fraction = u32::from(half & 0x3ff);
    match (exponent, fraction) {
        // Zero and the smallest numbers: multiples of 2^-24.
        (0, fraction) => {
            #[allow(clippy::cast_precision_loss, reason = "ten bits")]
            let size = fraction as f32 / 16_777_216.0;
            if sign == 0 { size } else { -size }
        }
        (0x1f, fraction) => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        (exponent, fraction) => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::from_half;

    #[test]
    fn halves_are_read() {
        for (half, number) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65_504.0),
            (0x0001, 5.960_464_5e-8),
            (0x8400, -6.103_515_6e-5),
        ] {
            assert!((from_half(half) - number).abs() <= number.abs() * 1e-6, "{half:x}");
        }
        assert!(from_half(0x7c00).is_infinite() && from_half(0x7e00).is_nan());
    }
}
