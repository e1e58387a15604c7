//! Generations of elizaOS character files.

/// Generations of elizaOS character files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// 0.x and early 1.x: `clients`, `modelProvider`, `lore`, `user` in examples.
    Legacy,
    /// 1.x since 2025: `plugins`, `name` in examples.
    Present,
}
