//! Random numbers that are the same in every run, so that two runs measure the same talk.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of this number in this stream; streams are independent of each other.
    pub(crate) fn of(stream: u64, number: u64) -> Self {
        let mut seed = Self(stream.rotate_left(32) ^ number);
        Self(seed.next() ^ stream)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `end`, which is excluded.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    /// From 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "53 bits are kept")]
        let number = (self.next() >> 11) as f64;
        number / (1_u64 << 53) as f64
    }

    /// From -1 to 1.
    pub(crate) fn number(&mut self) -> f32 {
        #[allow(clippy::cast_possible_truncation, reason = "24 bits are enough")]
        let number = (self.share() * 2.0 - 1.0) as f32;
        number
    }
}

/// Ranks from 0 whose frequency falls with the rank, as that of words does.
pub(crate) struct Zipf(Vec<f64>);

impl Zipf {
    pub(crate) fn new(ranks: usize) -> Self {
        let mut sum = 0.0;
        let sums: Vec<f64> = (1..=ranks)
            .map(|rank| {
                #[allow(clippy::cast_precision_loss, reason = "some thousands")]
                let share = 1.0 / rank as f64;
                sum += share;
                sum
            })
            .collect();
        Self(sums.into_iter().map(|one| one / sum).collect())
    }

    pub(crate) fn rank(&self, random: &mut Random) -> usize {
        let share = random.share();
        self.0.partition_point(|sum| *sum < share).min(self.0.len() - 1)
    }
}
