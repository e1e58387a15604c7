//! Similarities of several models in one range. One model takes unrelated texts for 0.7 alike and
//! another one for 0.1, so the similarities of an older model are brought to the mean and the spread
//! of the first model's.

/// Mean and standard deviation of the similarities of the nearest memories of one model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    mean: f32,
    spread: f32,
    many: usize,
}

impl Range {
    #[allow(clippy::cast_precision_loss, reason = "some hundred candidates")]
    pub(super) fn of(near: &[(i64, f32)]) -> Self {
        let many = near.len();
        let mean_of = |sum: f32| sum / many.max(1) as f32;
        let mean = mean_of(near.iter().map(|(_, similarity)| similarity).sum());
        let variance = mean_of(near.iter().map(|(_, of)| (of - mean) * (of - mean)).sum());
        Self { mean, spread: variance.sqrt(), many }
    }
}

/// How to bring a model's similarities to the range of the first model that found something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    factor: f32,
    shift: f32,
}

impl Scale {
    const UNCHANGED: Self = Self { factor: 1.0, shift: 0.0 };

    /// One for each model. Those of one model only stay as they are.
    pub(super) fn to_first(ranges: &[Range]) -> Vec<Self> {
        let first = ranges.iter().find(|range| range.many > 0);
        let to = |range: &Range| match first {
            Some(first) if range.many > 0 && range != first => {
                let comparable = range.spread > f32::EPSILON && first.spread > f32::EPSILON;
                let factor = if comparable { first.spread / range.spread } else { 1.0 };
                Self { factor, shift: first.mean - factor * range.mean }
            }
            _ => Self::UNCHANGED,
        };
        ranges.iter().map(to).collect()
    }

    pub(super) fn of(self, similarity: f32) -> f32 {
        self.factor * similarity + self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(similarities: &[f32]) -> Range {
        Range::of(&(0..).zip(similarities.iter().copied()).collect::<Vec<_>>())
    }

    #[test]
    fn what_an_older_model_takes_for_unrelated_is_so_in_the_range_of_the_first() {
        let scales = Scale::to_first(&[range(&[0.5, 0.2, 0.1]), range(&[0.80, 0.71, 0.68])]);
        assert_eq!(scales[0], Scale::UNCHANGED);
        let [best, _, worst] = [0.80, 0.71, 0.68].map(|similarity| scales[1].of(similarity));
        assert!((best - 0.5).abs() < 0.05 && (worst - 0.1).abs() < 0.05, "{best} {worst}");
    }

    #[test]
    fn one_model_alone_is_left_as_it_is() {
        let (some, none) = (range(&[0.9, 0.3]), range(&[]));
        assert_eq!(Scale::to_first(&[some]), [Scale::UNCHANGED]);
        assert_eq!(Scale::to_first(&[none, some]), [Scale::UNCHANGED; 2]);
        assert_eq!(Scale::to_first(&[]), []);
        let moved = Scale::to_first(&[range(&[0.4]), range(&[0.9])])[1];
        assert!((moved.of(0.9) - 0.4).abs() < 1e-6);
    }
}
