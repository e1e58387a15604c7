//! Generations of elizaOS character files, and character cards.

/// The format of a character file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// 0.x and early 1.x: `clients`, `modelProvider`, `lore`, `user` in examples.
    Legacy,
    /// 1.x since 2025: `plugins`, `name` in examples.
    Present,
    /// A character card of another program (Tavern V1 to V3), as JSON or in a picture.
    Card,
}
